/* SPDX-License-Identifier: MIT
 *
 * PTX text to an analysed graph, for the tests of the passes.
 */
#ifndef KILN_TESTS_UNIT_JIT_KERNEL_H
#define KILN_TESTS_UNIT_JIT_KERNEL_H

#include "cpu/jit/graph.h"

struct kernel {
    struct arena arena;
    struct graph graph;
    struct kiln_error err;
    enum kiln_status status;
};

/* A kernel k(p, q, n) around the body, with registers %p, %r, %rd, %f. */
void kernel_init(struct kernel *k, const char *body, int rows);
void kernel_fini(struct kernel *k);
/* The block that starts at the body's n-th line, counted from 1. */
int kernel_block(const struct kernel *k, unsigned line);
/* The value that the last instruction of that line makes. */
const struct graph_value *kernel_value(const struct kernel *k, unsigned line);

#endif
