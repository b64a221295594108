/* SPDX-License-Identifier: MIT
 *
 * Declarations: registers, variables of every state space, parameters.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

enum { MAX_DIMS = 8 };
static const uint64_t largest_variable = UINT64_C(1) << 40;

/* What stands between the state space and the name. */
struct declarator {
    enum ptx_type type;
    uint8_t vec;
    uint32_t align;
    uint8_t is_pointer, ptr_space;
    uint32_t ptr_align;
    uint8_t is_managed, is_unified;
};

int at_space(const struct parser *p, enum ptx_space *space)
{
    if (!at(p, TOKEN_DIRECTIVE))
        return 0;
    *space = space_find(p->lx.token.text, p->lx.token.len);
    return *space != PTX_SPACE_GENERIC;
}

static enum kiln_status attribute(struct parser *p, struct declarator *d)
{
    enum kiln_status st;

    next(p);
    st = expect(p, '(', "'('");
    while (!st) {
        if (at_directive(p, "managed"))
            d->is_managed = 1;
        else if (at_directive(p, "unified"))
            d->is_unified = 1;
        else
            return ptx_expected(p, ".managed or .unified");
        next(p);
        if (accept(p, '(')) { /* the two halves of a UUID */
            uint64_t half;

            st = expect_u64(p, "a UUID", &half);
            if (!st && accept(p, ','))
                st = expect_u64(p, "a UUID", &half);
            if (!st)
                st = expect(p, ')', "')'");
        }
        if (!accept(p, ','))
            break;
    }
    return st ? st : expect(p, ')', "')'");
}

static enum kiln_status alignment(struct parser *p, struct declarator *d)
{
    const unsigned line = p->lx.token.line;
    uint64_t n = 0;
    enum kiln_status st;

    next(p);
    st = expect_u64(p, "an alignment", &n);
    if (st)
        return st;
    if (n == 0 || n & (n - 1) || n > 1u << 20)
        return ptx_fatal(p, line,
                         "Alignment must be a power of two; found %llu",
                         (unsigned long long)n);
    *(d->is_pointer ? &d->ptr_align : &d->align) = (uint32_t)n;
    return KILN_OK;
}

static enum kiln_status declarator(struct parser *p, struct declarator *d)
{
    enum kiln_status st = KILN_OK;

    memset(d, 0, sizeof *d);
    d->vec = 1;
    while (!st && at(p, TOKEN_DIRECTIVE)) {
        const struct token *t = &p->lx.token;
        const enum ptx_type type = type_find(t->text, t->len);
        enum ptx_space space;

        if (at_directive(p, "align")) {
            st = alignment(p, d);
            continue;
        }
        if (at_directive(p, "attribute")) {
            st = attribute(p, d);
            continue;
        }
        if (type && !d->type)
            d->type = type;
        else if (at_directive(p, "v2") || at_directive(p, "v4"))
            d->vec = (uint8_t)(t->text[1] - '0');
        else if (at_directive(p, "ptr"))
            d->is_pointer = 1;
        else if (d->is_pointer && at_space(p, &space))
            d->ptr_space = (uint8_t)space;
        else
            return ptx_expected(p, "a type or a name");
        next(p);
    }
    if (!st && !d->type)
        return ptx_expected(p, "a type");
    return st;
}

/* --- registers --------------------------------------------------------- */

static enum kiln_status check_reg_type(struct parser *p,
                                       const struct declarator *d)
{
    switch (d->type) {
    case PTX_PRED:
    case PTX_B8:
    case PTX_B16:
    case PTX_B32:
    case PTX_B64:
    case PTX_B128:
    case PTX_U8:
    case PTX_U16:
    case PTX_U32:
    case PTX_U64:
    case PTX_S8:
    case PTX_S16:
    case PTX_S32:
    case PTX_S64:
    case PTX_F16:
    case PTX_F16X2:
    case PTX_F32:
    case PTX_F64:
        return KILN_OK;
    default:
        return ptx_error(p, p->lx.token.line,
                         "Illegal type '.%s' of a register",
                         ptx_type_text(d->type));
    }
}

static enum kiln_status register_name(struct parser *p,
                                      const struct declarator *d)
{
    const struct token name = p->lx.token;
    struct symbol *s;
    uint64_t count = 0;
    uint32_t index;
    enum kiln_status st;

    if (!at(p, TOKEN_NAME))
        return ptx_expected(p, "a register name");
    s = symbol_get(p, name.text, name.len);
    if (!s)
        return ptx_no_memory(p);
    next(p);
    if (!accept(p, '<'))
        return declare_reg(p, s, d->type, d->vec, &index);
    /* Not a constant expression: `>` would be part of it. */
    if (!at(p, TOKEN_INT))
        return ptx_expected(p, "a number of registers");
    count = p->lx.token.bits;
    next(p);
    st = expect(p, '>', "'>'");
    return st ? st : declare_range(p, s, d->type, d->vec, count);
}

enum kiln_status parse_registers(struct parser *p)
{
    struct declarator d;
    enum kiln_status st;

