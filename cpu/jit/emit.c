/* SPDX-License-Identifier: MIT
 *
 * The function of one kernel variant: a loop over warps around the kernel's
 * blocks, each entered with the mask of its lanes. Control follows
 * graph_schedule: see there.
 */
#include "cpu/jit/emit_wait.h"

#include <stdio.h>
#include <string.h>

#include "cpu/exec/abi.h"

void emit_refuse(struct emit *e, const struct ptx_insn *insn, const char *why)
{
    if (e->status)
        return;
    e->status =
        kiln_fail(e->err, KILN_E_NOT_SUPPORTED,
                  "line %u: %s: the CPU device does not run this instruction"
                  "%s%s",
                  insn->line, insn->text, why ? ": " : "", why ? why : "");
}

LLVMBasicBlockRef emit_new_bb(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->l.ctx, e->fn, name);
}

LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, unsigned offset,
                        LLVMTypeRef type)
{
    LLVMValueRef at = emit_const(e, 64, offset);
    LLVMValueRef p = LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "");

    return LLVMBuildLoad2(e->l.b, type, p, "");
}

LLVMValueRef emit_call_engine(struct emit *e, unsigned offset,
                              LLVMTypeRef result, LLVMValueRef *args,
                              LLVMTypeRef *types, unsigned n)
{
    LLVMTypeRef type = LLVMFunctionType(result, types, n, 0);
    LLVMValueRef to = emit_field(e, e->block, offset, e->ptr);

    return LLVMBuildCall2(e->l.b, type, to, args, n, "");
}

LLVMValueRef emit_helper(struct emit *e, const char *name, LLVMTypeRef type,
                         int *fresh)
{
    LLVMValueRef fn = LLVMGetNamedFunction(e->l.module, name);

    *fresh = !fn;
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->l.module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    return fn;
}

/* --- masks --- */

/* Lanes of one chunk as the low bits of an i32. */
LLVMValueRef emit_mask_bits(struct emit *e, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->l.ctx, e->lanes);
    LLVMValueRef v = LLVMBuildBitCast(e->l.b, mask, bits, "");

    return LLVMBuildZExt(e->l.b, v, e->i32, "");
}

/* All lanes of a warp as one i32. */
LLVMValueRef emit_warp_bits(struct emit *e, LLVMValueRef const *masks)
{
    LLVMValueRef all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = emit_mask_bits(e, masks[c]);

        v = LLVMBuildShl(e->l.b, v, emit_const(e, 32, c * e->lanes), "");
        all = all ? LLVMBuildOr(e->l.b, all, v, "") : v;
    }
    return all;
}

static LLVMValueRef mask_any(struct emit *e, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->l.ctx, e->lanes);
    LLVMValueRef v = LLVMBuildBitCast(e->l.b, mask, bits, "");

    return LLVMBuildICmp(e->l.b, LLVMIntNE, v, LLVMConstNull(bits), "");
}

LLVMValueRef emit_among(struct emit *e, unsigned c, LLVMValueRef p)
{
    return LLVMBuildSelect(e->l.b, e->mask[c], p, LLVMConstNull(e->mask_type),
                           "");
}

LLVMValueRef emit_any(struct emit *e, unsigned c)
{
    if (!e->any[c])
        e->any[c] = mask_any(e, e->mask[c]);
    return e->any[c];
}

/* --- slots --- */

static void make_slot(struct emit *e, struct emit_slot *s, LLVMTypeRef type,
                      unsigned count)
{
    s->count = (int)count;
    for (unsigned c = 0; c < count; c++)
        s->at[c] = LLVMBuildAlloca(e->top, type, "");
}

static void value_slot(struct emit *e, struct emit_slot *s, int value)
{
    const struct graph_value *v = &e->g->values[value];
    LLVMTypeRef type = LLVMIntTypeInContext(e->l.ctx, v->bits);

    if (v->kind_of_shape == SHAPE_VARYING)
        type = emit_vec(e, type);
    make_slot(e, s, type, v->kind_of_shape == SHAPE_UNIFORM ? 1 : e->chunks);
}

static void poison(struct emit *e, const struct emit_slot *s)
{
    for (int c = 0; c < s->count; c++)
        LLVMBuildStore(e->l.b, LLVMGetPoison(LLVMGetAllocatedType(s->at[c])),
                       s->at[c]);
}

