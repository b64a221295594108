/* SPDX-License-Identifier: MIT
 *
 * Calls of a function from inside it, and its returns: jumps through the hub
 * of its region. Arguments and results go through registers, since they may
 * lie in a frame that the call leaves.
 */
#include "cpu/jit/expand.h"

/* The end of a recursive function: to its outer call, or to the hub, which
 * the outermost one has behind it. */
void expand_add_return(struct expand *x, const struct instance *callee,
                       int outermost, unsigned line)
{
    struct region *region = callee->frame->region;
    struct ptx_operand ret = body_reg_operand(callee->frame->ret);
    uint32_t outer = body_reg(&x->body, PTX_PRED);
    uint32_t after = body_label(&x->body);
    size_t at;

    expand_equal(x, outer, &ret, 0, PTX_U32, line);
    body_jump(&x->body, after, (int32_t)outer, 0, line);
    body_move(&x->body, region->state, &ret, 32, line);
    at = x->body.func->insn_count;
    body_jump(&x->body, region->hub, -1, 0, line);
    if (x->body.bad)
        return;
    x->body.func->insns[at].text = frame_return;
    /* the caller finds its frame from this one's */
    x->body.func->insns[at].operands[1] = body_reg_operand(callee->frame->fp);
    if (outermost) {
        region_close(x, region, line);
        body_place(&x->body, region->end);
    }
    body_place(&x->body, after);
}

static struct ptx_operand formal_operand(const struct instance *callee,
                                         const struct ptx_var *formal)
{
    struct ptx_operand o = {.kind = PTX_OPERAND_VAR};

    if (formal->space == PTX_SPACE_REG)
        return body_reg_operand(callee->regs + formal->reg);
    o.var = expand_renamed(callee, formal);
    return o;
}

/* A value on its way: in registers from first on, in pieces of what both
 * sides are aligned to. With `out` from them to the operand, else the other
 * way round. */
static void carry(struct expand *x, const struct ptx_operand *o,
                  const struct ptx_operand *other, const struct ptx_var *formal,
                  uint32_t first, int out, unsigned line)
{
    uint64_t size = formal->size, step = 8;
    const int whole =
        o->kind != PTX_OPERAND_VAR || other->kind != PTX_OPERAND_VAR;

    if (formal->space == PTX_SPACE_REG)
        size = (expand_bits_of(formal) + 7) / 8;
    if (whole && size > 8)
        size = 8;
    while (!whole && (step > o->var->align || step > other->var->align))
        step /= 2;
    for (uint64_t at = 0; at < size && step; at += step, first++) {
        struct ptx_operand r = body_reg_operand(first);

        while (step > size - at)
            step /= 2;
        if (!out)
            first = body_reg(&x->body, formal->space == PTX_SPACE_REG &&
                                               expand_bits_of(formal) == 1
                                           ? PTX_PRED
                                       : step == 8 ? PTX_B64
                                       : step == 4 ? PTX_B32
                                                   : PTX_B16);
        if (o->kind == PTX_OPERAND_VAR && out)
            expand_store(x, o->var, (int64_t)at, &r, step, line);
        else if (o->kind == PTX_OPERAND_VAR)
            expand_load(x, first, o->var, (int64_t)at, step, line);
        else
            body_move(&x->body, out ? o->reg : first, out ? &r : o,
                      formal->space == PTX_SPACE_REG ? expand_bits_of(formal)
                                                     : (unsigned)step * 8,
                      line);
    }
}

/* Both sides of each argument (or result), all into registers first. */
static void carry_all(struct expand *x, const struct ptx_operand *from,
                      const struct ptx_operand *to,
                      const struct ptx_var *formals, size_t count,
                      uint32_t *firsts, int out, unsigned line)
{
    for (size_t k = 0; k < count && !x->body.bad; k++) {
        if (from[k].kind == PTX_OPERAND_SINK || to[k].kind == PTX_OPERAND_SINK)
            continue;
        if (!out)
            firsts[k] = (uint32_t)x->body.func->reg_count;
        carry(x, out ? &to[k] : &from[k], out ? &from[k] : &to[k], &formals[k],
              firsts[k], out, line);
    }
}

void expand_add_inner(struct expand *x, const struct instance *caller,
                      const struct instance *callee,
                      const struct ptx_insn *insn)
{
    const struct ptx_func *f = callee->func;
    size_t results = f->result_count, n = results + f->param_count, site;
    struct ptx_operand *actuals = expand_actuals_of(x, caller, f, insn);
    struct ptx_operand *formals =
        arena_array(x->body.arena, n + 1, sizeof *formals);
    uint32_t *firsts = arena_array(x->body.arena, n + 1, sizeof *firsts);
    struct ptx_operand number = {.kind = PTX_OPERAND_INT};
    uint32_t back = body_label(&x->body), kept;

    if (!formals || !firsts)
        x->body.bad = 1;
    if (!actuals || x->body.bad)
        return;
    for (size_t k = 0; k < n; k++)
        formals[k] = formal_operand(
            callee, k < results ? &f->results[k] : &f->params[k - results]);
    carry_all(x, actuals + results, formals + results, f->params,
              f->param_count, firsts, 0, insn->line);
    site = frame_site(x, caller->frame, callee->frame);
    if (x->body.bad)
        return;
    x->inner_count++;
    number.ival = region_target(x, callee->frame->region, back);
    frame_step(x, frame_push, site, insn->line);
    carry_all(x, actuals + results, formals + results, f->params,
              f->param_count, firsts, 1, insn->line);
    body_move(&x->body, callee->frame->ret, &number, 32, insn->line);
    region_jump(x, callee->frame->region, callee->frame->entry, frame_call,
                insn->line);
    if (x->body.bad)
        return;
    body_place(&x->body, back);
    kept = (uint32_t)x->body.func->reg_count;
    carry_all(x, formals, actuals, f->results, results, firsts, 0, insn->line);
    x->sites[site].first_kept = kept;
    x->sites[site].kept_end = (uint32_t)x->body.func->reg_count;
    frame_step(x, frame_pop, site, insn->line);
    carry_all(x, formals, actuals, f->results, results, firsts, 1, insn->line);
}
