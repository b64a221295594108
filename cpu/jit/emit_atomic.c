/* SPDX-License-Identifier: MIT
 *
 * atom and red: a loop over the active lanes with one read-modify-write
 * each, in lane order. Where all lanes name one address and nobody reads the
 * old value, the warp is combined first. A block runs on one thread, so
 * accesses named .shared need no lock.
 *
 * f32 sums flush subnormals in global memory and keep them in shared memory
 * (PTX ISA, atom); a generic address is told by where it points. Kernels that
 * run under the processor's flush modes flush them in shared memory too.
 *
 * Every form is acquire and release: on x86 a locked instruction orders
 * everything anyway (PTX ISA 8, memory consistency model).
 */
#include "cpu/jit/async.h"

#include <stdio.h>

struct atomic {
    const struct ptx_insn *p;
    enum ptx_type type;
    unsigned bits;
    int shared;
    int is_float;
    int wants_old;
    int tells; /* f32 sum at a generic address: flushed by what it is */
    LLVMTypeRef element;
};

static int is_signed(const struct atomic *a)
{
    return ptx_type_class(a->type) == PTX_CLASS_SINT;
}

static LLVMIntPredicate less(const struct atomic *a)
{
    return is_signed(a) ? LLVMIntSLT : LLVMIntULT;
}

/* old OP x as the instruction of that name has it, of one lane. */
static LLVMValueRef arithmetic(struct emit *e, const struct atomic *a,
                               LLVMValueRef old, LLVMValueRef x, int flush)
{
    const LLVMValueRef src[] = {old, x};
    struct ptx_insn p = {.op = a->p->sub == PTX_SUB_MIN   ? PTX_OP_MIN
                               : a->p->sub == PTX_SUB_MAX ? PTX_OP_MAX
                                                          : PTX_OP_ADD,
                         .type_count = 1,
                         .types = {a->type},
                         .operand_count = 3,
                         .dst_count = 1,
                         .vec = 1,
                         .guard = -1,
                         .line = a->p->line,
                         .text = a->p->text};
    LLVMValueRef out = x;
    unsigned lanes = e->l.lanes;

    if (flush)
        p.mods[PTX_MOD_FTZ / 64] |= UINT64_C(1) << (PTX_MOD_FTZ % 64);
    e->l.lanes = 0;
    if (!e->status)
        e->status = lower_insn(&e->l, &p, src, &a->bits, &out, e->err);
    e->l.lanes = lanes;
    return out;
}

/* The new value by ordinary instructions, for .shared and for combining. */
static LLVMValueRef combine(struct emit *e, const struct atomic *a,
                            LLVMValueRef old, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef t, zero = emit_const(e, a->bits, 0);
    LLVMValueRef one = emit_const(e, a->bits, 1);

    if (a->is_float)
        return arithmetic(e, a, old, x, a->type == PTX_F32 && !a->shared);
    switch (a->p->sub) {
    case PTX_SUB_ADD:
        return LLVMBuildAdd(e->l.b, old, x, "");
    case PTX_SUB_AND:
        return LLVMBuildAnd(e->l.b, old, x, "");
    case PTX_SUB_OR:
        return LLVMBuildOr(e->l.b, old, x, "");
    case PTX_SUB_XOR:
        return LLVMBuildXor(e->l.b, old, x, "");
    case PTX_SUB_MIN:
        t = LLVMBuildICmp(e->l.b, less(a), x, old, "");
        return LLVMBuildSelect(e->l.b, t, x, old, "");
    case PTX_SUB_MAX:
        t = LLVMBuildICmp(e->l.b, less(a), old, x, "");
        return LLVMBuildSelect(e->l.b, t, x, old, "");
    case PTX_SUB_INC: /* old >= x ? 0 : old + 1 */
        t = LLVMBuildICmp(e->l.b, LLVMIntUGE, old, x, "");
        return LLVMBuildSelect(e->l.b, t, zero,
                               LLVMBuildAdd(e->l.b, old, one, ""), "");
    case PTX_SUB_DEC: /* old == 0 || old > x ? x : old - 1 */
        t = LLVMBuildOr(e->l.b, LLVMBuildICmp(e->l.b, LLVMIntEQ, old, zero, ""),
                        LLVMBuildICmp(e->l.b, LLVMIntUGT, old, x, ""), "");
        return LLVMBuildSelect(e->l.b, t, x, LLVMBuildSub(e->l.b, old, one, ""),
                               "");
    case PTX_SUB_CAS:
        t = LLVMBuildICmp(e->l.b, LLVMIntEQ, old, x, "");
        return LLVMBuildSelect(e->l.b, t, y, old, "");
    default: /* exch */
        return x;
    }
}

