/* SPDX-License-Identifier: MIT
 *
 * The body of a function: scopes, declarations, labels and instructions.
 * Scopes leave nothing behind but their effect on names.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* Where an instruction goes: at the end of the list, which has room. The
 * count of semicolons up to the closing brace is a bound that makes one
 * allocation do; text that fools the count just grows the list. */
static struct ptx_insn *insn_slot(struct parser *p)
{
    struct ptx_func *f = p->func;
    struct ptx_insn *insns;

    if (!f->insns) {
        const size_t count = lexer_count_statements(&p->lx) + 1;

        f->insns = arena_array(p->arena, count, sizeof *f->insns);
        p->insn_cap = f->insns ? count : 0;
    }
    insns = arena_grow(p->arena, f->insns, f->insn_count, &p->insn_cap,
                       sizeof *insns);
    if (!insns)
        return NULL;
    f->insns = insns;
    return &insns[f->insn_count];
}

static enum kiln_status label(struct parser *p, struct symbol *s)
{
    struct ptx_func *f = p->func;
    struct ptx_label *labels = arena_grow(p->arena, f->labels, f->label_count,
                                          &p->label_cap, sizeof *labels);
    struct binding *b;

    if (s->label && s->label->depth == p->depth)
        return ptx_error(p, p->lx.token.line,
                         "Duplicate definition of label '%.100s'", s->name);
    if (!labels || !(b = bind_new(p, s, BIND_LABEL)))
        return ptx_no_memory(p);
    f->labels = labels;
    labels[f->label_count].name = symbol_unique(p, s);
    labels[f->label_count].insn = f->insn_count;
    if (!labels[f->label_count].name)
        return ptx_no_memory(p);
    b->index = (uint32_t)f->label_count++;
    return KILN_OK;
}

static enum kiln_status guard(struct parser *p, struct ptx_insn *insn)
{
    struct token name;
    struct found f;
    enum kiln_status st;

    next(p);
    insn->guard_negate = (uint8_t)accept(p, '!');
    name = p->lx.token;
    if (!at(p, TOKEN_NAME))
        return ptx_expected(p, "a predicate register");
    next(p);
    st = symbol_lookup(p, name.text, name.len, &f);
    if (st)
        return st;
    if (!f.found)
        return ptx_error(p, name.line, "Unknown symbol '%.*s'",
                         (int)(name.len < 100 ? name.len : 100), name.text);
    if (f.kind != BIND_REG || p->func->regs[f.index].type != PTX_PRED)
        return ptx_error(p, name.line,
                         "Predicate expression expected; found '%.*s'",
                         (int)(name.len < 100 ? name.len : 100), name.text);
    insn->guard = (int32_t)f.index;
    return KILN_OK;
}

/* `add .u32`: the mnemonic comes in pieces, which are put together. */
static enum kiln_status join_pieces(struct parser *p, struct token *t)
{
    char text[256];
    size_t len = 0;

    for (int more = 1; more;) {
        const struct token *piece = &p->lx.token;
        const size_t dot = piece->kind == TOKEN_DIRECTIVE;

        more = lexer_mnemonic(&p->lx);
        if (piece->len + dot > sizeof text - len)
            return ptx_fatal(p, t->line, "mnemonic longer than %zu characters",
                             sizeof text);
        text[len] = '.';
        memcpy(text + len + dot, piece->text, piece->len);
        len += piece->len + dot;
        if (more)
            next(p);
    }
    t->text = arena_strndup(&p->scratch, text, len);
    t->len = len;
    return t->text ? KILN_OK : ptx_no_memory(p);
}

static enum kiln_status operands(struct parser *p, struct ptx_insn *insn)
{
    unsigned count = 0;

    if (at(p, ';'))
        return KILN_OK;
    for (;;) {
        enum kiln_status st;

        if (count == MAX_OPERANDS)
            return ptx_fatal(p, insn->line,
                             "instruction with more than %d operands",
                             MAX_OPERANDS);
        st = parse_operand(p, &insn->operands[count], p->func->insn_count,
                           count);
        if (st)
            return st;
        insn->operand_count = (uint8_t)++count;
        if (at(p, '|') && count == 1)
            insn->has_pair = 1;
        else if (!at(p, ','))
            return KILN_OK;
        next(p);
    }
}

