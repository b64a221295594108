/* SPDX-License-Identifier: MIT
 *
 * What changes share: instructions put in and taken out, registers of a type.
 */
#include "mutants.h"

#include <string.h>

#include "base/arena.h"

int insert_insn(struct mutant *mu, size_t at, const struct ptx_insn *insn)
{
    struct ptx_func *f = mu->f;
    const unsigned before = rng_below(mu->r, 2);
    struct ptx_insn *insns =
        arena_array(mu->arena, f->insn_count + 1, sizeof *insns);

    if (!insns)
        return 0;
    if (at)
        memcpy(insns, f->insns, at * sizeof *insns);
    insns[at] = *insn;
    if (f->insn_count > at)
        memcpy(insns + at + 1, f->insns + at,
               (f->insn_count - at) * sizeof *insns);
    f->insns = insns;
    f->insn_count++;
    for (size_t i = 0; i < f->label_count; i++)
        if (f->labels[i].insn > at || (f->labels[i].insn == at && before))
            f->labels[i].insn++;
    return 1;
}

int insert_text(struct mutant *mu, size_t at, const char *text)
{
    const struct ptx_insn insn = {
        .vec = 1,
        .guard = -1,
        .text = arena_strndup(mu->arena, text, strlen(text))};

    return insn.text && insert_insn(mu, at, &insn);
}

void erase_insns(struct mutant *mu, size_t at, size_t count)
{
    struct ptx_func *f = mu->f;

    memmove(f->insns + at, f->insns + at + count,
            (f->insn_count - at - count) * sizeof *f->insns);
    f->insn_count -= count;
    for (size_t i = 0; i < f->label_count; i++) {
        size_t *label = &f->labels[i].insn;

        if (*label > at)
            *label = *label > at + count ? *label - count : at;
    }
}

size_t some_insn(struct mutant *mu)
{
    return rng_below(mu->r, (uint32_t)mu->f->insn_count);
}

static int suits(const struct ptx_reg *r, enum ptx_type type, int exactly)
{
    const unsigned bits = ptx_type_bits(type);

    if (r->vec > 1)
        return 0;
    return exactly ? r->type == type
                   : ptx_type_bits(r->type) == bits &&
                         (r->type == PTX_PRED) == (type == PTX_PRED);
}

static uint32_t new_register(struct mutant *mu, enum ptx_type type)
{
    struct ptx_func *f = mu->f;
    struct ptx_reg *regs =
        arena_array(mu->arena, f->reg_count + 1, sizeof *regs);
    const char *name = arena_printf(mu->arena, "%%new%zu", f->reg_count);

    if (!regs || !name)
        return 0;
    if (f->reg_count)
        memcpy(regs, f->regs, f->reg_count * sizeof *regs);
    regs[f->reg_count] = (struct ptx_reg){name, type, 1};
    f->regs = regs;
    return (uint32_t)f->reg_count++;
}

uint32_t some_register(struct mutant *mu, enum ptx_type type)
{
    const struct ptx_func *f = mu->f;
    const int exactly = (int)rng_below(mu->r, 2);
    uint32_t found = 0, count = 0;

    for (uint32_t i = 0; i < f->reg_count; i++)
        if (suits(&f->regs[i], type, exactly) && rng_below(mu->r, ++count) == 0)
            found = i;
    if (!count || rng_below(mu->r, 32) == 0)
        return new_register(mu, type);
    return found;
}

/* The call may move the registers. */
const char *register_name(struct mutant *mu, enum ptx_type type)
{
    const uint32_t index = some_register(mu, type);

    return mu->f->regs[index].name;
}

int64_t extreme(struct rng *r)
{
    static const int64_t values[] = {
        0,          1,          -1,
        2,          31,         32,
        33,         63,         64,
        127,        128,        255,
        256,        32767,      32768,
        65535,      65536,      INT32_MAX,
        INT32_MIN,  UINT32_MAX, INT64_C(1) << 32,
        INT64_MAX,  INT64_MIN,  0x3f800000,
        0x7f800000, 0x7fc00000, INT64_C(0x7ff0000000000000)};
    const uint32_t n = sizeof values / sizeof *values;
    const uint32_t pick = rng_below(r, 2 * n);

    return pick < n ? values[pick] : (int64_t)rng_number(r, 64);
}