static void use(struct emit *e, int value, int block)
{
    struct graph_value *v;

    if (value == GRAPH_NONE)
        return;
    v = &e->g->values[value];
    v->used = 1;
    v->escapes |= v->block != block;
    v->outlives |= graph_outlives(e->g, value, block) != 0;
}

static void find_uses(struct emit *e)
{
    struct graph *g = e->g;

    for (int i = 0; i < g->value_count; i++)
        g->values[i].used = g->values[i].escapes = g->values[i].outlives = 0;
    for (int i = 0; i < g->order_count; i++) {
        int at = g->order[i];
        const struct graph_block *b = &g->blocks[at];

        for (int k = 0; k < b->insn_count; k++) {
            const struct graph_insn *in = &b->insns[k];
            int from = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;

            for (int o = from; o < PTX_MAX_OPERANDS; o++) {
                use(e, in->val[o], at);
                for (int j = 0; in->vec[o] && j < in->ptx->operands[o].count;
                     j++)
                    use(e, in->vec[o][j], at);
            }
            use(e, in->guard, at);
            use(e, in->cc_use, at);
        }
        use(e, b->guard, at);
        for (int p = 0; p < b->phi_count; p++)
            for (int k = 0; k < b->pred_count; k++)
                use(e, b->phis[p].in[k], b->pred[k]);
    }
}

static enum kiln_status make_places(struct emit *e)
{
    struct graph *g = e->g;
    size_t n = (size_t)g->value_count, blocks = (size_t)g->block_count;

    e->slot = arena_array(g->arena, n, sizeof *e->slot);
    e->exit_slot = arena_array(g->arena, n, sizeof *e->exit_slot);
    e->phi_slot = arena_array(g->arena, n, sizeof *e->phi_slot);
    e->known = arena_array(g->arena, n, sizeof *e->known);
    e->mask_slot = arena_array(g->arena, blocks, sizeof *e->mask_slot);
    e->alike_slot = arena_array(g->arena, blocks, sizeof *e->alike_slot);
    e->test = arena_array(g->arena, blocks, sizeof *e->test);
    e->body = arena_array(g->arena, blocks, sizeof *e->body);
    if ((n && (!e->slot || !e->exit_slot || !e->phi_slot || !e->known)) ||
        !e->mask_slot || !e->alike_slot || !e->test || !e->body)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    find_uses(e);
    for (int i = 0; i < g->value_count; i++) {
        const struct graph_value *v = &g->values[i];

        if (v->phi != GRAPH_NONE)
            value_slot(e, &e->phi_slot[i], i);
        if (v->insn == GRAPH_NONE && v->phi == GRAPH_NONE)
            continue;
        if (v->escapes)
            value_slot(e, &e->slot[i], i);
        if (v->outlives)
            make_slot(e, &e->exit_slot[i],
                      emit_vec(e, LLVMIntTypeInContext(e->l.ctx, v->bits)),
                      e->chunks);
    }
    for (int i = 0; i < g->order_count; i++) {
        int at = g->order[i];
        char name[32];

        make_slot(e, &e->mask_slot[at], e->mask_type, e->chunks);
        if (g->blocks[at].alike != at &&
            !e->alike_slot[g->blocks[at].alike].count)
            make_slot(e, &e->alike_slot[g->blocks[at].alike], e->mask_type,
                      e->chunks);
        snprintf(name, sizeof name, "b%d.line%u", at, g->blocks[at].line);
        if (g->blocks[at].pending)
            e->test[at] = emit_new_bb(e, "test");
        e->body[at] = emit_new_bb(e, name);
    }
    return KILN_OK;
}

/* --- control --- */

/* No lane of a warp ends before such a block, and none comes alone. */
int emit_is_whole(const struct emit *e, int block)
{
    return e->g->blocks[block].alike == e->g->order[0];
}

static LLVMBasicBlockRef test_of(struct emit *e, int block)
{
    return block == GRAPH_NONE ? e->ended : e->test[block];
}

static LLVMBasicBlockRef next_test(struct emit *e, int block)
{
    return test_of(e, e->g->blocks[block].next);
}

LLVMBasicBlockRef emit_edge_target(struct emit *e,
                                   const struct graph_edge *edge)
{
    return edge->deferred ? next_test(e, edge->from) : e->body[edge->to];
}

