/* SPDX-License-Identifier: MIT
 *
 * A call with the body it calls behind it: parameters bound to the variables
 * that the caller named, or copied, and results taken back. Calls that the
 * engine answers keep their place, with registers for operands.
 */
#include "cpu/jit/expand.h"

static uint32_t argument_reg(struct expand *x, const struct instance *i,
                             const struct ptx_operand *arg, unsigned bits,
                             unsigned line)
{
    struct ptx_operand o = expand_mapped(x, i, arg);
    uint32_t reg = body_reg(&x->body, bits == 64 ? PTX_B64 : PTX_B32);

    if (o.kind == PTX_OPERAND_VAR && o.var && o.var->space == PTX_SPACE_LOCAL)
        expand_load(x, reg, o.var, 0, bits / 8, line);
    else
        body_move(&x->body, reg, &o, bits, line);
    return reg;
}

/* A call that the engine answers, with registers for operands. */
void expand_add_service(struct expand *x, const struct instance *i,
                        const struct ptx_insn *from,
                        const struct call_service *s)
{
    const struct ptx_call *call = from->call;
    uint32_t regs[6], result = 0;
    struct ptx_insn *insn;
    struct ptx_operand to;
    int n = s->result_bits != 0;

    if (call->arg_count != s->args || (call->result_count && !n)) {
        expand_refuse(x, from->line, "not the arguments of ", s->name);
        return;
    }
    for (unsigned k = 0; k < s->args; k++)
        regs[k] =
            argument_reg(x, i, &call->args[k], s->arg_bits[k], from->line);
    if (n)
        result = body_reg(&x->body, s->result_bits == 64 ? PTX_B64 : PTX_B32);
    insn = body_insn(&x->body, PTX_OP_CALL, from->line, from->text);
    if (!insn)
        return;
    insn->call = call;
    insn->dst_count = (uint8_t)n;
    insn->operand_count = (uint8_t)(n + s->args);
    if (n)
        insn->operands[0] = body_reg_operand(result);
    for (int k = 0; k < s->args; k++)
        insn->operands[n + k] = body_reg_operand(regs[k]);
    if (!call->result_count)
        return;
    to = expand_mapped(x, i, &call->result_operands[0]);
    if (to.kind == PTX_OPERAND_VAR && to.var->space == PTX_SPACE_LOCAL) {
        struct ptx_operand r = body_reg_operand(result);

        expand_store(x, to.var, 0, &r, s->result_bits / 8, from->line);
    } else if (to.kind == PTX_OPERAND_REG) {
        struct ptx_operand r = body_reg_operand(result);

        body_move(&x->body, to.reg, &r, s->result_bits, from->line);
    }
}

/* Formals that are variables get the caller's, or one of their own. */
static struct ptx_var *bind(struct expand *x, struct frame *frame,
                            const struct ptx_var *formal,
                            const struct ptx_operand *actual)
{
    if (actual->kind == PTX_OPERAND_VAR && actual->var &&
        actual->var->space == PTX_SPACE_LOCAL)
        return (struct ptx_var *)(uintptr_t)actual->var;
    return expand_local_like(x, frame, formal, 1);
}

static void pass_argument(struct expand *x, const struct instance *callee,
                          const struct ptx_var *formal,
                          const struct ptx_operand *actual, unsigned line)
{
    const struct ptx_var *to = expand_renamed(callee, formal);

    if (formal->space == PTX_SPACE_REG) {
        if (actual->kind == PTX_OPERAND_VAR)
            expand_load(x, callee->regs + formal->reg, actual->var, 0,
                        expand_bits_of(formal) / 8, line);
        else
            body_move(&x->body, callee->regs + formal->reg, actual,
                      expand_bits_of(formal), line);
    } else if (actual->kind != PTX_OPERAND_VAR && to) {
        expand_store(x, to, 0, actual, to->size > 8 ? 8 : to->size, line);
    } else if (to && to != actual->var) {
        expand_copy_variable(x, to, actual->var, line);
    }
}

