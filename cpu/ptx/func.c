/* SPDX-License-Identifier: MIT
 *
 * Functions: linkage, results, name, parameters, performance directives, and
 * then a body or nothing. A declaration and its definition are one struct,
 * so that calls before the definition point to the right place.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* PTX ISA 5.4: 4352 bytes of kernel parameters, 32764 from sm_70. */
static const uint64_t largest_params = 32764;

/* A list in parentheses. The variables are bound while it is read, so they
 * are placed once, in room for all the list can hold. */
static enum kiln_status parameters(struct parser *p, struct ptx_var **list,
                                   size_t *count, uint32_t *bytes,
                                   int anonymous, int is_entry)
{
    enum { MOST = 8192 };
    struct lexer ahead = p->lx;
    size_t room = 1;
    uint64_t offset = 0;
    enum kiln_status st = expect(p, '(', "'('");

    while (room < MOST && ahead.token.kind != ')' &&
           ahead.token.kind != TOKEN_END && ahead.token.kind != '{') {
        room += ahead.token.kind == ',';
        lexer_next(&ahead);
    }
    *list = arena_array(p->arena, room, sizeof **list);
    *count = 0;
    if (!*list)
        return ptx_no_memory(p);
    while (!st && !at(p, ')')) {
        struct ptx_var *v;

        if (*count == room)
            return ptx_fatal(p, p->lx.token.line, "Too many parameters");
        v = &(*list)[*count];
        ++*count;
        st = parse_parameter(p, v, anonymous, is_entry);
        offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
        v->offset = offset;
        offset += v->size;
        if (!st && offset > largest_params && !anonymous)
            return ptx_fatal(p, v->line,
                             "Formal parameter space overflowed (%llu bytes "
                             "required, max %llu bytes allowed)",
                             (unsigned long long)offset,
                             (unsigned long long)largest_params);
        if (!st && !accept(p, ','))
            break;
    }
    if (bytes)
        *bytes = (uint32_t)offset;
    return st ? st : expect(p, ')', "')'");
}

static enum kiln_status three(struct parser *p, uint32_t *values)
{
    values[1] = values[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t v;
        enum kiln_status st = expect_u64(p, "a number of threads", &v);

        if (st)
            return st;
        if (v > UINT32_MAX || v == 0)
            return ptx_fatal(p, p->lx.token.line, "Illegal size %llu",
                             (unsigned long long)v);
        values[i] = (uint32_t)v;
        if (!accept(p, ','))
            return KILN_OK;
    }
    return KILN_OK;
}

static enum kiln_status one(struct parser *p, uint32_t *value)
{
    uint64_t v;
    enum kiln_status st = expect_u64(p, "a number", &v);

    *value = st || v > UINT32_MAX ? 0 : (uint32_t)v;
    return st;
}

/* Directives between the parameters and the body. */
static enum kiln_status directive(struct parser *p, struct ptx_func *f)
{
    const struct token name = p->lx.token;
    uint32_t ignored;
    int skipped;
    enum kiln_status st = skip_debug(p, &skipped);
    static const char *const with_one[] = {
        "minnctapersm",   "maxnctapersm", "maxnreg",
        "maxclusterrank", "abi_preserve", "abi_preserve_control"};

    if (st || skipped)
        return st;
    next(p);
    for (size_t i = 0; i < sizeof with_one / sizeof *with_one; i++) {
        uint32_t *const places[] = {&f->minnctapersm, &f->minnctapersm,
                                    &f->maxnreg,      &f->maxclusterrank,
                                    &ignored,         &ignored};

        if (token_is(&name, with_one[i]))
            return one(p, places[i]);
    }
    if (token_is(&name, "maxntid"))
        return three(p, f->maxntid);
    if (token_is(&name, "reqntid"))
        return three(p, f->reqntid);
    if (token_is(&name, "reqnctapercluster"))
        return three(p, f->reqnctapercluster);
    if (token_is(&name, "explicitcluster"))
        f->explicitcluster = 1;
    else if (token_is(&name, "noreturn"))
        f->noreturn = 1;
    else if (!token_is(&name, "blocksareclusters"))
        return ptx_fatal(p, name.line, "Unknown directive '.%.*s'",
                         (int)(name.len < 60 ? name.len : 60), name.text);
    return KILN_OK;
}

static enum kiln_status directives(struct parser *p, struct ptx_func *f)
{
    enum kiln_status st = KILN_OK;

    while (!st && at(p, TOKEN_DIRECTIVE))
        st = directive(p, f);
    return st;
}

/* The rest of `.callprototype`: (results) _ (parameters) .noreturn */
enum kiln_status parse_prototype(struct parser *p, struct ptx_func *f)
{
    enum kiln_status st = KILN_OK;

    if (at(p, '('))
        st = parameters(p, &f->results, &f->result_count, NULL, 1, 0);
    if (!st)
        st = expect(p, TOKEN_NAME, "'_'");
    if (!st && at(p, '('))
        st = parameters(p, &f->params, &f->param_count, &f->param_bytes, 1, 0);
    return st ? st : directives(p, f);
}