/* Phis of the edge's target take their values; with a mask, those of its
 * lanes only. */
static void store_phis(struct emit *e, const struct graph_edge *edge,
                       LLVMValueRef const *mask)
{
    const struct graph_block *to = &e->g->blocks[edge->to];

    for (int p = 0; p < to->phi_count; p++) {
        const struct graph_phi *phi = &to->phis[p];
        const struct graph_value *v = &e->g->values[phi->value];
        const struct emit_slot *s = &e->phi_slot[phi->value];
        int in = phi->in[edge->pred_index];

        if (!v->used)
            continue;
        for (int c = 0; c < s->count; c++) {
            LLVMValueRef x, old;

            if (v->kind_of_shape != SHAPE_VARYING) {
                x = emit_base(e, in, (unsigned)c);
            } else {
                x = emit_vector(e, in, (unsigned)c);
                if (to->mixing) {
                    old = LLVMBuildLoad2(e->l.b, LLVMTypeOf(x), s->at[c], "");
                    x = LLVMBuildSelect(e->l.b, mask[c], x, old, "");
                }
            }
            LLVMBuildStore(e->l.b, x, s->at[c]);
        }
    }
}

/* Lanes of `mask` go to the edge's target: they wait there, or are all. */
void emit_send_lanes(struct emit *e, const struct graph_edge *edge,
                     LLVMValueRef const *mask)
{
    const struct emit_slot *s = &e->mask_slot[edge->to];

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef m = mask[c];

        if (e->g->blocks[edge->to].pending)
            m = LLVMBuildOr(e->l.b, m,
                            LLVMBuildLoad2(e->l.b, e->mask_type, s->at[c], ""),
                            "");
        LLVMBuildStore(e->l.b, m, s->at[c]);
    }
}

static void follow(struct emit *e, const struct graph_edge *edge)
{
    store_phis(e, edge, e->mask);
    emit_send_lanes(e, edge, e->mask);
    LLVMBuildBr(e->l.b, emit_edge_target(e, edge));
}

static void uniform_branch(struct emit *e, const struct graph_block *b)
{
    LLVMValueRef p = emit_base(e, b->guard, 0);
    LLVMBasicBlockRef sides[2];

    for (int s = 0; s < 2; s++) {
        /* Forms of phi inputs made on one side must not be taken for known
         * on the other. */
        const struct graph_block *to = &e->g->blocks[b->succ[s].to];

        for (int k = 0; k < to->phi_count; k++)
            for (unsigned c = 0; c < e->chunks; c++) {
                int in = to->phis[k].in[b->succ[s].pred_index];
                int value = to->phis[k].value;

                if (e->g->values[value].kind_of_shape == SHAPE_VARYING)
                    emit_vector(e, in, c);
                else
                    emit_base(e, in, c);
            }
        sides[s] = emit_new_bb(e, "edge");
    }
    LLVMBuildCondBr(e->l.b, p, sides[b->negate ? 1 : 0],
                    sides[b->negate ? 0 : 1]);
    for (int s = 0; s < 2; s++) {
        LLVMPositionBuilderAtEnd(e->l.b, sides[s]);
        follow(e, &b->succ[s]);
    }
}

static void divergent_branch(struct emit *e, const struct graph_block *b)
{
    LLVMValueRef taken[EMIT_MAX_CHUNKS], other[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef p = emit_vector(e, b->guard, c);
        LLVMValueRef n = LLVMBuildNot(e->l.b, p, "");

        taken[c] = emit_among(e, c, b->negate ? n : p);
        other[c] = emit_among(e, c, b->negate ? p : n);
    }
    store_phis(e, &b->succ[0], taken);
    store_phis(e, &b->succ[1], other);
    emit_send_lanes(e, &b->succ[0], taken);
    emit_send_lanes(e, &b->succ[1], other);
    LLVMBuildBr(e->l.b, next_test(e, b->succ[0].from));
}

