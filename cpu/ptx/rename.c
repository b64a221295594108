/* SPDX-License-Identifier: MIT
 *
 * Names that the module declares after a function has used them for a thing
 * of its own. In print what the module has comes first, and the function's
 * would be taken for a second thing of that name: it gets a name that nothing
 * else has. Few texts have any.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

void rename_note(struct parser *p, const struct symbol *s)
{
    const struct symbol *prefix = symbol_prefix(p, s);

    if (s->owner > 1 || (prefix && prefix->range_owner > 1))
        p->late_names = 1;
}

static int is_free(struct parser *p, const struct symbol *s)
{
    const struct symbol *prefix = symbol_prefix(p, s);

    return !s->owner && !(prefix && prefix->range_owner);
}

static enum kiln_status rename_one(struct parser *p, const char **name)
{
    struct symbol *s = *name ? symbol_get(p, *name, strlen(*name)) : NULL;
    struct symbol *other = s;

    if (!*name)
        return KILN_OK;
    if (!s)
        return ptx_no_memory(p);
    if (s->owner != 1)
        return KILN_OK;
    s->copies = 0;
    while (!is_free(p, other)) {
        const char *text =
            arena_printf(&p->scratch, "%s$%u", s->name, ++s->copies);

        if (!text || !(other = symbol_get(p, text, strlen(text))))
            return ptx_no_memory(p);
    }
    other->owner = p->func_id;
    *name = other->name;
    return KILN_OK;
}

/* A parameter that is a register has its name twice. */
static enum kiln_status rename_vars(struct parser *p, struct ptx_func *f,
                                    struct ptx_var *vars, size_t count)
{
    enum kiln_status st = KILN_OK;

    for (size_t i = 0; !st && i < count; i++) {
        if (vars[i].space == PTX_SPACE_REG && vars[i].reg < f->reg_count)
            vars[i].name = f->regs[vars[i].reg].name;
        else
            st = rename_one(p, &vars[i].name);
    }
    return st;
}

static enum kiln_status rename_in(struct parser *p, struct ptx_func *f)
{
    enum kiln_status st = KILN_OK;

    for (size_t i = 0; !st && i < f->reg_count; i++)
        st = rename_one(p, &f->regs[i].name);
    if (!st)
        st = rename_vars(p, f, f->results, f->result_count);
    if (!st)
        st = rename_vars(p, f, f->params, f->param_count);
    for (size_t i = 0; !st && i < f->local_count; i++)
        st = rename_one(p, &f->locals[i]->name);
    for (size_t i = 0; !st && i < f->label_count; i++)
        st = rename_one(p, &f->labels[i].name);
    for (size_t i = 0; !st && i < f->table_count; i++)
        st = rename_one(p, &f->tables[i]->name);
    return st;
}

enum kiln_status rename_late(struct parser *p)
{
    enum kiln_status st = KILN_OK;

    if (!p->late_names)
        return KILN_OK;
    for (size_t i = 0; !st && i < p->module->func_count; i++) {
        p->func_id = ++p->last_func_id;
        st = rename_in(p, p->module->funcs[i]);
    }
    return st;
}
