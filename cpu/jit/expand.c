/* SPDX-License-Identifier: MIT
 *
 * Each call is replaced by the body it calls: registers, labels and local
 * variables renamed, parameters bound to the variables that the caller named.
 * A return is a jump behind the call; lanes that return early wait there as
 * at any other place where paths meet, so nothing else is needed for calls
 * under divergence. `exit` stays what it is and ends its lanes.
 */

#include "cpu/jit/expand.h"

enum { MAX_DEPTH = 200 };

void expand_refuse(struct expand *x, unsigned line, const char *what,
                   const char *name)
{
    if (!x->status)
        x->status =
            kiln_fail(x->err, KILN_E_NOT_SUPPORTED, "line %u: call: %s%s", line,
                      what, name ? name : "");
}

const struct ptx_func *calls_resolve(const struct ptx_func *f)
{
    for (int hops = 0; f && f->alias && hops < 16; hops++)
        f = f->alias;
    return f;
}

/* --- instructions --- */

static void add_plain(struct expand *x, const struct instance *i,
                      const struct ptx_insn *from)
{
    struct ptx_insn *insn = body_copy(&x->body, from);

    if (!insn)
        return;
    if (insn->guard >= 0)
        insn->guard += (int32_t)i->regs;
    for (int k = 0; k < insn->operand_count; k++) {
        struct ptx_operand *o = &insn->operands[k];

        expand_map_operand(x, i, o);
        if (insn->space == PTX_SPACE_PARAM && o->kind == PTX_OPERAND_ADDR_VAR &&
            o->var && o->var->space == PTX_SPACE_LOCAL)
            insn->space = PTX_SPACE_LOCAL;
    }
}

/* Jump over what follows where the guard does not hold; the label to place
 * there, or UINT32_MAX when there is no guard. */
static uint32_t skip_unguarded(struct expand *x, const struct instance *i,
                               const struct ptx_insn *insn)
{
    uint32_t label;

    if (insn->guard < 0)
        return UINT32_MAX;
    label = body_label(&x->body);
    body_jump(&x->body, label, insn->guard + (int32_t)i->regs,
              !insn->guard_negate, insn->line);
    return label;
}

/* A jump to a label of the instance. One that closes a loop with calls from
 * inside in it goes through the hub. */
static void add_jump(struct expand *x, const struct instance *i, uint32_t label,
                     int32_t guard, int negate, unsigned line)
{
    size_t to = i->func->labels[label].insn;
    uint32_t skip = UINT32_MAX;

    if (!i->frame || to > i->at || i->inner_at[to] == x->inner_count) {
        body_jump(&x->body, label + i->labels, guard, negate, line);
        return;
    }
    if (guard >= 0) {
        skip = body_label(&x->body);
        body_jump(&x->body, skip, guard, !negate, line);
    }
    region_jump(x, i->frame->region, label + i->labels, frame_loop, line);
    if (skip != UINT32_MAX)
        body_place(&x->body, skip);
}

/* brx.idx: a comparison for each target but the last; an index beyond the
 * list is undefined (PTX ISA 9.7.12.2). */
static void add_indexed(struct expand *x, const struct instance *i,
                        const struct ptx_insn *insn)
{
    const struct ptx_table *t = insn->operands[1].table;
    struct ptx_operand index = expand_mapped(x, i, &insn->operands[0]);
    uint32_t skip = skip_unguarded(x, i, insn);

    for (size_t k = 0; k < t->label_count && !x->body.bad; k++) {
        uint32_t pred;

        if (k + 1 == t->label_count) {
            add_jump(x, i, t->labels[k], -1, 0, insn->line);
            break;
        }
        pred = body_reg(&x->body, PTX_PRED);
        expand_equal(x, pred, &index, k, PTX_U32, insn->line);
        add_jump(x, i, t->labels[k], (int32_t)pred, 0, insn->line);
    }
    if (skip != UINT32_MAX)
        body_place(&x->body, skip);
}

/* --- which function --- */

static const struct instance *active(const struct instance *i,
                                     const struct ptx_func *f)
{
    for (; i; i = i->up)
        if (i->func == f)
            return i;
    return NULL;
}

static void add_target(struct expand *x, const struct instance *i,
                       const struct ptx_func *f, const struct ptx_insn *insn)
{
    const struct call_service *s = NULL;
    const struct instance *outer;

    f = calls_resolve(f);
    if (!f->has_body && !(s = call_service_find(f->name))) {
        expand_refuse(x, insn->line, "no body for ", f->name);
        return;
    }
    if (i->depth >= MAX_DEPTH) {
        expand_refuse(x, insn->line, "calls too deep, at ", f->name);
        return;
    }
    outer = active(i, f);
    if (s)
        expand_add_service(x, i, insn, s);
    else if (outer)
        expand_add_inner(x, i, outer, insn);
    else
        expand_add_called(x, i, f, insn);
}

/* Through a register: one after the other of those it may mean. An address
 * that is none of theirs is a fault. */
