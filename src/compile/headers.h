/* SPDX-License-Identifier: MIT
 *
 * Which headers a source includes, without running a preprocessor: every name
 * that any directive or __has_include mentions is looked up as the compiler
 * would, conditionals ignored. That may look up too much, never too little,
 * so that a key made of all look-ups and contents changes whenever the
 * compiler could see something else.
 */
#ifndef KILN_COMPILE_HEADERS_H
#define KILN_COMPILE_HEADERS_H

#include "base/arena.h"
#include "base/hash.h"
#include "compile/options.h"

struct header_lookup {
    const char *name;    /* as written */
    int quoted;          /* "name", else <name> */
    int found;           /* else absent from every folder */
    const char *path;    /* where found */
    struct hash content; /* where found */
    uint64_t size;
};

struct header_scan {
    struct header_lookup *lookups; /* in the order they were met */
    size_t count;
    size_t cap;
    int opaque;     /* a name made by a macro: cannot be looked up */
    int names_file; /* some text uses __FILE__: paths matter */
    uint64_t bytes; /* of all headers */
};

/* Everything in the arena. A header that cannot be read counts as absent. */
enum kiln_status headers_scan(const struct plan *plan, struct arena *arena,
                              struct header_scan *out, struct kiln_error *err);

#endif