static int rmw_op(const struct atomic *a, LLVMAtomicRMWBinOp *op)
{
    switch (a->p->sub) {
    case PTX_SUB_ADD:
        *op = LLVMAtomicRMWBinOpAdd;
        return 0;
    case PTX_SUB_AND:
        *op = LLVMAtomicRMWBinOpAnd;
        return 0;
    case PTX_SUB_OR:
        *op = LLVMAtomicRMWBinOpOr;
        return 0;
    case PTX_SUB_XOR:
        *op = LLVMAtomicRMWBinOpXor;
        return 0;
    case PTX_SUB_MIN:
        *op = is_signed(a) ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
        return 0;
    case PTX_SUB_MAX:
        *op = is_signed(a) ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
        return 0;
    case PTX_SUB_EXCH:
        *op = LLVMAtomicRMWBinOpXchg;
        return 0;
    case PTX_SUB_INC:
        *op = LLVMAtomicRMWBinOpUIncWrap;
        return 0;
    case PTX_SUB_DEC:
        *op = LLVMAtomicRMWBinOpUDecWrap;
        return 0;
    default:
        return -1;
    }
}

/* Where in shared memory the address is not, f32 sums are flushed. `shared`
 * is where that memory is reserved: 2 GiB from there. */
static LLVMValueRef by_address(struct emit *e, const struct atomic *a,
                               LLVMValueRef p, LLVMValueRef shared,
                               LLVMValueRef old, LLVMValueRef x)
{
    LLVMValueRef at = LLVMBuildPtrToInt(e->l.b, p, e->i64, "");
    LLVMValueRef keeps =
        LLVMBuildICmp(e->l.b, LLVMIntULT, LLVMBuildSub(e->l.b, at, shared, ""),
                      emit_const(e, 64, 1u << 31), "");

    return LLVMBuildSelect(e->l.b, keeps, arithmetic(e, a, old, x, 0),
                           arithmetic(e, a, old, x, 1), "");
}

/* Compare and swap until nobody came in between. */
static LLVMValueRef swapped(struct emit *e, const struct atomic *a,
                            LLVMValueRef p, LLVMValueRef x, LLVMValueRef shared)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b), again;
    LLVMBasicBlockRef done = NULL, from;
    LLVMValueRef first, old, made, seen;

    first = LLVMBuildLoad2(e->l.b, a->element, p, "");
    LLVMSetAlignment(first, a->bits / 8);
    LLVMSetVolatile(first, 1);
    again = emit_new_bb(e, "again");
    LLVMBuildBr(e->l.b, again);
    LLVMPositionBuilderAtEnd(e->l.b, again);
    old = LLVMBuildPhi(e->l.b, a->element, "");
    LLVMAddIncoming(old, &first, &before, 1);
    made = a->tells ? by_address(e, a, p, shared, old, x)
                    : combine(e, a, old, x, x);
    seen = LLVMBuildAtomicCmpXchg(e->l.b, p, old, made,
                                  LLVMAtomicOrderingAcquireRelease,
                                  LLVMAtomicOrderingAcquire, 0);
    first = LLVMBuildExtractValue(e->l.b, seen, 0, "");
    from = LLVMGetInsertBlock(e->l.b);
    LLVMAddIncoming(old, &first, &from, 1);
    done = emit_new_bb(e, "swapped");
    LLVMBuildCondBr(e->l.b, LLVMBuildExtractValue(e->l.b, seen, 1, ""), done,
                    again);
    LLVMPositionBuilderAtEnd(e->l.b, done);
    return old;
}

