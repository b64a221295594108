/* SPDX-License-Identifier: MIT
 *
 * Changes of declarations: types of registers, sizes and alignments of
 * variables and parameters, what a launch may be.
 */
#include "mutants.h"

#include <string.h>

#include "base/arena.h"

static enum ptx_type some_type(struct rng *r)
{
    static const enum ptx_type types[] = {
        PTX_B8,  PTX_B16,  PTX_B32,  PTX_B64,   PTX_U8,   PTX_U16,   PTX_U32,
        PTX_U64, PTX_S8,   PTX_S16,  PTX_S32,   PTX_S64,  PTX_F16,   PTX_F32,
        PTX_F64, PTX_B128, PTX_PRED, PTX_F16X2, PTX_BF16, PTX_BF16X2};

    return types[rng_below(r, sizeof types / sizeof *types)];
}

static int register_type(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    struct ptx_reg *r;
    enum ptx_type t = some_type(mu->r);

    if (!f->reg_count)
        return 0;
    r = &f->regs[rng_below(mu->r, (uint32_t)f->reg_count)];
    for (int i = 0; i < 50 && ptx_type_bits(t) != ptx_type_bits(r->type); i++)
        t = some_type(mu->r);
    r->type = t;
    return 1;
}

/* All registers of one type are of another. */
static int all_registers(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    enum ptx_type was, t = some_type(mu->r);

    if (!f->reg_count)
        return 0;
    was = f->regs[rng_below(mu->r, (uint32_t)f->reg_count)].type;
    for (int i = 0; i < 50 && ptx_type_bits(t) != ptx_type_bits(was); i++)
        t = some_type(mu->r);
    for (size_t i = 0; i < f->reg_count; i++)
        if (f->regs[i].type == was)
            f->regs[i].type = t;
    return 1;
}

/* Some variable, parameter or local. */
static struct ptx_var *some_var(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    uint32_t n = rng_below(
        mu->r, (uint32_t)(f->local_count + mu->m->var_count + f->param_count));

    if (n < f->local_count)
        return f->locals[n];
    n -= (uint32_t)f->local_count;
    if (n < mu->m->var_count)
        return mu->m->vars[n];
    n -= (uint32_t)mu->m->var_count;
    return n < f->param_count ? &f->params[n] : NULL;
}

static int variable_size(struct mutant *mu)
{
    static const uint64_t counts[] = {1,   2,    3,    5,     16,    33,
                                      100, 1024, 4097, 49152, 65536, 1 << 20};
    struct ptx_var *v = some_var(mu);
    const unsigned bytes = v ? (ptx_type_bits(v->type) + 7) / 8 : 0;

    if (!v || v->init || !bytes || v->space == PTX_SPACE_REG)
        return 0;
    v->is_array = 1;
    v->size = counts[rng_below(mu->r, 12)] * bytes * v->vec;
    return 1;
}

static int variable_align(struct mutant *mu)
{
    struct ptx_var *v = some_var(mu);

    if (!v)
        return 0;
    v->align = 1u << rng_below(mu->r, 9);
    return 1;
}

static int variable_type(struct mutant *mu)
{
    struct ptx_var *v = some_var(mu);
    unsigned bytes;

    if (!v || v->init)
        return 0;
    v->type = some_type(mu->r);
    v->vec = (uint8_t)(1u << rng_below(mu->r, 3));
    bytes = (ptx_type_bits(v->type) + 7) / 8 * v->vec;
    v->align = bytes;
    if (!v->is_array)
        v->size = bytes;
    else
        v->size = bytes * (1 + v->size / (bytes ? bytes : 1));
    return 1;
}

static int variable_space(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    struct ptx_var *v;

    if (!mu->m->var_count && !f->local_count)
        return 0;
    v = f->local_count && (rng_below(mu->r, 2) || !mu->m->var_count)
            ? f->locals[rng_below(mu->r, (uint32_t)f->local_count)]
            : mu->m->vars[rng_below(mu->r, (uint32_t)mu->m->var_count)];
    switch (rng_below(mu->r, 6)) {
    case 0:
        v->init = NULL;
        v->refs = NULL;
        v->ref_count = 0;
        break;
    case 1:
        v->is_extern = !v->is_extern;
        break;
    case 2:
        v->is_managed = !v->is_managed;
        break;
    case 3:
        v->size = 0;
        v->is_array = v->is_extern = 1;
        v->space = PTX_SPACE_SHARED;
        break;
    default:
        v->space = (enum ptx_space)(PTX_SPACE_CONST + rng_below(mu->r, 5));
        break;
    }
    return 1;
}

