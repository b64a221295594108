/* SPDX-License-Identifier: MIT
 *
 * ld and st. By the shape of the address: a scalar access (uniform, or one a
 * chunk), one masked vector access a chunk where lanes are contiguous, wide
 * accesses and a transposition where each lane has a contiguous vector and
 * all lanes are active, else a gather or scatter. Lanes that are not active
 * touch no memory.
 */
#include "cpu/jit/async.h"

#include <stdio.h>

struct access {
    const struct graph_insn *insn;
    unsigned bytes;   /* of an element */
    unsigned count;   /* elements a lane */
    int is_strong;    /* seen by other threads as it stands, each time */
    LLVMTypeRef type; /* of an element in memory */
    struct emit_address address;
};

static int is_strong(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_VOLATILE) || ptx_has(p, PTX_MOD_RELAXED) ||
           ptx_has(p, PTX_MOD_ACQUIRE) || ptx_has(p, PTX_MOD_RELEASE) ||
           ptx_has(p, PTX_MOD_MMIO);
}

static void keep_order(struct emit *e, const struct access *a)
{
    if (a->is_strong)
        emit_keep_order(e);
}

static int open_access(struct emit *e, struct access *a,
                       const struct graph_insn *insn, int k)
{
    const struct ptx_insn *p = insn->ptx;
    /* st.bulk has no type. */
    const unsigned bits = p->type_count == 1 ? ptx_type_bits(p->types[0]) : 0;
    const unsigned count = p->vec ? p->vec : 1;

    if (bits < 8 || bits > 64 || count > EMIT_MAX_ELEMENTS) {
        emit_refuse(e, p, NULL);
        return -1;
    }
    *a = (struct access){.insn = insn,
                         .bytes = bits / 8,
                         .count = count,
                         .is_strong = is_strong(p),
                         .type = LLVMIntTypeInContext(e->l.ctx, bits)};
    if (p->operands[k].kind == PTX_OPERAND_ADDR_VAR && p->operands[k].var &&
        layout_offset(e->layout, p->operands[k].var) == UINT64_MAX) {
        emit_refuse(e, p, "a variable without a place");
        return -1;
    }
    emit_address(e, insn, k, &a->address);
    return 0;
}

static LLVMValueRef element_ptr(struct emit *e, const struct access *a,
                                LLVMValueRef p, unsigned j)
{
    LLVMValueRef at = emit_const(e, 64, (uint64_t)j * a->bytes);

    return j ? LLVMBuildGEP2(e->l.b, e->i8, p, &at, 1, "") : p;
}

/* From the memory type to the width of the register: sN types extend their
 * sign, others zeros (PTX ISA 9.4.1). */
static LLVMValueRef widen(struct emit *e, const struct access *a,
                          LLVMValueRef v, int value)
{
    unsigned bits = e->g->values[value].bits;
    LLVMTypeRef type = LLVMIntTypeInContext(e->l.ctx, bits);
    const struct ptx_insn *p = a->insn->ptx;

    if (bits <= a->bytes * 8)
        return v;
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind)
        type = emit_vec(e, type);
    return ptx_type_class(p->types[0]) == PTX_CLASS_SINT
               ? LLVMBuildSExt(e->l.b, v, type, "")
               : LLVMBuildZExt(e->l.b, v, type, "");
}

static LLVMValueRef scalar_load(struct emit *e, const struct access *a,
                                LLVMValueRef p, unsigned j)
{
    LLVMValueRef v =
        LLVMBuildLoad2(e->l.b, a->type, element_ptr(e, a, p, j), "");

    LLVMSetAlignment(v, a->bytes);
    LLVMSetVolatile(v, a->is_strong);
    return v;
}

/* One element from scalars, one for the warp or one a chunk. */
static void load_scalars(struct emit *e, const struct access *a, unsigned j,
                         int value)
{
    int uniform = a->address.shape.kind == SHAPE_UNIFORM;
    enum shape_kind want = e->g->values[value].kind_of_shape;
    LLVMValueRef made[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++) {
        if (c && uniform) {
            made[c] = made[0];
            continue;
        }
        made[c] = widen(e, a, scalar_load(e, a, a->address.ptr[c], j), value);
    }
    for (unsigned c = 0; want == SHAPE_VARYING && c < e->chunks; c++)
        made[c] = emit_splat(e, made[c]);
    emit_define(e, value, made);
}

