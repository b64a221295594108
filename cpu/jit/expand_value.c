/* SPDX-License-Identifier: MIT
 *
 * Variables and operands of what is put in place: renamed, and moved between
 * memory and registers.
 */
#include <stdlib.h>

#include "cpu/jit/expand.h"

/* --- variables --- */

static int by_from(const void *a, const void *b)
{
    uintptr_t p = (uintptr_t)((const struct rename *)a)->from;
    uintptr_t q = (uintptr_t)((const struct rename *)b)->from;

    return (p > q) - (p < q);
}

void expand_sort_renames(struct instance *i)
{
    qsort(i->vars, i->var_count, sizeof *i->vars, by_from);
}

struct ptx_var *expand_renamed(const struct instance *i,
                               const struct ptx_var *var)
{
    const struct rename key = {.from = var};
    const struct rename *r =
        i->var_count ? bsearch(&key, i->vars, i->var_count, sizeof key, by_from)
                     : NULL;

    return r ? r->to : NULL;
}

/* A variable of local memory that holds what `like` would. */
struct ptx_var *expand_local_like(struct expand *x, struct frame *frame,
                                  const struct ptx_var *like, int is_param)
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
    if (frame)
        frame_own(x, frame, v);
    else
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

void expand_load(struct expand *x, uint32_t to, const struct ptx_var *var,
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

void expand_store(struct expand *x, const struct ptx_var *var, int64_t at,
                  const struct ptx_operand *from, uint64_t bytes, unsigned line)
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

void expand_copy_variable(struct expand *x, const struct ptx_var *to,
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
        expand_load(x, reg, from, (int64_t)at, step, line);
        expand_store(x, to, (int64_t)at, &o, step, line);
        at += step;
    }
}

void expand_equal(struct expand *x, uint32_t pred,
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

/* --- operands --- */

uint64_t calls_number(size_t index)
{
    return ((uint64_t)index + 1) * 16;
}

void expand_map_operand(struct expand *x, const struct instance *i,
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
        var = o->var ? expand_renamed(i, o->var) : NULL;
        if (var)
            o->var = var;
        return;
    case PTX_OPERAND_FUNC:
        o->ival = (int64_t)targets_address(x, o->func);
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
            expand_map_operand(x, i, &elems[k]);
        }
        o->elems = elems;
        return;
    default:
        return;
    }
}

struct ptx_operand expand_mapped(struct expand *x, const struct instance *i,
                                 const struct ptx_operand *o)
{
    struct ptx_operand copy = *o;

    expand_map_operand(x, i, &copy);
    return copy;
}

unsigned expand_bits_of(const struct ptx_var *v)
{
    return ptx_type_bits(v->type);
}
