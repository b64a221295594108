/* SPDX-License-Identifier: MIT
 *
 * How each value varies over a warp: uniform, a scalar and a stride a chunk,
 * or anything. Optimistic: values start unknown and only ever become less
 * regular, until nothing changes; branches on what is not uniform part the
 * warp, which makes the phis where its lanes meet varying in turn.
 *
 * Sign extension of base + lane * stride is taken to be that of the base
 * plus lane * stride only where the result serves addresses alone: two lanes
 * of one chunk could disagree only if their indices lay on both sides of
 * 2^31, that is, at addresses 2^32 elements apart. Zero extension is taken
 * so only where the range is known, since `i - 1` at i = 0 is common.
 */
#include "cpu/jit/divergence.h"
#include "cpu/jit/graph.h"
#include "cpu/jit/use.h"

static const struct graph_shape bottom = {SHAPE_BOTTOM, 0};
static const struct graph_shape uniform = {SHAPE_UNIFORM, 0};
static const struct graph_shape chunk = {SHAPE_STRIDED, 0};
static const struct graph_shape varying = {SHAPE_VARYING, 0};

enum { LARGEST_STRIDE = 1 << 16 };

static struct graph_shape strided(int64_t stride)
{
    if (stride > LARGEST_STRIDE || stride < -LARGEST_STRIDE)
        return varying;
    return (struct graph_shape){SHAPE_STRIDED, stride};
}

static struct graph_shape join(struct graph_shape a, struct graph_shape b)
{
    if (a.kind == SHAPE_BOTTOM)
        return b;
    if (b.kind == SHAPE_BOTTOM)
        return a;
    if (a.kind == SHAPE_UNIFORM && b.kind == SHAPE_UNIFORM)
        return uniform;
    if (a.kind == SHAPE_VARYING || b.kind == SHAPE_VARYING ||
        a.stride != b.stride)
        return varying;
    return strided(a.stride);
}

int graph_outlives(const struct graph *g, int value, int block)
{
    int l = g->blocks[g->values[value].block].loop;

    for (; l >= 0 && !graph_in_loop(g, block, l); l = g->loops[l].parent)
        if (g->loops[l].divergent)
            return 1;
    return 0;
}

struct graph_shape graph_shape_at(const struct graph *g, int value, int block)
{
    const struct graph_value *v = &g->values[value];

    if (graph_outlives(g, value, block))
        return varying;
    return (struct graph_shape){v->kind_of_shape, v->stride};
}

/* One lane's view of a special register. */
static struct graph_shape sreg_shape(const struct graph *g,
                                     const struct ptx_operand *o)
{
    switch (o->sreg) {
    case PTX_SREG_TID:
        if (!g->rows || o->dim > 2)
            return varying;
        return o->dim == 0 ? strided(1) : chunk;
    case PTX_SREG_LANEID:
        return strided(1);
    case PTX_SREG_LANEMASK_EQ:
    case PTX_SREG_LANEMASK_LT:
    case PTX_SREG_LANEMASK_LE:
    case PTX_SREG_LANEMASK_GT:
    case PTX_SREG_LANEMASK_GE:
        return varying;
    default:
        return uniform;
    }
}

struct graph_shape graph_operand_shape(const struct graph *g,
                                       const struct graph_insn *insn, int k,
                                       int block)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];
    struct graph_shape s = bottom;

    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        return graph_shape_at(g, insn->val[k], block);
    case PTX_OPERAND_SREG:
        return sreg_shape(g, o);
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        return o->var && o->var->space == PTX_SPACE_LOCAL ? varying : uniform;
    case PTX_OPERAND_VECTOR:
        for (int e = 0; e < o->count; e++)
            s = join(s, insn->vec[k] && insn->vec[k][e] != GRAPH_NONE
                            ? graph_shape_at(g, insn->vec[k][e], block)
                            : uniform);
        return s;
    default:
        return uniform;
    }
}

/* Same in each chunk at best. */
static struct graph_shape flat(struct graph_shape s)
{
    if (s.kind == SHAPE_STRIDED && s.stride)
        return varying;
    return s;
}

static struct graph_shape add(struct graph_shape a, struct graph_shape b,
                              int sign)
{
    if (a.kind == SHAPE_BOTTOM || b.kind == SHAPE_BOTTOM)
        return bottom;
    if (a.kind == SHAPE_VARYING || b.kind == SHAPE_VARYING)
        return varying;
    if (a.kind == SHAPE_UNIFORM && b.kind == SHAPE_UNIFORM)
        return uniform;
    return strided(a.stride + sign * b.stride);
}