/* One read-modify-write; the old value. */
static LLVMValueRef one(struct emit *e, const struct atomic *a, LLVMValueRef p,
                        LLVMValueRef x, LLVMValueRef y, LLVMValueRef shared)
{
    LLVMAtomicOrdering order = LLVMAtomicOrderingAcquireRelease;
    LLVMAtomicRMWBinOp op;
    LLVMValueRef old;

    if (a->shared) {
        old = LLVMBuildLoad2(e->l.b, a->element, p, "");
        LLVMSetAlignment(old, a->bits / 8);
        LLVMSetAlignment(LLVMBuildStore(e->l.b, combine(e, a, old, x, y), p),
                         a->bits / 8);
        return old;
    }
    if (a->p->sub == PTX_SUB_CAS) {
        old = LLVMBuildAtomicCmpXchg(e->l.b, p, x, y, order,
                                     LLVMAtomicOrderingAcquire, 0);
        return LLVMBuildExtractValue(e->l.b, old, 0, "");
    }
    if (a->is_float)
        return swapped(e, a, p, x, shared);
    rmw_op(a, &op);
    return LLVMBuildAtomicRMW(e->l.b, op, p, x, order, 0);
}

static LLVMValueRef helper(struct emit *e, const struct atomic *a,
                           LLVMTypeRef *type)
{
    LLVMTypeRef v = emit_vec(e, a->element);
    LLVMTypeRef args[5] = {emit_vec(e, e->ptr), v, v, e->mask_type, e->i64};
    struct emit_lanes l;
    LLVMValueRef fn, old;
    char name[64];
    int fresh;

    *type = LLVMFunctionType(v, args, 5, 0);
    /* What the processor flushes is not flushed by code. */
    snprintf(name, sizeof name, "kiln.atom.%d.%s%s%s", (int)a->p->sub,
             ptx_type_text(a->type),
             a->shared  ? ".shared"
             : a->tells ? ".generic"
                        : "",
             a->is_float && e->l.flush ? ".flush" : "");
    fn = emit_helper(e, name, *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 3), v);
    for (unsigned i = 0; i < 3; i++)
        emit_lanes_in(e, &l, i, LLVMGetParam(fn, i));
    emit_lanes_open(e, &l);
    old = one(e, a, emit_lanes_get(e, &l, 0), emit_lanes_get(e, &l, 1),
              emit_lanes_get(e, &l, 2), LLVMGetParam(fn, 4));
    emit_lanes_close(e, &l, old);
    return fn;
}

/* --- one operation for the whole warp --- */

static int can_combine(const struct atomic *a)
{
    switch (a->p->sub) {
    case PTX_SUB_ADD:
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR:
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        return !a->is_float && !a->wants_old;
    default:
        return 0;
    }
}

static uint64_t identity(const struct atomic *a)
{
    uint64_t top = 1ull << (a->bits - 1);

    switch (a->p->sub) {
    case PTX_SUB_AND:
        return UINT64_MAX;
    case PTX_SUB_MIN:
        return is_signed(a) ? top - 1 : UINT64_MAX;
    case PTX_SUB_MAX:
        return is_signed(a) ? top : 0;
    default:
        return 0;
    }
}

static const char *reduction(const struct atomic *a)
{
    switch (a->p->sub) {
    case PTX_SUB_AND:
        return "llvm.vector.reduce.and";
    case PTX_SUB_OR:
        return "llvm.vector.reduce.or";
    case PTX_SUB_XOR:
        return "llvm.vector.reduce.xor";
    case PTX_SUB_MIN:
        return is_signed(a) ? "llvm.vector.reduce.smin"
                            : "llvm.vector.reduce.umin";
    case PTX_SUB_MAX:
        return is_signed(a) ? "llvm.vector.reduce.smax"
                            : "llvm.vector.reduce.umax";
    default:
        return "llvm.vector.reduce.add";
    }
}