/* Slots whose value of an earlier iteration or path is dead from here on. */
static void poison_dead(struct emit *e, int block)
{
    struct graph *g = e->g;
    int loop = g->blocks[block].loop;
    int header = loop >= 0 && g->loops[loop].header == block;

    for (int i = 0; i < g->value_count; i++) {
        const struct graph_value *v = &g->values[i];

        if (header && e->slot[i].count && g->blocks[v->block].loop == loop)
            poison(e, &e->slot[i]);
        if (v->phi != GRAPH_NONE && g->blocks[v->block].mixing &&
            g->blocks[v->block].idom == block &&
            g->blocks[v->block].loop == loop)
            poison(e, &e->phi_slot[i]);
    }
    for (int i = 0; header && i < g->block_count; i++)
        if (i != block && g->blocks[i].loop == loop)
            poison(e, &e->alike_slot[i]);
}

/* Do lanes wait at the block? Else control goes on to the next where some
 * may. */
static void test_block(struct emit *e, int block)
{
    const struct emit_slot *s = &e->mask_slot[block];
    LLVMValueRef all = NULL;

    LLVMPositionBuilderAtEnd(e->l.b, e->test[block]);
    if (emit_is_whole(e, block)) {
        LLVMBuildBr(e->l.b, e->body[block]);
        return;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef m = LLVMBuildLoad2(e->l.b, e->mask_type, s->at[c], "");

        all = all ? LLVMBuildOr(e->l.b, all, m, "") : m;
    }
    LLVMBuildCondBr(e->l.b, mask_any(e, all), e->body[block],
                    test_of(e, e->g->blocks[block].skip));
}

/* The lanes that came, which are those of the block that this is alike to. */
static void take_mask(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];
    const struct emit_slot *s = &e->mask_slot[block];
    const struct emit_slot *alike = &e->alike_slot[b->alike];

    for (unsigned c = 0; c < e->chunks; c++) {
        e->any[c] = NULL;
        e->mask[c] =
            LLVMBuildLoad2(e->l.b, e->mask_type,
                           b->alike == block ? s->at[c] : alike->at[c], "");
        if (b->alike == block && alike->count)
            LLVMBuildStore(e->l.b, e->mask[c], alike->at[c]);
        if (b->pending)
            LLVMBuildStore(e->l.b, LLVMConstNull(e->mask_type), s->at[c]);
    }
}

static void enter_block(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];

    if (b->pending)
        test_block(e, block);
    LLVMPositionBuilderAtEnd(e->l.b, e->body[block]);
    e->at = block;
    take_mask(e, block);
    for (int p = 0; p < b->phi_count; p++) {
        const struct emit_slot *slot = &e->phi_slot[b->phis[p].value];
        LLVMValueRef made[EMIT_MAX_CHUNKS];

        if (!e->g->values[b->phis[p].value].used)
            continue;
        for (int c = 0; c < slot->count; c++)
            made[c] = LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(slot->at[c]),
                                     slot->at[c], "");
        emit_define(e, b->phis[p].value, made);
    }
    poison_dead(e, block);
    /* What was poisoned may be a slot just written by a phi of this block:
     * the value is in the cache, and stored again for the others. */
    for (int p = 0; p < b->phi_count; p++) {
        int value = b->phis[p].value;
        const struct emit_slot *slot = &e->slot[value];

        for (int c = 0; c < slot->count; c++)
            LLVMBuildStore(e->l.b,
                           e->g->values[value].kind_of_shape == SHAPE_VARYING
                               ? emit_vector(e, value, (unsigned)c)
                               : emit_base(e, value, (unsigned)c),
                           slot->at[c]);
    }
}

static void emit_block(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];

    enter_block(e, block);
    for (int i = 0; i < b->insn_count && !e->status; i++)
        emit_insn(e, &b->insns[i]);
    if (e->status)
        return;
    if (b->term == GRAPH_RET)
        LLVMBuildBr(e->l.b, next_test(e, block));
    else if (b->waits && e->resume)
        wait_leave(e, block);
    else if (b->term == GRAPH_JUMP)
        follow(e, &b->succ[0]);
    else if (b->divergent)
        divergent_branch(e, b);
    else
        uniform_branch(e, b);
}

/* --- the function around --- */

static void load_context(struct emit *e)
{
    unsigned d;

    e->launch = emit_field(e, e->block, 0, e->ptr);
    e->params = emit_field(e, e->launch, 0, e->ptr);
    e->data = emit_field(e, e->launch, 8, e->ptr);
    for (d = 0; d < 3; d++) {
        e->tid[d] = emit_field(e, e->launch, 16 + 8 * d, e->ptr);
        e->nctaid[d] = emit_field(e, e->launch, 40 + 4 * d, e->i32);
        e->ntid[d] = emit_field(e, e->launch, 52 + 4 * d, e->i32);
        e->ctaid[d] = emit_field(e, e->block, 8 + 4 * d, e->i32);
    }
    e->threads = emit_field(e, e->launch, 64, e->i32);
    e->shared = emit_field(e, e->block, 24, e->ptr);
    e->local = emit_field(e, e->block, 32, e->ptr);
    e->local_stride = emit_field(e, e->block, 40, e->i64);
}