static LLVMValueRef masked_load(struct emit *e, const struct access *a,
                                LLVMValueRef p, LLVMValueRef mask)
{
    LLVMTypeRef type = emit_vec(e, a->type);

    return emit_masked_load(e, type, p, mask, a->bytes);
}

/* --- gathers and scatters --- */

static int hardware_gather(const struct access *a)
{
    return a->bytes >= 4;
}

/* kiln.gather.iN: <lanes x ptr>, <lanes x i1> -> <lanes x iN>, a loop over
 * the lanes of the mask. Scatter takes the values as third. */
static LLVMValueRef lane_helper(struct emit *e, const struct access *a,
                                int is_store, LLVMTypeRef *type)
{
    LLVMTypeRef v = emit_vec(e, a->type), ptrs = emit_vec(e, e->ptr);
    LLVMTypeRef args[3] = {ptrs, e->mask_type, v};
    struct emit_lanes l;
    LLVMValueRef fn, x = NULL;
    char name[48];
    int fresh;

    *type = LLVMFunctionType(is_store ? LLVMVoidTypeInContext(e->l.ctx) : v,
                             args, is_store ? 3 : 2, 0);
    snprintf(name, sizeof name, "kiln.%s.i%u", is_store ? "scatter" : "gather",
             a->bytes * 8);
    fn = emit_helper(e, name, *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 1), is_store ? NULL : v);
    emit_lanes_in(e, &l, 0, LLVMGetParam(fn, 0));
    if (is_store)
        emit_lanes_in(e, &l, 1, LLVMGetParam(fn, 2));
    emit_lanes_open(e, &l);
    if (is_store)
        LLVMBuildStore(e->l.b, emit_lanes_get(e, &l, 1),
                       emit_lanes_get(e, &l, 0));
    else
        x = LLVMBuildLoad2(e->l.b, a->type, emit_lanes_get(e, &l, 0), "");
    emit_lanes_close(e, &l, x);
    return fn;
}

static LLVMValueRef gather(struct emit *e, const struct access *a,
                           LLVMValueRef ptrs, LLVMValueRef mask)
{
    LLVMTypeRef type;
    LLVMValueRef fn;

    if (hardware_gather(a))
        return emit_gather(e, emit_vec(e, a->type), ptrs, mask, a->bytes);
    fn = lane_helper(e, a, 0, &type);
    emit_note_line(e);
    return LLVMBuildCall2(e->l.b, type, fn, (LLVMValueRef[]){ptrs, mask}, 2,
                          "");
}

static void scatter(struct emit *e, const struct access *a, LLVMValueRef v,
                    LLVMValueRef ptrs, LLVMValueRef mask)
{
    LLVMTypeRef type;
    LLVMValueRef fn;

    if (hardware_gather(a)) {
        emit_scatter(e, v, ptrs, mask, a->bytes);
        return;
    }
    fn = lane_helper(e, a, 1, &type);
    emit_note_line(e);
    LLVMBuildCall2(e->l.b, type, fn, (LLVMValueRef[]){ptrs, mask, v}, 3, "");
}

/* --- wide accesses: lane i's vector lies at base + i * count * bytes --- */

static LLVMValueRef pick(struct emit *e, LLVMValueRef wide, unsigned from,
                         unsigned step)
{
    LLVMValueRef index[64];

    for (unsigned i = 0; i < e->lanes; i++)
        index[i] = LLVMConstInt(e->i32, from + i * step, 0);
    return LLVMBuildShuffleVector(e->l.b, wide, LLVMGetPoison(LLVMTypeOf(wide)),
                                  LLVMConstVector(index, e->lanes), "");
}

/* Are all lanes of the warp active? */
static LLVMValueRef all_active(struct emit *e)
{
    LLVMValueRef all = NULL;

    for (unsigned c = 0; c < e->chunks; c++)
        all = all ? LLVMBuildAnd(e->l.b, all, e->mask[c], "") : e->mask[c];
    return LLVMBuildICmp(
        e->l.b, LLVMIntEQ, emit_mask_bits(e, all),
        emit_const(e, 32, e->lanes == 32 ? UINT32_MAX : (1u << e->lanes) - 1),
        "");
}