/* The current token is the mnemonic's first word. */
static enum kiln_status instruction(struct parser *p, struct ptx_insn *insn)
{
    struct token name = p->lx.token;
    const unsigned before = p->errors;
    const int32_t guard_reg = insn->guard;
    const uint8_t guard_negate = insn->guard_negate;
    const struct shape *shape;
    enum kiln_status st = KILN_OK;

    if (lexer_mnemonic(&p->lx))
        st = join_pieces(p, &name);
    else
        name.len = p->lx.token.len;
    if (!st)
        st = shape_get(p, name.text, name.len, name.line, &shape);
    if (st)
        return st;
    *insn = shape->fields;
    insn->guard = guard_reg;
    insn->guard_negate = guard_negate;
    insn->line = name.line;
    if (shape->broken && p->errors == before)
        st =
            ptx_error(p, name.line, "Illegal instruction '%.80s'", shape->text);
    next(p);
    if (!st)
        st = insn->op == PTX_OP_CALL ? parse_call(p, insn, p->func->insn_count)
                                     : operands(p, insn);
    if (!st)
        st = expect(p, ';', "';'");
    if (!st && !shape->broken && p->errors == before)
        st = check_insn(p, insn, shape);
    p->func->insn_count++;
    return st;
}

static enum kiln_status named(struct parser *p, struct ptx_insn *insn)
{
    const struct token name = p->lx.token;
    struct symbol *s;

    /* A label ends in one colon; a mnemonic never does. */
    if (*p->lx.at == ':' || *p->lx.at == ' ' || *p->lx.at == '\t') {
        const struct lexer before = p->lx;

        next(p);
        if (at(p, ':')) {
            next(p);
            s = symbol_get(p, name.text, name.len);
            if (!s)
                return ptx_no_memory(p);
            if (at_directive(p, "branchtargets") ||
                at_directive(p, "calltargets") ||
                at_directive(p, "callprototype"))
                return parse_table(p, s);
            return label(p, s);
        }
        p->lx = before;
    }
    return instruction(p, insn);
}

static enum kiln_status declaration(struct parser *p)
{
    static const struct linkage none;
    enum ptx_space space;
    int skipped;
    enum kiln_status st = skip_debug(p, &skipped);

    if (st || skipped)
        return st;
    if (!at_space(p, &space))
        return ptx_expected(p, "a declaration or an instruction");
    if (space == PTX_SPACE_REG)
        return parse_registers(p);
    return parse_variables(p, space, &none);
}

static enum kiln_status statement(struct parser *p)
{
    struct ptx_insn *insn = insn_slot(p);
    enum kiln_status st;

    if (!insn)
        return ptx_no_memory(p);
    memset(insn, 0, sizeof *insn);
    insn->guard = -1;
    switch (p->lx.token.kind) {
    case TOKEN_NAME:
        return named(p, insn);
    case TOKEN_DIRECTIVE:
        return declaration(p);
    case '@':
        if (p->lx.at[0] == '@') { /* @@DWARF */
            int skipped;

            return skip_debug(p, &skipped);
        }
        st = guard(p, insn);
        if (st)
            return st;
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "an instruction");
        return instruction(p, insn);
    case '{':
        next(p);
        return scope_open(p);
    case ';':
        next(p);
        return KILN_OK;
    default:
        return ptx_expected(p, "an instruction");
    }
}

/* The opening brace is the current token. The scope is open: it holds the
 * parameters, and parse_function closes it. */
enum kiln_status parse_body(struct parser *p)
{
    const unsigned outermost = p->depth;
    enum kiln_status st = KILN_OK;

    next(p);
    while (!st) {
        if (!at(p, '}')) {
            st = statement(p);
        } else if (p->depth == outermost) {
            next(p);
            return KILN_OK;
        } else {
            st = scope_close(p);
            next(p);
        }
    }
    return st;
}