/* a times operand k, which must be a known constant where a has a stride. */
static struct graph_shape scale(struct graph_shape a, struct graph_shape b,
                                const struct ptx_operand *factor, int shift)
{
    int64_t by = factor->ival;

    if (a.kind == SHAPE_BOTTOM || b.kind == SHAPE_BOTTOM)
        return bottom;
    if (a.kind != SHAPE_STRIDED || !a.stride)
        return flat(join(a, flat(b)));
    if (factor->kind != PTX_OPERAND_INT || by < -LARGEST_STRIDE ||
        by > LARGEST_STRIDE || (shift && (by < 0 || by > 16)))
        return varying;
    return strided(shift ? a.stride * ((int64_t)1 << by) : a.stride * by);
}

/* A 32-bit source widened to 64 bits. */
static struct graph_shape widen(struct graph_shape s, int is_signed,
                                uint64_t umax, int address_only)
{
    if (s.kind != SHAPE_STRIDED || !s.stride)
        return s;
    if (umax <= INT32_MAX || (is_signed && address_only))
        return s;
    return varying;
}

static struct graph_shape linear_shape(const struct graph *g,
                                       const struct graph_insn *insn, int block)
{
    const struct ptx_insn *p = insn->ptx;
    const struct graph_value *dst = &g->values[insn->val[0]];
    struct graph_shape a = graph_operand_shape(g, insn, 1, block), b, r;
    int is_signed = ptx_type_class(p->types[0]) == PTX_CLASS_SINT;
    int first = 1, second = 2;

    switch (p->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        return a;
    case PTX_OP_CVT:
        if (ptx_type_bits(p->types[0]) <= ptx_type_bits(p->types[1]))
            return dst->bits > ptx_type_bits(p->types[0]) ? flat(a) : a;
        is_signed = ptx_type_class(p->types[1]) == PTX_CLASS_SINT;
        return widen(a, is_signed, range_operand(g, insn, 1),
                     dst->address_only);
    default:
        break;
    }
    b = graph_operand_shape(g, insn, 2, block);
    if (p->op == PTX_OP_ADD || p->op == PTX_OP_SUB)
        return add(a, b, p->op == PTX_OP_ADD ? 1 : -1);
    if (p->op == PTX_OP_SHL)
        return scale(a, b, &p->operands[2], 1);
    if (p->operands[1].kind == PTX_OPERAND_INT ||
        (b.kind == SHAPE_STRIDED && b.stride)) {
        r = a;
        a = b;
        b = r;
        first = 2;
        second = 1;
    }
    if (ptx_has(p, PTX_MOD_WIDE))
        a = widen(a, is_signed, range_operand(g, insn, first),
                  dst->address_only);
    r = scale(a, b, &p->operands[second], 0);
    if (p->op == PTX_OP_MAD)
        r = add(r, graph_operand_shape(g, insn, 3, block), 1);
    return r;
}

/* Uniform stays so, anything else may differ between lanes. */
static struct graph_shape flat_or_varying(struct graph_shape s)
{
    return s.kind == SHAPE_UNIFORM || s.kind == SHAPE_BOTTOM ? s : varying;
}

/* Loads: as regular as their address; other memory and warp operations. */
static struct graph_shape effect_shape(const struct graph *g,
                                       const struct graph_insn *insn, int block,
                                       int dst)
{
    const struct ptx_insn *p = insn->ptx;
    struct graph_shape s;

    switch (p->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        s = graph_operand_shape(g, insn, 1, block);
        return s.kind == SHAPE_BOTTOM ? s : flat(s);
    case PTX_OP_VOTE:
    case PTX_OP_REDUX:
        /* Groups of lanes, each with a membermask of its own, may come here
         * together. */
        return p->operand_count > 2
                   ? flat_or_varying(graph_operand_shape(g, insn, 2, block))
                   : uniform;
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        return uniform;
    case PTX_OP_SHFL:
        if (dst > 0)
            return varying;
        return flat_or_varying(
            graph_operand_shape(g, insn, p->dst_count, block));
    default:
        return varying;
    }
}

static struct graph_shape ptx_shape(const struct graph *g,
                                    const struct graph_insn *insn, int block,
                                    int dst)
{
    const struct ptx_insn *p = insn->ptx;
    struct graph_shape s = uniform;

    if (!graph_is_pure(p))
        return effect_shape(g, insn, block, dst);
    if (use_is_linear(p))
        return linear_shape(g, insn, block);
    for (int k = p->dst_count; k < p->operand_count; k++) {
        struct graph_shape o = graph_operand_shape(g, insn, k, block);

        if (o.kind == SHAPE_BOTTOM)
            return o;
        s = join(s, flat(o));
    }
    if (insn->cc_use != GRAPH_NONE)
        s = join(s, graph_shape_at(g, insn->cc_use, block));
    return s;
}

