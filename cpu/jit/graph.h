/* SPDX-License-Identifier: MIT
 *
 * A kernel between PTX and LLVM: blocks in an order in which every loop is
 * contiguous, values in SSA form, each with the shape it has across the
 * lanes of a warp, and each edge marked by whether control follows it at
 * once or the lanes on it wait.
 *
 * The passes, in order, each in the file of its name: graph (blocks),
 * loops (preheaders, latches, the linear order), ssa, waits, shape, schedule,
 * alike. Where lanes may wait for lanes of their own warp the graph is
 * changed and analysed again (escape).
 */
#ifndef KILN_CPU_JIT_GRAPH_H
#define KILN_CPU_JIT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "cpu/ptx/ptx.h"

enum { GRAPH_NONE = -1 };

/* How a value varies over the lanes of one warp. STRIDED with stride 0 is a
 * value that is the same within each chunk but not over the warp. */
enum shape_kind {
    SHAPE_BOTTOM,  /* not known yet */
    SHAPE_UNIFORM, /* one scalar */
    SHAPE_STRIDED, /* a scalar a chunk, plus lane * stride */
    SHAPE_VARYING  /* a vector a chunk */
};

struct graph_value {
    unsigned bits; /* 1, 16, 32, 64, 128 */
    int block;     /* that defines it */
    int insn;      /* index in the block, or GRAPH_NONE: phi or undefined */
    int phi;       /* index in the block's phis, or GRAPH_NONE */
    enum shape_kind kind_of_shape;
    int64_t stride;
    uint64_t umax; /* known largest unsigned value, UINT64_MAX: not known */
    uint8_t address_only; /* used for nothing but addresses */
    uint8_t used;
    uint8_t escapes;  /* used in another block than its own */
    uint8_t outlives; /* used outside a divergent loop that defines it */
};

struct graph_phi {
    int value;
    int reg;
    int *in; /* a value for each predecessor of the block */
};

enum graph_insn_kind {
    GRAPH_INSN_PTX,
    GRAPH_INSN_SELECT, /* value = guard ? val[1] : val[2] */
    GRAPH_INSN_RESULT  /* what the barrier before gave its warp */
};

/* Tests of addresses (align.h). */
struct graph_test;
struct graph_tests {
    const struct graph_test *list;
    int count;
};

/* Values of an instruction's register operands, by operand; elements of
 * vector operands in vec. Sources: the value read; destinations: the value
 * made. GRAPH_NONE where the operand is no register. */
struct graph_insn {
    enum graph_insn_kind kind;
    const struct ptx_insn *ptx;
    int val[PTX_MAX_OPERANDS];
    int *vec[PTX_MAX_OPERANDS];
    int guard;  /* SELECT: the predicate's value */
    int negate; /* SELECT: take val[1] where the guard is false */
    int cc_use; /* value of the carry flag read, made */
    int cc_def;
    struct graph_tests tests; /* before the access */
};

enum graph_term {
    GRAPH_JUMP,
    GRAPH_BRANCH,
    GRAPH_RET,
    GRAPH_DETOUR /* goes to succ[0]; succ[1] is never taken, and makes what
                  * leads here part of a loop (escape.c) */
};

struct graph_edge {
    int from, to;
    int pred_index;   /* which predecessor of `to` this is */
    uint8_t deferred; /* the lanes wait at `to`; control goes to next */
};

