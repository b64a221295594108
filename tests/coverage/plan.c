/* SPDX-License-Identifier: MIT
 *
 * What the parameters of a kernel are, from what its code does with them.
 *
 * A parameter is what ld.param reads at one offset. It is a pointer when an
 * address is made of it: each register has a set of origins, the parameters
 * (or the values read through one: depth 1) that its value is the base of,
 * carried through moves, cvta, the sums of addresses and mad; an access by
 * such a register makes pointers of its origins, and the type of what is read
 * says what the buffer holds. In a sum of two possible bases the one that
 * went through cvta.to.global is it and the other an offset.
 *
 * Order of instructions is not looked at, so the sets grow until they stay.
 */
#include <string.h>

#include "plan.h"

enum {
    MAX_ORIGINS = 4,
    DEPTHS = 3, /* of a pointer, of one read through it, of one through that */
    NOT_PARAM = -1
};

struct value {                     /* of a register */
    uint16_t origins[MAX_ORIGINS]; /* slot * DEPTHS + depth */
    uint8_t count;
    uint8_t sure;  /* went through cvta */
    int32_t param; /* it is the address of this parameter byte */
};

struct planner {
    struct plan *plan;
    const struct ptx_func *kernel, *f;
    struct kinds kinds;
    struct value *values;
    uint8_t pointer[MAX_SLOTS][DEPTHS], fill[MAX_SLOTS][DEPTHS];
    int changed;
};

/* --- slots --- */

static int slot_at(struct planner *p, int64_t offset, unsigned size)
{
    struct plan *plan = p->plan;

    if (offset < 0 || size > 8 || offset + size > plan->param_bytes)
        return -1;
    for (uint32_t i = 0; i < plan->slot_count; i++) {
        if (plan->slots[i].offset != offset)
            continue;
        if (plan->slots[i].size < size)
            plan->slots[i].size = (uint8_t)size;
        return (int)i;
    }
    if (plan->slot_count == MAX_SLOTS)
        return -1;
    plan->slots[plan->slot_count] =
        (struct slot){.offset = (uint16_t)offset, .size = (uint8_t)size};
    p->changed = 1;
    return (int)plan->slot_count++;
}

static int64_t param_offset(const struct planner *p, const struct ptx_var *v)
{
    for (size_t i = 0; i < p->kernel->param_count; i++)
        if (v == &p->kernel->params[i] ||
            (i < p->f->param_count && v == &p->f->params[i]))
            return (int64_t)p->kernel->params[i].offset;
    return NOT_PARAM;
}

/* --- origins --- */

static void add_origin(struct planner *p, uint32_t reg, unsigned origin)
{
    struct value *v = &p->values[reg];

    if (ptx_type_bits(p->f->regs[reg].type) != 64)
        return;
    for (unsigned i = 0; i < v->count; i++)
        if (v->origins[i] == origin)
            return;
    if (v->count == MAX_ORIGINS)
        return;
    v->origins[v->count++] = (uint16_t)origin;
    p->changed = 1;
}

static void copy_origins(struct planner *p, const struct ptx_operand *to,
                         const struct ptx_operand *from)
{
    const struct value *v;

    if (to->kind != PTX_OPERAND_REG || from->kind != PTX_OPERAND_REG)
        return;
    v = &p->values[from->reg];
    for (unsigned i = 0; i < v->count; i++)
        add_origin(p, to->reg, v->origins[i]);
    if (v->sure && !p->values[to->reg].sure) {
        p->values[to->reg].sure = 1;
        p->changed = 1;
    }
}

static int is_sure(const struct planner *p, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG && p->values[o->reg].sure;
}

/* The address of a parameter, plus a constant. */
static void copy_param(struct planner *p, const struct ptx_operand *to,
                       const struct ptx_operand *from, int64_t more)
{
    int64_t at = NOT_PARAM;

    if (to->kind != PTX_OPERAND_REG)
        return;
    if (from->kind == PTX_OPERAND_VAR && from->var)
        at = param_offset(p, from->var);
    else if (from->kind == PTX_OPERAND_REG)
        at = p->values[from->reg].param;
    if (at == NOT_PARAM || p->values[to->reg].param != NOT_PARAM)
        return;
    p->values[to->reg].param =
        (int32_t)(at + more + (from->kind == PTX_OPERAND_VAR ? from->ival : 0));
    p->changed = 1;
}