void emit_forget(struct emit *e)
{
    struct graph *g = e->g;

    for (int i = 0; i < g->order_count; i++)
        for (unsigned c = 0; g->blocks[g->order[i]].pending && c < e->chunks;
             c++)
            LLVMBuildStore(e->l.b, LLVMConstNull(e->mask_type),
                           e->mask_slot[g->order[i]].at[c]);
    for (int i = 0; i < g->block_count; i++)
        poison(e, &e->alike_slot[i]);
    for (int i = 0; i < g->value_count; i++) {
        poison(e, &e->slot[i]);
        poison(e, &e->exit_slot[i]);
        poison(e, &e->phi_slot[i]);
    }
}

/* The lanes of chunk c that exist. */
static LLVMValueRef existing(struct emit *e, unsigned c)
{
    LLVMValueRef first, t;

    if (e->g->rows) /* whole warps: OBJECT_SHAPE_ROWS */
        return LLVMConstAllOnes(e->mask_type);
    first =
        LLVMBuildAdd(e->l.b, e->zero_warp, emit_const(e, 32, c * e->lanes), "");
    t = LLVMBuildAdd(e->l.b, emit_splat(e, first), e->iota32, "");
    return LLVMBuildICmp(e->l.b, LLVMIntULT, t, emit_splat(e, e->threads), "");
}

static void start_warp(struct emit *e)
{
    int entry = e->g->order[0];
    LLVMValueRef mask[EMIT_MAX_CHUNKS];

    e->zero_warp = LLVMBuildShl(e->l.b, e->warp, emit_const(e, 32, 5), "first");
    /* Once for a fresh warp and for all that come back. */
    emit_forget(e);
    for (unsigned c = 0; c < e->chunks; c++) {
        mask[c] = existing(e, c);
        if (e->alike_slot[entry].count)
            LLVMBuildStore(e->l.b, mask[c], e->alike_slot[entry].at[c]);
    }
    if (e->resume) {
        LLVMBasicBlockRef fresh = emit_new_bb(e, "fresh");

        wait_start_warp(e, fresh);
        LLVMPositionBuilderAtEnd(e->l.b, fresh);
    }
    for (unsigned c = 0; c < e->chunks; c++)
        LLVMBuildStore(e->l.b, mask[c], e->mask_slot[entry].at[c]);
    LLVMBuildBr(e->l.b, e->body[entry]);
}

static void set_types(struct emit *e, LLVMContextRef ctx)
{
    LLVMValueRef all[64];

    e->i1 = LLVMInt1TypeInContext(ctx);
    e->i8 = LLVMInt8TypeInContext(ctx);
    e->i16 = LLVMInt16TypeInContext(ctx);
    e->i32 = LLVMInt32TypeInContext(ctx);
    e->i64 = LLVMInt64TypeInContext(ctx);
    e->ptr = LLVMPointerTypeInContext(ctx, 0);
    e->lanes = e->target->lanes;
    e->chunks = ABI_WARP / e->lanes;
    e->mask_type = emit_vec(e, e->i1);
    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = LLVMConstInt(e->i32, i, 0);
    e->iota32 = LLVMConstVector(all, e->lanes);
}

static void add_attribute(LLVMContextRef ctx, LLVMValueRef fn, const char *name,
                          const char *value)
{
    LLVMAddAttributeAtIndex(
        fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ctx, name, (unsigned)strlen(name), value,
                                  (unsigned)strlen(value)));
}