/* A variable more. */
static int new_variable(struct mutant *mu)
{
    static const enum ptx_space spaces[] = {PTX_SPACE_LOCAL,  PTX_SPACE_SHARED,
                                            PTX_SPACE_LOCAL,  PTX_SPACE_PARAM,
                                            PTX_SPACE_GLOBAL, PTX_SPACE_CONST};
    struct ptx_func *f = mu->f;
    struct ptx_var **locals =
        arena_array(mu->arena, f->local_count + 1, sizeof(struct ptx_var *));
    struct ptx_var *v = arena_alloc(mu->arena, sizeof *v);
    const enum ptx_type type = some_type(mu->r);
    const unsigned bytes = (ptx_type_bits(type) + 7) / 8;

    if (!locals || !v)
        return 0;
    *v = (struct ptx_var){
        .name = arena_printf(mu->arena, "var%zu", f->local_count),
        .space = spaces[rng_below(mu->r, 6)],
        .type = type,
        .vec = 1,
        .is_array = 1,
        .align = bytes << rng_below(mu->r, 3),
        .size = (uint64_t)bytes * (1 + rng_below(mu->r, 300))};
    if (f->local_count)
        memcpy(locals, f->locals, f->local_count * sizeof *locals);
    locals[f->local_count++] = v;
    f->locals = locals;
    return 1;
}

/* Two parameters change places, one goes, one comes. */
static int parameters(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    struct ptx_var *params =
        arena_array(mu->arena, f->param_count + 1, sizeof *params);

    if (!f->is_entry || !params)
        return 0;
    for (size_t i = 0; i < f->param_count; i++)
        params[i] = f->params[i];
    params[f->param_count] = (struct ptx_var){
        .name = arena_printf(mu->arena, "par%zu", f->param_count),
        .space = PTX_SPACE_PARAM,
        .type = PTX_B8,
        .vec = 1,
        .is_array = 1,
        .align = 1u << rng_below(mu->r, 8),
        .size = 1 + rng_below(mu->r, 1u << rng_below(mu->r, 13))};
    f->params = params;
    f->param_count++;
    return 1;
}

static int launch(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    uint32_t *list = rng_below(mu->r, 2) ? f->maxntid : f->reqntid;
    static const uint32_t sizes[] = {0, 1, 2, 16, 31, 32, 64, 256, 1024};

    switch (rng_below(mu->r, 4)) {
    case 0:
        f->maxnreg = 1 + rng_below(mu->r, 256);
        return 1;
    case 1:
        f->minnctapersm = 1 + rng_below(mu->r, 8);
        return 1;
    case 2:
        for (int d = 0; d < 3; d++)
            f->reqnctapercluster[d] = 1 + rng_below(mu->r, 2);
        return 1;
    default:
        list[0] = sizes[rng_below(mu->r, 9)];
        list[1] = list[2] = 1 + rng_below(mu->r, 2);
        return 1;
    }
}

static int linkage(struct mutant *mu)
{
    struct ptx_func *f =
        mu->m->funcs[rng_below(mu->r, (uint32_t)mu->m->func_count)];

    switch (rng_below(mu->r, 4)) {
    case 0:
        f->is_visible = !f->is_visible;
        break;
    case 1:
        f->is_weak = !f->is_weak;
        break;
    case 2:
        f->noreturn = !f->noreturn;
        break;
    default:
        if (f == mu->f)
            return 0;
        f->has_body = 0; /* declared alone */
        f->is_extern = 1;
        break;
    }
    return 1;
}

static int header(struct mutant *mu)
{
    static const uint32_t versions[] = {50, 60, 63, 70, 75, 78, 80,
                                        84, 86, 87, 88, 90, 91, 92};
    static const uint32_t targets[] = {50, 60, 70, 75,  80,
                                       86, 89, 90, 100, 120};

    if (rng_below(mu->r, 2))
        mu->m->version = versions[rng_below(mu->r, 14)];
    else
        mu->m->target = targets[rng_below(mu->r, 10)];
    return 1;
}

const struct change changes_data[] = {
    {register_type, 4},  {all_registers, 2}, {variable_size, 4},
    {variable_align, 3}, {variable_type, 3}, {variable_space, 3},
    {new_variable, 4},   {parameters, 2},    {launch, 3},
    {linkage, 2},        {header, 2}};
const size_t changes_data_count = sizeof changes_data / sizeof *changes_data;
