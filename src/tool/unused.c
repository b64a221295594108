/* SPDX-License-Identifier: MIT
 *
 * Containers of a program that are never loaded. nvcc's device link leaves
 * one in every program without relocatable device code: a cubin without
 * kernels behind a version 2 wrapper that the program does not register
 * (docs/format-fatbin.md).
 */
#include "tool/inspect.h"

int container_unused(const struct kiln_file *file, size_t index)
{
    struct kiln_container c = {.size = sizeof c};

    if (kiln_file_container(file, index, &c, NULL) || c.wrapper != 2 ||
        *c.damage || !c.count)
        return 0;
    for (size_t i = c.first; i < c.first + c.count; i++) {
        struct kiln_entry e = {.size = sizeof e};
        struct kiln_symbols *s;
        int defined;

        kiln_file_entry(file, i, &e, NULL);
        /* PTX is not parsed for its variables. */
        if (e.kind != KILN_ENTRY_CUBIN || kiln_symbols_read(file, i, &s, NULL))
            return 0;
        /* A damaged one may have lost them. */
        defined = kiln_symbols_count(s) || kiln_symbols_variable_count(s) ||
                  *kiln_symbols_damage(s);
        kiln_symbols_free(s);
        if (defined)
            return 0;
    }
    return 1;
}