    next(p);
    st = declarator(p, &d);
    if (!st)
        st = check_reg_type(p, &d);
    do {
        if (!st)
            st = register_name(p, &d);
    } while (!st && accept(p, ','));
    return st ? st : expect(p, ';', "';'");
}

/* --- variables --------------------------------------------------------- */

/* `[4][]`: sizes in elements; the first may be open. */
static enum kiln_status dimensions(struct parser *p, uint64_t *dims,
                                   unsigned *count, int *open)
{
    *count = 0;
    *open = 0;
    while (at(p, '[')) {
        enum kiln_status st = KILN_OK;

        if (*count == MAX_DIMS)
            return ptx_fatal(p, p->lx.token.line,
                             "array of more than %d dimensions", MAX_DIMS);
        next(p);
        dims[*count] = 0;
        if (at(p, ']') && *count == 0)
            *open = 1;
        else
            st = expect_u64(p, "an array size", &dims[*count]);
        if (st)
            return st;
        ++*count;
        st = expect(p, ']', "']'");
        if (st)
            return st;
    }
    return KILN_OK;
}

static void fill(struct ptx_var *v, const struct declarator *d,
                 enum ptx_space space, const char *name, unsigned line)
{
    v->name = name;
    v->space = space;
    v->type = d->type;
    v->vec = d->vec;
    v->is_pointer = d->is_pointer;
    v->ptr_space = d->ptr_space;
    v->ptr_align = d->ptr_align;
    v->line = line;
    v->align = d->align;
    if (!v->align) {
        v->align = ptx_type_bits(d->type) / 8 * d->vec;
        if (!v->align)
            v->align = 1;
    }
}

/* The size in bytes, from type and dimensions. */
static enum kiln_status measure(struct parser *p, struct ptx_var *v,
                                const uint64_t *dims, unsigned dim_count,
                                int open)
{
    uint64_t size = (ptx_type_bits(v->type) + 7) / 8 * (uint64_t)v->vec;
    int over = 0;

    v->is_array = dim_count > 0;
    for (unsigned i = open ? 1 : 0; i < dim_count; i++)
        over |= __builtin_mul_overflow(size, dims[i], &size);
    if (over || size > largest_variable)
        return ptx_fatal(p, v->line, "Variable '%.100s' is too large", v->name);
    v->size = open ? 0 : size;
    return KILN_OK;
}

static enum kiln_status check_type(struct parser *p, const struct ptx_var *v)
{
    const enum ptx_type_class c = ptx_type_class(v->type);

    if (c == PTX_CLASS_PRED || ptx_type_bits(v->type) < 8 ||
        (c == PTX_CLASS_PACKED && v->type != PTX_F16X2 &&
         v->type != PTX_BF16X2) ||
        (v->type >= PTX_E4M3 && v->type < PTX_TEXREF) ||
        (c == PTX_CLASS_OPAQUE && v->space != PTX_SPACE_GLOBAL &&
         v->space != PTX_SPACE_PARAM))
        return ptx_error(p, v->line, "Illegal type '.%s' of variable '%.100s'",
                         ptx_type_text(v->type), v->name);
    return KILN_OK;
}

/* A module-scope variable seen before: an extern declaration and the
 * definition are the same variable. */
static struct ptx_var *merge(struct parser *p, struct symbol *s,
                             const struct linkage *l, enum kiln_status *st)
{
    struct ptx_var *old = s->bind->kind == BIND_VAR ? s->bind->var : NULL;

    *st = KILN_OK;
    if (old && (old->is_extern || l->is_extern || old->is_weak))
        return old;
    *st = ptx_error(p, p->lx.token.line,
                    "Duplicate definition of variable '%.100s'", s->name);
    return NULL;
}

static enum kiln_status add_var(struct parser *p, struct ptx_var *v,
                                struct symbol *s)
{
    struct ptx_var ***list = p->func ? &p->func->locals : &p->module->vars;
    size_t *count = p->func ? &p->func->local_count : &p->module->var_count;
    size_t *cap = p->func ? &p->local_cap : &p->var_cap;
    struct ptx_var **items =
        arena_grow(p->arena, *list, *count, cap, sizeof(struct ptx_var *));
    struct binding *b;

    if (!items)
        return ptx_no_memory(p);
    *list = items;
    items[(*count)++] = v;
    b = bind_new(p, s, BIND_VAR);
    if (!b)
        return ptx_no_memory(p);
    b->var = v;
    return KILN_OK;
}

static enum kiln_status space_fits(struct parser *p, enum ptx_space space,
                                   const struct linkage *l,
                                   const struct symbol *s)
{
    if (!p->func && space == PTX_SPACE_PARAM)
        return ptx_error(p, p->lx.token.line,
                         "Parameter '%.100s' declared outside of functions",
                         s->name);
    if (!p->func && space == PTX_SPACE_LOCAL)
        return ptx_error(p, p->lx.token.line,
                         "Module-scoped variables in .local state space are "
                         "not allowed: '%.100s'",
                         s->name);
    if (p->func && (l->is_extern || l->is_visible || l->is_weak))
        return ptx_error(p, p->lx.token.line,
                         "Linkage of '%.100s' in a function", s->name);
    return KILN_OK;
}