static int is_wide(const struct access *a)
{
    return a->count > 1 && a->count <= 4 &&
           a->address.shape.kind == SHAPE_STRIDED &&
           a->address.shape.stride == (int64_t)a->bytes * a->count;
}

static void wide_load(struct emit *e, const struct access *a,
                      LLVMValueRef got[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS])
{
    LLVMTypeRef type = LLVMVectorType(a->type, e->lanes * a->count);

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = LLVMBuildLoad2(e->l.b, type, a->address.ptr[c], "");

        LLVMSetAlignment(v, a->bytes);
        LLVMSetVolatile(v, a->is_strong);
        for (unsigned j = 0; j < a->count; j++)
            got[j][c] = pick(e, v, j, a->count);
    }
}

static void each_lane_load(struct emit *e, const struct access *a,
                           LLVMValueRef got[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS])
{
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef ptrs = emit_address_vector(e, &a->address, c);

        for (unsigned j = 0; j < a->count; j++) {
            LLVMValueRef at = emit_const(e, 64, (uint64_t)j * a->bytes);
            LLVMValueRef p =
                j ? LLVMBuildGEP2(e->l.b, e->i8, ptrs, &at, 1, "") : ptrs;

            got[j][c] = gather(e, a, p, e->mask[c]);
        }
    }
}

/* The wide form where all lanes are active, else lane by lane. */
static void choose_load(struct emit *e, const struct access *a,
                        LLVMValueRef got[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS])
{
    LLVMBasicBlockRef fast = emit_new_bb(e, "wide");
    LLVMBasicBlockRef slow = emit_new_bb(e, "narrow");
    LLVMBasicBlockRef join = emit_new_bb(e, "join");
    LLVMValueRef x[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS];
    LLVMValueRef y[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS];
    LLVMBasicBlockRef from[2];

    LLVMBuildCondBr(e->l.b, all_active(e), fast, slow);
    LLVMPositionBuilderAtEnd(e->l.b, fast);
    wide_load(e, a, x);
    from[0] = LLVMGetInsertBlock(e->l.b);
    LLVMBuildBr(e->l.b, join);
    LLVMPositionBuilderAtEnd(e->l.b, slow);
    each_lane_load(e, a, y);
    from[1] = LLVMGetInsertBlock(e->l.b);
    LLVMBuildBr(e->l.b, join);
    LLVMPositionBuilderAtEnd(e->l.b, join);
    for (unsigned j = 0; j < a->count; j++)
        for (unsigned c = 0; c < e->chunks; c++) {
            got[j][c] = LLVMBuildPhi(e->l.b, LLVMTypeOf(x[j][c]), "");
            LLVMAddIncoming(got[j][c], (LLVMValueRef[]){x[j][c], y[j][c]}, from,
                            2);
        }
}

void emit_load(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef got[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS];
    struct access a;
    int scalar, contiguous;

    if (open_access(e, &a, insn, 1))
        return;
    keep_order(e, &a);
    scalar = a.address.shape.kind == SHAPE_UNIFORM ||
             (a.address.shape.kind == SHAPE_STRIDED && !a.address.shape.stride);
    if (scalar) {
        for (unsigned j = 0; j < a.count; j++) {
            int value = emit_dst(insn, 0, (int)j);

            if (value != GRAPH_NONE)
                load_scalars(e, &a, j, value);
        }
        keep_order(e, &a);
        return;
    }
    contiguous = a.count == 1 && a.address.shape.kind == SHAPE_STRIDED &&
                 a.address.shape.stride == (int64_t)a.bytes;
    if (contiguous)
        for (unsigned c = 0; c < e->chunks; c++)
            got[0][c] = masked_load(e, &a, a.address.ptr[c], e->mask[c]);
    else if (is_wide(&a))
        choose_load(e, &a, got);
    else
        each_lane_load(e, &a, got);
    keep_order(e, &a);
    for (unsigned j = 0; j < a.count; j++) {
        int value = emit_dst(insn, 0, (int)j);
        LLVMValueRef made[EMIT_MAX_CHUNKS];

        if (value == GRAPH_NONE)
            continue;
        for (unsigned c = 0; c < e->chunks; c++)
            made[c] = widen(e, &a, got[j][c], value);
        emit_define_vectors(e, value, made);
    }
}

