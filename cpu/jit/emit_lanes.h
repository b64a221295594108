/* SPDX-License-Identifier: MIT
 *
 * Masked vector memory access, and loops over the lanes of a mask for what
 * has no vector instruction. The loops stand in helper functions of the
 * module, so that a kernel does not grow by one for each access.
 */
#ifndef KILN_CPU_JIT_EMIT_LANES_H
#define KILN_CPU_JIT_EMIT_LANES_H

#include "cpu/jit/emit.h"

LLVMValueRef emit_masked_load(struct emit *e, LLVMTypeRef vector,
                              LLVMValueRef p, LLVMValueRef mask,
                              unsigned alignment);
void emit_masked_store(struct emit *e, LLVMValueRef v, LLVMValueRef p,
                       LLVMValueRef mask, unsigned alignment);
LLVMValueRef emit_gather(struct emit *e, LLVMTypeRef vector, LLVMValueRef ptrs,
                         LLVMValueRef mask, unsigned alignment);
void emit_scatter(struct emit *e, LLVMValueRef v, LLVMValueRef ptrs,
                  LLVMValueRef mask, unsigned alignment);

/* A helper function being written, with a loop over its lanes: begin, then
 * for each vector argument `in`, `open`; in the loop `get` gives the lane's
 * element; `close` stores the lane's result and leaves the loop. */
struct emit_lanes {
    LLVMValueRef fn;
    LLVMBuilderRef saved;
    LLVMValueRef saved_fn;
    LLVMValueRef in[4], out;
    LLVMTypeRef in_type[4], out_type;
    LLVMValueRef bits, lane;
    LLVMBasicBlockRef head, exit;
};

void emit_lanes_begin(struct emit *e, struct emit_lanes *l, LLVMValueRef fn,
                      LLVMValueRef mask, LLVMTypeRef out_vector);
void emit_lanes_in(struct emit *e, struct emit_lanes *l, unsigned i,
                   LLVMValueRef vector);
void emit_lanes_open(struct emit *e, struct emit_lanes *l);
LLVMValueRef emit_lanes_get(struct emit *e, struct emit_lanes *l, unsigned i);
/* result: this lane's element, or NULL where the helper returns nothing.
 * Ends the helper with its return. */
void emit_lanes_close(struct emit *e, struct emit_lanes *l,
                      LLVMValueRef result);

#endif
