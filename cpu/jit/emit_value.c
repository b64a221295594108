/* SPDX-License-Identifier: MIT
 *
 * Values in their forms: a scalar, a base a chunk, a vector a chunk. What a
 * block reads of another block comes from the value's slot, once a block.
 */
#include <string.h>

#include "cpu/jit/emit.h"

LLVMTypeRef emit_vec(const struct emit *e, LLVMTypeRef element)
{
    return LLVMVectorType(element, e->lanes);
}

static LLVMTypeRef int_type(const struct emit *e, unsigned bits)
{
    return LLVMIntTypeInContext(e->l.ctx, bits);
}

LLVMValueRef emit_const(struct emit *e, unsigned bits, uint64_t value)
{
    return LLVMConstInt(int_type(e, bits), value, 0);
}

LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar)
{
    LLVMTypeRef type = LLVMTypeOf(scalar);
    LLVMValueRef v;

    if (LLVMIsConstant(scalar) && !LLVMIsAConstantExpr(scalar)) {
        LLVMValueRef all[64];

        for (unsigned i = 0; i < e->lanes; i++)
            all[i] = scalar;
        return LLVMConstVector(all, e->lanes);
    }
    v = LLVMBuildInsertElement(e->l.b, LLVMGetPoison(emit_vec(e, type)), scalar,
                               emit_const(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->l.b, v, LLVMGetPoison(emit_vec(e, type)),
                                  LLVMConstNull(emit_vec(e, e->i32)), "");
}

/* A gather copies what it is given. One zero for all gathers of a large
 * kernel would be as slow as one mask (emit_control.c, renew_mask). */
LLVMValueRef emit_blank(struct emit *e, LLVMTypeRef type)
{
    LLVMValueRef v;

    if (!e->large)
        return LLVMConstNull(type);
    v = LLVMBuildLoad2(e->l.b, type, e->zeros, "");
    LLVMSetVolatile(v, 1);
    return v;
}

/* <0, 1, ...> * stride, of the given width. */
static LLVMValueRef steps(struct emit *e, unsigned bits, int64_t stride)
{
    LLVMValueRef all[64];

    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = emit_const(e, bits, (uint64_t)(stride * (int64_t)i));
    return LLVMConstVector(all, e->lanes);
}

/* The value as this block knows it, reset when another block asked last. */
static struct emit_known *known(struct emit *e, int value)
{
    struct emit_known *k = &e->known[value];

    if (k->stamp != e->at + 1) {
        memset(k, 0, sizeof *k);
        k->stamp = e->at + 1;
    }
    return k;
}

static int is_undefined(const struct graph_value *v)
{
    return v->insn == GRAPH_NONE && v->phi == GRAPH_NONE;
}

static LLVMValueRef load_slot(struct emit *e, const struct emit_slot *s,
                              unsigned c)
{
    return LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(s->at[c]), s->at[c], "");
}

LLVMValueRef emit_base(struct emit *e, int value, unsigned c)
{
    const struct graph_value *v = &e->g->values[value];
    struct emit_known *k = known(e, value);

    if (v->kind_of_shape == SHAPE_UNIFORM)
        c = 0;
    if (k->scalar[c])
        return k->scalar[c];
    if (is_undefined(v))
        k->scalar[c] = emit_const(e, v->bits, 0);
    else if (e->slot[value].count)
        k->scalar[c] = load_slot(e, &e->slot[value], c);
    else
        k->scalar[c] = LLVMGetPoison(int_type(e, v->bits));
    return k->scalar[c];
}

LLVMValueRef emit_vector(struct emit *e, int value, unsigned c)
{
    const struct graph_value *v = &e->g->values[value];
    struct emit_known *k = known(e, value);
    LLVMValueRef base;

    if (k->vector[c])
        return k->vector[c];
    if (e->exit_slot[value].count && graph_outlives(e->g, value, e->at))
        return k->vector[c] = load_slot(e, &e->exit_slot[value], c);
    if (v->kind_of_shape == SHAPE_VARYING) {
        k->vector[c] = e->slot[value].count
                           ? load_slot(e, &e->slot[value], c)
                           : LLVMGetPoison(emit_vec(e, int_type(e, v->bits)));
        return k->vector[c];
    }
    base = emit_splat(e, emit_base(e, value, c));
    if (v->kind_of_shape == SHAPE_STRIDED && v->stride)
        base = LLVMBuildAdd(e->l.b, base, steps(e, v->bits, v->stride), "");
    return k->vector[c] = base;
}

