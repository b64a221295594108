/* SPDX-License-Identifier: MIT */
#include "cpu/ptx/lexer.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* What a byte may be. */
enum { NAME, DIGIT, BLANK };

/* One bit a byte: $ 0-9 | A-Z _ a-z. */
static const uint64_t name_bits[4] = {UINT64_C(0x03ff001000000000),
                                      UINT64_C(0x07fffffe87fffffe), 0, 0};

static inline int is(char c, int what)
{
    const unsigned char u = (unsigned char)c;

    if (what == NAME)
        return name_bits[u >> 6] >> (u & 63) & 1;
    if (what == DIGIT)
        return u >= '0' && u <= '9';
    return u == ' ' || u == '\t' || u == '\r' || u == '\f' || u == '\v';
}

void lexer_init(struct lexer *lx, const char *text, size_t size)
{
    memset(lx, 0, sizeof *lx);
    lx->at = text;
    lx->end = text + size;
    lx->line = 1;
}

static void bad(struct lexer *lx, const char *why)
{
    lx->token.kind = TOKEN_BAD;
    lx->token.text = why;
    lx->token.len = strlen(why);
}

/* Blanks and comments. Returns 0 when a comment does not end. */
static int skip_blanks(struct lexer *lx)
{
    const char *p = lx->at;

    for (;;) {
        while (is(*p, BLANK))
            p++;
        if (*p == '\n') {
            lx->line++;
            p++;
        } else if (*p == '/' && p[1] == '/') {
            const char *line = memchr(p, '\n', (size_t)(lx->end - p));

            p = line ? line : lx->end;
        } else if (*p == '/' && p[1] == '*') {
            for (p += 2; p < lx->end && !(*p == '*' && p[1] == '/'); p++)
                lx->line += *p == '\n';
            if (p >= lx->end) {
                lx->at = lx->end;
                return 0;
            }
            p += 2;
        } else {
            lx->at = p;
            return 1;
        }
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* `0f` and `0d`: exactly `digits` hexadecimal digits. */
static void hex_float(struct lexer *lx, const char *p, int digits)
{
    uint64_t v = 0;
    int n = 0;

    for (; n < digits && hex_digit(*p) >= 0; n++, p++)
        v = v << 4 | (unsigned)hex_digit(*p);
    lx->at = p;
    if (n < digits || is(*p, NAME)) {
        bad(lx, digits == 8 ? "0f needs 8 hexadecimal digits"
                            : "0d needs 16 hexadecimal digits");
        return;
    }
    lx->token.kind = digits == 8 ? TOKEN_F32 : TOKEN_F64;
    lx->token.bits = v;
}

/* Decimal fractions go through strtod, in the C locale whatever the
 * program's is. */
static void decimal_float(struct lexer *lx, const char *p)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = NULL;
    double v;

    if (!c) {
        bad(lx, "no C locale to read a number in");
        return;
    }
    v = strtod_l(p, &end, c);
    freelocale(c);
    lx->at = end;
    memcpy(&lx->token.bits, &v, sizeof v);
    lx->token.kind = TOKEN_F64;
    if (is(*end, NAME))
        bad(lx, "malformed number");
}

static void integer(struct lexer *lx, const char *p, unsigned base)
{
    uint64_t v = 0;
    int over = 0;
    int any = 0;

    for (;; p++) {
        int d = hex_digit(*p);

        if (d < 0 || (unsigned)d >= base)
            break;
        over |= __builtin_mul_overflow(v, base, &v);
        over |= __builtin_add_overflow(v, (uint64_t)d, &v);
        any = 1;
    }
    lx->token.is_unsigned = v > INT64_MAX;
    if (*p == 'U') {
        lx->token.is_unsigned = 1;
        p++;
    }
    lx->at = p;
    lx->token.kind = TOKEN_INT;
    lx->token.bits = v;
    if (!any || is(*p, NAME))
        bad(lx, "malformed number");
    else if (over)
        bad(lx, "integer constant needs more than 64 bits");
}

static void number(struct lexer *lx)
{
    const char *p = lx->at;
    const char *q = p;

    if (*p == '0' && (p[1] == 'f' || p[1] == 'F')) {
        hex_float(lx, p + 2, 8);
        return;
    }
    if (*p == '0' && (p[1] == 'd' || p[1] == 'D')) {
        hex_float(lx, p + 2, 16);
        return;
    }
    if (*p == '0' && (p[1] == 'x' || p[1] == 'X')) {
        integer(lx, p + 2, 16);
        return;
    }
    if (*p == '0' && (p[1] == 'b' || p[1] == 'B')) {
        integer(lx, p + 2, 2);
        return;
    }
    while (is(*q, DIGIT))
        q++;
    if ((*q == '.' && (is(q[1], DIGIT) || !is(q[1], NAME))) || *q == 'e' ||
        *q == 'E')
        decimal_float(lx, p);
    else
        integer(lx, p, *p == '0' ? 8 : 10);
}

static void string(struct lexer *lx)
{
    const char *p = lx->at + 1;

    while (p < lx->end && *p != '"' && *p != '\n')
        p += *p == '\\' && p + 1 < lx->end ? 2 : 1;
    if (p >= lx->end || *p != '"') {
        lx->at = p < lx->end ? p : lx->end;
        bad(lx, "string without its closing quote");
        return;
    }
    lx->token.kind = TOKEN_STRING;
    lx->token.text = lx->at + 1;
    lx->token.len = (size_t)(p - lx->at) - 1;
    lx->at = p + 1;
}

static int two_chars(char a, char b)
{
    if (a == b) {
        switch (a) {
        case '<':
            return TOKEN_SHL;
        case '>':
            return TOKEN_SHR;
        case '=':
            return TOKEN_EQ;
        case '&':
            return TOKEN_ANDAND;
        case '|':
            return TOKEN_OROR;
        default:
            return 0;
        }
    }
    if (b == '=')
        return a == '<'   ? TOKEN_LE
               : a == '>' ? TOKEN_GE
               : a == '!' ? TOKEN_NE
                          : 0;
    return 0;
}

static void punctuation(struct lexer *lx)
{
    char c = *lx->at;
    int two = two_chars(c, lx->at[1]);

    lx->token.text = lx->at;
    if (two) {
        lx->token.kind = two;
        lx->token.len = 2;
        lx->at += 2;
    } else if (c > ' ' && c < 127) {
        lx->token.kind = c;
        lx->token.len = 1;
        lx->at++;
    } else {
        lx->at++;
        bad(lx, "a byte that PTX does not use");
    }
}

void lexer_next(struct lexer *lx)
{
    struct token *t = &lx->token;
    const char *p;

    if (!skip_blanks(lx)) {
        t->line = lx->line;
        bad(lx, "comment without its end");
        return;
    }
    p = lx->at;
    t->line = lx->line;
    t->text = p;
    if (is(*p, NAME) && !is(*p, DIGIT)) {
        while (is(*p, NAME))
            p++;
        t->kind = TOKEN_NAME;
    } else if (*p == '%' && is(p[1], NAME)) {
        for (p++; is(*p, NAME); p++)
            ;
        t->kind = TOKEN_NAME;
    } else if (*p == '.' && is(p[1], NAME)) {
        t->text = ++p;
        while (is(*p, NAME) || (*p == ':' && p[1] == ':' && is(p[2], NAME)))
            p += *p == ':' ? 2 : 1;
        t->kind = TOKEN_DIRECTIVE;
    } else if (is(*p, DIGIT)) {
        number(lx);
        if (t->kind != TOKEN_BAD)
            t->len = (size_t)(lx->at - p);
        return;
    } else if (*p == '"') {
        string(lx);
        return;
    } else if (p >= lx->end) {
        t->kind = TOKEN_END;
        t->len = 0;
        return;
    } else {
        punctuation(lx);
        return;
    }
    t->len = (size_t)(p - t->text);
    lx->at = p;
}

int lexer_mnemonic(struct lexer *lx)
{
    const char *p = lx->at;

    while (*p == '.' && is(p[1], NAME)) {
        for (p++; is(*p, NAME) || (*p == ':' && p[1] == ':' && is(p[2], NAME));)
            p += *p == ':' ? 2 : 1;
    }
    lx->at = p;
    lx->token.len = (size_t)(p - lx->token.text);
    while (is(*p, BLANK))
        p++;
    return *p == '.' && is(p[1], NAME) && p != lx->at;
}

void lexer_skip_line(struct lexer *lx)
{
    if (lx->line == lx->token.line) {
        const char *line = memchr(lx->at, '\n', (size_t)(lx->end - lx->at));

        lx->at = line ? line : lx->end;
    }
}

size_t lexer_count_statements(struct lexer *lx)
{
    const char *p = lx->at;
    size_t count = 0;
    size_t depth = 1;

    if (p < lx->counted)
        return 16;
    for (; p < lx->end && depth; p++) {
        count += *p == ';';
        depth += *p == '{';
        depth -= *p == '}';
    }
    lx->counted = p;
    return count;
}
