/* SPDX-License-Identifier: MIT
 *
 * A module with one kernel left, and of functions and variables what that one
 * reaches, so that a device need not compile hundreds of others to run it.
 */
#include <stdlib.h>

#include "plan.h"

/* What devices take whose answers are kept: CUDA 13.0's. Where a kernel does
 * need a newer one, they refuse it. */
enum { NEWEST_VERSION = 90 };

struct reach {
    const struct ptx_module *m;
    const void **vars, **funcs; /* sorted by address */
    uint8_t *var_seen, *func_seen;
    const struct ptx_func **open;
    size_t open_count;
};

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (void *const *)a;
    const uintptr_t y = (uintptr_t) * (void *const *)b;

    return (x > y) - (x < y);
}

static size_t place_of(const void **list, size_t count, const void *item)
{
    const void **at = bsearch(&item, list, count, sizeof *list, by_address);

    return at ? (size_t)(at - list) : SIZE_MAX;
}

static void take_func(struct reach *r, const struct ptx_func *f);

static void take_var(struct reach *r, const struct ptx_var *v)
{
    const size_t i = place_of(r->vars, r->m->var_count, v);

    if (i == SIZE_MAX || r->var_seen[i])
        return;
    r->var_seen[i] = 1;
    for (size_t k = 0; k < v->ref_count; k++) {
        if (v->refs[k].var)
            take_var(r, v->refs[k].var);
        if (v->refs[k].func)
            take_func(r, v->refs[k].func);
    }
}

static void take_func(struct reach *r, const struct ptx_func *f)
{
    const size_t i = place_of(r->funcs, r->m->func_count, f);

    if (i == SIZE_MAX || r->func_seen[i])
        return;
    r->func_seen[i] = 1;
    r->open[r->open_count++] = f;
    if (f->alias)
        take_func(r, f->alias);
}

static void take_operand(struct reach *r, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        take_var(r, o->var);
        break;
    case PTX_OPERAND_FUNC:
        take_func(r, o->func);
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_ADDR_LIST:
        for (unsigned i = 0; i < o->count; i++)
            take_operand(r, &o->elems[i]);
        break;
    default:
        break;
    }
}

static void take_body(struct reach *r, const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];

        for (unsigned k = 0; k < p->operand_count; k++)
            take_operand(r, &p->operands[k]);
        if (!p->call)
            continue;
        take_operand(r, &p->call->target);
        for (size_t k = 0; k < p->call->arg_count; k++)
            take_operand(r, &p->call->args[k]);
    }
    for (size_t i = 0; i < f->table_count; i++)
        for (size_t k = 0; k < f->tables[i]->func_count; k++)
            take_func(r, f->tables[i]->funcs[k]);
}

static int start(struct reach *r, const struct ptx_module *m,
                 struct arena *arena)
{
    r->m = m;
    r->vars = arena_array(arena, m->var_count + 1, sizeof *r->vars);
    r->funcs = arena_array(arena, m->func_count + 1, sizeof *r->funcs);
    r->open = arena_array(arena, m->func_count + 1, sizeof *r->open);
    r->var_seen = arena_array(arena, m->var_count + 1, 1);
    r->func_seen = arena_array(arena, m->func_count + 1, 1);
    if (!r->vars || !r->funcs || !r->open || !r->var_seen || !r->func_seen)
        return -1;
    for (size_t i = 0; i < m->var_count; i++)
        r->vars[i] = m->vars[i];
    for (size_t i = 0; i < m->func_count; i++)
        r->funcs[i] = m->funcs[i];
    qsort(r->vars, m->var_count, sizeof *r->vars, by_address);
    qsort(r->funcs, m->func_count, sizeof *r->funcs, by_address);
    return 0;
}

void alone_print(const struct ptx_module *m, const struct ptx_func *kernel,
                 uint32_t target, struct buffer *out, struct arena *arena)
{
    struct ptx_module alone = *m;
    struct reach r = {0};

    alone.vars = arena_array(arena, m->var_count + 1, sizeof *alone.vars);
    alone.funcs = arena_array(arena, m->func_count + 1, sizeof *alone.funcs);
    if (!alone.vars || !alone.funcs || start(&r, m, arena)) {
        out->bad = 1;
        return;
    }
    take_func(&r, kernel);
    while (r.open_count)
        take_body(&r, r.open[--r.open_count]);
    alone.var_count = alone.func_count = 0;
    for (size_t i = 0; i < m->var_count; i++)
        if (r.var_seen[place_of(r.vars, m->var_count, m->vars[i])])
            alone.vars[alone.var_count++] = m->vars[i];
    for (size_t i = 0; i < m->func_count; i++)
        if (r.func_seen[place_of(r.funcs, m->func_count, m->funcs[i])])
            alone.funcs[alone.func_count++] = m->funcs[i];
    if (alone.target > target) {
        alone.target = target;
        alone.target_suffix = 0;
    }
    if (alone.version > NEWEST_VERSION)
        alone.version = NEWEST_VERSION;
    ptx_print(&alone, out);
}
