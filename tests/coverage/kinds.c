/* SPDX-License-Identifier: MIT
 *
 * What registers hold. Compiled code loads and moves plain bits (.b32), so
 * that only the arithmetic tells floats from integers: registers that are
 * copied into each other form one class, and what is done with any of them
 * says what all of them hold.
 */
#include "plan.h"

static uint32_t first_of(const struct kinds *k, uint32_t reg)
{
    while (k->up[reg] != reg) {
        k->up[reg] = k->up[k->up[reg]];
        reg = k->up[reg];
    }
    return reg;
}

static void join(const struct kinds *k, uint32_t a, uint32_t b)
{
    a = first_of(k, a);
    b = first_of(k, b);
    k->up[b] = a;
}

static enum fill fill_of_type(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
    case PTX_F16X2:
        return FILL_F16;
    case PTX_BF16:
    case PTX_BF16X2:
        return FILL_BF16;
    case PTX_F32:
    case PTX_F32X2:
        return FILL_F32;
    case PTX_F64:
        return FILL_F64;
    default:
        return FILL_NONE;
    }
}

/* --- classes --- */

static void join_operands(const struct kinds *k, const struct ptx_operand *a,
                          const struct ptx_operand *b)
{
    if (a->kind == PTX_OPERAND_VECTOR) {
        for (unsigned i = 0; i < a->count; i++)
            join_operands(k, &a->elems[i], b);
    } else if (b->kind == PTX_OPERAND_VECTOR) {
        join_operands(k, b, a);
    } else if (a->kind == PTX_OPERAND_REG && b->kind == PTX_OPERAND_REG) {
        join(k, a->reg, b->reg);
    }
}

static void join_copies(const struct kinds *k, const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];

        if (p->op == PTX_OP_MOV && p->operand_count == 2) {
            join_operands(k, &p->operands[0], &p->operands[1]);
        } else if (p->op == PTX_OP_SELP || p->op == PTX_OP_SLCT) {
            join_operands(k, &p->operands[0], &p->operands[1]);
            join_operands(k, &p->operands[0], &p->operands[2]);
        } else if (p->op == PTX_OP_SHFL) {
            join_operands(k, &p->operands[0], &p->operands[p->dst_count]);
        }
    }
}

/* --- uses --- */

static void use(const struct kinds *k, const struct ptx_func *f,
                const struct ptx_operand *o, enum ptx_type t)
{
    const enum ptx_type_class c = ptx_type_class(t);

    if (o->kind == PTX_OPERAND_VECTOR) {
        for (unsigned i = 0; i < o->count; i++)
            use(k, f, &o->elems[i], t);
        return;
    }
    if (o->kind != PTX_OPERAND_REG ||
        ptx_type_bits(f->regs[o->reg].type) != ptx_type_bits(t))
        return;
    if (fill_of_type(t))
        k->floats[first_of(k, o->reg)] = (uint8_t)fill_of_type(t);
    else if (c == PTX_CLASS_UINT || c == PTX_CLASS_SINT)
        k->ints[first_of(k, o->reg)] = 1;
}

/* Types of destination and sources differ in these. */
static int has_two_types(enum ptx_op op)
{
    return op == PTX_OP_CVT || op == PTX_OP_SET;
}

static void use_all(struct kinds *k, const struct ptx_func *f)
{
    size_t counts[FILL_COUNT] = {0};

    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];
        const int two = has_two_types(p->op) && p->type_count > 1;

        /* A matrix instruction has a type for each operand, but fragments
         * are 32 bits whatever they hold. */
        if (!p->type_count || p->op == PTX_OP_WMMA || p->op == PTX_OP_MMA) {
            if (p->type_count > 1)
                counts[fill_of_type(p->types[1])] += 64;
            continue;
        }
        counts[fill_of_type(p->types[0])]++;
        if (two)
            counts[fill_of_type(p->types[1])]++;
        for (unsigned o = 0; o < p->operand_count; o++)
            use(k, f, &p->operands[o], p->types[two && o >= p->dst_count]);
    }
    k->usual = FILL_NONE;
    k->floats_used = 0;
    for (int i = FILL_F16; i <= FILL_F64; i++) {
        k->floats_used |= (uint32_t)(counts[i] != 0) << i;
        if (counts[i] && (!k->usual || counts[i] > counts[k->usual]))
            k->usual = (enum fill)i;
    }
}

int kinds_find(struct kinds *k, const struct ptx_func *f, struct arena *arena)
{
    k->up = arena_array(arena, f->reg_count + 1, sizeof *k->up);
    k->floats = arena_array(arena, f->reg_count + 1, 1);
    k->ints = arena_array(arena, f->reg_count + 1, 1);
    if (!k->up || !k->floats || !k->ints)
        return -1;
    for (size_t i = 0; i < f->reg_count; i++)
        k->up[i] = (uint32_t)i;
    join_copies(k, f);
    use_all(k, f);
    return 0;
}

int kinds_is_float(const struct kinds *k, uint32_t reg)
{
    return k->floats[first_of(k, reg)] != FILL_NONE;
}

enum fill kinds_of(const struct kinds *k, uint32_t reg, unsigned bits)
{
    const uint32_t first = first_of(k, reg);

    if (k->floats[first])
        return (enum fill)k->floats[first];
    if (!k->ints[first] && k->usual && bits >= 16)
        return k->usual; /* passed on as it is: to shared memory, to mma */
    return bits <= 8    ? FILL_I8
           : bits <= 16 ? FILL_I16
           : bits <= 32 ? FILL_I32
                        : FILL_I64;
}