static void sum(struct planner *p, const struct ptx_insn *i)
{
    const struct ptx_operand *o = i->operands;
    const int first = is_sure(p, &o[1]), second = is_sure(p, &o[2]);

    if (first || !second)
        copy_origins(p, &o[0], &o[1]);
    if (i->op == PTX_OP_ADD && (second || !first))
        copy_origins(p, &o[0], &o[2]);
    if (i->op == PTX_OP_ADD && o[2].kind == PTX_OPERAND_INT)
        copy_param(p, &o[0], &o[1], o[2].ival);
}

/* --- accesses --- */

static void mark(struct planner *p, uint32_t reg)
{
    const struct value *v = &p->values[reg];

    for (unsigned i = 0; i < v->count; i++)
        p->pointer[v->origins[i] / DEPTHS][v->origins[i] % DEPTHS] = 1;
}

static void note_fill(struct planner *p, uint32_t base, enum fill fill)
{
    const struct value *v = &p->values[base];

    for (unsigned i = 0; i < v->count; i++) {
        uint8_t *f = &p->fill[v->origins[i] / DEPTHS][v->origins[i] % DEPTHS];

        if (*f < fill)
            *f = (uint8_t)fill;
    }
}

static void read_one(struct planner *p, uint32_t base,
                     const struct ptx_operand *to, unsigned bits)
{
    const struct value *v = &p->values[base];

    if (to->kind == PTX_OPERAND_VECTOR) {
        for (unsigned i = 0; i < to->count; i++)
            read_one(p, base, &to->elems[i], bits);
        return;
    }
    if (to->kind != PTX_OPERAND_REG)
        return;
    note_fill(p, base, kinds_of(&p->kinds, to->reg, bits));
    for (unsigned i = 0; bits == 64 && i < v->count; i++)
        if (v->origins[i] % DEPTHS + 1 < DEPTHS)
            add_origin(p, to->reg, v->origins[i] + 1u);
}

static void read_param(struct planner *p, int64_t at,
                       const struct ptx_operand *to, unsigned bytes)
{
    if (to->kind == PTX_OPERAND_VECTOR) {
        for (unsigned i = 0; i < to->count; i++)
            read_param(p, at + i * bytes, &to->elems[i], bytes);
    } else if (to->kind == PTX_OPERAND_REG) {
        const int slot = slot_at(p, at, bytes);

        if (slot < 0)
            return;
        if (kinds_is_float(&p->kinds, to->reg))
            p->plan->slots[slot].kind = SLOT_FLOAT;
        add_origin(p, to->reg, (unsigned)slot * DEPTHS);
    }
}

static void load(struct planner *p, const struct ptx_insn *i)
{
    const struct ptx_operand *at = &i->operands[1];
    const unsigned bits = ptx_type_bits(i->types[0]);
    int64_t param = NOT_PARAM;

    if (at->kind == PTX_OPERAND_ADDR_VAR && at->var)
        param = param_offset(p, at->var);
    else if (at->kind == PTX_OPERAND_ADDR_REG)
        param = p->values[at->reg].param;
    if (param != NOT_PARAM)
        read_param(p, param + at->ival, &i->operands[0], bits / 8);
    else if (at->kind == PTX_OPERAND_ADDR_REG)
        read_one(p, at->reg, &i->operands[0], bits);
}

static void access(struct planner *p, const struct ptx_insn *i)
{
    for (unsigned k = 0; k < i->operand_count; k++) {
        const struct ptx_operand *o = &i->operands[k];

        if (o->kind != PTX_OPERAND_ADDR_REG)
            continue;
        mark(p, o->reg);
        if (i->op == PTX_OP_CP)
            note_fill(p, o->reg, p->kinds.usual);
        else if (i->op == PTX_OP_ATOM && i->type_count)
            read_one(p, o->reg, &i->operands[0], ptx_type_bits(i->types[0]));
    }
}

