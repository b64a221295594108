/* SPDX-License-Identifier: MIT
 *
 * Each call is replaced by the body it calls: registers, labels and local
 * variables renamed, parameters bound to the variables that the caller named.
 * A return is a jump behind the call; lanes that return early wait there as
 * at any other place where paths meet, so nothing else is needed for calls
 * under divergence. `exit` stays what it is and ends its lanes.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/jit/expand.h"

enum { MAX_INSNS = 200000, MAX_DEPTH = 200 };

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

/* --- variables --- */

static int by_from(const void *a, const void *b)
{
    uintptr_t p = (uintptr_t)((const struct rename *)a)->from;
    uintptr_t q = (uintptr_t)((const struct rename *)b)->from;

    return (p > q) - (p < q);
}

struct ptx_var *expand_renamed(const struct instance *i,
                               const struct ptx_var *var)
{
    const struct rename key = {.from = var};
    const struct rename *r =
        i->var_count ? bsearch(&key, i->vars, i->var_count, sizeof key, by_from)
                     : NULL;

    return r ? r->to : NULL;
}

/* A variable of local memory that holds what `like` would. */
static struct ptx_var *local_like(struct expand *x, struct frame *frame,
                                  const struct ptx_var *like, int is_param)
{
    struct ptx_var *v = arena_alloc(x->body.arena, sizeof *v);
    struct ptx_var **vars = x->vars;

    if (v && is_param)
        vars = arena_grow(x->body.arena, x->vars, x->var_count, &x->var_cap,
                          sizeof(struct ptx_var *));
    if (!v || (is_param && !vars)) {
        x->body.bad = 1;
        return NULL;
    }
    *v = *like;
    v->space = PTX_SPACE_LOCAL;
    v->is_extern = 0;
    v->offset = 0;
    if (frame)
        frame_own(x, frame, v);
    else
        body_local(&x->body, v);
    if (is_param) {
        x->vars = vars;
        v->offset = x->var_count;
        vars[x->var_count++] = v;
    }
    return v;
}

static struct ptx_operand address_of(const struct ptx_var *var)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_ADDR_VAR, .var = var};
}

static enum ptx_type memory_type(uint64_t bytes)
{
    return bytes == 1   ? PTX_B8
           : bytes == 2 ? PTX_B16
           : bytes == 4 ? PTX_B32
                        : PTX_B64;
}

void expand_load(struct expand *x, uint32_t to, const struct ptx_var *var,
                 int64_t at, uint64_t bytes, unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_LD, line, "ld.param");

    if (!insn)
        return;
    insn->space = PTX_SPACE_LOCAL;
    insn->type_count = 1;
    insn->types[0] = memory_type(bytes);
    insn->dst_count = 1;
    insn->operand_count = 2;
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] = address_of(var);
    insn->operands[1].ival = at;
}

void expand_store(struct expand *x, const struct ptx_var *var, int64_t at,
                  const struct ptx_operand *from, uint64_t bytes, unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_ST, line, "st.param");

    if (!insn)
        return;
    insn->space = PTX_SPACE_LOCAL;
    insn->type_count = 1;
    insn->types[0] = memory_type(bytes);
    insn->operand_count = 2;
    insn->operands[0] = address_of(var);
    insn->operands[0].ival = at;
    insn->operands[1] = *from;
}

static void copy_variable(struct expand *x, const struct ptx_var *to,
                          const struct ptx_var *from, unsigned line)
{
    uint64_t size = to->size < from->size ? to->size : from->size;
    uint64_t step = 1;

    while (step < 8 && step * 2 <= to->align && step * 2 <= from->align)
        step *= 2;
    for (uint64_t at = 0; at < size && !x->body.bad;) {
        uint32_t reg;
        struct ptx_operand o;

        while (step > size - at)
            step /= 2;
        reg = body_reg(&x->body, step == 8   ? PTX_B64
                                 : step == 4 ? PTX_B32
                                             : PTX_B16);
        o = body_reg_operand(reg);
        expand_load(x, reg, from, (int64_t)at, step, line);
        expand_store(x, to, (int64_t)at, &o, step, line);
        at += step;
    }
}

/* --- operands --- */

uint64_t calls_address(const struct ptx_module *m, const struct ptx_func *f)
{
    f = calls_resolve(f);
    for (size_t i = 0; i < m->func_count; i++)
        if (m->funcs[i] == f)
            return ((uint64_t)i + 1) * 16;
    return 0;
}

