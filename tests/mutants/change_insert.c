/* SPDX-License-Identifier: MIT
 *
 * Instructions put in: of the rows of forms.def, and of other programs.
 */
#include "mutants.h"

#include "base/arena.h"
#include "fuzz/mutate_form.h"

/* --- of forms.def --- */

static void add_register(struct mutant *mu, unsigned bits, struct buffer *out)
{
    static const enum ptx_type types[][4] = {
        {PTX_PRED, PTX_PRED, PTX_PRED, PTX_PRED},
        {PTX_B8, PTX_B8, PTX_U8, PTX_S8},
        {PTX_B16, PTX_B16, PTX_U16, PTX_F16},
        {PTX_B32, PTX_B32, PTX_U32, PTX_F32},
        {PTX_B64, PTX_B64, PTX_U64, PTX_F64},
        {PTX_B128, PTX_B128, PTX_B128, PTX_B128}};
    const unsigned size = bits == 1    ? 0
                          : bits <= 8  ? 1
                          : bits <= 16 ? 2
                          : bits <= 32 ? 3
                          : bits <= 64 ? 4
                                       : 5;

    buffer_text(out, register_name(mu, types[size][rng_below(mu->r, 4)]));
}

/* A variable of the space with that first letter. */
static const struct ptx_var *some_variable(struct mutant *mu, unsigned letter)
{
    static const char spaces[] = {[PTX_SPACE_CONST] = 'c',
                                  [PTX_SPACE_GLOBAL] = 'g',
                                  [PTX_SPACE_LOCAL] = 'l',
                                  [PTX_SPACE_PARAM] = 'p',
                                  [PTX_SPACE_SHARED] = 's'};
    const struct ptx_func *f = mu->f;
    const struct ptx_var *found = NULL;
    uint32_t count = 0;

    for (size_t i = 0; i < f->local_count + mu->m->var_count + f->param_count;
         i++) {
        const struct ptx_var *v =
            i < f->local_count ? f->locals[i]
            : i - f->local_count < mu->m->var_count
                ? mu->m->vars[i - f->local_count]
                : &f->params[i - f->local_count - mu->m->var_count];

        if ((!letter || (unsigned char)spaces[v->space] == letter) &&
            rng_below(mu->r, ++count) == 0)
            found = v;
    }
    return found;
}

static void add_name(void *from, struct rng *r, enum form_name kind,
                     unsigned bits, struct buffer *out)
{
    struct mutant *mu = from;
    const struct ptx_func *f = mu->f;
    const struct ptx_var *v;
    const char *name = NULL;

    (void)r;
    if (kind == FORM_VARIABLE && (v = some_variable(mu, bits)))
        name = v->name;
    else if (kind == FORM_LABEL && f->label_count)
        name = f->labels[rng_below(mu->r, (uint32_t)f->label_count)].name;
    else if (kind == FORM_TABLE && f->table_count)
        name = f->tables[rng_below(mu->r, (uint32_t)f->table_count)]->name;
    else if (kind == FORM_FUNCTION && mu->m->func_count)
        name =
            mu->m->funcs[rng_below(mu->r, (uint32_t)mu->m->func_count)]->name;
    if (name)
        buffer_text(out, name);
    else
        add_register(mu, kind == FORM_REGISTER ? bits : 64, out);
}

int change_new_insn(struct mutant *mu)
{
    const struct form_names names = {mu, add_name};
    const size_t at = rng_below(mu->r, (uint32_t)mu->f->insn_count + 1);
    struct buffer text = {0};
    int done;

    form_insn(&names, mu->r, &text);
    if (at < mu->f->insn_count && rng_below(mu->r, 4) == 0)
        erase_insns(mu, at, 1);
    done = insert_text(mu, at, buffer_str(&text));
    buffer_fini(&text);
    return done;
}

/* --- of another program --- */

/* A register of that type here for one over there. */
static int adopt(struct mutant *mu, const struct ptx_func *there,
                 struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        if (there->regs[o->reg].vec > 1)
            return 0;
        o->reg = some_register(mu, there->regs[o->reg].type);
        return 1;
    case PTX_OPERAND_LABEL:
        if (!mu->f->label_count)
            return 0;
        o->label = rng_below(mu->r, (uint32_t)mu->f->label_count);
        return 1;
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        o->var = some_variable(mu, 0);
        return o->var != NULL;
    case PTX_OPERAND_FUNC:
    case PTX_OPERAND_TABLE:
        return 0;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_ADDR_LIST:
        for (unsigned i = 0; i < o->count; i++)
            if (!adopt(mu, there, &o->elems[i]))
                return 0;
        return 1;
    default:
        return 1;
    }
}

/* Some instructions of another program. */
int change_graft(struct mutant *mu)
{
    const struct ptx_func *there = NULL;
    size_t at, from, count, done = 0;

    for (size_t i = 0; mu->other && i < mu->other->func_count; i++)
        if (mu->other->funcs[i]->insn_count)
            there = mu->other->funcs[i];
    if (!there)
        return 0;
    at = rng_below(mu->r, (uint32_t)mu->f->insn_count + 1);
    from = rng_below(mu->r, (uint32_t)there->insn_count);
    count = 1 + rng_below(mu->r, 10);
    for (size_t i = from; i < there->insn_count && i < from + count; i++) {
        struct ptx_insn p = there->insns[i];
        int fits = !p.call;

        for (unsigned k = 0; fits && k < p.operand_count; k++)
            fits = adopt(mu, there, &p.operands[k]);
        if (fits && p.guard >= 0)
            p.guard = (int32_t)some_register(mu, PTX_PRED);
        if (fits && insert_insn(mu, at, &p)) {
            at++;
            done++;
        }
    }
    return done > 0;
}
