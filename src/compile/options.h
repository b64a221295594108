/* SPDX-License-Identifier: MIT
 *
 * A growing list of option texts for a compiler call.
 */
#ifndef KILN_COMPILE_OPTIONS_H
#define KILN_COMPILE_OPTIONS_H

#include "base/arena.h"
#include "compile/compile.h"

struct options {
    struct arena *arena;
    const char **items; /* ends in NULL once something was added */
    size_t count;
    size_t cap;
    int bad; /* out of memory */
};

void options_add(struct options *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A request whose `extra` options that have a field of their own (target,
 * standard, defines, folders, register cap) moved there, whichever of their
 * spellings was used, so that the same compilation is described in one way.
 * Texts are borrowed or in the arena. What the key must also know comes from
 * the two lists. E_INVALID for an option that names an output file. */
struct plan {
    struct compile_request request;
    const char *const *pre_includes;
    size_t pre_include_count;
    int opaque; /* an option reads files that Kiln cannot name: no caching */
};

enum kiln_status plan_make(const struct compile_request *request,
                           const struct compiler *compiler, struct arena *arena,
                           struct plan *out, struct kiln_error *err);

#endif