/* --- stores --- */

static LLVMValueRef narrow(struct emit *e, const struct access *a,
                           LLVMValueRef v)
{
    LLVMTypeRef type = a->type;

    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind)
        type = emit_vec(e, type);
    return LLVMTypeOf(v) == type ? v : LLVMBuildTrunc(e->l.b, v, type, "");
}

/* The element of the highest active lane of chunk c. */
static LLVMValueRef last_lane(struct emit *e, LLVMValueRef v, unsigned c)
{
    LLVMTypeRef types[] = {e->i32};
    LLVMValueRef args[] = {emit_mask_bits(e, e->mask[c]),
                           LLVMConstInt(e->i1, 0, 0)};
    LLVMValueRef lane = lower_intrinsic(&e->l, "llvm.ctlz", types, 1, args, 2);

    lane = LLVMBuildSub(e->l.b, emit_const(e, 32, 31), lane, "");
    lane = LLVMBuildAnd(e->l.b, lane, emit_const(e, 32, e->lanes - 1), "");
    return LLVMBuildExtractElement(e->l.b, v, lane, "");
}

/* Element j as the scalar that chunk c stores to one address. */
static LLVMValueRef stored_scalar(struct emit *e, const struct access *a,
                                  unsigned j, unsigned c)
{
    struct graph_shape s = emit_element_shape(e, a->insn, 1, (int)j);
    unsigned bits = a->bytes * 8;

    if (s.kind == SHAPE_UNIFORM || (s.kind == SHAPE_STRIDED && !s.stride))
        return narrow(e, a, emit_element_base(e, a->insn, 1, (int)j, c, bits));
    return narrow(
        e, a,
        last_lane(e, emit_element_vector(e, a->insn, 1, (int)j, c, bits), c));
}

static void scalar_store(struct emit *e, const struct access *a, LLVMValueRef v,
                         LLVMValueRef p, unsigned j)
{
    LLVMValueRef st = LLVMBuildStore(e->l.b, v, element_ptr(e, a, p, j));

    LLVMSetAlignment(st, a->bytes);
    LLVMSetVolatile(st, a->is_strong);
}

/* All lanes to one address: one of them is seen, here the highest. */
static void store_uniform(struct emit *e, const struct access *a)
{
    for (unsigned j = 0; j < a->count; j++) {
        LLVMValueRef v = stored_scalar(e, a, j, 0);

        if (emit_element_shape(e, a->insn, 1, (int)j).kind != SHAPE_UNIFORM)
            for (unsigned c = 1; c < e->chunks; c++)
                v = LLVMBuildSelect(e->l.b, emit_any(e, c),
                                    stored_scalar(e, a, j, c), v, "");
        scalar_store(e, a, v, a->address.ptr[0], j);
    }
}

static void store_chunks(struct emit *e, const struct access *a)
{
    LLVMValueRef v[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS], any[EMIT_MAX_CHUNKS];

    /* All forms are made before control parts. */
    for (unsigned c = 0; c < e->chunks; c++) {
        any[c] = emit_any(e, c);
        for (unsigned j = 0; j < a->count; j++)
            v[j][c] = stored_scalar(e, a, j, c);
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMBasicBlockRef yes = emit_new_bb(e, "store");
        LLVMBasicBlockRef go_on = emit_new_bb(e, "stored");

        LLVMBuildCondBr(e->l.b, any[c], yes, go_on);
        LLVMPositionBuilderAtEnd(e->l.b, yes);
        for (unsigned j = 0; j < a->count; j++)
            scalar_store(e, a, v[j][c], a->address.ptr[c], j);
        LLVMBuildBr(e->l.b, go_on);
        LLVMPositionBuilderAtEnd(e->l.b, go_on);
    }
}

