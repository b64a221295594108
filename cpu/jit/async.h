/* SPDX-License-Identifier: MIT
 *
 * Asynchronous copies and the barriers in memory that tell of them. A copy is
 * made where it is asked for, as the ISA allows: groups and waits for them
 * have nothing left to do.
 */
#ifndef KILN_CPU_JIT_ASYNC_H
#define KILN_CPU_JIT_ASYNC_H

#include "cpu/jit/emit_lanes.h"

/* cp.async.bulk in all its forms (bulk.c). */
void async_bulk(struct emit *e, const struct graph_insn *insn);
/* Whether a cp.async that is not in bulk says how much of its source it takes;
 * and how many bytes that is for each lane of chunk c. */
int async_is_part(const struct ptx_insn *p);
LLVMValueRef async_source_bytes(struct emit *e, const struct graph_insn *insn,
                                unsigned bytes, unsigned c);
/* cp.async.bulk.tensor and cp.reduce.async.bulk.tensor (tensor.c). */
void async_tensor(struct emit *e, const struct graph_insn *insn);
/* As many bytes fewer are expected by the barrier of operand k. */
void async_complete_bytes(struct emit *e, const struct graph_insn *insn, int k,
                          const LLVMValueRef *bytes);
/* st.bulk: zeros (bulk.c). */
void store_bulk(struct emit *e, const struct graph_insn *insn);
/* st.async and red.async: what follows the access itself. */
void async_complete(struct emit *e, const struct graph_insn *insn, int k,
                    unsigned bytes);

/* As atom does it, the operation and type those of p: *to and x (bits of an
 * integer) to *to (emit_atomic.c). */
void atomic_one(struct emit *e, const struct ptx_insn *p, LLVMValueRef to,
                LLVMValueRef x);

/* What happens to a barrier, by each active lane in turn: `tx` bytes more are
 * expected (or fewer), `count` threads arrive, and as many leave for good
 * where is_drop. Operand k names it. old: the states before, or NULL. */
struct mbarrier_step {
    const LLVMValueRef *count, *tx; /* <lanes x i32> a chunk; NULL: none */
    int is_drop;
};
void mbarrier_step(struct emit *e, const struct graph_insn *insn, int k,
                   enum ptx_space space, const struct mbarrier_step *s,
                   LLVMValueRef *old);

#endif
