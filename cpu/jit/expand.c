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

#include "cpu/jit/calls.h"

enum { MAX_INSNS = 200000, MAX_DEPTH = 200 };

struct rename {
    const struct ptx_var *from;
    struct ptx_var *to;
};

/* One expansion of one function. */
struct instance {
    const struct ptx_func *func;
    const struct instance *up;
    unsigned depth;
    uint32_t regs, labels; /* where its own start in the body */
    uint32_t end;          /* label behind it */
    struct rename *vars;   /* sorted */
    size_t var_count;
};

struct expand {
    struct body body;
    const struct ptx_module *module;
    struct ptx_var **vars; /* what .param variables became */
    size_t var_count, var_cap;
    struct kiln_error *err;
    enum kiln_status status;
};

static void refuse(struct expand *x, unsigned line, const char *what,
                   const char *name)
{
    if (!x->status)
        x->status =
            kiln_fail(x->err, KILN_E_NOT_SUPPORTED, "line %u: call: %s%s", line,
                      what, name ? name : "");
}

static const struct ptx_func *resolve(const struct ptx_func *f)
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

static struct ptx_var *renamed(const struct instance *i,
                               const struct ptx_var *var)
{
    const struct rename key = {.from = var};
    const struct rename *r =
        i->var_count ? bsearch(&key, i->vars, i->var_count, sizeof key, by_from)
                     : NULL;

    return r ? r->to : NULL;
}

/* A variable of local memory that holds what `like` would. */
static struct ptx_var *local_like(struct expand *x, const struct ptx_var *like,
                                  int is_param)
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

static void add_load(struct expand *x, uint32_t to, const struct ptx_var *var,
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

static void add_store(struct expand *x, const struct ptx_var *var, int64_t at,
                      const struct ptx_operand *from, uint64_t bytes,
                      unsigned line)
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
        add_load(x, reg, from, (int64_t)at, step, line);
        add_store(x, to, (int64_t)at, &o, step, line);
        at += step;
    }
}

/* --- operands --- */

uint64_t calls_address(const struct ptx_module *m, const struct ptx_func *f)
{
    f = resolve(f);
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
        var = o->var ? renamed(i, o->var) : NULL;
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

static void add_equal(struct expand *x, uint32_t pred,
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
            body_jump(&x->body, t->labels[k] + i->labels, -1, 0, insn->line);
            break;
        }
        pred = body_reg(&x->body, PTX_PRED);
        add_equal(x, pred, &index, k, PTX_U32, insn->line);
        body_jump(&x->body, t->labels[k] + i->labels, (int32_t)pred, 0,
                  insn->line);
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
        add_load(x, reg, o.var, 0, bits / 8, line);
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
        refuse(x, from->line, "not the arguments of ", s->name);
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

        add_store(x, to.var, 0, &r, s->result_bits / 8, from->line);
    } else if (to.kind == PTX_OPERAND_REG) {
        struct ptx_operand r = body_reg_operand(result);

        body_move(&x->body, to.reg, &r, s->result_bits, from->line);
    }
}

/* Formals that are variables get the caller's, or one of their own. */
static struct ptx_var *bind(struct expand *x, const struct ptx_var *formal,
                            const struct ptx_operand *actual)
{
    if (actual->kind == PTX_OPERAND_VAR && actual->var &&
        actual->var->space == PTX_SPACE_LOCAL)
        return (struct ptx_var *)(uintptr_t)actual->var;
    return local_like(x, formal, 1);
}

static void pass_argument(struct expand *x, const struct instance *callee,
                          const struct ptx_var *formal,
                          const struct ptx_operand *actual, unsigned line)
{
    const struct ptx_var *to = renamed(callee, formal);

    if (formal->space == PTX_SPACE_REG) {
        if (actual->kind == PTX_OPERAND_VAR)
            add_load(x, callee->regs + formal->reg, actual->var, 0,
                     bits_of(formal) / 8, line);
        else
            body_move(&x->body, callee->regs + formal->reg, actual,
                      bits_of(formal), line);
    } else if (actual->kind != PTX_OPERAND_VAR && to) {
        add_store(x, to, 0, actual, to->size > 8 ? 8 : to->size, line);
    } else if (to && to != actual->var) {
        copy_variable(x, to, actual->var, line);
    }
}

static void take_result(struct expand *x, const struct instance *callee,
                        const struct ptx_var *formal,
                        const struct ptx_operand *actual, unsigned line)
{
    const struct ptx_var *from = renamed(callee, formal);

    if (actual->kind == PTX_OPERAND_SINK)
        return;
    if (formal->space == PTX_SPACE_REG) {
        struct ptx_operand r = body_reg_operand(callee->regs + formal->reg);

        if (actual->kind == PTX_OPERAND_VAR)
            add_store(x, actual->var, 0, &r, bits_of(formal) / 8, line);
        else
            body_move(&x->body, actual->reg, &r, bits_of(formal), line);
    } else if (actual->kind == PTX_OPERAND_REG && from) {
        add_load(x, actual->reg, from, 0, from->size > 8 ? 8 : from->size,
                 line);
    } else if (from && from != actual->var) {
        copy_variable(x, actual->var, from, line);
    }
}