static void each_lane_store(struct emit *e, const struct access *a,
                            LLVMValueRef v[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS])
{
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef ptrs = emit_address_vector(e, &a->address, c);

        for (unsigned j = 0; j < a->count; j++) {
            LLVMValueRef at = emit_const(e, 64, (uint64_t)j * a->bytes);
            LLVMValueRef p =
                j ? LLVMBuildGEP2(e->l.b, e->i8, ptrs, &at, 1, "") : ptrs;

            scatter(e, a, v[j][c], p, e->mask[c]);
        }
    }
}

/* Interleave the elements of chunk c: all lanes' vectors in memory order. */
static LLVMValueRef
interleave(struct emit *e, const struct access *a,
           LLVMValueRef v[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS], unsigned c)
{
    unsigned n = e->lanes * a->count;
    LLVMValueRef index[256], two[2] = {NULL, NULL}, wide;

    for (unsigned h = 0; h < a->count; h += 2) {
        for (unsigned i = 0; i < e->lanes * 2; i++)
            index[i] = LLVMConstInt(e->i32, i, 0);
        two[h / 2] =
            LLVMBuildShuffleVector(e->l.b, v[h][c], v[h + 1][c],
                                   LLVMConstVector(index, e->lanes * 2), "");
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned lane = i / a->count, j = i % a->count;

        index[i] = LLVMConstInt(
            e->i32, (j / 2) * e->lanes * 2 + (j % 2) * e->lanes + lane, 0);
    }
    wide = a->count == 2 ? LLVMGetPoison(LLVMTypeOf(two[0])) : two[1];
    return LLVMBuildShuffleVector(e->l.b, two[0], wide,
                                  LLVMConstVector(index, n), "");
}

static void choose_store(struct emit *e, const struct access *a,
                         LLVMValueRef v[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS])
{
    LLVMBasicBlockRef fast = emit_new_bb(e, "wide");
    LLVMBasicBlockRef slow = emit_new_bb(e, "narrow");
    LLVMBasicBlockRef join = emit_new_bb(e, "join");

    LLVMBuildCondBr(e->l.b, all_active(e), fast, slow);
    LLVMPositionBuilderAtEnd(e->l.b, fast);
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef st =
            LLVMBuildStore(e->l.b, interleave(e, a, v, c), a->address.ptr[c]);

        LLVMSetAlignment(st, a->bytes);
        LLVMSetVolatile(st, a->is_strong);
    }
    LLVMBuildBr(e->l.b, join);
    LLVMPositionBuilderAtEnd(e->l.b, slow);
    each_lane_store(e, a, v);
    LLVMBuildBr(e->l.b, join);
    LLVMPositionBuilderAtEnd(e->l.b, join);
}

static void store_lanes(struct emit *e, const struct access *a)
{
    LLVMValueRef v[EMIT_MAX_ELEMENTS][EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++)
        for (unsigned j = 0; j < a->count; j++)
            v[j][c] = narrow(
                e, a,
                emit_element_vector(e, a->insn, 1, (int)j, c, a->bytes * 8));
    if (a->count == 1 && a->address.shape.kind == SHAPE_STRIDED &&
        a->address.shape.stride == (int64_t)a->bytes)
        for (unsigned c = 0; c < e->chunks; c++)
            emit_masked_store(e, v[0][c], a->address.ptr[c], e->mask[c],
                              a->bytes);
    else if (is_wide(a))
        choose_store(e, a, v);
    else
        each_lane_store(e, a, v);
}

void emit_store(struct emit *e, const struct graph_insn *insn)
{
    struct access a;

    if (open_access(e, &a, insn, 0))
        return;
    keep_order(e, &a);
    if (a.address.shape.kind == SHAPE_UNIFORM)
        store_uniform(e, &a);
    else if (a.address.shape.kind == SHAPE_STRIDED && !a.address.shape.stride)
        store_chunks(e, &a);
    else
        store_lanes(e, &a);
    keep_order(e, &a);
    if (ptx_has(insn->ptx, PTX_MOD_ASYNC) && insn->ptx->operand_count > 2)
        async_complete(e, insn, 2, a.bytes * a.count);
}
