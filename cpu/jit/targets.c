/* SPDX-License-Identifier: MIT
 *
 * Who calls whom: what a call through a register may mean, and which
 * functions may come to call themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/jit/expand.h"

static int by_address(const void *a, const void *b)
{
    uintptr_t p = (uintptr_t) * (const struct ptx_func *const *)a;
    uintptr_t q = (uintptr_t) * (const struct ptx_func *const *)b;

    return (p > q) - (p < q);
}

static size_t index_of(const struct expand *x, const struct ptx_func *f)
{
    const struct ptx_func *const *at = bsearch(
        &f, x->funcs, x->module->func_count, sizeof(*x->funcs), by_address);

    return at ? (size_t)(at - (const struct ptx_func *const *)x->funcs)
              : SIZE_MAX;
}

static void take(struct expand *x, const struct ptx_func *f, uint8_t *seen)
{
    size_t i;
    const struct ptx_func **taken;

    f = calls_resolve(f);
    i = f ? index_of(x, f) : SIZE_MAX;
    if (i == SIZE_MAX || seen[i] || !f->has_body || f->is_entry)
        return;
    seen[i] = 1;
    taken = arena_grow(x->body.arena, x->taken, x->taken_count, &x->taken_cap,
                       sizeof(const struct ptx_func *));
    if (!taken) {
        x->body.bad = 1;
        return;
    }
    x->taken = taken;
    taken[x->taken_count++] = f;
}

static void take_operands(struct expand *x, const struct ptx_operand *list,
                          size_t count, uint8_t *seen)
{
    for (size_t k = 0; k < count; k++) {
        if (list[k].kind == PTX_OPERAND_FUNC)
            take(x, list[k].func, seen);
        if (list[k].kind == PTX_OPERAND_VECTOR)
            take_operands(x, list[k].elems, list[k].count, seen);
    }
}

static void find_taken(struct expand *x, uint8_t *seen)
{
    const struct ptx_module *m = x->module;

    for (size_t i = 0; i < m->var_count; i++)
        for (size_t r = 0; r < m->vars[i]->ref_count; r++)
            if (m->vars[i]->refs[r].func)
                take(x, m->vars[i]->refs[r].func, seen);
    for (size_t i = 0; i < m->func_count; i++)
        for (size_t k = 0; k < m->funcs[i]->insn_count; k++) {
            const struct ptx_insn *insn = &m->funcs[i]->insns[k];

            take_operands(x, insn->operands, insn->operand_count, seen);
            if (insn->call)
                take_operands(x, insn->call->args, insn->call->arg_count, seen);
        }
}

void targets_open(struct expand *x)
{
    size_t n = x->module->func_count;
    uint8_t *seen = arena_array(x->body.arena, n + 1, 1);

    x->funcs =
        arena_array(x->body.arena, n + 1, sizeof(const struct ptx_func *));
    x->recursive = arena_array(x->body.arena, n + 1, 1);
    if (!x->funcs || !x->recursive || !seen) {
        x->body.bad = 1;
        return;
    }
    for (size_t i = 0; i < n; i++)
        x->funcs[i] = x->module->funcs[i];
    qsort(x->funcs, n, sizeof *x->funcs, by_address);
    find_taken(x, seen);
}

static int same_sizes(const struct ptx_var *a, const struct ptx_var *b,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].size != b[i].size)
            return 0;
    return 1;
}

static int fits(const struct ptx_func *p, const struct ptx_func *f)
{
    return p->result_count == f->result_count &&
           p->param_count == f->param_count &&
           same_sizes(p->results, f->results, p->result_count) &&
           same_sizes(p->params, f->params, p->param_count);
}

size_t targets_of(struct expand *x, const struct ptx_call *call,
                  const struct ptx_func *const **list)
{
    const struct ptx_table *t = call->prototype;
    const struct ptx_func **fit;
    size_t n = 0;

    *list = NULL;
    if (!t || x->body.bad)
        return 0;
    if (t->func_count) {
        *list = (const struct ptx_func *const *)t->funcs;
        return t->func_count;
    }
    fit = arena_array(x->body.arena, x->taken_count + 1,
                      sizeof(const struct ptx_func *));
    if (!fit) {
        x->body.bad = 1;
        return 0;
    }
    for (size_t i = 0; i < x->taken_count; i++)
        if (t->prototype && fits(t->prototype, x->taken[i]))
            fit[n++] = x->taken[i];
    *list = (const struct ptx_func *const *)fit;
    return n;
}

/* Those that f may call and that were not seen yet, onto the stack. */
static size_t push_called(struct expand *x, const struct ptx_func *f,
                          uint8_t *seen, const struct ptx_func **stack,
                          size_t depth)
{
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_call *call = f->insns[k].call;
        const struct ptx_func *one, *const *list = &one;
        size_t n = 1;

        if (!call)
            continue;
        if (call->target.kind == PTX_OPERAND_FUNC)
            one = call->target.func;
        else
            n = targets_of(x, call, &list);
        for (size_t i = 0; i < n; i++) {
            const struct ptx_func *to = calls_resolve(list[i]);
            size_t at = index_of(x, to);

            if (at == SIZE_MAX || seen[at] || !to->has_body)
                continue;
            seen[at] = 1;
            stack[depth++] = to;
        }
    }
    return depth;
}

int targets_recursive(struct expand *x, const struct ptx_func *f)
{
    size_t n = x->module->func_count, at = index_of(x, f), depth = 0;
    const struct ptx_func **stack;
    uint8_t *seen;

    if (at == SIZE_MAX)
        return 0;
    if (x->recursive[at])
        return x->recursive[at] == 2;
    stack = arena_array(x->body.arena, n + 1, sizeof(const struct ptx_func *));
    seen = arena_array(x->body.arena, n + 1, 1);
    if (!stack || !seen) {
        x->body.bad = 1;
        return 0;
    }
    depth = push_called(x, f, seen, stack, 0);
    while (depth && !seen[at]) {
        const struct ptx_func *g = stack[--depth];

        depth = push_called(x, g, seen, stack, depth);
    }
    x->recursive[at] = seen[at] ? 2 : 1;
    return seen[at];
}
