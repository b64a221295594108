/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a cubin: read for a listing, and checked for a driver.
 */
#include <string.h>

#include "image/cubin.h"
#include "image/guess.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct cubin cubin;
    struct kiln_error err;
    size_t extent, sum = 0;

    elf_extent(data, size, &extent, &err);
    if (!cubin_check(data, size, &arena, &cubin, &err)) {
        for (size_t i = 0; i < cubin.kernel_count; i++)
            for (uint32_t p = 0; p < cubin.kernels[i].param_count; p++)
                sum += cubin.kernels[i].params[p].size;
        for (size_t i = 0; i < cubin.variable_count; i++)
            sum += strlen(cubin.variables[i].name);
        cubin_kernel_find(&cubin, sum % 2 ? "k" : "add");
    }
    arena_fini(&arena);
    return 0;
}
