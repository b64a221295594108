/* SPDX-License-Identifier: MIT
 *
 * Any text as the head of PTX, and what is looked at of its rest.
 */
#include <stdlib.h>

#include "image/ptx_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct ptx_header header;
    struct kiln_error err;
    const char **names;
    size_t count;

    if (!ptx_header_read(data, size, &header, &err) && !ptx_looks(data, size))
        abort();
    ptx_text_check(data, size, &err);
    ptx_entry_names(data, size, &arena, &names, &count, &err);
    arena_fini(&arena);
    return 0;
}
