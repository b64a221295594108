/* SPDX-License-Identifier: MIT
 *
 * One operand: a register, a constant, a name, an address in brackets, a
 * vector in braces. Names are resolved here; whether the operand suits the
 * instruction is for check.c.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* In a vector or a bracket nothing nests deeper than this. */
enum { NESTING = 3 };

static enum kiln_status one(struct parser *p, struct ptx_operand *o,
                            size_t insn, unsigned index, unsigned depth);

/* `+4`, `+-4`, `+(2*4)`; ptxas takes no plain `-4`. */
static enum kiln_status offset(struct parser *p, int64_t *value)
{
    struct constant v;
    enum kiln_status st;

    *value = 0;
    if (!accept(p, '+'))
        return KILN_OK;
    st = parse_constant(p, &v);
    if (st)
        return st;
    if (v.kind != PTX_OPERAND_INT)
        return ptx_error(p, p->lx.token.line,
                         "Integer address offset expected");
    *value = (int64_t)v.bits;
    return KILN_OK;
}

static int element_of(char c)
{
    switch (c) {
    case 'x':
    case 'r':
        return 0;
    case 'y':
    case 'g':
        return 1;
    case 'z':
    case 'b':
        return 2;
    case 'w':
    case 'a':
        return 3;
    default:
        return -1;
    }
}

/* `.x` of a vector register, `.b0` or `.h1` of a video operand. */
/* .b0 .h1, .h10 .b7654: PTX ISA 9.7.17 (video instructions). */
static int video_part(const struct token *t, struct ptx_operand *o)
{
    const int halves = t->text[0] == 'h';
    const size_t n = t->len - 1;

    if (t->len < 2 || (!halves && t->text[0] != 'b') || n > (halves ? 2 : 4))
        return 0;
    o->ival = 0;
    for (size_t i = 1; i <= n; i++) {
        if (t->text[i] < '0' || t->text[i] > (halves ? '3' : '7'))
            return 0;
        o->ival = o->ival << 4 | (t->text[i] - '0');
    }
    if (n > 1) {
        o->dim = (uint8_t)((halves ? PTX_PARTS_H : PTX_PARTS_B) + (int)n);
        return 1;
    }
    o->dim = (uint8_t)((halves ? PTX_PART_H0 : PTX_PART_B0) + (int)o->ival);
    return o->ival < (halves ? 2 : 4) && !(o->ival = 0);
}

static enum kiln_status register_part(struct parser *p, struct ptx_operand *o)
{
    const struct token *t = &p->lx.token;
    const struct ptx_reg *r = &p->func->regs[o->reg];
    int element;

    if (!at(p, TOKEN_DIRECTIVE))
        return KILN_OK;
    element = t->len == 1 ? element_of(*t->text) : -1;
    if (element >= 0 && element < r->vec && r->vec > 1) {
        o->dim = (uint8_t)(1 + element);
    } else if (p->func->insns[p->func->insn_count].op < PTX_OP_VADD) {
        return ptx_error(p, t->line,
                         "Illegal part '.%.*s' of register '%.100s'",
                         (int)(t->len < 20 ? t->len : 20), t->text, r->name);
    } else if (!video_part(t, o)) {
        return ptx_error(p, t->line, "Illegal video selector '.%.*s'",
                         (int)(t->len < 20 ? t->len : 20), t->text);
    }
    next(p);
    return KILN_OK;
}

static enum kiln_status special(struct parser *p, struct ptx_operand *o,
                                const struct token *name)
{
    const struct token *t = &p->lx.token;
    int element = -1;

    o->kind = PTX_OPERAND_SREG;
    if (!sreg_is_vector(o->sreg))
        return KILN_OK;
    o->dim = 3;
    if (!at(p, TOKEN_DIRECTIVE))
        return KILN_OK;
    if (t->len == 1)
        element = element_of(*t->text);
    if (element < 0)
        return ptx_error(p, t->line,
                         "Illegal part '.%.*s' of special register '%.*s'",
                         (int)(t->len < 20 ? t->len : 20), t->text,
                         (int)(name->len < 60 ? name->len : 60), name->text);
    /* The fourth component exists, and is always 0. */
    o->dim = (uint8_t)element;
    if (element == 3) {
        o->kind = PTX_OPERAND_INT;
        o->dim = 0;
        o->sreg = PTX_SREG_NONE;
    }
    next(p);
    return KILN_OK;
}

static enum kiln_status unknown(struct parser *p, const struct token *name)
{
    return ptx_error(p, name->line, "Unknown symbol '%.*s'",
                     (int)(name->len < 100 ? name->len : 100), name->text);
}

/* A name that stands for nothing yet may be a label further on. */
static enum kiln_status label_or_unknown(struct parser *p,
                                         struct ptx_operand *o, size_t insn,
                                         unsigned index,
                                         const struct token *name)
{
    const enum ptx_op op = p->func->insns[insn].op;
    struct symbol *s;

    if (op != PTX_OP_BRA)
        return unknown(p, name);
    s = symbol_get(p, name->text, name->len);
    if (!s)
        return ptx_no_memory(p);
    o->kind = PTX_OPERAND_LABEL;
    return label_use(p, s, name->line, NULL, insn, index);
}

