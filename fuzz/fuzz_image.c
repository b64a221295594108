/* SPDX-License-Identifier: MIT
 *
 * Any bytes through everything that looks at an image from outside.
 */
#include "image/cubin.h"
#include "image/elf_view.h"
#include "image/guess.h"
#include "image/ptx_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct image_guess guess;
    struct ptx_header header;
    struct cubin cubin;
    struct kiln_error err;
    const char **names;
    size_t extent;
    size_t count;

    image_guess(data, size, &guess);
    elf_extent(data, size, &extent, &err);
    cubin_identify(data, size, &cubin, &err);
    cubin_read(data, size, &arena, &cubin, &err);
    cubin_check(data, size, &arena, &cubin, &err);
    ptx_header_read(data, size, &header, &err);
    ptx_text_check(data, size, &err);
    ptx_entry_names(data, size, &arena, &names, &count, &err);
    arena_fini(&arena);
    return 0;
}
