/* SPDX-License-Identifier: MIT
 *
 * Layout of variables. A kernel's static shared memory holds the variables
 * that it names, in the order of their declaration; dynamic shared memory
 * (.extern .shared x[]) starts behind them, and all such names share it.
 */
#include "cpu/jit/layout.h"

#include "cpu/jit/calls.h"
#include "cpu/jit/expand.h"

#include <stdlib.h>
#include <string.h>

enum { DYNAMIC_ALIGN = 16, LOCAL_ALIGN = 16 };

/* What one module and one kernel may take, as ptxas has it for sm_90 and up.
 * More is no PTX that assembles. */
enum { CONST_MAX = 65536, SHARED_MAX = 227 * 1024 };

static uint64_t align_up(uint64_t v, uint64_t alignment)
{
    return (v + alignment - 1) & ~(alignment - 1);
}

static int in_data(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST;
}

/* One variable at the end of the segment. */
static enum kiln_status place_variable(struct layout *l, struct ptx_var *v,
                                       struct kiln_error *err)
{
    const uint32_t alignment = v->align ? v->align : 1;

    if (v->is_extern && !v->size)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "line %u: %s: an external variable without a "
                         "size; link the module that defines it",
                         v->line, v->name);
    v->offset = align_up(l->data_size, alignment);
    if (__builtin_add_overflow(v->offset, v->size, &l->data_size) ||
        l->data_size > (uint64_t)1 << 40)
        return kiln_fail(err, KILN_E_PTX,
                         "line %u: %s: module variables of more than "
                         "2^40 bytes",
                         v->line, v->name);
    if (alignment > l->data_align)
        l->data_align = alignment;
    l->variables[l->variable_count++] = (struct object_variable){
        .name = v->name,
        .space = v->space == PTX_SPACE_CONST ? OBJECT_CONST : OBJECT_GLOBAL,
        .is_visible = v->is_visible || v->is_weak || v->is_extern,
        .offset = v->offset,
        .size = v->size,
        .align = alignment};
    return KILN_OK;
}

/* Global variables, then constant ones on pages of their own, so that kernels
 * can be kept from writing these. */
static enum kiln_status place_data(struct layout *l, struct kiln_error *err)
{
    const struct ptx_module *m = l->module;
    enum kiln_status st = KILN_OK;
    uint64_t constant = 0;

    l->variables = arena_array(l->arena, m->var_count, sizeof *l->variables);
    if (m->var_count && !l->variables)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    l->data_align = 16;
    for (size_t i = 0; i < m->var_count && !st; i++)
        if (m->vars[i]->space == PTX_SPACE_GLOBAL)
            st = place_variable(l, m->vars[i], err);
    for (size_t i = 0; i < m->var_count && !st; i++) {
        struct ptx_var *v = m->vars[i];

        if (v->space != PTX_SPACE_CONST)
            continue;
        if (!constant)
            l->const_at = l->data_size =
                align_up(l->data_size, OBJECT_CONST_PAGE);
        constant = align_up(constant, v->align ? v->align : 1) + v->size;
        if (constant > CONST_MAX)
            return kiln_fail(err, KILN_E_PTX,
                             "line %u: %s: 0x%llx bytes of constant "
                             "variables, 0x%x at most",
                             v->line, v->name, (unsigned long long)constant,
                             CONST_MAX);
        st = place_variable(l, v, err);
    }
    l->const_size = constant;
    if (constant)
        l->data_size = align_up(l->data_size, OBJECT_CONST_PAGE);
    return st;
}

struct addressed {
    const struct ptx_func *func;
    uint64_t address;
};

static int by_func(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct addressed *)a)->func;
    uintptr_t y = (uintptr_t)((const struct addressed *)b)->func;

    return (x > y) - (x < y);
}

/* The functions in the order of their places in memory, to be found. */
static struct addressed *number_functions(struct layout *l)
{
    const struct ptx_module *m = l->module;
    struct addressed *list = arena_array(l->arena, m->func_count, sizeof *list);

    for (size_t i = 0; list && i < m->func_count; i++)
        list[i] = (struct addressed){m->funcs[i], calls_number(i)};
    if (list)
        qsort(list, m->func_count, sizeof *list, by_func);
    return list;
}

static uint64_t function_address(const struct layout *l,
                                 const struct addressed *list,
                                 const struct ptx_func *f)
{
    const struct addressed key = {.func = calls_resolve(f)};
    const struct addressed *found =
        bsearch(&key, list, l->module->func_count, sizeof key, by_func);

    return found ? found->address : 0;
}

/* Whether refs r and on are the bytes of one address in order: 0xff(x),
 * 0xff00(x) ... */
static int is_byte_by_byte(const struct ptx_var *v, size_t r)
{
    const struct ptx_init_ref *first = &v->refs[r];

    if (v->ref_count - r < 8)
        return 0;
    for (size_t i = 0; i < 8; i++) {
        const struct ptx_init_ref *ref = &first[i];

        if (ref->size != 1 || ref->shift != 8 * i || ref->at != first->at + i ||
            ref->var != first->var || ref->addend != first->addend)
            return 0;
    }
    return 1;
}

