/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the CPU driver's object, and as a part of one. What loads is
 * never run.
 */
#include <stddef.h>
#include <stdint.h>

#include "cpu/object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What is asked of a loaded object: its kernels' code, lines of it. */
static void ask(const struct object_info *info, const struct object_code *code)
{
    uintptr_t begin, end;

    for (uint32_t i = 0; i < info->kernel_count; i++)
        for (uint32_t k = 0; k < info->kernels[i].variant_count; k++)
            object_symbol(code, info->kernels[i].variants[k].symbol);
    object_code_range(code, &begin, &end);
    for (uintptr_t at = begin; at < end; at += 1 + (end - begin) / 12)
        object_line(code, at);
}

/* The object as a part of another, twice. */
static void join(const uint8_t *bytes, size_t size)
{
    const struct object_part parts[] = {{bytes, size}, {bytes, size}};
    struct buffer whole = {0};
    struct kiln_error err;

    if (object_join(parts, 2, "info", 4, &whole, &err) == KILN_OK)
        object_seal(whole.bytes, whole.size, &err);
    buffer_fini(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct object_info info;
    struct object_code *code = NULL;
    struct kiln_error err;

    object_verify(bytes, size, &err);
    if (object_is(bytes, size) &&
        object_read(bytes, size, &arena, &info, &err) == KILN_OK) {
        object_check(&info, "build", &err);
        object_check(&info, info.build, &err);
        if (object_load(bytes, size, &code, &err) == KILN_OK)
            ask(&info, code);
        join(bytes, size);
    }
    /* the section alone is a smaller step for a mutator */
    object_info_read(bytes, size, &arena, &info, &err);
    object_unload(code);
    arena_fini(&arena);
    return 0;
}