struct graph_block {
    enum graph_term term;
    int guard_reg; /* BRANCH: PTX register; then its value */
    int guard;
    int negate;
    /* BRANCH: succ[0] where the guard holds, succ[1] otherwise. */
    struct graph_edge succ[2];
    int succ_count;
    int *pred;      /* block of each predecessor */
    int *pred_edge; /* which successor of it */
    int pred_count;
    struct graph_insn *insns;
    int insn_count;
    size_t insn_cap;
    struct graph_phi *phis;
    int phi_count;
    size_t phi_cap;
    int idom;
    int rpo;
    int loop; /* innermost, or GRAPH_NONE */
    int pos;  /* in the linear order */
    uint8_t reached;
    uint8_t divergent; /* ends in a branch that may split a warp */
    uint8_t mixing;    /* lanes may arrive over several edges */
    uint8_t pending;   /* has a deferred edge in */
    uint8_t waits;     /* ends at a barrier: its successor starts after it */
    int alike; /* a block that runs with the same lanes, the same one for all
                * of them, before them in order; or itself */
    int next;  /* first block in order where lanes may wait when this one is
                * left, or GRAPH_NONE */
    int skip;  /* the same when no lane waited here and it was passed over */
    struct graph_tests first, last; /* at its start, at its end */
    unsigned line;
};

/* Whether a loop may go on until somebody else writes to memory. */
enum graph_waits {
    GRAPH_WAITS_NOT,
    GRAPH_WAITS_BRIEFLY, /* each round gets somebody on: compare and swap of
                          * what was read */
    GRAPH_WAITS_FOR_OTHERS
};

struct graph_loop {
    int header, latch;
    int parent;
    int first_pos, last_pos;
    uint8_t divergent; /* lanes may leave it at different iterations */
    uint8_t waits;     /* enum graph_waits */
};

struct graph {
    struct arena *arena;
    const struct ptx_module *module;
    const struct ptx_func *func;
    struct graph_block *blocks;
    int block_count;
    size_t block_cap;
    struct graph_loop *loops;
    int loop_count;
    size_t loop_cap;
    int *order; /* blocks by position */
    int order_count;
    struct graph_value *values;
    int value_count;
    size_t value_cap;
    int rows;  /* OBJECT_SHAPE_ROWS: tid.x contiguous in a chunk */
    int lanes; /* of a chunk */
    int has_barrier;
    int has_yield; /* a loop waits, or the kernel sleeps */
};

/* All passes in their order. */
enum kiln_status graph_analyse(struct graph *g, struct kiln_error *err);

/* Each pass: KILN_OK, E_MEMORY, or E_NOT_SUPPORTED with the line. */
enum kiln_status graph_build(struct graph *g, struct kiln_error *err);
enum kiln_status graph_loops(struct graph *g, struct kiln_error *err);
enum kiln_status graph_ssa(struct graph *g, struct kiln_error *err);
enum kiln_status graph_waits(struct graph *g, struct kiln_error *err);
enum kiln_status graph_shape(struct graph *g, struct kiln_error *err);
enum kiln_status graph_schedule(struct graph *g, struct kiln_error *err);
enum kiln_status graph_alike(struct graph *g, struct kiln_error *err);

/* For the passes: preds, reachability, RPO and immediate dominators anew. */
enum kiln_status graph_order(struct graph *g, struct kiln_error *err);
int graph_new_block(struct graph *g);
int graph_add_insn(struct graph *g, int block, const struct ptx_insn *insn);
int graph_dominates(const struct graph *g, int a, int b);
int graph_in_loop(const struct graph *g, int block, int loop);

/* The shape that a use of the value in `block` sees: outside a divergent loop
 * that defines it, every lane has the value of its own last iteration. */
struct graph_shape {
    enum shape_kind kind;
    int64_t stride;
};
struct graph_shape graph_shape_at(const struct graph *g, int value, int block);
int graph_outlives(const struct graph *g, int value, int block);
/* The shape of operand k (an address by its register). */
struct graph_shape graph_operand_shape(const struct graph *g,
                                       const struct graph_insn *insn, int k,
                                       int block);

/* First position from which lanes may wait at a deferred edge's target. */
int graph_interval_start(const struct graph *g, const struct graph_edge *e);

/* Whether an instruction has no effect but its result, so that a guard on it
 * is a choice between two values. */
int graph_is_pure(const struct ptx_insn *insn);

#endif