/* The address of ref r of v, or of some of them: how many, 0 for none. */
static size_t place_ref(struct layout *l, const struct addressed *funcs,
                        const struct ptx_var *v, size_t r)
{
    const struct ptx_init_ref *ref = &v->refs[r];
    const size_t count = is_byte_by_byte(v, r) ? 8 : 1;
    uint64_t address;

    if (ref->func && (ref->size == 8 || ref->size == 1)) {
        address = function_address(l, funcs, ref->func) + (uint64_t)ref->addend;
        address >>= ref->shift;
        memcpy(l->data_init + v->offset + ref->at, &address, ref->size);
        return 1;
    }
    if (!ref->var || !in_data(ref->var) || (ref->size != 8 && count != 8))
        return 0;
    l->refs[l->ref_count++] =
        (struct object_ref){.at = v->offset + ref->at,
                            .addend = ref->var->offset + (uint64_t)ref->addend};
    return count;
}

/* Initial bytes and the addresses among them. */
static enum kiln_status fill_data(struct layout *l, struct kiln_error *err)
{
    const struct ptx_module *m = l->module;
    const struct addressed *funcs;
    size_t refs = 0;
    int any = 0;

    for (size_t i = 0; i < m->var_count; i++) {
        any |= in_data(m->vars[i]) && m->vars[i]->init;
        refs += m->vars[i]->ref_count;
    }
    if (!any && !refs)
        return KILN_OK;
    if (l->data_size > (uint64_t)1 << 32)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "initialised variables of more than 4 GiB");
    l->data_init = arena_alloc(l->arena, l->data_size);
    l->refs = arena_array(l->arena, refs, sizeof *l->refs);
    funcs = number_functions(l);
    if (!l->data_init || !l->refs || (m->func_count && !funcs))
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; i < m->var_count; i++) {
        const struct ptx_var *v = m->vars[i];

        if (!in_data(v))
            continue;
        if (v->init)
            memcpy(l->data_init + v->offset, v->init, v->size);
        for (size_t r = 0; r < v->ref_count; r++) {
            const size_t n = place_ref(l, funcs, v, r);

            if (!n)
                return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                                 "line %u: %s: initialised with an address "
                                 "that is not an 8-byte one of a global or "
                                 "constant variable, nor eight bytes of one "
                                 "in order",
                                 v->line, v->name);
            r += n - 1;
        }
    }
    return KILN_OK;
}

/* Functions that NVIDIA's driver brings itself. */
static int is_system(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free",
                                        "__assertfail", "cudaMalloc"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

/* What is called and nowhere defined; a link could still bring it, a load
 * cannot. */
static enum kiln_status check_calls(const struct layout *l,
                                    struct kiln_error *err)
{
    const struct ptx_module *m = l->module;

    for (size_t i = 0; i < m->func_count; i++) {
        const struct ptx_func *f = m->funcs[i];

        for (size_t k = 0; k < f->insn_count; k++) {
            const struct ptx_call *call = f->insns[k].call;
            const struct ptx_func *to =
                call && call->target.kind == PTX_OPERAND_FUNC
                    ? call->target.func
                    : NULL;

            if (to && !to->has_body && !to->alias && !is_system(to->name))
                return kiln_fail(err, KILN_E_PTX,
                                 "line %u: Unresolved extern function '%s'",
                                 f->insns[k].line, to->name);
        }
    }
    return KILN_OK;
}

enum kiln_status layout_module(struct layout *l, struct kiln_error *err)
{
    enum kiln_status st = place_data(l, err);

    if (!st)
        st = check_calls(l, err);
    return st ? st : fill_data(l, err);
}

static int by_var(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct layout_place *)a)->var;
    uintptr_t y = (uintptr_t)((const struct layout_place *)b)->var;

    return (x > y) - (x < y);
}

static void note(const struct ptx_operand *o, const struct ptx_var **list,
                 size_t *count)
{
    if (o->var &&
        (o->var->space == PTX_SPACE_SHARED || o->var->space == PTX_SPACE_LOCAL))
        list[(*count)++] = o->var;
}

static size_t operand_places(const struct ptx_func *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->insn_count; i++)
        for (int k = 0; k < f->insns[i].operand_count; k++)
            n += 1u + f->insns[i].operands[k].count;
    return n;
}

/* Variables of shared and local memory that the body names, in the order of
 * declaration, each once. */