static void take_result(struct expand *x, const struct instance *callee,
                        const struct ptx_var *formal,
                        const struct ptx_operand *actual, unsigned line)
{
    const struct ptx_var *from = expand_renamed(callee, formal);

    if (actual->kind == PTX_OPERAND_SINK)
        return;
    if (formal->space == PTX_SPACE_REG) {
        struct ptx_operand r = body_reg_operand(callee->regs + formal->reg);

        if (actual->kind == PTX_OPERAND_VAR)
            expand_store(x, actual->var, 0, &r, expand_bits_of(formal) / 8,
                         line);
        else
            body_move(&x->body, actual->reg, &r, expand_bits_of(formal), line);
    } else if (actual->kind == PTX_OPERAND_REG && from) {
        expand_load(x, actual->reg, from, 0, from->size > 8 ? 8 : from->size,
                    line);
    } else if (from && from != actual->var) {
        expand_copy_variable(x, actual->var, from, line);
    }
}

/* Whether two of the call's variables are one: then none is shared. Nor is
 * any of very many, which would take long to compare. */
static int has_twins(const struct ptx_operand *list, size_t count)
{
    if (count > 256)
        return 1;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++)
            if (list[a].kind == PTX_OPERAND_VAR &&
                list[b].kind == PTX_OPERAND_VAR && list[a].var == list[b].var)
                return 1;
    return 0;
}

/* Instances can be far larger than the instructions that they come to. */
static int too_many(struct expand *x, const struct ptx_func *f)
{
    enum { EACH = 16 };

    x->parts += f->reg_count + f->label_count + f->local_count +
                f->result_count + f->param_count + EACH;
    if (x->parts <= MAX_PARTS)
        return 0;
    expand_refuse(x, f->line,
                  "too many registers and variables with all that is called, "
                  "at ",
                  f->name);
    return 1;
}

/* Place for its registers, labels and variables. The renames are sorted when
 * all are in. */
void expand_open_instance(struct expand *x, struct instance *i,
                          const struct ptx_operand *actuals, int share)
{
    const struct ptx_func *f = i->func;
    size_t formals = f->result_count + f->param_count, n = 0;
    const int first = targets_first(x, f);

    if (too_many(x, f))
        return;
    i->regs = (uint32_t)x->body.func->reg_count;
    i->labels = (uint32_t)x->body.func->label_count;
    for (size_t k = 0; k < f->reg_count && !x->body.bad; k++) {
        uint32_t r = body_reg(&x->body, f->regs[k].type);

        if (!x->body.bad)
            x->body.func->regs[r] = f->regs[k];
    }
    for (size_t k = 0; k < f->label_count && !x->body.bad; k++)
        body_label(&x->body);
    i->vars = arena_array(x->body.arena, formals + f->local_count + 1,
                          sizeof *i->vars);
    if (!i->vars || x->body.bad) {
        x->body.bad = 1;
        return;
    }
    for (size_t k = 0; actuals && k < formals; k++) {
        const struct ptx_var *v = k < f->result_count
                                      ? &f->results[k]
                                      : &f->params[k - f->result_count];

        if (v->space == PTX_SPACE_REG)
            continue;
        i->vars[n++] =
            (struct rename){v, share ? bind(x, i->frame, v, &actuals[k])
                                     : expand_local_like(x, i->frame, v, 1)};
    }
    for (size_t k = 0; k < f->local_count; k++) {
        struct ptx_var *v = f->locals[k];

        if (v->space == PTX_SPACE_PARAM)
            i->vars[n++] =
                (struct rename){v, expand_local_like(x, i->frame, v, 1)};
        else if (v->space == PTX_SPACE_LOCAL && i->up)
            i->vars[n++] =
                (struct rename){v, expand_local_like(x, i->frame, v, 0)};
        else if (first)
            body_local(&x->body, v); /* shared: one for all */
    }
    i->var_count = n;
    expand_sort_renames(i);
}