/* Lanes active here keep this value when they leave the loop. */
static void keep_for_exit(struct emit *e, int value)
{
    struct emit_slot *s = &e->exit_slot[value];

    for (unsigned c = 0; c < e->chunks && s->count; c++) {
        /* In the defining block the value is not outlived, so this reads
         * the value itself. */
        LLVMValueRef now = emit_vector(e, value, c);
        LLVMValueRef old = load_slot(e, s, c);

        LLVMBuildStore(e->l.b,
                       LLVMBuildSelect(e->l.b, e->mask[c], now, old, ""),
                       s->at[c]);
    }
}

void emit_define(struct emit *e, int value, LLVMValueRef const *made)
{
    const struct graph_value *v = &e->g->values[value];
    struct emit_known *k = known(e, value);
    unsigned n = v->kind_of_shape == SHAPE_UNIFORM ? 1 : e->chunks;

    for (unsigned c = 0; c < n; c++) {
        if (v->kind_of_shape == SHAPE_VARYING)
            k->vector[c] = made[c];
        else
            k->scalar[c] = made[c];
        if (e->slot[value].count)
            LLVMBuildStore(e->l.b, made[c], e->slot[value].at[c]);
    }
    keep_for_exit(e, value);
}

void emit_define_vectors(struct emit *e, int value, LLVMValueRef const *v)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++)
        made[c] = e->g->values[value].kind_of_shape == SHAPE_VARYING
                      ? v[c]
                      : LLVMBuildExtractElement(e->l.b, v[c],
                                                emit_const(e, 32, 0), "");
    emit_define(e, value, made);
}

int emit_dst(const struct graph_insn *insn, int k, int j)
{
    if (insn->vec[k])
        return insn->vec[k][j];
    return j == 0 ? insn->val[k] : GRAPH_NONE;
}

/* --- operands --- */

static uint64_t immediate(const struct ptx_operand *o, unsigned bits)
{
    union {
        double d;
        uint64_t u;
    } wide;
    union {
        float f;
        uint32_t u;
    } narrow;

    if (o->kind != PTX_OPERAND_FLOAT)
        return (uint64_t)o->ival;
    if (o->is_f32 && bits == 64) {
        narrow.u = (uint32_t)o->fbits;
        wide.d = (double)narrow.f;
        return wide.u;
    }
    if (!o->is_f32 && bits == 32) {
        wide.u = o->fbits;
        narrow.f = (float)wide.d;
        return narrow.u;
    }
    return o->fbits;
}

static LLVMValueRef operand_base(struct emit *e, const struct ptx_operand *o,
                                 int value, unsigned c, unsigned bits, int line)
{
    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        return emit_base(e, value, c);
    case PTX_OPERAND_INT:
    case PTX_OPERAND_FLOAT:
        return emit_const(e, bits, immediate(o, bits));
    case PTX_OPERAND_SREG:
        return emit_sreg_base(e, o, c, line);
    case PTX_OPERAND_VAR:
        return emit_var_base(e, o->var, o->ival, bits);
    default:
        return emit_const(e, bits ? bits : 32, 0);
    }
}

static LLVMValueRef operand_vector(struct emit *e, const struct ptx_operand *o,
                                   int value, struct graph_shape shape,
                                   unsigned c, unsigned bits, int line)
{
    if (o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDR_REG)
        return emit_vector(e, value, c);
    if (o->kind == PTX_OPERAND_SREG && shape.kind != SHAPE_UNIFORM)
        return emit_sreg_vector(e, o, c, line);
    if (o->kind == PTX_OPERAND_VAR && o->var->space == PTX_SPACE_LOCAL)
        return emit_local_vector(e, o->var, o->ival, c);
    return emit_splat(e, operand_base(e, o, value, c, bits, line));
}

LLVMValueRef emit_operand_base(struct emit *e, const struct graph_insn *insn,
                               int k, unsigned c, unsigned bits)
{
    return operand_base(e, &insn->ptx->operands[k], insn->val[k], c, bits,
                        (int)insn->ptx->line);
}

LLVMValueRef emit_operand_vector(struct emit *e, const struct graph_insn *insn,
                                 int k, unsigned c, unsigned bits)
{
    return operand_vector(e, &insn->ptx->operands[k], insn->val[k],
                          graph_operand_shape(e->g, insn, k, e->at), c, bits,
                          (int)insn->ptx->line);
}