static void step(struct planner *p, const struct ptx_insn *i)
{
    const struct ptx_operand *o = i->operands;

    switch (i->op) {
    case PTX_OP_MOV:
        copy_origins(p, &o[0], &o[1]);
        copy_param(p, &o[0], &o[1], 0);
        break;
    case PTX_OP_CVTA:
        if (o[0].kind != PTX_OPERAND_REG)
            break;
        copy_origins(p, &o[0], &o[1]);
        copy_param(p, &o[0], &o[1], 0);
        if (o[1].kind == PTX_OPERAND_REG && i->space == PTX_SPACE_GLOBAL) {
            mark(p, o[1].reg);
            p->changed |= !p->values[o[0].reg].sure;
            p->values[o[0].reg].sure = 1;
        }
        break;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        sum(p, i);
        break;
    case PTX_OP_AND: /* aligned */
    case PTX_OP_OR:
        copy_origins(p, &o[0], &o[1]);
        break;
    case PTX_OP_MAD:
        copy_origins(p, &o[0], &o[3]);
        break;
    case PTX_OP_SELP:
        copy_origins(p, &o[0], &o[1]);
        copy_origins(p, &o[0], &o[2]);
        break;
    case PTX_OP_LD:
    case PTX_OP_LDU:
        load(p, i);
        access(p, i);
        break;
    default:
        access(p, i);
        break;
    }
}

/* --- the launch --- */

static void set_pointers(struct planner *p)
{
    for (uint32_t i = 0; i < p->plan->slot_count; i++) {
        struct slot *s = &p->plan->slots[i];

        if (s->size != 8 || !p->pointer[i][0])
            continue;
        s->kind = SLOT_POINTER;
        s->fill = p->fill[i][0];
        if (p->pointer[i][1]) {
            s->fill = FILL_POINTERS;
            s->inner = p->fill[i][1];
        }
    }
}

static void set_declared(struct planner *p)
{
    for (size_t i = 0; i < p->kernel->param_count; i++) {
        const struct ptx_var *v = &p->kernel->params[i];

        if (v->is_pointer && v->size == 8) {
            const int slot = slot_at(p, (int64_t)v->offset, 8);

            if (slot >= 0)
                p->pointer[slot][0] = 1;
        }
    }
}

static void set_shape(struct plan *plan, const struct ptx_func *f)
{
    plan->exact = f->reqntid[0] != 0;
    for (int i = 0; i < 3; i++)
        plan->block[i] = plan->exact ? f->reqntid[i] : f->maxntid[i];
}

/* Shared memory without a size in the text gets one at the launch: what every
 * device gives a block that asks, less the rest and some padding. */
static void set_shared(struct plan *plan, const struct ptx_func *f)
{
    enum { MOST = 96 << 10, PADDING = 1 << 10, MAX_VARS = 64 };
    const struct ptx_var *seen[MAX_VARS];
    size_t count = 0;
    uint64_t fixed = PADDING;
    int dynamic = 0;

    for (size_t i = 0; i < f->insn_count; i++)
        for (unsigned k = 0; k < f->insns[i].operand_count; k++) {
            const struct ptx_operand *o = &f->insns[i].operands[k];
            size_t at = 0;

            if ((o->kind != PTX_OPERAND_VAR &&
                 o->kind != PTX_OPERAND_ADDR_VAR) ||
                !o->var || o->var->space != PTX_SPACE_SHARED)
                continue;
            while (at < count && seen[at] != o->var)
                at++;
            if (at < count || count == MAX_VARS)
                continue;
            seen[count++] = o->var;
            fixed += o->var->size;
            dynamic |= o->var->is_extern;
        }
    if (dynamic && fixed < MOST)
        plan->shared = (uint32_t)(MOST - fixed) & ~255u;
}

int plan_make(struct plan *plan, const struct ptx_func *kernel,
              const struct ptx_func *flat, struct arena *arena)
{
    struct planner *p = arena_alloc(arena, sizeof *p);

    memset(plan, 0, sizeof *plan);
    if (!p || kernel->param_bytes > MAX_PARAM_BYTES ||
        kinds_find(&p->kinds, flat, arena))
        return -1;
    p->plan = plan;
    p->kernel = kernel;
    p->f = flat;
    p->values = arena_array(arena, flat->reg_count + 1, sizeof *p->values);
    if (!p->values)
        return -1;
    for (size_t i = 0; i < flat->reg_count; i++)
        p->values[i].param = NOT_PARAM;
    plan->param_bytes = kernel->param_bytes;
    set_declared(p);
    for (p->changed = 1; p->changed;) {
        p->changed = 0;
        for (size_t i = 0; i < flat->insn_count; i++)
            step(p, &flat->insns[i]);
    }
    set_pointers(p);
    plan->usual = p->kinds.usual;
    plan->floats = p->kinds.floats_used;
    set_shape(plan, kernel);
    set_shared(plan, flat);
    return 0;
}
