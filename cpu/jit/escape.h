/* SPDX-License-Identifier: MIT
 *
 * Lanes that wait in a loop for other lanes of their warp, and the change of
 * the graph that lets those go on meanwhile: escape.c finds where it is
 * needed, escape_apply.c makes it.
 */
#ifndef KILN_CPU_JIT_ESCAPE_H
#define KILN_CPU_JIT_ESCAPE_H

#include "cpu/jit/graph.h"

/* Waiting loops that become one. Blocks by their number in a fresh graph. */
struct escape_group {
    int start;       /* header of the first, or a block before all of them */
    int is_before;   /* the latter: the new loop starts at its end */
    int loop_header; /* of the loop around all this, or GRAPH_NONE */
    int *headers;    /* of the loops that become one */
    int header_count;
    size_t header_cap;
};

struct escape_plan {
    struct escape_group *groups;
    int count;
    size_t cap;
    /* by group, by block of a fresh graph: is it in the loop around? */
    uint8_t **inside;
    int block_count; /* of a fresh graph */
};

/* Whether lanes of a warp meet at the instruction: all that its mask names
 * come to it. */
int escape_is_meeting(const struct ptx_insn *insn);
/* The first such instruction of the block, or how many it has. */
int escape_meeting_at(const struct graph_block *b);

/* g: fully analysed, fresh_count: blocks that graph_build gave it. */
enum kiln_status escape_find(const struct graph *g, int fresh_count,
                             struct escape_plan *plan, struct kiln_error *err);
/* g: fresh from graph_build. */
enum kiln_status escape_apply(struct graph *g, const struct escape_plan *plan,
                              struct kiln_error *err);

#endif
