/* SPDX-License-Identifier: MIT
 *
 * Names of kernels, as C++ writes them and as symbols, well enough to find
 * one among those of a program and to say which there are. Not a C++ parser:
 * what it does not understand it leaves out.
 */
#ifndef KILN_COMPILE_NAMES_H
#define KILN_COMPILE_NAMES_H

#include "base/arena.h"
#include "base/status.h"

struct name_list {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t cap;
};

/* Adds a copy unless it is there already. */
void names_add(struct name_list *list, const char *text, size_t size);
/* The names that follow __global__ in source text; "name<...>" for a
 * template. Comments and strings are skipped. */
void names_in_source(struct name_list *list, const char *text, size_t size);
/* A symbol as C++ writes the name, without parameters: saxpy<float>. What is
 * not a C++ symbol, or not understood, comes back as it is. */
void names_demangle(const char *symbol, char *out, size_t size);
/* Whether both are one name, spaces aside; a template's name without its
 * arguments matches any instance. */
int names_match(const char *wanted, const char *name);
/* Fails with KILN_E_NOT_FOUND: what, the names, the nearest first. where is
 * the file or image. Sorts the list. */
enum kiln_status names_not_found(struct name_list *list, const char *wanted,
                                 const char *where, struct kiln_error *err);

#endif