static void combined(struct emit *e, const struct atomic *a,
                     const struct graph_insn *insn, int k, LLVMValueRef p)
{
    LLVMTypeRef v = emit_vec(e, a->element), types[] = {v};
    LLVMValueRef none = emit_const(e, a->bits, identity(a)), all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef x = emit_operand_vector(e, insn, k, c, a->bits);

        x = LLVMBuildSelect(e->l.b, e->mask[c], x, emit_splat(e, none), "");
        all = all ? combine(e, a, all, x, x) : x;
    }
    all = lower_intrinsic(&e->l, reduction(a), types, 1, &all, 1);
    one(e, a, p, all, all, NULL);
}

/* --- the instruction --- */

static int can_do(const struct atomic *a)
{
    const enum ptx_sub sub = a->p->sub;
    LLVMAtomicRMWBinOp op;

    if (a->p->type_count != 1 || a->bits < 16)
        return 0;
    if (a->is_float)
        return sub == PTX_SUB_ADD || sub == PTX_SUB_MIN || sub == PTX_SUB_MAX;
    return sub == PTX_SUB_CAS || !rmw_op(a, &op);
}

static struct atomic describe(struct emit *e, const struct ptx_insn *p)
{
    struct atomic a = {.p = p,
                       .type = p->types[0],
                       .bits = ptx_type_bits(p->types[0]),
                       .shared = p->space == PTX_SPACE_SHARED};
    enum ptx_type_class cls = ptx_type_class(a.type);

    a.is_float = cls == PTX_CLASS_FLOAT || cls == PTX_CLASS_PACKED;
    a.tells = a.type == PTX_F32 && p->space == PTX_SPACE_GENERIC;
    a.element = LLVMIntTypeInContext(e->l.ctx, a.bits);
    return a;
}

void atomic_one(struct emit *e, const struct ptx_insn *p, LLVMValueRef to,
                LLVMValueRef x)
{
    const struct atomic a = describe(e, p);

    one(e, &a, to, x, x, NULL);
}

/* Element j of a vector, or all there is. */
static void each_lane(struct emit *e, const struct atomic *a,
                      const struct graph_insn *insn,
                      const struct emit_address *at, int j)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count;
    int value = k ? emit_dst(insn, 0, j) : GRAPH_NONE;
    LLVMValueRef made[EMIT_MAX_CHUNKS], shared;
    LLVMTypeRef type;
    LLVMValueRef fn = helper(e, a, &type);

    emit_note_line(e);
    shared = LLVMBuildPtrToInt(e->l.b, e->shared, e->i64, "");
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef x = emit_element_vector(e, insn, k + 1, j, c, a->bits);
        LLVMValueRef y = p->sub == PTX_SUB_CAS
                             ? emit_operand_vector(e, insn, k + 2, c, a->bits)
                             : LLVMConstNull(LLVMTypeOf(x));
        LLVMValueRef ptr = emit_address_vector(e, at, c);
        LLVMValueRef off = emit_const(e, 64, (uint64_t)j * a->bits / 8);

        if (j)
            ptr = LLVMBuildGEP2(e->l.b, e->i8, ptr, &off, 1, "");
        made[c] = LLVMBuildCall2(
            e->l.b, type, fn, (LLVMValueRef[]){ptr, x, y, e->mask[c], shared},
            5, "");
    }
    if (value != GRAPH_NONE && e->g->values[value].used)
        emit_define_vectors(e, value, made);
}

void emit_atomic(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count, value = p->dst_count ? insn->val[0] : GRAPH_NONE;
    struct emit_address at;
    struct atomic a = describe(e, p);

    a.wants_old = value != GRAPH_NONE && e->g->values[value].used;
    if (!can_do(&a)) {
        emit_refuse(e, p, NULL);
        return;
    }
    emit_address(e, insn, k, &at);
    if (p->vec <= 1 && at.shape.kind == SHAPE_UNIFORM && can_combine(&a)) {
        combined(e, &a, insn, k + 1, at.ptr[0]);
        return;
    }
    for (int j = 0; j < (p->vec > 1 ? p->vec : 1); j++)
        each_lane(e, &a, insn, &at, j);
}