static void map_operand(struct expand *x, const struct instance *i,
                        struct ptx_operand *o)
{
    struct ptx_operand *elems;
    struct ptx_var *var;

    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        o->reg += i->regs;
        return;
    case PTX_OPERAND_LABEL:
        o->label += i->labels;
        return;
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        var = o->var ? expand_renamed(i, o->var) : NULL;
        if (var)
            o->var = var;
        return;
    case PTX_OPERAND_FUNC:
        o->ival = (int64_t)calls_address(x->module, o->func);
        o->kind = PTX_OPERAND_INT;
        return;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_ADDR_LIST:
        elems = arena_array(x->body.arena, o->count, sizeof *elems);
        if (!elems) {
            x->body.bad = 1;
            return;
        }
        for (int k = 0; k < o->count; k++) {
            elems[k] = o->elems[k];
            map_operand(x, i, &elems[k]);
        }
        o->elems = elems;
        return;
    default:
        return;
    }
}

static struct ptx_operand mapped(struct expand *x, const struct instance *i,
                                 const struct ptx_operand *o)
{
    struct ptx_operand copy = *o;

    map_operand(x, i, &copy);
    return copy;
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

        map_operand(x, i, o);
        if (insn->space == PTX_SPACE_PARAM && o->kind == PTX_OPERAND_ADDR_VAR &&
            o->var && o->var->space == PTX_SPACE_LOCAL)
            insn->space = PTX_SPACE_LOCAL;
    }
}

void expand_equal(struct expand *x, uint32_t pred,
                  const struct ptx_operand *value, uint64_t constant,
                  enum ptx_type type, unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_SETP, line, "setp.eq");

    if (!insn)
        return;
    insn->cmp = PTX_CMP_EQ;
    insn->type_count = 1;
    insn->types[0] = type;
    insn->dst_count = 1;
    insn->operand_count = 3;
    insn->operands[0] = body_reg_operand(pred);
    insn->operands[1] = *value;
    insn->operands[2] = (struct ptx_operand){.kind = PTX_OPERAND_INT,
                                             .ival = (int64_t)constant};
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
    struct ptx_operand index = mapped(x, i, &insn->operands[0]);
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

/* --- calls --- */

static unsigned bits_of(const struct ptx_var *v)
{
    return ptx_type_bits(v->type);
}

static uint32_t argument_reg(struct expand *x, const struct instance *i,
                             const struct ptx_operand *arg, unsigned bits,
                             unsigned line)
{
    struct ptx_operand o = mapped(x, i, arg);
    uint32_t reg = body_reg(&x->body, bits == 64 ? PTX_B64 : PTX_B32);

    if (o.kind == PTX_OPERAND_VAR && o.var && o.var->space == PTX_SPACE_LOCAL)
        expand_load(x, reg, o.var, 0, bits / 8, line);
    else
        body_move(&x->body, reg, &o, bits, line);
    return reg;
}

/* A call that the engine answers, with registers for operands. */
static void add_service(struct expand *x, const struct instance *i,
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
    to = mapped(x, i, &call->result_operands[0]);
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
    return local_like(x, frame, formal, 1);
}

static void pass_argument(struct expand *x, const struct instance *callee,
                          const struct ptx_var *formal,
                          const struct ptx_operand *actual, unsigned line)
{
    const struct ptx_var *to = expand_renamed(callee, formal);

    if (formal->space == PTX_SPACE_REG) {
        if (actual->kind == PTX_OPERAND_VAR)
            expand_load(x, callee->regs + formal->reg, actual->var, 0,
                        bits_of(formal) / 8, line);
        else
            body_move(&x->body, callee->regs + formal->reg, actual,
                      bits_of(formal), line);
    } else if (actual->kind != PTX_OPERAND_VAR && to) {
        expand_store(x, to, 0, actual, to->size > 8 ? 8 : to->size, line);
    } else if (to && to != actual->var) {
        copy_variable(x, to, actual->var, line);
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
            expand_store(x, actual->var, 0, &r, bits_of(formal) / 8, line);
        else
            body_move(&x->body, actual->reg, &r, bits_of(formal), line);
    } else if (actual->kind == PTX_OPERAND_REG && from) {
        expand_load(x, actual->reg, from, 0, from->size > 8 ? 8 : from->size,
                    line);
    } else if (from && from != actual->var) {
        copy_variable(x, actual->var, from, line);
    }
}

static void expand_body(struct expand *x, struct instance *i);

static const struct instance *active(const struct instance *i,
                                     const struct ptx_func *f)
{
    for (; i; i = i->up)
        if (i->func == f)
            return i;
    return NULL;
}

/* Whether two of the call's variables are one: then none is shared. */
static int has_twins(const struct ptx_operand *list, size_t count)
{
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++)
            if (list[a].kind == PTX_OPERAND_VAR &&
                list[b].kind == PTX_OPERAND_VAR && list[a].var == list[b].var)
                return 1;
    return 0;
}

static int has_local(const struct expand *x, const struct ptx_var *v)
{
    for (size_t i = 0; i < x->body.func->local_count; i++)
        if (x->body.func->locals[i] == v)
            return 1;
    return 0;
}

