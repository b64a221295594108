/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the CPU driver's object. What loads is never run.
 */
#include <stddef.h>
#include <stdint.h>

#include "cpu/object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct object_info info;
    struct object_code *code = NULL;
    struct kiln_error err;

    if (object_is(bytes, size) &&
        object_read(bytes, size, &arena, &info, &err) == KILN_OK) {
        object_check(&info, "build", &err);
        object_load(bytes, size, &code, &err);
    }
    /* the section alone is a smaller step for a mutator */
    object_info_read(bytes, size, &arena, &info, &err);
    object_unload(code);
    arena_fini(&arena);
    return 0;
}
