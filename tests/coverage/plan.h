/* SPDX-License-Identifier: MIT
 *
 * From the PTX of a kernel to a launch of it: what ptx_coverage --pack does.
 */
#ifndef KILN_TESTS_COVERAGE_PLAN_H
#define KILN_TESTS_COVERAGE_PLAN_H

#include "coverage.h"
#include "pack.h"

/* plan.c: what the parameters of `kernel` are. `flat` is its body with calls
 * in place. 0, or -1 when there is no launching it. */
int plan_make(struct plan *p, const struct ptx_func *kernel,
              const struct ptx_func *flat, struct arena *arena);

/* kinds.c: what each register holds, by what is done with it: a FILL_F... or
 * FILL_I..., FILL_NONE where nothing tells. */
struct kinds {
    uint32_t *up;    /* registers that hold the same */
    uint8_t *floats; /* of the first of them: FILL_F16 ... or FILL_NONE */
    uint8_t *ints;
    enum fill usual;      /* the kernel's most frequent floating-point type */
    uint32_t floats_used; /* all of them: 1 << FILL_F16 ... */
};
int kinds_find(struct kinds *k, const struct ptx_func *f, struct arena *arena);
/* What memory holds that `reg` was read from, `bits` at a time. */
enum fill kinds_of(const struct kinds *k, uint32_t reg, unsigned bits);
int kinds_is_float(const struct kinds *k, uint32_t reg);

/* alone.c: the module with one kernel and what it needs, as text. `target`:
 * the newest .target to print. */
void alone_print(const struct ptx_module *m, const struct ptx_func *kernel,
                 uint32_t target, struct buffer *out, struct arena *arena);

/* choose.c: up to `each` kernels of each file, by their digests, written to
 * `path`. 0 or -1. */
int choose_kernels(struct sources *s, unsigned each, uint32_t target,
                   const char *path);

#endif