/* The call's operands in the order of the function's results and parameters;
 * NULL when they do not fit it. */
struct ptx_operand *expand_actuals_of(struct expand *x,
                                      const struct instance *caller,
                                      const struct ptx_func *f,
                                      const struct ptx_insn *insn)
{
    const struct ptx_call *call = insn->call;
    size_t n = f->result_count + f->param_count;
    struct ptx_operand *list = arena_array(x->body.arena, n + 1, sizeof *list);

    if (!list) {
        x->body.bad = 1;
        return NULL;
    }
    if (call->result_count > f->result_count ||
        call->arg_count > f->param_count) {
        expand_refuse(x, insn->line, "more arguments than parameters of ",
                      f->name);
        return NULL;
    }
    for (size_t k = 0; k < n; k++)
        list[k].kind = PTX_OPERAND_SINK;
    for (size_t k = 0; k < call->result_count; k++)
        list[k] = expand_mapped(x, caller, &call->result_operands[k]);
    for (size_t k = 0; k < call->arg_count; k++)
        list[f->result_count + k] = expand_mapped(x, caller, &call->args[k]);
    for (size_t k = 0; k < n; k++) {
        const struct ptx_var *formal = k < f->result_count
                                           ? &f->results[k]
                                           : &f->params[k - f->result_count];

        if (list[k].kind != PTX_OPERAND_VAR)
            continue;
        if (list[k].var && list[k].var->space == PTX_SPACE_LOCAL &&
            (formal->space != PTX_SPACE_REG || expand_bits_of(formal) >= 8))
            continue;
        expand_refuse(x, insn->line,
                      "an argument that is no variable of the caller's, to ",
                      f->name);
        return NULL;
    }
    return list;
}

void expand_add_called(struct expand *x, const struct instance *caller,
                       const struct ptx_func *f, const struct ptx_insn *insn)
{
    struct instance callee = {.func = f,
                              .up = caller,
                              .depth = caller->depth + 1,
                              .frame = caller->frame};
    size_t n = f->result_count + f->param_count;
    struct ptx_operand *actuals = expand_actuals_of(x, caller, f, insn);
    const int recursive = actuals && targets_recursive(x, f);

    const int outermost = recursive && !caller->frame;

    if (actuals && recursive)
        callee.frame = frame_new(x, outermost ? NULL : caller->frame->region);
    if (!actuals || x->body.bad)
        return;
    expand_open_instance(x, &callee, actuals,
                         !recursive && !has_twins(actuals, n));
    if (x->body.bad || x->status)
        return;
    callee.end = body_label(&x->body);
    if (recursive) {
        const struct ptx_operand none = {.kind = PTX_OPERAND_INT};

        frame_step(x, frame_enter, frame_site(x, caller->frame, callee.frame),
                   insn->line);
        body_move(&x->body, callee.frame->ret, &none, 32, insn->line);
    }
    for (size_t k = 0; k < f->param_count && !x->body.bad; k++)
        if (actuals[f->result_count + k].kind != PTX_OPERAND_SINK)
            pass_argument(x, &callee, &f->params[k],
                          &actuals[f->result_count + k], insn->line);
    if (outermost) {
        struct region *region = callee.frame->region;

        body_place(&x->body, region->begin);
        region_jump(x, region, callee.frame->entry, frame_call, insn->line);
    }
    if (recursive)
        body_place(&x->body, callee.frame->entry);
    expand_body(x, &callee);
    body_place(&x->body, callee.end);
    if (recursive && !x->body.bad)
        expand_add_return(x, &callee, outermost, insn->line);
    for (size_t k = 0; k < f->result_count && !x->body.bad; k++)
        take_result(x, &callee, &f->results[k], &actuals[k], insn->line);
}