/* The rest of one declared name: dimensions, initialiser, its place. */
static enum kiln_status variable(struct parser *p, const struct declarator *d,
                                 enum ptx_space space, const struct linkage *l)
{
    const struct token name = p->lx.token;
    struct ptx_var *v = arena_alloc(p->arena, sizeof *v);
    struct ptx_var *old = NULL;
    uint64_t dims[MAX_DIMS];
    unsigned dim_count;
    struct symbol *s;
    int open;
    enum kiln_status st;

    if (!at(p, TOKEN_NAME))
        return ptx_expected(p, "a variable name");
    s = symbol_get(p, name.text, name.len);
    if (!s || !v)
        return ptx_no_memory(p);
    next(p);
    st = space_fits(p, space, l, s);
    if (!st)
        st = dimensions(p, dims, &dim_count, &open);
    if (st)
        return st;
    if (s->bind && s->bind->depth == p->depth) {
        old = merge(p, s, l, &st);
        if (st)
            return st;
    }
    fill(v, d, space, s->name, name.line);
    v->is_extern = l->is_extern;
    v->is_visible = l->is_visible;
    v->is_weak = l->is_weak;
    v->is_managed = d->is_managed;
    v->is_unified = d->is_unified;
    st = measure(p, v, dims, dim_count, open);
    if (!st)
        st = check_type(p, v);
    if (!st && p->func && !(v->name = symbol_unique(p, s)))
        return ptx_no_memory(p);
    if (!p->func) {
        rename_note(p, s);
        s->owner = 1;
    }
    if (!st && accept(p, '='))
        st = parse_initialiser(p, v, open, dims, dim_count);
    else if (!st && !v->size && !v->is_extern && space != PTX_SPACE_PARAM)
        st = ptx_error(p, name.line, "Array size of '%.100s' not specified",
                       s->name);
    if (st)
        return st;
    if (old) {
        if (!v->is_extern)
            *old = *v;
        return KILN_OK;
    }
    return add_var(p, v, s);
}

enum kiln_status parse_variables(struct parser *p, enum ptx_space space,
                                 const struct linkage *linkage)
{
    struct declarator d;
    enum kiln_status st;

    next(p);
    if (space == PTX_SPACE_CONST && accept(p, '[')) { /* a bank, ancient */
        uint64_t bank;

        st = expect_u64(p, "a bank", &bank);
        if (!st)
            st = expect(p, ']', "']'");
        if (st)
            return st;
    }
    st = declarator(p, &d);
    do {
        if (!st)
            st = variable(p, &d, space, linkage);
    } while (!st && accept(p, ','));
    return st ? st : expect(p, ';', "';'");
}

/* --- parameters -------------------------------------------------------- */

static enum kiln_status bind_parameter(struct parser *p, struct ptx_var *v,
                                       struct symbol *s)
{
    struct binding *b;

    if (v->space == PTX_SPACE_REG) {
        const enum kiln_status st = declare_reg(p, s, v->type, v->vec, &v->reg);

        /* Not the text's name where the module has another thing of it. */
        if (!st && v->reg < p->func->reg_count)
            v->name = p->func->regs[v->reg].name;
        return st;
    }
    if (s->bind && s->bind->depth == p->depth)
        return ptx_error(p, v->line,
                         "Duplicate definition of variable '%.100s'", s->name);
    v->name = symbol_unique(p, s);
    b = v->name ? bind_new(p, s, BIND_VAR) : NULL;
    if (!b)
        return ptx_no_memory(p);
    b->var = v;
    return KILN_OK;
}

/* One parameter or result. Prototypes may leave the name out or write `_`;
 * they bind nothing. The variable must stay where it is. */
enum kiln_status parse_parameter(struct parser *p, struct ptx_var *v,
                                 int anonymous, int is_entry)
{
    enum ptx_space space;
    struct declarator d;
    uint64_t dims[MAX_DIMS];
    unsigned dim_count;
    int open;
    struct symbol *s = NULL;
    const unsigned line = p->lx.token.line;
    enum kiln_status st;

    if (!at_space(p, &space) ||
        (space != PTX_SPACE_PARAM && space != PTX_SPACE_REG) ||
        (is_entry && space == PTX_SPACE_REG))
        return ptx_expected(p, "a parameter");
    next(p);
    st = declarator(p, &d);
    if (!st && space == PTX_SPACE_REG)
        st = check_reg_type(p, &d);
    if (st)
        return st;
    if (at(p, TOKEN_NAME)) {
        s = symbol_get(p, p->lx.token.text, p->lx.token.len);
        if (!s)
            return ptx_no_memory(p);
        next(p);
        if (s->len == 1 && *s->name == '_')
            s = NULL;
    }
    st = dimensions(p, dims, &dim_count, &open);
    if (st)
        return st;
    fill(v, &d, space, s ? s->name : "_", line);
    st = measure(p, v, dims, dim_count, open);
    if (!st && space == PTX_SPACE_PARAM)
        st = check_type(p, v);
    if (!st && s && !anonymous)
        st = bind_parameter(p, v, s);
    return st;
}
