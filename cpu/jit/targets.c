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
    uintptr_t p = (uintptr_t)((const struct numbered *)a)->func;
    uintptr_t q = (uintptr_t)((const struct numbered *)b)->func;

    return (p > q) - (p < q);
}

/* Its number in the module, or SIZE_MAX. */
static size_t index_of(const struct expand *x, const struct ptx_func *f)
{
    const struct numbered key = {.func = f};
    const struct numbered *at =
        x->module->func_count ? bsearch(&key, x->funcs, x->module->func_count,
                                        sizeof key, by_address)
                              : NULL;

    return at ? at->number : SIZE_MAX;
}

uint64_t targets_address(const struct expand *x, const struct ptx_func *f)
{
    size_t i = index_of(x, calls_resolve(f));

    return i == SIZE_MAX ? 0 : calls_number(i);
}

int targets_first(struct expand *x, const struct ptx_func *f)
{
    size_t i = index_of(x, f);
    int first = i == SIZE_MAX || !x->opened[i];

    if (i != SIZE_MAX)
        x->opened[i] = 1;
    return first;
}

static void take(struct expand *x, const struct ptx_func *f, uint8_t *seen)
{
    size_t i;

    f = calls_resolve(f);
    i = f ? index_of(x, f) : SIZE_MAX;
    if (i == SIZE_MAX || seen[i] || !f->has_body || f->is_entry)
        return;
    seen[i] = 1;
    x->taken_count++;
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

static int compare_sizes(const struct ptx_var *a, const struct ptx_var *b,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].size != b[i].size)
            return a[i].size < b[i].size ? -1 : 1;
    return 0;
}

/* 0 when one fits a prototype like the other. */
static int compare(const struct ptx_func *p, const struct ptx_func *q)
{
    int order;

    if (p->result_count != q->result_count)
        return p->result_count < q->result_count ? -1 : 1;
    if (p->param_count != q->param_count)
        return p->param_count < q->param_count ? -1 : 1;
    order = compare_sizes(p->results, q->results, p->result_count);
    return order ? order : compare_sizes(p->params, q->params, p->param_count);
}

static int by_signature(const void *a, const void *b)
{
    const struct numbered *p = a, *q = b;
    int order = compare(p->func, q->func);

    return order ? order : (p->number > q->number) - (p->number < q->number);
}

static void sort_taken(struct expand *x, const uint8_t *seen)
{
    struct numbered *list =
        arena_array(x->body.arena, x->taken_count + 1, sizeof *list);
    size_t n = 0;

    x->taken = arena_array(x->body.arena, x->taken_count + 1,
                           sizeof(const struct ptx_func *));
    if (!list || !x->taken) {
        x->body.bad = 1;
        return;
    }
    for (size_t i = 0; i < x->module->func_count; i++)
        if (seen[i])
            list[n++] = (struct numbered){x->module->funcs[i], i};
    qsort(list, n, sizeof *list, by_signature);
    for (size_t i = 0; i < n; i++)
        x->taken[i] = list[i].func;
}

void targets_open(struct expand *x)
{
    size_t n = x->module->func_count;
    uint8_t *seen = arena_array(x->body.arena, n + 1, 1);

    x->funcs = arena_array(x->body.arena, n + 1, sizeof *x->funcs);
    x->recursive = arena_array(x->body.arena, n + 1, 1);
    x->opened = arena_array(x->body.arena, n + 1, 1);
    x->pending =
        arena_array(x->body.arena, n + 1, sizeof(const struct ptx_func *));
    x->visited = arena_array(x->body.arena, n + 1, sizeof *x->visited);
    if (!x->funcs || !x->recursive || !x->opened || !x->pending ||
        !x->visited || !seen) {
        x->body.bad = 1;
        return;
    }
    for (size_t i = 0; i < n; i++)
        x->funcs[i] = (struct numbered){x->module->funcs[i], i};
    qsort(x->funcs, n, sizeof *x->funcs, by_address);
    find_taken(x, seen);
    sort_taken(x, seen);
}

/* Where those that compare so or higher start. */
static size_t taken_from(const struct expand *x, const struct ptx_func *f,
                         int least)
{
    size_t low = 0, high = x->taken_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(x->taken[middle], f) >= least)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t targets_of(struct expand *x, const struct ptx_call *call,
                  const struct ptx_func *const **list)
{
    const struct ptx_table *t = call->prototype;
    size_t first;

    *list = NULL;
    if (!t || x->body.bad)
        return 0;
    if (t->func_count) {
        *list = (const struct ptx_func *const *)t->funcs;
        return t->func_count;
    }
    if (!t->prototype)
        return 0;
    first = taken_from(x, t->prototype, 0);
    *list = x->taken + first;
    return taken_from(x, t->prototype, 1) - first;
}

/* Those that f may call and that this visit has not seen, on top of what is
 * pending. */
static size_t push_called(struct expand *x, const struct ptx_func *f,
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

            if (at == SIZE_MAX || x->visited[at] == x->visit || !to->has_body)
                continue;
            x->visited[at] = x->visit;
            x->pending[depth++] = to;
        }
    }
    return depth;
}

int targets_recursive(struct expand *x, const struct ptx_func *f)
{
    size_t at = index_of(x, f), depth;
    int found;

    if (at == SIZE_MAX)
        return 0;
    if (x->recursive[at])
        return x->recursive[at] == 2;
    x->visit++;
    depth = push_called(x, f, 0);
    while (depth && x->visited[at] != x->visit) {
        const struct ptx_func *g = x->pending[--depth];

        depth = push_called(x, g, depth);
    }
    found = x->visited[at] == x->visit;
    x->recursive[at] = found ? 2 : 1;
    return found;
}