static void expand_body(struct expand *x, struct instance *i);

static int active(const struct instance *i, const struct ptx_func *f)
{
    for (; i; i = i->up)
        if (i->func == f)
            return 1;
    return 0;
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
        i->vars[n++] = (struct rename){v, share ? bind(x, v, &actuals[k])
                                                : local_like(x, v, 1)};
    }
    for (size_t k = 0; k < f->local_count; k++) {
        struct ptx_var *v = f->locals[k];

        if (v->space == PTX_SPACE_PARAM)
            i->vars[n++] = (struct rename){v, local_like(x, v, 1)};
        else if (v->space == PTX_SPACE_LOCAL && i->up)
            i->vars[n++] = (struct rename){v, local_like(x, v, 0)};
        else if (!has_local(x, v))
            body_local(&x->body, v); /* shared: one for all */
    }
    i->var_count = n;
    qsort(i->vars, n, sizeof *i->vars, by_from);
}

static void add_called(struct expand *x, const struct instance *caller,
                       const struct ptx_func *f, const struct ptx_insn *insn)
{
    const struct ptx_call *call = insn->call;
    struct instance callee = {
        .func = f, .up = caller, .depth = caller->depth + 1};
    size_t n = f->result_count + f->param_count;
    struct ptx_operand *actuals =
        arena_array(x->body.arena, n + 1, sizeof *actuals);

    if (!actuals) {
        x->body.bad = 1;
        return;
    }
    if (call->result_count > f->result_count ||
        call->arg_count > f->param_count) {
        refuse(x, insn->line, "more arguments than parameters of ", f->name);
        return;
    }
    for (size_t k = 0; k < n; k++)
        actuals[k].kind = PTX_OPERAND_SINK;
    for (size_t k = 0; k < call->result_count; k++)
        actuals[k] = mapped(x, caller, &call->result_operands[k]);
    for (size_t k = 0; k < call->arg_count; k++)
        actuals[f->result_count + k] = mapped(x, caller, &call->args[k]);
    for (size_t k = 0; k < n; k++)
        if (actuals[k].kind == PTX_OPERAND_VAR &&
            (!actuals[k].var || actuals[k].var->space != PTX_SPACE_LOCAL)) {
            refuse(x, insn->line,
                   "an argument that is no variable of the "
                   "caller's, to ",
                   f->name);
            return;
        }
    open_instance(x, &callee, actuals, !has_twins(actuals, n));
    callee.end = body_label(&x->body);
    for (size_t k = 0; k < f->param_count && !x->body.bad; k++)
        if (actuals[f->result_count + k].kind != PTX_OPERAND_SINK)
            pass_argument(x, &callee, &f->params[k],
                          &actuals[f->result_count + k], insn->line);
    expand_body(x, &callee);
    body_place(&x->body, callee.end);
    for (size_t k = 0; k < f->result_count && !x->body.bad; k++)
        take_result(x, &callee, &f->results[k], &actuals[k], insn->line);
}

static void add_call(struct expand *x, const struct instance *i,
                     const struct ptx_insn *insn)
{
    const struct ptx_func *f = resolve(
        insn->call->target.kind == PTX_OPERAND_FUNC ? insn->call->target.func
                                                    : NULL);
    const struct call_service *s = NULL;
    uint32_t skip;

    if (!f) {
        refuse(x, insn->line, "through a register", NULL);
        return;
    }
    if (!f->has_body && !(s = call_service_find(f->name))) {
        refuse(x, insn->line, "no body for ", f->name);
        return;
    }
    if (active(i, f) || i->depth >= MAX_DEPTH) {
        refuse(x, insn->line, "recursion of ", f->name);
        return;
    }
    skip = skip_unguarded(x, i, insn);
    if (s)
        add_service(x, i, insn, s);
    else
        add_called(x, i, f, insn);
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

    if (!starts) {
        x->body.bad = 1;
        return;
    }
    for (size_t k = 0; k < f->insn_count && !x->body.bad && !x->status; k++) {
        starts[k] = x->body.func->insn_count;
        expand_insn(x, i, &f->insns[k]);
        if (x->body.func->insn_count > MAX_INSNS)
            refuse(x, f->insns[k].line,
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
    open_instance(&x, &entry, NULL, 0);
    if (!x.body.bad)
        expand_body(&x, &entry);
    if (!x.body.bad && !x.status)
        calls_scalars(&x.body, x.vars, x.var_count);
    if (!x.status && x.body.bad)
        x.status = kiln_fail(err, KILN_E_MEMORY,
                             "out of memory putting calls in place");
    *out = flat;
    return x.status;
}