static void set_attributes(struct emit *e, LLVMContextRef ctx, int flush)
{
    /* Address 0 faults like any other that is not allocated. Without saying
     * so LLVM takes code that reaches it for unreachable and drops it. */
    static const char *const enums[] = {"nounwind", "null_pointer_is_valid"};

    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++) {
        const unsigned kind =
            LLVMGetEnumAttributeKindForName(enums[i], strlen(enums[i]));

        LLVMAddAttributeAtIndex(e->fn,
                                (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(ctx, kind, 0));
    }
    add_attribute(ctx, e->fn, "target-cpu", e->target->cpu);
    add_attribute(ctx, e->fn, "target-features", e->target->features);
    add_attribute(ctx, e->fn, "no-builtins", "true");
    if (e->target->has_avx512) {
        add_attribute(ctx, e->fn, "prefer-vector-width", "512");
        add_attribute(ctx, e->fn, "min-legal-vector-width", "512");
    }
    if (flush)
        add_attribute(ctx, e->fn, "denormal-fp-math-f32",
                      "preserve-sign,preserve-sign");
}

static void emit_body(struct emit *e, LLVMBasicBlockRef entry)
{
    LLVMBasicBlockRef warp_bb = emit_new_bb(e, "warp");
    LLVMBasicBlockRef exit_bb = emit_new_bb(e, "exit");
    LLVMValueRef first = LLVMGetParam(e->fn, 1), end = LLVMGetParam(e->fn, 2);
    LLVMValueRef next, more;

    e->ended = emit_new_bb(e, "ended");
    e->done = emit_new_bb(e, "done");
    LLVMPositionBuilderAtEnd(e->l.b, warp_bb);
    e->warp = LLVMBuildPhi(e->l.b, e->i32, "w");
    start_warp(e);
    for (int i = 0; i < e->g->order_count && !e->status; i++)
        emit_block(e, e->g->order[i]);
    if (e->status)
        return;
    wait_end_warp(e);
    LLVMPositionBuilderAtEnd(e->l.b, e->done);
    next = LLVMBuildAdd(e->l.b, e->warp, emit_const(e, 32, 1), "");
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, next, end, "");
    LLVMBuildCondBr(e->l.b, more, warp_bb, exit_bb);
    LLVMAddIncoming(e->warp, (LLVMValueRef[]){first, next},
                    (LLVMBasicBlockRef[]){entry, e->done}, 2);
    LLVMPositionBuilderAtEnd(e->l.b, exit_bb);
    LLVMBuildRetVoid(e->l.b);
    LLVMPositionBuilderAtEnd(e->l.b, entry);
    LLVMBuildBr(e->l.b, warp_bb);
}

enum kiln_status emit_kernel(LLVMContextRef ctx, LLVMModuleRef module,
                             const struct emit_target *target,
                             const struct layout_kernel *layout,
                             struct graph *g, const char *symbol, int flush,
                             uint32_t *frame_bytes, struct kiln_error *err)
{
    struct emit e = {.target = target, .layout = layout, .g = g, .err = err};
    LLVMTypeRef args[3];
    LLVMBasicBlockRef slots, entry;
    enum kiln_status st;

    e.l.ctx = ctx;
    e.l.module = module;
    e.l.flush = flush;
    e.l.has_avx512 = target->has_avx512;
    e.l.has_f16c = target->has_f16c;
    set_types(&e, ctx);
    args[0] = e.ptr;
    args[1] = args[2] = e.i32;
    e.fn = LLVMAddFunction(
        module, symbol,
        LLVMFunctionType(LLVMVoidTypeInContext(ctx), args, 3, 0));
    set_attributes(&e, ctx, flush);
    e.block = LLVMGetParam(e.fn, 0);
    e.l.b = LLVMCreateBuilderInContext(ctx);
    e.top = LLVMCreateBuilderInContext(ctx);
    slots = emit_new_bb(&e, "slots");
    entry = emit_new_bb(&e, "entry");
    LLVMPositionBuilderAtEnd(e.top, slots);
    LLVMPositionBuilderAtEnd(e.l.b, entry);
    load_context(&e);
    e.barrier_result = LLVMBuildAlloca(e.top, e.i32, "");
    st = make_places(&e);
    if (!st)
        st = wait_plan(&e);
    if (!st) {
        emit_body(&e, entry);
        LLVMBuildBr(e.top, entry);
        st = e.status;
        if (g->has_barrier && !e.resume)
            *frame_bytes = UINT32_MAX;
        else if (e.frame_bytes > *frame_bytes)
            *frame_bytes = e.frame_bytes;
    }
    LLVMDisposeBuilder(e.l.b);
    LLVMDisposeBuilder(e.top);
    return st;
}