static enum kiln_status by_name(struct parser *p, struct ptx_operand *o,
                                size_t insn, unsigned index)
{
    const struct token name = p->lx.token;
    struct found f;
    enum kiln_status st;

    next(p);
    if (name.len == 1 && *name.text == '_') {
        o->kind = PTX_OPERAND_SINK;
        return KILN_OK;
    }
    st = symbol_lookup(p, name.text, name.len, &f);
    if (st)
        return st;
    if (!f.found) {
        o->sreg = sreg_find(name.text, name.len, &o->dim);
        return o->sreg ? special(p, o, &name)
                       : label_or_unknown(p, o, insn, index, &name);
    }
    switch (f.kind) {
    case BIND_REG:
        o->kind = PTX_OPERAND_REG;
        o->reg = f.index;
        return register_part(p, o);
    case BIND_VAR:
        o->kind = PTX_OPERAND_VAR;
        o->var = f.binding->var;
        return offset(p, &o->ival);
    case BIND_FUNC:
        o->kind = PTX_OPERAND_FUNC;
        o->func = f.binding->func;
        return KILN_OK;
    default:
        o->kind = PTX_OPERAND_TABLE;
        o->table = f.binding->table;
        return KILN_OK;
    }
}

static enum kiln_status constant(struct parser *p, struct ptx_operand *o)
{
    struct constant v;
    enum kiln_status st = parse_constant(p, &v);

    if (st)
        return st;
    o->kind = v.kind;
    o->is_f32 = (uint8_t)v.is_f32;
    o->fbits = v.bits;
    return KILN_OK;
}

/* Elements up to the closing character; elems in the arena. */
static enum kiln_status list(struct parser *p, struct ptx_operand *o,
                             struct ptx_operand *first, int close,
                             unsigned depth)
{
    enum { MOST = 128 };
    struct ptx_operand elems[MOST];
    unsigned count = 0;

    if (first)
        elems[count++] = *first;
    while (count == 0 || accept(p, ',')) {
        enum kiln_status st;

        if (count == MOST)
            return ptx_fatal(p, p->lx.token.line,
                             "more than %d elements in one operand", MOST);
        memset(&elems[count], 0, sizeof elems[count]);
        st = one(p, &elems[count++], p->func->insn_count, 0, depth + 1);
        if (st)
            return st;
    }
    o->count = (uint8_t)count;
    o->elems = arena_array(p->arena, count, sizeof *elems);
    if (!o->elems)
        return ptx_no_memory(p);
    memcpy(o->elems, elems, count * sizeof *elems);
    return expect(p, close, close == '}' ? "'}'" : "']'");
}

/* The inside of `[ ]`: base and offset. */
static enum kiln_status address(struct parser *p, struct ptx_operand *o,
                                unsigned depth)
{
    const unsigned line = p->lx.token.line;
    enum kiln_status st = one(p, o, p->func->insn_count, 0, depth + 1);

    if (st)
        return st;
    switch (o->kind) {
    case PTX_OPERAND_REG:
        if (o->negate || o->dim >= PTX_PART_B0)
            return ptx_error(p, line, "Illegal address operand");
        o->kind = PTX_OPERAND_ADDR_REG;
        return offset(p, &o->ival);
    case PTX_OPERAND_VAR:
        o->kind = PTX_OPERAND_ADDR_VAR;
        return KILN_OK;
    case PTX_OPERAND_INT:
        o->kind = PTX_OPERAND_ADDR_INT;
        return KILN_OK;
    case PTX_OPERAND_NONE: /* an unknown name, reported */
        return offset(p, &o->ival);
    default:
        return ptx_error(p, line, "Illegal address operand");
    }
}

static enum kiln_status brackets(struct parser *p, struct ptx_operand *o,
                                 unsigned depth)
{
    struct ptx_operand first;
    enum kiln_status st;

    next(p);
    st = address(p, o, depth);
    if (st)
        return st;
    if (at(p, ',')) {
        first = *o;
        memset(o, 0, sizeof *o);
        o->kind = PTX_OPERAND_ADDR_LIST;
        st = list(p, o, &first, ']', depth);
    } else {
        st = expect(p, ']', "']'");
    }
    if (!st && at_directive(p, "unified"))
        next(p);
    return st;
}

static enum kiln_status one(struct parser *p, struct ptx_operand *o,
                            size_t insn, unsigned index, unsigned depth)
{
    struct lexer before;

    if (depth > NESTING)
        return ptx_fatal(p, p->lx.token.line, "operand nested too deeply");
    switch (p->lx.token.kind) {
    case TOKEN_NAME:
        if (at_text(p, "WARP_SZ"))
            return constant(p, o);
        return by_name(p, o, insn, index);
    case '[':
        return brackets(p, o, depth);
    case '{':
        next(p);
        o->kind = PTX_OPERAND_VECTOR;
        return list(p, o, NULL, '}', depth);
    case '!': /* of a predicate */
    case '-': /* only the video instructions negate a register */
        before = p->lx;
        next(p);
        if (at(p, TOKEN_NAME) && !at_text(p, "WARP_SZ")) {
            o->negate = before.token.kind == '!' ? 1 : PTX_NEGATE_MINUS;
            return by_name(p, o, insn, index);
        }
        p->lx = before;
        return constant(p, o);
    default:
        if (at_constant(p))
            return constant(p, o);
        return ptx_expected(p, "an operand");
    }
}

enum kiln_status parse_operand(struct parser *p, struct ptx_operand *o,
                               size_t insn, unsigned index)
{
    return one(p, o, insn, index, 0);
}
