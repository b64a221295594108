/* SPDX-License-Identifier: MIT
 *
 * Calls and the tables they and indexed branches name:
 *
 *   call.uni (ret), f, (a, b);      call f;       call (ret), %rd1, (a), proto;
 *   proto: .callprototype (.param .b32 _) _ (.param .b64 _);
 *   t:     .branchtargets L1, L2;   .calltargets f, g;
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* `( a, b )`; the list may be empty. */
static enum kiln_status arguments(struct parser *p, size_t index,
                                  const struct ptx_operand **list,
                                  size_t *count)
{
    struct ptx_operand *items = NULL;
    size_t cap = 0;
    size_t n = 0;
    enum kiln_status st = expect(p, '(', "'('");

    while (!st && !at(p, ')')) {
        items = arena_grow(p->arena, items, n, &cap, sizeof *items);
        if (!items)
            return ptx_no_memory(p);
        memset(&items[n], 0, sizeof items[n]);
        st = parse_operand(p, &items[n++], index, 0);
        if (st || !accept(p, ','))
            break;
    }
    *list = items;
    *count = n;
    return st ? st : expect(p, ')', "')'");
}

static enum kiln_status results_of(struct parser *p, struct ptx_call *call)
{
    if (!call->result_count)
        return KILN_OK;
    call->results = arena_array(p->arena, call->result_count,
                                sizeof(const struct ptx_var *));
    if (!call->results)
        return ptx_no_memory(p);
    for (size_t i = 0; i < call->result_count; i++) {
        const struct ptx_operand *o = &call->result_operands[i];

        if (o->kind == PTX_OPERAND_VAR)
            call->results[i] = o->var;
        else if (o->kind != PTX_OPERAND_REG && o->kind != PTX_OPERAND_SINK)
            return ptx_error(p, p->lx.token.line,
                             "Result %zu of 'call' is neither a parameter nor "
                             "a register",
                             i);
    }
    return KILN_OK;
}

static uint64_t size_of_argument(const struct parser *p,
                                 const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_VAR)
        return o->var->size;
    if (o->kind == PTX_OPERAND_REG)
        return (ptx_type_bits(p->func->regs[o->reg].type) + 7) / 8;
    return 0; /* constants fit what they are given to */
}

/* Counts and sizes against the callee, where it is known. */
static enum kiln_status fits(struct parser *p, const struct ptx_func *callee,
                             const struct ptx_operand *list, size_t count,
                             const struct ptx_var *formals, size_t formal_count,
                             const char *what, unsigned line)
{
    const int variadic = formal_count && formals[formal_count - 1].is_array &&
                         formals[formal_count - 1].size == 0;

    if (count != formal_count && !(variadic && count + 1 >= formal_count))
        return ptx_error(p, line, "Call to '%.80s' with %zu %ss, expected %zu",
                         callee->name ? callee->name : "a prototype", count,
                         what, formal_count);
    for (size_t i = 0; i < count && i < formal_count; i++) {
        const uint64_t size = size_of_argument(p, &list[i]);

        if (size && formals[i].size && size != formals[i].size)
            return ptx_error(
                p, line,
                "Type or alignment of %s %zu of the call to "
                "'%.80s' does not match: %llu bytes, expected "
                "%llu",
                what, i, callee->name ? callee->name : "a prototype",
                (unsigned long long)size, (unsigned long long)formals[i].size);
    }
    return KILN_OK;
}

static enum kiln_status check_call(struct parser *p,
                                   const struct ptx_call *call, unsigned line)
{
    const struct ptx_func *callee =
        call->target.kind == PTX_OPERAND_FUNC ? call->target.func
        : call->prototype                     ? call->prototype->prototype
                                              : NULL;
    enum kiln_status st;

    if (call->target.kind == PTX_OPERAND_NONE)
        return KILN_OK; /* reported */
    if (call->target.kind != PTX_OPERAND_FUNC &&
        call->target.kind != PTX_OPERAND_REG)
        return ptx_error(p, line, "Function expected as target of 'call'");
    if (call->target.kind == PTX_OPERAND_FUNC && callee->is_entry)
        return ptx_error(p, line, "Call to the entry function '%.100s'",
                         callee->name);
    if (call->target.kind == PTX_OPERAND_REG && !call->prototype)
        return ptx_error(p, line,
                         "Indirect call without a prototype or target list");
    if (!callee)
        return KILN_OK;
    st = fits(p, callee, call->args, call->arg_count, callee->params,
              callee->param_count, "argument", line);
    return st ? st
              : fits(p, callee, call->result_operands, call->result_count,
                     callee->results, callee->result_count, "result", line);
}

