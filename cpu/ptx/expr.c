/* SPDX-License-Identifier: MIT
 *
 * Constant expressions, PTX ISA 4.6: C's operators over 64-bit integers,
 * with C's precedence. A floating-point constant is taken alone.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

static enum kiln_status ternary(struct parser *p, struct constant *v,
                                unsigned depth);

int at_constant(const struct parser *p)
{
    switch (p->lx.token.kind) {
    case TOKEN_INT:
    case TOKEN_F32:
    case TOKEN_F64:
    case '-':
    case '+':
    case '~':
    case '!':
    case '(':
        return 1;
    default:
        return at_text(p, "WARP_SZ");
    }
}

static enum kiln_status want_int(struct parser *p, const struct constant *v)
{
    return v->kind == PTX_OPERAND_INT
               ? KILN_OK
               : ptx_fatal(p, p->lx.token.line,
                           "Integer expected in constant expression");
}

/* `(.s64)` and `(.u64)`. */
static enum kiln_status cast(struct parser *p, struct constant *v,
                             int is_unsigned, unsigned depth);

static enum kiln_status primary(struct parser *p, struct constant *v,
                                unsigned depth)
{
    const struct token *t = &p->lx.token;
    enum kiln_status st;

    memset(v, 0, sizeof *v);
    v->kind = PTX_OPERAND_INT;
    v->bits = t->bits;
    switch (t->kind) {
    case TOKEN_INT:
        v->is_unsigned = t->is_unsigned;
        next(p);
        return KILN_OK;
    case TOKEN_F32:
    case TOKEN_F64:
        v->kind = PTX_OPERAND_FLOAT;
        v->is_f32 = t->kind == TOKEN_F32;
        next(p);
        return KILN_OK;
    case '(':
        next(p);
        if (at_directive(p, "s64") || at_directive(p, "u64"))
            return cast(p, v, at_directive(p, "u64"), depth);
        st = ternary(p, v, depth + 1);
        return st ? st : expect(p, ')', "')'");
    default:
        if (!at_text(p, "WARP_SZ"))
            return ptx_expected(p, "a constant");
        v->bits = 32;
        next(p);
        return KILN_OK;
    }
}

static enum kiln_status unary(struct parser *p, struct constant *v,
                              unsigned depth)
{
    const int op = p->lx.token.kind;
    enum kiln_status st;

    if (depth > MAX_DEPTH)
        return ptx_fatal(p, p->lx.token.line,
                         "expression nested deeper than %d levels", MAX_DEPTH);
    if (op != '-' && op != '+' && op != '~' && op != '!')
        return primary(p, v, depth);
    next(p);
    if ((op == '-' || op == '+') && at(p, TOKEN_F64)) {
        /* A decimal fraction; 0f and 0d hold their sign themselves. */
        st = primary(p, v, depth);
        v->bits ^= op == '-' ? UINT64_C(1) << 63 : 0;
        return st;
    }
    st = unary(p, v, depth + 1);
    if (!st)
        st = want_int(p, v);
    if (st)
        return st;
    if (op == '-')
        v->bits = 0 - v->bits;
    else if (op == '~')
        v->bits = ~v->bits;
    else if (op == '!')
        v->bits = !v->bits;
    if (op == '!')
        v->is_unsigned = 0;
    return KILN_OK;
}

static enum kiln_status cast(struct parser *p, struct constant *v,
                             int is_unsigned, unsigned depth)
{
    enum kiln_status st;

    next(p);
    st = expect(p, ')', "')'");
    if (!st)
        st = unary(p, v, depth + 1);
    if (!st)
        st = want_int(p, v);
    v->is_unsigned = is_unsigned;
    return st;
}

static int precedence(int op)
{
    switch (op) {
    case TOKEN_OROR:
        return 1;
    case TOKEN_ANDAND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case TOKEN_EQ:
    case TOKEN_NE:
        return 6;
    case '<':
    case '>':
    case TOKEN_LE:
    case TOKEN_GE:
        return 7;
    case TOKEN_SHL:
    case TOKEN_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    default:
        return 0;
    }
}

static int less(const struct constant *a, const struct constant *b)
{
    return a->is_unsigned || b->is_unsigned
               ? a->bits < b->bits
               : (int64_t)a->bits < (int64_t)b->bits;
}