static const struct ptx_operand *element(const struct graph_insn *insn, int k,
                                         int j, int *value)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];

    if (o->kind == PTX_OPERAND_VECTOR) {
        *value = insn->vec[k][j];
        return &o->elems[j];
    }
    *value = insn->val[k];
    return o;
}

struct graph_shape
emit_element_shape(struct emit *e, const struct graph_insn *insn, int k, int j)
{
    int value;
    const struct ptx_operand *o = element(insn, k, j, &value);

    if (o->kind == PTX_OPERAND_REG)
        return graph_shape_at(e->g, value, e->at);
    if (insn->ptx->operands[k].kind == PTX_OPERAND_VECTOR)
        return (struct graph_shape){SHAPE_UNIFORM, 0};
    return graph_operand_shape(e->g, insn, k, e->at);
}

LLVMValueRef emit_element_base(struct emit *e, const struct graph_insn *insn,
                               int k, int j, unsigned c, unsigned bits)
{
    int value;
    const struct ptx_operand *o = element(insn, k, j, &value);

    return operand_base(e, o, value, c, bits, (int)insn->ptx->line);
}

LLVMValueRef emit_element_vector(struct emit *e, const struct graph_insn *insn,
                                 int k, int j, unsigned c, unsigned bits)
{
    int value;
    const struct ptx_operand *o = element(insn, k, j, &value);

    return operand_vector(e, o, value, emit_element_shape(e, insn, k, j), c,
                          bits, (int)insn->ptx->line);
}

/* PTX gives an immediate the type that its place in the instruction has. */
unsigned emit_operand_bits(const struct ptx_insn *p, int k)
{
    unsigned first = p->type_count ? ptx_type_bits(p->types[0]) : 32;
    unsigned last =
        p->type_count ? ptx_type_bits(p->types[p->type_count - 1]) : 32;
    int source = k - p->dst_count; /* 0: the first source */

    switch (p->op) {
    case PTX_OP_CVT:
        return last;
    case PTX_OP_SET:
        return source < 2 ? last : 1;
    case PTX_OP_SETP:
        return source < 2 ? first : 1;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return source == 0 ? first : 32;
    case PTX_OP_MUL:
        return first;
    case PTX_OP_MAD:
        return source == 2 && ptx_has(p, PTX_MOD_WIDE) ? 2 * first : first;
    case PTX_OP_BFE:
        return source == 0 ? first : 32;
    case PTX_OP_BFI:
        return source < 2 ? first : 32;
    case PTX_OP_SLCT:
        return source < 2 ? first : last;
    case PTX_OP_SELP:
        return source < 2 ? first : 1;
    case PTX_OP_SHF:
    case PTX_OP_PRMT:
    case PTX_OP_LOP3:
    case PTX_OP_FNS:
    case PTX_OP_BMSK:
    case PTX_OP_SHFL:
    case PTX_OP_DP2A:
    case PTX_OP_DP4A:
    case PTX_OP_SZEXT:
        return 32;
    default:
        return first;
    }
}

/* The value of the lowest active lane: all lanes agree where PTX asks for a
 * uniform operand. */
LLVMValueRef emit_operand_any(struct emit *e, const struct graph_insn *insn,
                              int k, unsigned bits)
{
    struct graph_shape s = graph_operand_shape(e->g, insn, k, e->at);
    LLVMTypeRef i = int_type(e, bits);
    LLVMValueRef found = NULL;

    if (s.kind == SHAPE_UNIFORM)
        return emit_operand_base(e, insn, k, 0, bits);
    for (unsigned c = e->chunks; c-- > 0;) {
        LLVMValueRef v = emit_operand_vector(e, insn, k, c, bits), lane, x;
        LLVMTypeRef types[] = {e->i32};
        LLVMValueRef args[] = {emit_mask_bits(e, e->mask[c]),
                               LLVMConstInt(e->i1, 0, 0)};

        lane = lower_intrinsic(&e->l, "llvm.cttz", types, 1, args, 2);
        lane = LLVMBuildAnd(e->l.b, lane, emit_const(e, 32, e->lanes - 1), "");
        x = LLVMBuildExtractElement(e->l.b, v, lane, "");
        if (LLVMTypeOf(x) != i)
            x = LLVMBuildIntCast2(e->l.b, x, i, 0, "");
        found =
            found ? LLVMBuildSelect(e->l.b, emit_any(e, c), x, found, "") : x;
    }
    return found;
}