static struct graph_shape select_shape(const struct graph *g,
                                       const struct graph_insn *insn, int block)
{
    struct graph_shape p = graph_shape_at(g, insn->guard, block);
    struct graph_shape a = graph_shape_at(g, insn->val[1], block);
    struct graph_shape b = graph_shape_at(g, insn->val[2], block);

    if (p.kind == SHAPE_BOTTOM || p.kind == SHAPE_UNIFORM)
        return join(a, b);
    return p.kind == SHAPE_VARYING ? varying : join(join(a, b), chunk);
}

static int raise_to(struct graph *g, int value, struct graph_shape s)
{
    struct graph_value *v = &g->values[value];
    struct graph_shape old = {v->kind_of_shape, v->stride};

    s = join(old, s);
    if (s.kind == old.kind && s.stride == old.stride)
        return 0;
    v->kind_of_shape = s.kind;
    v->stride = s.stride;
    return 1;
}

static int shape_insn(struct graph *g, const struct graph_insn *insn, int block)
{
    const struct ptx_insn *p = insn->ptx;
    int changed = 0;

    if (insn->kind == GRAPH_INSN_SELECT)
        return raise_to(g, insn->val[0], select_shape(g, insn, block));
    for (int k = 0; k < p->dst_count; k++) {
        struct graph_shape s;

        if (insn->val[k] != GRAPH_NONE) {
            s = ptx_shape(g, insn, block, k);
            changed |= raise_to(g, insn->val[k], s);
            if (k == 0)
                g->values[insn->val[k]].umax =
                    range_result(g, insn, g->values[insn->val[k]].bits);
        } else if (insn->vec[k]) {
            s = flat(ptx_shape(g, insn, block, k));
            for (int e = 0; e < p->operands[k].count; e++)
                if (insn->vec[k][e] != GRAPH_NONE)
                    changed |= raise_to(g, insn->vec[k][e], s);
        }
    }
    if (insn->cc_def != GRAPH_NONE)
        changed |= raise_to(g, insn->cc_def, ptx_shape(g, insn, block, 0));
    return changed;
}

static int shape_phi(struct graph *g, int block, const struct graph_phi *phi)
{
    const struct graph_block *b = &g->blocks[block];
    struct graph_shape s = bottom;

    if (b->mixing)
        return raise_to(g, phi->value, varying);
    for (int p = 0; p < b->pred_count; p++)
        s = join(s, graph_shape_at(g, phi->in[p], b->pred[p]));
    return raise_to(g, phi->value, s);
}

static int is_undefined(const struct graph_value *v)
{
    return v->insn == GRAPH_NONE && v->phi == GRAPH_NONE;
}

/* One round over all blocks; newly divergent branches spread at once. */
static int shape_round(struct graph *g, int *labels)
{
    int changed = 0;

    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i];
        struct graph_block *b = &g->blocks[block];
        struct graph_shape s;

        for (int p = 0; p < b->phi_count; p++)
            changed |= shape_phi(g, block, &b->phis[p]);
        for (int k = 0; k < b->insn_count; k++)
            changed |= shape_insn(g, &b->insns[k], block);
        if (b->term != GRAPH_BRANCH || b->divergent)
            continue;
        s = graph_shape_at(g, b->guard, block);
        if (s.kind == SHAPE_STRIDED || s.kind == SHAPE_VARYING) {
            b->divergent = 1;
            divergence_spread(g, block, labels);
            changed = 1;
        }
    }
    return changed;
}

enum kiln_status graph_shape(struct graph *g, struct kiln_error *err)
{
    int *labels =
        arena_array(g->arena, (size_t)g->order_count + 1, sizeof *labels);

    if (!labels)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    use_find_address_only(g);
    for (int i = 0; i < g->value_count; i++)
        if (is_undefined(&g->values[i]))
            g->values[i].kind_of_shape = SHAPE_UNIFORM;
    while (shape_round(g, labels))
        ;
    for (int i = 0; i < g->value_count; i++)
        if (g->values[i].kind_of_shape == SHAPE_BOTTOM)
            g->values[i].kind_of_shape = SHAPE_UNIFORM;
    return KILN_OK;
}