/* Division as the signs ask; INT64_MIN / -1 wraps. */
static uint64_t divide(const struct constant *a, const struct constant *b,
                       int want_rest)
{
    int64_t x;
    int64_t y;

    if (a->is_unsigned || b->is_unsigned)
        return want_rest ? a->bits % b->bits : a->bits / b->bits;
    x = (int64_t)a->bits;
    y = (int64_t)b->bits;
    if (y == -1)
        return want_rest ? 0 : 0 - a->bits;
    return (uint64_t)(want_rest ? x % y : x / y);
}

static uint64_t shift_right(const struct constant *a, uint64_t by)
{
    if (a->is_unsigned || !(a->bits >> 63))
        return by > 63 ? 0 : a->bits >> by;
    return by > 63 ? UINT64_MAX : ~(~a->bits >> by);
}

static enum kiln_status apply(struct parser *p, int op, struct constant *a,
                              const struct constant *b)
{
    const int is_unsigned = a->is_unsigned || b->is_unsigned;
    uint64_t r = 0;

    if ((op == '/' || op == '%') && b->bits == 0)
        return ptx_fatal(p, p->lx.token.line,
                         "Division by zero in constant expression");
    /* clang-format off */
    switch (op) {
    case TOKEN_OROR:   r = a->bits || b->bits; break;
    case TOKEN_ANDAND: r = a->bits && b->bits; break;
    case '|':          r = a->bits | b->bits; break;
    case '^':          r = a->bits ^ b->bits; break;
    case '&':          r = a->bits & b->bits; break;
    case TOKEN_EQ:     r = a->bits == b->bits; break;
    case TOKEN_NE:     r = a->bits != b->bits; break;
    case '<':          r = (uint64_t)less(a, b); break;
    case '>':          r = (uint64_t)less(b, a); break;
    case TOKEN_LE:     r = !less(b, a); break;
    case TOKEN_GE:     r = !less(a, b); break;
    case TOKEN_SHL:    r = b->bits > 63 ? 0 : a->bits << b->bits; break;
    case TOKEN_SHR:    r = shift_right(a, b->bits); break;
    case '+':          r = a->bits + b->bits; break;
    case '-':          r = a->bits - b->bits; break;
    case '*':          r = a->bits * b->bits; break;
    default:           r = divide(a, b, op == '%'); break;
    }
    /* clang-format on */
    a->bits = r;
    if (op != TOKEN_SHL && op != TOKEN_SHR)
        a->is_unsigned = is_unsigned && precedence(op) > 2;
    return KILN_OK;
}

static enum kiln_status binary(struct parser *p, struct constant *v, int lowest,
                               unsigned depth)
{
    enum kiln_status st = unary(p, v, depth);

    while (!st) {
        const int op = p->lx.token.kind;
        const int level = precedence(op);
        struct constant right;

        if (!level || level < lowest)
            return KILN_OK;
        /* `p|q` after a constant predicate is no expression, but nothing
         * else ends in a bar. */
        st = want_int(p, v);
        if (st)
            return st;
        next(p);
        st = binary(p, &right, level + 1, depth + 1);
        if (!st)
            st = want_int(p, &right);
        if (!st)
            st = apply(p, op, v, &right);
    }
    return st;
}

static enum kiln_status ternary(struct parser *p, struct constant *v,
                                unsigned depth)
{
    struct constant yes;
    struct constant no;
    enum kiln_status st = binary(p, v, 1, depth);

    if (st || !at(p, '?'))
        return st;
    next(p);
    st = want_int(p, v);
    if (!st)
        st = ternary(p, &yes, depth + 1);
    if (!st)
        st = expect(p, ':', "':'");
    if (!st)
        st = ternary(p, &no, depth + 1);
    if (!st)
        *v = v->bits ? yes : no;
    return st;
}

enum kiln_status parse_constant(struct parser *p, struct constant *value)
{
    return ternary(p, value, 0);
}

enum kiln_status expect_u64(struct parser *p, const char *what, uint64_t *value)
{
    const unsigned line = p->lx.token.line;
    struct constant v;
    enum kiln_status st;

    if (!at_constant(p))
        return ptx_expected(p, what);
    st = parse_constant(p, &v);
    if (st)
        return st;
    if (v.kind != PTX_OPERAND_INT || (!v.is_unsigned && v.bits >> 63))
        return ptx_fatal(p, line, "%s must be a non-negative integer", what);
    *value = v.bits;
    return KILN_OK;
}