enum kiln_status parse_call(struct parser *p, struct ptx_insn *insn,
                            size_t index)
{
    struct ptx_call *call = arena_alloc(p->arena, sizeof *call);
    enum kiln_status st = KILN_OK;
    struct ptx_operand table;

    if (!call)
        return ptx_no_memory(p);
    insn->call = call;
    if (at(p, '(')) {
        st = arguments(p, index, &call->result_operands, &call->result_count);
        if (!st)
            st = results_of(p, call);
        if (!st)
            st = expect(p, ',', "','");
    }
    if (!st)
        st = parse_operand(p, &call->target, index, 0);
    if (!st && accept(p, ',') && at(p, '(')) {
        st = arguments(p, index, &call->args, &call->arg_count);
        if (!st && !accept(p, ','))
            return check_call(p, call, insn->line);
    }
    if (!st && !at(p, ';')) {
        memset(&table, 0, sizeof table);
        st = parse_operand(p, &table, index, 0);
        if (!st && table.kind != PTX_OPERAND_TABLE)
            st = ptx_error(p, insn->line,
                           "Prototype or target list expected in 'call'");
        else
            call->prototype = table.table;
    }
    return st ? st : check_call(p, call, insn->line);
}

/* --- tables ------------------------------------------------------------ */

static enum kiln_status branch_targets(struct parser *p, struct ptx_table *t)
{
    size_t count = 0;
    size_t cap = 64;
    struct token *names = arena_array(&p->scratch, cap, sizeof *names);
    uint32_t *labels;

    if (!names)
        return ptx_no_memory(p);
    do {
        names = arena_grow(&p->scratch, names, count, &cap, sizeof *names);
        if (!names)
            return ptx_no_memory(p);
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "a label");
        names[count++] = p->lx.token;
        next(p);
    } while (accept(p, ','));
    labels = arena_array(p->arena, count, sizeof *labels);
    if (!labels)
        return ptx_no_memory(p);
    t->labels = labels;
    t->label_count = count;
    for (size_t i = 0; i < count; i++) {
        struct symbol *s = symbol_get(p, names[i].text, names[i].len);
        enum kiln_status st;

        if (!s)
            return ptx_no_memory(p);
        st = label_use(p, s, names[i].line, &labels[i], 0, 0);
        if (st)
            return st;
    }
    return KILN_OK;
}

static enum kiln_status call_targets(struct parser *p, struct ptx_table *t)
{
    size_t cap = 0;

    do {
        struct found f;
        enum kiln_status st;

        t->funcs = arena_grow(p->arena, t->funcs, t->func_count, &cap,
                              sizeof(const struct ptx_func *));
        if (!t->funcs)
            return ptx_no_memory(p);
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "a function");
        st = symbol_lookup(p, p->lx.token.text, p->lx.token.len, &f);
        if (st)
            return st;
        if (!f.found || f.kind != BIND_FUNC)
            return ptx_fatal(p, p->lx.token.line, "Function expected");
        t->funcs[t->func_count++] = f.binding->func;
        next(p);
    } while (accept(p, ','));
    t->prototype = t->funcs[0];
    return KILN_OK;
}

static enum kiln_status call_prototype(struct parser *p, struct ptx_table *t)
{
    struct ptx_func *f = arena_alloc(p->arena, sizeof *f);

    if (!f)
        return ptx_no_memory(p);
    f->line = p->lx.token.line;
    f->is_prototype = 1;
    t->prototype = f;
    return parse_prototype(p, f);
}

enum kiln_status parse_table(struct parser *p, struct symbol *name)
{
    const struct token kind = p->lx.token;
    struct ptx_table *t = arena_alloc(p->arena, sizeof *t);
    struct ptx_func *f = p->func;
    struct ptx_table **tables =
        arena_grow(p->arena, f->tables, f->table_count, &p->table_cap,
                   sizeof(struct ptx_table *));
    struct binding *b;
    enum kiln_status st;

    if (!t || !tables)
        return ptx_no_memory(p);
    f->tables = tables;
    tables[f->table_count++] = t;
    if (name->bind && name->bind->depth == p->depth)
        return ptx_fatal(p, kind.line, "Duplicate definition of '%.100s'",
                         name->name);
    t->name = symbol_unique(p, name);
    b = bind_new(p, name, BIND_TABLE);
    if (!t->name || !b)
        return ptx_no_memory(p);
    b->table = t;
    next(p);
    if (*kind.text == 'b')
        st = branch_targets(p, t);
    else if (kind.len == strlen("calltargets"))
        st = call_targets(p, t);
    else
        st = call_prototype(p, t);
    return st ? st : expect(p, ';', "';'");
}
