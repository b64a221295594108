/* SPDX-License-Identifier: MIT
 *
 * x86 intrinsics exist for 512-bit vectors only; a value may be a scalar, a
 * shorter vector or a longer one. Widen, cut and join here, so that a lowering
 * is written once.
 */
#include "cpu/jit/lower_impl.h"

#include <assert.h>

enum { MAX_PER = 16, MAX_JOIN = 128 };

static LLVMValueRef index_vector(struct lower *l, const int *at, unsigned n)
{
    LLVMValueRef lanes[MAX_JOIN];
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    assert(n <= MAX_JOIN);
    for (unsigned i = 0; i < n; i++)
        lanes[i] = at[i] < 0 ? LLVMGetPoison(i32)
                             : LLVMConstInt(i32, (unsigned)at[i], 0);
    return LLVMConstVector(lanes, n);
}

/* Lanes [from, from + per) of v, zeros past its end. */
static LLVMValueRef cut(struct lower *l, LLVMValueRef v, unsigned from,
                        unsigned per)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    unsigned shape = lower_shape(type);
    LLVMTypeRef wide = LLVMVectorType(lower_element(type), per);
    int at[MAX_PER];
    if (shape == per)
        return v;
    if (!shape)
        return LLVMBuildInsertElement(
            l->b, LLVMConstNull(wide), v,
            LLVMConstInt(LLVMInt32TypeInContext(l->ctx), 0, 0), "");
    for (unsigned i = 0; i < per; i++)
        at[i] = (int)(from + i < shape ? from + i : shape);
    return LLVMBuildShuffleVector(l->b, v, LLVMConstNull(type),
                                  index_vector(l, at, per), "");
}

static LLVMValueRef call(struct lower *l, const struct lower_wide *w,
                         unsigned from)
{
    LLVMValueRef args[8];
    unsigned n = 0;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    for (unsigned i = 0; i < w->arg_count; i++)
        args[n++] = cut(l, w->args[i], from, w->per);
    if (w->imm_first)
        args[n++] = LLVMConstInt(i32, w->imm_before, 0);
    if (w->masked) {
        args[n++] = LLVMConstNull(LLVMVectorType(w->result, w->per));
        args[n++] = LLVMConstAllOnes(LLVMIntTypeInContext(l->ctx, w->per));
    }
    if (w->has_imm)
        args[n++] = LLVMConstInt(i32, w->imm, 0);
    LLVMTypeRef overload[2] = {w->overload[0], w->overload[1]};
    return lower_intrinsic(l, w->name, overload, w->overload_count, args, n);
}

LLVMValueRef lower_wide(struct lower *l, const struct lower_wide *w)
{
    unsigned shape = lower_shape(LLVMTypeOf(w->args[0]));
    int at[MAX_JOIN];
    assert(shape <= MAX_JOIN);
    LLVMValueRef r = call(l, w, 0);
    if (!shape)
        return LLVMBuildExtractElement(
            l->b, r, LLVMConstInt(LLVMInt32TypeInContext(l->ctx), 0, 0), "");
    for (unsigned i = 0; i < shape; i++)
        at[i] = (int)i;
    if (shape < w->per)
        return LLVMBuildShuffleVector(l->b, r, LLVMGetPoison(LLVMTypeOf(r)),
                                      index_vector(l, at, shape), "");
    for (unsigned done = w->per; done < shape; done += w->per) {
        /* Both operands of a shuffle have one type: widen the new part. */
        unsigned total = done + w->per < shape ? done + w->per : shape;
        LLVMValueRef next = call(l, w, done);
        if (done > w->per) {
            int pad[MAX_JOIN];
            for (unsigned i = 0; i < done; i++)
                pad[i] = i < w->per ? (int)i : -1;
            next = LLVMBuildShuffleVector(l->b, next,
                                          LLVMGetPoison(LLVMTypeOf(next)),
                                          index_vector(l, pad, done), "");
        }
        r = LLVMBuildShuffleVector(l->b, r, next, index_vector(l, at, total),
                                   "");
    }
    return r;
}
