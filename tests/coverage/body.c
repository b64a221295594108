/* SPDX-License-Identifier: MIT
 *
 * The digest of a kernel's body: equal for bodies that differ in nothing but
 * the names in them.
 */
#include <string.h>

#include "coverage.h"

static void add_u64(struct hasher *h, uint64_t v)
{
    hasher_add(h, &v, sizeof v);
}

/* A variable by what it is, not by its name. */
static void add_var(struct hasher *h, const struct ptx_func *f,
                    const struct ptx_var *v)
{
    add_u64(h, v->space);
    add_u64(h, v->size);
    add_u64(h, v->align);
    for (size_t i = 0; i < f->param_count; i++)
        if (v == &f->params[i])
            add_u64(h, i);
    for (size_t i = 0; i < f->local_count; i++)
        if (v == f->locals[i])
            add_u64(h, i);
    add_u64(h, v->offset);
}

static void add_operand(struct hasher *h, const struct ptx_func *f,
                        const struct ptx_operand *o)
{
    add_u64(h, o->kind | (uint64_t)o->negate << 8 | (uint64_t)o->is_f32 << 16 |
                   (uint64_t)o->count << 24 | (uint64_t)o->dim << 32);
    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        add_u64(h, o->reg);
        add_u64(h, (uint64_t)o->ival);
        break;
    case PTX_OPERAND_INT:
    case PTX_OPERAND_FLOAT:
    case PTX_OPERAND_ADDR_INT:
        add_u64(h, (uint64_t)o->ival);
        break;
    case PTX_OPERAND_LABEL:
        add_u64(h, f->labels[o->label].insn);
        break;
    case PTX_OPERAND_SREG:
        add_u64(h, o->sreg);
        break;
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        add_u64(h, (uint64_t)o->ival);
        add_var(h, f, o->var);
        break;
    case PTX_OPERAND_FUNC:
        hasher_add(h, o->func->name, strlen(o->func->name));
        break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_ADDR_LIST:
        for (unsigned i = 0; i < o->count; i++)
            add_operand(h, f, &o->elems[i]);
        break;
    case PTX_OPERAND_TABLE:
        for (size_t i = 0; i < o->table->label_count; i++)
            add_u64(h, f->labels[o->table->labels[i]].insn);
        break;
    default:
        break;
    }
}

int body_digest(const struct ptx_func *f, struct hash *out)
{
    struct hasher *h = hasher_new();

    if (!h)
        return -1;
    for (size_t i = 0; i < f->reg_count; i++)
        add_u64(h, (uint64_t)f->regs[i].type << 8 | f->regs[i].vec);
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];

        hasher_add(h, p->text, strlen(p->text) + 1);
        add_u64(h, (uint64_t)(uint32_t)p->guard << 8 | p->guard_negate);
        for (unsigned k = 0; k < p->operand_count; k++)
            add_operand(h, f, &p->operands[k]);
    }
    add_u64(h, f->insn_count);
    return hasher_take(h, out);
}
