/* SPDX-License-Identifier: MIT
 *
 * Any text must parse or be refused; what parses must print, and the print
 * must parse and print to the same text. Nor may a lack of memory do harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Of some texts: the same with only a few allocations left. */
static void with_little_memory(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct buffer log = {0};
    struct ptx_module *m;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    if (hash >> 28)
        return;
    kiln_alloc_fail_after(hash % 20);
    ptx_parse((const char *)bytes, size, &arena, &m, &log, NULL);
    kiln_alloc_fail_after(-1);
    buffer_fini(&log);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct buffer first = {0};
    struct buffer second = {0};
    struct buffer log = {0};
    struct ptx_module *m;

    if (!ptx_parse((const char *)bytes, size, &arena, &m, &log, NULL)) {
        ptx_print(m, &first);
        if (ptx_parse(buffer_str(&first), first.size, &arena, &m, &log, NULL))
            abort();
        ptx_print(m, &second);
        if (first.size != second.size ||
            memcmp(first.bytes, second.bytes, first.size) != 0)
            abort();
    }
    buffer_fini(&first);
    buffer_fini(&second);
    buffer_fini(&log);
    arena_fini(&arena);
    with_little_memory(bytes, size);
    return 0;
}