static enum kiln_status differs(struct parser *p, const struct ptx_func *f)
{
    return ptx_error(p, f->line,
                     "Function '%.100s' differs from its earlier declaration",
                     f->name);
}

static int same_vars(const struct ptx_var *a, size_t an,
                     const struct ptx_var *b, size_t bn)
{
    if (an != bn)
        return 0;
    for (size_t i = 0; i < an; i++) {
        if (a[i].space != b[i].space || a[i].type != b[i].type ||
            a[i].size != b[i].size || a[i].align != b[i].align)
            return 0;
    }
    return 1;
}

/* The function of this name, now knowing what f tells. */
static enum kiln_status settle(struct parser *p, struct symbol *s,
                               struct ptx_func *f, struct ptx_func **out)
{
    struct ptx_func *old;

    *out = f;
    if (!s->bind) {
        const unsigned depth = p->depth;
        struct ptx_func **funcs =
            arena_grow(p->arena, p->module->funcs, p->module->func_count,
                       &p->func_cap, sizeof(struct ptx_func *));
        struct binding *b;

        if (!funcs)
            return ptx_no_memory(p);
        p->module->funcs = funcs;
        funcs[p->module->func_count++] = f;
        rename_note(p, s);
        s->owner = 1;
        p->depth = 0;
        b = bind_new(p, s, BIND_FUNC);
        p->depth = depth;
        if (!b)
            return ptx_no_memory(p);
        b->func = f;
        return KILN_OK;
    }
    if (s->bind->kind != BIND_FUNC || s->bind->depth != 0)
        return ptx_fatal(p, f->line, "Duplicate definition of '%.100s'",
                         f->name);
    old = s->bind->func;
    if (f->has_body && old->has_body)
        return ptx_fatal(p, f->line,
                         "Duplicate definition of function '%.100s'", f->name);
    if (!same_vars(f->params, f->param_count, old->params, old->param_count) ||
        !same_vars(f->results, f->result_count, old->results,
                   old->result_count) ||
        f->is_entry != old->is_entry)
        return differs(p, f); /* its body is read by its own parameters */
    *out = old;
    if (f->has_body) {
        const struct ptx_func before = *old;

        *old = *f;
        old->is_visible |= before.is_visible;
        old->is_weak |= before.is_weak;
        old->noreturn |= before.noreturn;
    } else {
        old->is_visible |= f->is_visible;
        old->is_weak |= f->is_weak;
        old->noreturn |= f->noreturn;
    }
    return KILN_OK;
}

static enum kiln_status header(struct parser *p, struct ptx_func *f,
                               struct symbol **name)
{
    enum kiln_status st = KILN_OK;

    if (at_directive(p, "attribute")) {
        do
            next(p);
        while (!at(p, TOKEN_END) && !at(p, TOKEN_BAD) && !at(p, TOKEN_NAME));
    }
    if (at(p, '(') && !f->is_entry)
        st = parameters(p, &f->results, &f->result_count, NULL, 0, 0);
    if (st)
        return st;
    if (!at(p, TOKEN_NAME))
        return ptx_expected(p, "a function name");
    *name = symbol_get(p, p->lx.token.text, p->lx.token.len);
    if (!*name)
        return ptx_no_memory(p);
    f->name = (*name)->name;
    f->line = p->lx.token.line;
    next(p);
    if (at(p, '('))
        st = parameters(p, &f->params, &f->param_count, &f->param_bytes, 0,
                        f->is_entry);
    return st ? st : directives(p, f);
}

static enum kiln_status finish(struct parser *p, struct ptx_func *f,
                               struct symbol *name)
{
    enum kiln_status st;

    f->has_body = (uint8_t)at(p, '{');
    if (!f->has_body && !at(p, ';'))
        return ptx_expected(p, "'{' or ';'");
    if (f->has_body)
        f->is_extern = 0;
    st = settle(p, name, f, &p->func);
    if (st)
        return st;
    if (f->has_body)
        return parse_body(p);
    next(p);
    return KILN_OK;
}

enum kiln_status parse_function(struct parser *p, const struct linkage *l,
                                int is_entry)
{
    static unsigned const first_id = 2; /* 1 is the module */
    struct ptx_func *f = arena_alloc(p->arena, sizeof *f);
    struct symbol *name = NULL;
    enum kiln_status st;
    enum kiln_status end;

    if (!f)
        return ptx_no_memory(p);
    f->is_entry = (uint8_t)is_entry;
    f->is_extern = l->is_extern;
    f->is_visible = l->is_visible;
    f->is_weak = l->is_weak;
    p->func = f;
    p->last_func_id = p->last_func_id ? p->last_func_id + 1 : first_id;
    p->func_id = p->last_func_id;
    p->reg_cap = p->insn_cap = p->label_cap = p->local_cap = 0;
    p->table_cap = 0;
    next(p);
    st = scope_open(p);
    if (!st)
        st = header(p, f, &name);
    if (!st)
        st = finish(p, f, name);
    if (st)
        return st;
    end = scope_close(p);
    p->func = NULL;
    p->func_id = 1;
    return end;
}
