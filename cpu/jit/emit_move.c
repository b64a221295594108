/* SPDX-License-Identifier: MIT
 *
 * mov with its packing and unpacking forms, cvta and isspacep. Each is
 * written once for a scalar or a vector: `form` says which.
 */
#include "cpu/jit/emit.h"

/* Chunk c's view of something: a base or a vector. */
struct form {
    int vector;
    unsigned c;
};

static LLVMTypeRef type_of(struct emit *e, struct form f, unsigned bits)
{
    LLVMTypeRef t = LLVMIntTypeInContext(e->l.ctx, bits);

    return f.vector ? emit_vec(e, t) : t;
}

static LLVMValueRef constant(struct emit *e, struct form f, unsigned bits,
                             uint64_t v)
{
    LLVMValueRef k = emit_const(e, bits, v);

    return f.vector ? emit_splat(e, k) : k;
}

static LLVMValueRef operand(struct emit *e, const struct graph_insn *insn,
                            int k, int j, struct form f, unsigned bits)
{
    return f.vector ? emit_element_vector(e, insn, k, j, f.c, bits)
                    : emit_element_base(e, insn, k, j, f.c, bits);
}

static LLVMValueRef resize(struct emit *e, LLVMValueRef v, struct form f,
                           unsigned bits)
{
    LLVMTypeRef want = type_of(e, f, bits);

    return LLVMTypeOf(v) == want ? v
                                 : LLVMBuildIntCast2(e->l.b, v, want, 0, "");
}

typedef LLVMValueRef made_by(struct emit *e, const struct graph_insn *insn,
                             int j, struct form f, unsigned bits);

/* Define one destination from `make` in each form that its shape wants. */
static void define(struct emit *e, const struct graph_insn *insn, int value,
                   int j, made_by *make)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS];
    const struct graph_value *v;
    unsigned n;

    if (value == GRAPH_NONE || e->status)
        return;
    v = &e->g->values[value];
    n = v->kind_of_shape == SHAPE_UNIFORM ? 1 : e->chunks;
    for (unsigned c = 0; c < n; c++) {
        struct form f = {v->kind_of_shape == SHAPE_VARYING, c};

        made[c] = make(e, insn, j, f, v->bits);
    }
    emit_define(e, value, made);
}

static LLVMValueRef copy(struct emit *e, const struct graph_insn *insn, int j,
                         struct form f, unsigned bits)
{
    LLVMValueRef v = operand(e, insn, 1, j, f, bits);

    if (insn->ptx->operands[1].negate)
        v = LLVMBuildNot(e->l.b, v, "");
    return resize(e, v, f, bits);
}

/* mov.b64 %rd, {%r1, %r2}: the first element in the low bits. */
static LLVMValueRef pack(struct emit *e, const struct graph_insn *insn, int j,
                         struct form f, unsigned bits)
{
    unsigned n = insn->ptx->operands[1].count, width;
    LLVMValueRef all = NULL;

    (void)j;
    width = ptx_type_bits(insn->ptx->types[0]) / n;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef v =
            resize(e, operand(e, insn, 1, (int)i, f, width), f, width);

        v = resize(e, v, f, bits);
        v = LLVMBuildShl(e->l.b, v, constant(e, f, bits, i * width), "");
        all = all ? LLVMBuildOr(e->l.b, all, v, "") : v;
    }
    return all;
}

static LLVMValueRef unpack(struct emit *e, const struct graph_insn *insn, int j,
                           struct form f, unsigned bits)
{
    unsigned n = insn->ptx->operands[0].count;
    unsigned whole = ptx_type_bits(insn->ptx->types[0]), width = whole / n;
    LLVMValueRef v = resize(e, operand(e, insn, 1, 0, f, whole), f, whole);

    v = LLVMBuildLShr(e->l.b, v, constant(e, f, whole, (uint64_t)j * width),
                      "");
    return resize(e, resize(e, v, f, width), f, bits);
}

/* Component j of %tid and its like; there are three, and then 0. */
static LLVMValueRef component(struct emit *e, const struct graph_insn *insn,
                              int j, struct form f, unsigned bits)
{
    struct ptx_operand o = insn->ptx->operands[1];
    int line = (int)insn->ptx->line;

    o.dim = (uint8_t)j;
    if (j > 2)
        return constant(e, f, bits, 0);
    return resize(e,
                  f.vector ? emit_sreg_vector(e, &o, f.c, line)
                           : emit_sreg_base(e, &o, f.c, line),
                  f, bits);
}

