/* SPDX-License-Identifier: MIT
 *
 * Special registers (PTX ISA 10). Thread indices come from the launch's
 * tables; a cluster is one block. Counters of performance, which the ISA leaves
 * open, stand still.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/emit.h"

static LLVMValueRef first_thread(struct emit *e, unsigned c)
{
    return LLVMBuildAdd(e->l.b, e->zero_warp, emit_const(e, 32, c * e->lanes),
                        "");
}

static LLVMValueRef tid_ptr(struct emit *e, unsigned d, unsigned c)
{
    LLVMValueRef at = LLVMBuildZExt(e->l.b, first_thread(e, c), e->i64, "");

    return LLVMBuildGEP2(e->l.b, e->i32, e->tid[d], &at, 1, "");
}

static LLVMValueRef lanes_of(struct emit *e, unsigned c)
{
    return LLVMBuildAdd(e->l.b, e->iota32,
                        emit_splat(e, emit_const(e, 32, c * e->lanes)), "");
}

static LLVMValueRef lane_mask(struct emit *e, enum ptx_sreg sreg, unsigned c)
{
    LLVMBuilderRef b = e->l.b;
    LLVMValueRef one = emit_splat(e, emit_const(e, 32, 1));
    LLVMValueRef eq = LLVMBuildShl(b, one, lanes_of(e, c), "");
    LLVMValueRef lt = LLVMBuildSub(b, eq, one, "");

    switch (sreg) {
    case PTX_SREG_LANEMASK_EQ:
        return eq;
    case PTX_SREG_LANEMASK_LT:
        return lt;
    case PTX_SREG_LANEMASK_LE:
        return LLVMBuildOr(b, lt, eq, "");
    case PTX_SREG_LANEMASK_GE:
        return LLVMBuildNot(b, lt, "");
    default:
        return LLVMBuildNot(b, LLVMBuildOr(b, lt, eq, ""), "");
    }
}

LLVMValueRef emit_sreg_vector(struct emit *e, const struct ptx_operand *o,
                              unsigned c, int line)
{
    LLVMValueRef v;

    switch (o->sreg) {
    case PTX_SREG_TID:
        if (o->dim > 2)
            break;
        v = LLVMBuildLoad2(e->l.b, emit_vec(e, e->i32), tid_ptr(e, o->dim, c),
                           "");
        LLVMSetAlignment(v, 4);
        return v;
    case PTX_SREG_LANEID:
        return lanes_of(e, c);
    case PTX_SREG_LANEMASK_EQ:
    case PTX_SREG_LANEMASK_LT:
    case PTX_SREG_LANEMASK_LE:
    case PTX_SREG_LANEMASK_GT:
    case PTX_SREG_LANEMASK_GE:
        return lane_mask(e, o->sreg, c);
    default:
        break;
    }
    return emit_splat(e, emit_sreg_base(e, o, c, line));
}

static LLVMValueRef cycles(struct emit *e)
{
    return lower_intrinsic(&e->l, "llvm.readcyclecounter", NULL, 0, NULL, 0);
}

static LLVMValueRef high_half(struct emit *e, LLVMValueRef v)
{
    v = LLVMBuildLShr(e->l.b, v, emit_const(e, 64, 32), "");
    return LLVMBuildTrunc(e->l.b, v, e->i32, "");
}

static LLVMValueRef nanoseconds(struct emit *e)
{
    return emit_call_engine(e, offsetof(struct abi_block, clock), e->i64, NULL,
                            NULL, 0);
}

static void unknown(struct emit *e, const struct ptx_operand *o, int line)
{
    if (!e->status)
        e->status = kiln_fail(e->err, KILN_E_NOT_SUPPORTED,
                              "line %d: mov: the CPU device has no special "
                              "register of %s",
                              line, o->dim > 2 ? "four elements" : "this name");
}

LLVMValueRef emit_sreg_base(struct emit *e, const struct ptx_operand *o,
                            unsigned c, int line)
{
    LLVMValueRef at, v;
    unsigned d = o->dim;

    if (d > 2 && o->sreg != PTX_SREG_ENVREG && o->sreg != PTX_SREG_PM &&
        o->sreg != PTX_SREG_PM_64) {
        unknown(e, o, line);
        return emit_const(e, 32, 0);
    }
    switch (o->sreg) {
    case PTX_SREG_TID:
        return LLVMBuildLoad2(e->l.b, e->i32, tid_ptr(e, d, c), "");
    case PTX_SREG_NTID:
        return e->ntid[d];
    case PTX_SREG_CTAID:
    case PTX_SREG_CLUSTERID:
        return e->ctaid[d];
    case PTX_SREG_NCTAID:
    case PTX_SREG_NCLUSTERID:
        return e->nctaid[d];
    case PTX_SREG_LANEID:
        return emit_const(e, 32, c * e->lanes);
    case PTX_SREG_WARPID:
        return e->warp;
    case PTX_SREG_NWARPID:
        return emit_field(e, e->launch, 68, e->i32);
    case PTX_SREG_SMID:
        return emit_field(e, e->block, 20, e->i32);
    case PTX_SREG_NSMID:
        return emit_field(e, e->launch, offsetof(struct abi_launch, workers),
                          e->i32);
    case PTX_SREG_GRIDID:
        return emit_field(e, e->launch, 80, e->i64);
    case PTX_SREG_GLOBALTIMER:
        return nanoseconds(e);
    case PTX_SREG_GLOBALTIMER_LO:
        return LLVMBuildTrunc(e->l.b, nanoseconds(e), e->i32, "");
    case PTX_SREG_GLOBALTIMER_HI:
        return high_half(e, nanoseconds(e));
    case PTX_SREG_CLOCK64:
        return cycles(e);
    case PTX_SREG_CLOCK:
        return LLVMBuildTrunc(e->l.b, cycles(e), e->i32, "");
    case PTX_SREG_CLOCK_HI:
        return high_half(e, cycles(e));
    case PTX_SREG_DYNAMIC_SMEM_SIZE:
        return emit_field(e, e->launch, 76, e->i32);
    case PTX_SREG_TOTAL_SMEM_SIZE:
    case PTX_SREG_AGGR_SMEM_SIZE:
        v = emit_field(e, e->launch, 72, e->i32);
        return LLVMBuildAdd(e->l.b, v, emit_field(e, e->launch, 76, e->i32),
                            "");
    case PTX_SREG_ENVREG:
        at = emit_field(e, e->launch, 88, e->ptr);
        return emit_field(e, at, d * 4, e->i32);
    case PTX_SREG_CLUSTER_CTAID:
    case PTX_SREG_CLUSTER_CTARANK:
        return emit_const(e, 32, 0);
    case PTX_SREG_CLUSTER_NCTAID:
    case PTX_SREG_CLUSTER_NCTARANK:
        return emit_const(e, 32, 1);
    case PTX_SREG_IS_EXPLICIT_CLUSTER:
        return emit_const(e, 1, 0);
    case PTX_SREG_PM:
        return emit_const(e, 32, 0);
    case PTX_SREG_PM_64:
    case PTX_SREG_CURRENT_GRAPH_EXEC:
        return emit_const(e, 64, 0);
    case PTX_SREG_RESERVED_SMEM_BEGIN:
    case PTX_SREG_RESERVED_SMEM_0:
    case PTX_SREG_RESERVED_SMEM_1:
        return emit_const(e, 32, e->layout->reserved);
    case PTX_SREG_RESERVED_SMEM_END:
        return emit_const(e, 32, e->layout->reserved + LAYOUT_RESERVED_USED);
    case PTX_SREG_RESERVED_SMEM_CAP:
        return emit_const(e, 32, e->layout->reserved + LAYOUT_RESERVED);
    default:
        unknown(e, o, line);
        return emit_const(e, 32, 0);
    }
}