static void add_indirect(struct expand *x, const struct instance *i,
                         const struct ptx_insn *insn)
{
    struct ptx_operand target = expand_mapped(x, i, &insn->call->target);
    const struct ptx_func *const *list;
    size_t count = targets_of(x, insn->call, &list);
    uint32_t join = body_label(&x->body);

    for (size_t k = 0; k < count && !x->body.bad && !x->status; k++) {
        uint32_t pred = body_reg(&x->body, PTX_PRED);
        uint32_t next = body_label(&x->body);

        expand_equal(x, pred, &target, targets_address(x, list[k]), PTX_U64,
                     insn->line);
        body_jump(&x->body, next, (int32_t)pred, 1, insn->line);
        add_target(x, i, list[k], insn);
        body_jump(&x->body, join, -1, 0, insn->line);
        body_place(&x->body, next);
    }
    body_insn(&x->body, PTX_OP_TRAP, insn->line, "trap");
    body_place(&x->body, join);
}

static void add_call(struct expand *x, const struct instance *i,
                     const struct ptx_insn *insn)
{
    uint32_t skip = skip_unguarded(x, i, insn);

    if (insn->call->target.kind == PTX_OPERAND_FUNC)
        add_target(x, i, insn->call->target.func, insn);
    else
        add_indirect(x, i, insn);
    if (skip != UINT32_MAX)
        body_place(&x->body, skip);
}

/* --- bodies --- */

static void expand_insn(struct expand *x, const struct instance *i,
                        const struct ptx_insn *insn)
{
    if (insn->op == PTX_OP_CALL)
        add_call(x, i, insn);
    else if (insn->op == PTX_OP_BRX &&
             insn->operands[1].kind == PTX_OPERAND_TABLE &&
             insn->operands[1].table->label_count)
        add_indexed(x, i, insn);
    else if (insn->op == PTX_OP_BRA)
        add_jump(x, i, insn->operands[0].label,
                 insn->guard < 0 ? -1 : insn->guard + (int32_t)i->regs,
                 insn->guard_negate, insn->line);
    else if (insn->op == PTX_OP_RET && i->up)
        body_jump(&x->body, i->end,
                  insn->guard < 0 ? -1 : insn->guard + (int32_t)i->regs,
                  insn->guard_negate, insn->line);
    else
        add_plain(x, i, insn);
}

void expand_body(struct expand *x, struct instance *i)
{
    const struct ptx_func *f = i->func;
    size_t *starts =
        arena_array(x->body.arena, f->insn_count + 1, sizeof *starts);

    i->inner_at =
        arena_array(x->body.arena, f->insn_count + 1, sizeof *i->inner_at);
    if (!starts || !i->inner_at) {
        x->body.bad = 1;
        return;
    }
    for (size_t k = 0; k < f->insn_count && !x->body.bad && !x->status; k++) {
        starts[k] = x->body.func->insn_count;
        i->inner_at[k] = x->inner_count;
        i->at = k;
        expand_insn(x, i, &f->insns[k]);
        if (x->body.func->insn_count > EFFORT_MOST_INSNS)
            expand_refuse(
                x, f->insns[k].line,
                "more than 200000 instructions with all that is called "
                "in ",
                x->body.func->name);
    }
    if (x->body.bad || x->status)
        return;
    starts[f->insn_count] = x->body.func->insn_count;
    for (size_t l = 0; l < f->label_count; l++)
        x->body.func->labels[i->labels + l] = (struct ptx_label){
            .name = f->labels[l].name, .insn = starts[f->labels[l].insn]};
}

int calls_any(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *insn = &f->insns[i];

        if (insn->op == PTX_OP_CALL || insn->op == PTX_OP_BRX)
            return 1;
        for (int k = 0; k < insn->operand_count; k++)
            if (insn->operands[k].kind == PTX_OPERAND_FUNC)
                return 1;
    }
    return 0;
}

enum kiln_status calls_expand(struct arena *arena, const struct ptx_module *m,
                              const struct ptx_func *f,
                              const struct ptx_func **out,
                              struct kiln_error *err)
{
    struct expand x = {.body = {.arena = arena}, .module = m, .err = err};
    struct ptx_func *flat = arena_alloc(arena, sizeof *flat);
    struct instance entry = {.func = f};

    if (!flat)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    *flat = *f;
    flat->insns = NULL;
    flat->regs = NULL;
    flat->labels = NULL;
    flat->locals = NULL;
    flat->insn_count = flat->reg_count = 0;
    flat->label_count = flat->local_count = 0;
    x.body.func = flat;
    targets_open(&x);
    if (!x.body.bad)
        expand_open_instance(&x, &entry, NULL, 0);
    if (!x.body.bad)
        expand_body(&x, &entry);
    if (!x.body.bad && !x.status)
        calls_scalars(&x.body, x.vars, x.var_count);
    if (!x.body.bad && !x.status)
        frames_close(&x);
    if (!x.status && x.body.bad)
        x.status = kiln_fail(err, KILN_E_MEMORY,
                             "out of memory putting calls in place");
    *out = flat;
    return x.status;
}