void emit_mov(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    const struct ptx_operand *to = &p->operands[0], *from = &p->operands[1];

    if (from->kind == PTX_OPERAND_FUNC || from->kind == PTX_OPERAND_LABEL ||
        p->type_count != 1) {
        emit_refuse(e, p, "the address of a function");
        return;
    }
    if (to->kind == PTX_OPERAND_VECTOR && from->kind != PTX_OPERAND_VECTOR) {
        const int four = from->kind == PTX_OPERAND_SREG && p->vec == 4;

        if (!four &&
            (ptx_type_bits(p->types[0]) % to->count || from->dim == 3)) {
            emit_refuse(e, p, NULL);
            return;
        }
        for (int j = 0; j < to->count; j++)
            define(e, insn, insn->vec[0][j], j, four ? component : unpack);
    } else if (to->kind == PTX_OPERAND_VECTOR) {
        for (int j = 0; j < to->count; j++)
            define(e, insn, insn->vec[0][j], j, copy);
    } else if (from->kind == PTX_OPERAND_VECTOR) {
        define(e, insn, insn->val[0], 0, pack);
    } else {
        define(e, insn, insn->val[0], 0, copy);
    }
}

/* --- generic addresses --- */

static LLVMValueRef window(struct emit *e, struct form f)
{
    LLVMValueRef base = LLVMBuildPtrToInt(e->l.b, e->shared, e->i64, "");

    return f.vector ? emit_splat(e, base) : base;
}

static LLVMValueRef convert(struct emit *e, const struct graph_insn *insn,
                            int j, struct form f, unsigned bits)
{
    LLVMValueRef v = operand(e, insn, 1, j, f, bits);

    if (insn->ptx->space != PTX_SPACE_SHARED)
        return resize(e, v, f, bits);
    if (ptx_has(insn->ptx, PTX_MOD_TO))
        v = LLVMBuildSub(e->l.b, resize(e, v, f, 64), window(e, f), "");
    else
        v = LLVMBuildAdd(e->l.b, resize(e, v, f, 64), window(e, f), "");
    return resize(e, v, f, bits);
}

void emit_cvta(struct emit *e, const struct graph_insn *insn)
{
    if (insn->ptx->space == PTX_SPACE_SHARED &&
        ptx_type_bits(insn->ptx->types[0]) != 64) {
        emit_refuse(e, insn->ptx, "32-bit generic addresses");
        return;
    }
    define(e, insn, insn->val[0], 0, convert);
}

static LLVMValueRef below(struct emit *e, LLVMValueRef v, LLVMValueRef base,
                          LLVMValueRef size)
{
    v = LLVMBuildSub(e->l.b, v, base, "");
    return LLVMBuildICmp(e->l.b, LLVMIntULT, v, size, "");
}

/* Inside the reserved window, among the block's frames, the module's constants
 * or the launch's parameters. */
static LLVMValueRef in_space(struct emit *e, enum ptx_space space,
                             LLVMValueRef v, struct form f)
{
    LLVMValueRef base, size;

    switch (space) {
    case PTX_SPACE_SHARED:
        return below(e, v, window(e, f), constant(e, f, 64, 1u << 31));
    case PTX_SPACE_CONST:
        size = emit_const(e, 64, e->layout->const_at);
        base = LLVMBuildGEP2(e->l.b, e->i8, e->data, &size, 1, "");
        size = emit_const(e, 64, e->layout->const_size);
        break;
    case PTX_SPACE_PARAM:
        base = e->params;
        size = emit_const(e, 64, e->g->func->param_bytes);
        break;
    default:
        base = e->local;
        size =
            LLVMBuildMul(e->l.b, e->local_stride, emit_const(e, 64, 1024), "");
        break;
    }
    base = LLVMBuildPtrToInt(e->l.b, base, e->i64, "");
    if (f.vector) {
        base = emit_splat(e, base);
        size = emit_splat(e, size);
    }
    return below(e, v, base, size);
}

static LLVMValueRef inside(struct emit *e, const struct graph_insn *insn, int j,
                           struct form f, unsigned bits)
{
    enum ptx_space space = insn->ptx->space;
    LLVMValueRef v = resize(e, operand(e, insn, 1, j, f, 64), f, 64), other;

    (void)bits;
    if (space != PTX_SPACE_GLOBAL)
        return in_space(e, space, v, f);
    /* parameters are global memory too, constants are not, as on an H200 */
    other = LLVMBuildOr(e->l.b, in_space(e, PTX_SPACE_SHARED, v, f),
                        in_space(e, PTX_SPACE_LOCAL, v, f), "");
    other = LLVMBuildOr(e->l.b, other, in_space(e, PTX_SPACE_CONST, v, f), "");
    return LLVMBuildNot(e->l.b, other, "");
}

void emit_isspacep(struct emit *e, const struct graph_insn *insn)
{
    define(e, insn, insn->val[0], 0, inside);
}