static enum kiln_status collect(struct layout *l, struct layout_kernel *k,
                                struct kiln_error *err)
{
    const struct ptx_func *f = k->func;
    size_t room = operand_places(f), count = 0;
    const struct ptx_var **list = arena_array(l->arena, room, sizeof *list);
    struct layout_place *seen;

    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; i < f->insn_count; i++)
        for (int o = 0; o < f->insns[i].operand_count; o++) {
            const struct ptx_operand *op = &f->insns[i].operands[o];

            note(op, list, &count);
            for (int e = 0; e < op->count; e++)
                note(&op->elems[e], list, &count);
        }
    seen = arena_array(l->arena, count, sizeof *seen);
    if (count && !seen)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        seen[i].var = list[i];
    qsort(seen, count, sizeof *seen, by_var);
    for (size_t i = 0; i < count; i++)
        if (!k->place_count || seen[k->place_count - 1].var != seen[i].var)
            seen[k->place_count++] = seen[i];
    k->places = seen;
    return KILN_OK;
}

static int names_reserved(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_operand *o = &f->insns[i].operands[1];

        if (f->insns[i].op == PTX_OP_MOV && o->kind == PTX_OPERAND_SREG &&
            o->sreg >= PTX_SREG_RESERVED_SMEM_BEGIN &&
            o->sreg <= PTX_SREG_RESERVED_SMEM_1)
            return 1;
    }
    return 0;
}

static struct layout_place *find(const struct layout_kernel *k,
                                 const struct ptx_var *var)
{
    struct layout_place key = {.var = var};

    return k->place_count
               ? bsearch(&key, k->places, k->place_count, sizeof key, by_var)
               : NULL;
}

/* Behind all others of its space: dynamic shared memory, the call stack. */
static int is_last(const struct ptx_var *v)
{
    return v->is_extern &&
           (v->space == PTX_SPACE_SHARED || v->space == PTX_SPACE_LOCAL);
}

static int place(struct layout_kernel *k, const struct ptx_var *v, int last,
                 uint64_t *shared, uint64_t *local)
{
    struct layout_place *p = find(k, v);
    uint64_t *end = v->space == PTX_SPACE_LOCAL ? local : shared;

    if (!p || is_last(v) != last || !v->size) /* of none: the end */
        return 0;
    p->offset = align_up(*end, v->align ? v->align : 1);
    return __builtin_add_overflow(p->offset, v->size, end) || *end > (uint64_t)1
                                                                         << 30;
}

enum kiln_status layout_kernel(struct layout *l, const struct ptx_func *func,
                               struct layout_kernel *out,
                               struct kiln_error *err)
{
    const struct ptx_module *m = l->module;
    struct layout_kernel k = {.func = func,
                              .dynamic_align = DYNAMIC_ALIGN,
                              .const_at = l->const_at,
                              .const_size = l->const_size};
    enum kiln_status st = collect(l, &k, err);
    uint64_t shared = 0, local = 0;
    int bad = 0;

    if (st)
        return st;
    for (size_t i = 0; i < m->var_count; i++)
        bad |= place(&k, m->vars[i], 0, &shared, &local);
    for (size_t i = 0; i < func->local_count; i++)
        bad |= place(&k, func->locals[i], 0, &shared, &local);
    for (size_t i = 0; i < func->local_count; i++)
        if (func->locals[i]->space == PTX_SPACE_LOCAL &&
            is_last(func->locals[i])) {
            bad |= place(&k, func->locals[i], 1, &shared, &local);
            k.flags |= OBJECT_KERNEL_STACK;
        }
    if (bad)
        return kiln_fail(
            err, KILN_E_PTX,
            "line %u: kernel %s: more than 2^30 bytes of shared or "
            "local variables",
            func->line, func->name);
    if (names_reserved(func)) {
        shared = align_up(shared, 64);
        k.reserved = (uint32_t)shared;
        k.reserved_size = LAYOUT_RESERVED;
        shared += LAYOUT_RESERVED;
    }
    for (size_t i = 0; i < k.place_count; i++) {
        const struct ptx_var *v = k.places[i].var;

        if (v->space != PTX_SPACE_SHARED || !v->is_extern)
            continue;
        k.flags |= OBJECT_KERNEL_DYNAMIC;
        if (v->align > k.dynamic_align)
            k.dynamic_align = v->align;
    }
    if (k.flags & OBJECT_KERNEL_DYNAMIC)
        shared = align_up(shared, k.dynamic_align);
    for (size_t i = 0; i < k.place_count; i++)
        if (k.places[i].var->space == PTX_SPACE_SHARED &&
            k.places[i].var->is_extern)
            k.places[i].offset = shared;
    if (shared > SHARED_MAX)
        return kiln_fail(
            err, KILN_E_PTX,
            "line %u: kernel %s: 0x%llx bytes of shared variables, "
            "0x%x at most",
            func->line, func->name, (unsigned long long)shared, SHARED_MAX);
    k.static_shared = (uint32_t)shared;
    k.local_bytes = (uint32_t)align_up(local, LOCAL_ALIGN);
    *out = k;
    return KILN_OK;
}

uint64_t layout_offset(const struct layout_kernel *k, const struct ptx_var *var)
{
    const struct layout_place *p;

    if (in_data(var) || var->space == PTX_SPACE_PARAM)
        return var->offset;
    p = find(k, var);
    return p ? p->offset : UINT64_MAX;
}