/* Place for its registers, labels and variables. The renames are sorted when
 * all are in. */
static void open_instance(struct expand *x, struct instance *i,
                          const struct ptx_operand *actuals, int share)
{
    const struct ptx_func *f = i->func;
    size_t formals = f->result_count + f->param_count, n = 0;

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
                                     : local_like(x, i->frame, v, 1)};
    }
    for (size_t k = 0; k < f->local_count; k++) {
        struct ptx_var *v = f->locals[k];

        if (v->space == PTX_SPACE_PARAM)
            i->vars[n++] = (struct rename){v, local_like(x, i->frame, v, 1)};
        else if (v->space == PTX_SPACE_LOCAL && i->up)
            i->vars[n++] = (struct rename){v, local_like(x, i->frame, v, 0)};
        else if (!has_local(x, v))
            body_local(&x->body, v); /* shared: one for all */
    }
    i->var_count = n;
    qsort(i->vars, n, sizeof *i->vars, by_from);
}

/* The call's operands in the order of the function's results and parameters;
 * NULL when they do not fit it. */
static struct ptx_operand *actuals_of(struct expand *x,
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
        list[k] = mapped(x, caller, &call->result_operands[k]);
    for (size_t k = 0; k < call->arg_count; k++)
        list[f->result_count + k] = mapped(x, caller, &call->args[k]);
    for (size_t k = 0; k < n; k++) {
        const struct ptx_var *formal = k < f->result_count
                                           ? &f->results[k]
                                           : &f->params[k - f->result_count];

        if (list[k].kind != PTX_OPERAND_VAR)
            continue;
        if (list[k].var && list[k].var->space == PTX_SPACE_LOCAL &&
            (formal->space != PTX_SPACE_REG || bits_of(formal) >= 8))
            continue;
        expand_refuse(x, insn->line,
                      "an argument that is no variable of the caller's, to ",
                      f->name);
        return NULL;
    }
    return list;
}

/* The end of a recursive function: to its outer call, or to the hub, which
 * the outermost one has behind it. */
static void add_return(struct expand *x, const struct instance *callee,
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

static void add_called(struct expand *x, const struct instance *caller,
                       const struct ptx_func *f, const struct ptx_insn *insn)
{
    struct instance callee = {.func = f,
                              .up = caller,
                              .depth = caller->depth + 1,
                              .frame = caller->frame};
    size_t n = f->result_count + f->param_count;
    struct ptx_operand *actuals = actuals_of(x, caller, f, insn);
    const int recursive = actuals && targets_recursive(x, f);

    const int outermost = recursive && !caller->frame;

    if (actuals && recursive)
        callee.frame = frame_new(x, outermost ? NULL : caller->frame->region);
    if (!actuals || x->body.bad)
        return;
    open_instance(x, &callee, actuals, !recursive && !has_twins(actuals, n));
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
        add_return(x, &callee, outermost, insn->line);
    for (size_t k = 0; k < f->result_count && !x->body.bad; k++)
        take_result(x, &callee, &f->results[k], &actuals[k], insn->line);
}

/* --- calls of a function from inside it --- */

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
        size = (bits_of(formal) + 7) / 8;
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
                                               bits_of(formal) == 1
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
                      formal->space == PTX_SPACE_REG ? bits_of(formal)
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

static void add_inner(struct expand *x, const struct instance *caller,
                      const struct instance *callee,
                      const struct ptx_insn *insn)
{
    const struct ptx_func *f = callee->func;
    size_t results = f->result_count, n = results + f->param_count, site;
    struct ptx_operand *actuals = actuals_of(x, caller, f, insn);
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

/* --- which function --- */

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
        add_service(x, i, insn, s);
    else if (outer)
        add_inner(x, i, outer, insn);
    else
        add_called(x, i, f, insn);
}

/* Through a register: one after the other of those it may mean. An address
 * that is none of theirs is a fault. */
static void add_indirect(struct expand *x, const struct instance *i,
                         const struct ptx_insn *insn)
{
    struct ptx_operand target = mapped(x, i, &insn->call->target);
    const struct ptx_func *const *list;
    size_t count = targets_of(x, insn->call, &list);
    uint32_t join = body_label(&x->body);

    for (size_t k = 0; k < count && !x->body.bad && !x->status; k++) {
        uint32_t pred = body_reg(&x->body, PTX_PRED);
        uint32_t next = body_label(&x->body);

        expand_equal(x, pred, &target, calls_address(x->module, list[k]),
                     PTX_U64, insn->line);
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

static void expand_body(struct expand *x, struct instance *i)
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
        if (x->body.func->insn_count > MAX_INSNS)
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
        open_instance(&x, &entry, NULL, 0);
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
