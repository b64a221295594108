/* SPDX-License-Identifier: MIT */
#include "fuzz/mutate_form.h"

#include <stdio.h>
#include <string.h>

static const struct row {
    enum ptx_op op;
    const char *modifiers, *operands;
} rows[] = {
#define FORM(op, ptx, sm, modifiers, operands)                                 \
    {PTX_OP_##op, modifiers, operands},
#include "cpu/ptx/forms.def"
#undef FORM
};
enum { ROWS = sizeof rows / sizeof *rows, TYPES = 6 };

struct line {
    const struct form_names *names;
    struct rng *r;
    struct buffer *out;
    unsigned bits[TYPES]; /* of the types that were chosen */
    unsigned types;
    unsigned vec;
    char space; /* the first letter; 0: none */
};

static int one_in(struct line *l, uint32_t n)
{
    return rng_below(l->r, n) == 0;
}

/* Bits of a type's name; 0 when it is none: b32, e4m3x2, f16x2, pred. */
static unsigned bits_of(const char *s, size_t len)
{
    for (int t = 1; t < PTX_TYPE_COUNT; t++) {
        const char *text = ptx_type_text((enum ptx_type)t);

        if (strlen(text) == len && !memcmp(text, s, len))
            return ptx_type_bits((enum ptx_type)t);
    }
    return 0;
}

/* One of `a|b|c`, or nothing when it may be absent. */
static void choose_word(struct line *l, const char *word, size_t len)
{
    const int optional = word[len - 1] == '?';
    const char *end = word + len - optional;
    const char *at = word + (*word == '^');
    unsigned count = 1, bits;
    size_t n;

    if (optional && !one_in(l, 4))
        return;
    for (const char *s = at; s < end; s++)
        count += *s == '|';
    for (unsigned pick = rng_below(l->r, count); pick-- > 0;)
        at = (const char *)memchr(at, '|', (size_t)(end - at)) + 1;
    for (n = 0; at + n < end && at[n] != '|'; n++)
        ;
    n -= at[n - 1] == '\'';
    bits = bits_of(at, n);
    if (bits && l->types < TYPES)
        l->bits[l->types++] = bits;
    if (*at == 'v' && n == 2)
        l->vec = (unsigned)(at[1] - '0');
    if (!l->space && n >= 5 && strchr("gslcp", *at) &&
        (!memcmp(at, "globa", 5) || !memcmp(at, "share", 5) ||
         !memcmp(at, "local", 5) || !memcmp(at, "const", 5) ||
         !memcmp(at, "param", 5)))
        l->space = *at;
    buffer_text(l->out, ".");
    buffer_add(l->out, at, n);
}

static void name(struct line *l, enum form_name kind, unsigned bits)
{
    l->names->add(l->names->from, l->r, kind, bits, l->out);
}

static void constant(struct line *l)
{
    static const char *const formats[] = {"%llu", "-%llu", "0x%llx", "0f%08llX",
                                          "0d%016llX"};
    char text[40];

    snprintf(text, sizeof text, formats[one_in(l, 2) ? 0 : rng_below(l->r, 5)],
             (unsigned long long)rng_number(l->r, 32));
    buffer_text(l->out, text);
}

static void address(struct line *l)
{
    buffer_text(l->out, "[");
    if (l->space == 'p' || one_in(l, 3))
        name(l, FORM_VARIABLE, (unsigned char)l->space);
    else
        name(l, FORM_REGISTER, one_in(l, 8) ? 32 : 64);
    if (one_in(l, 3)) {
        buffer_text(l->out, "+");
        constant(l);
    }
    buffer_text(l->out, "]");
}

static void vector(struct line *l, unsigned bits, unsigned count)
{
    buffer_text(l->out, "{");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            buffer_text(l->out, ",");
        if (one_in(l, 16))
            buffer_text(l->out, "_");
        else
            name(l, FORM_REGISTER, bits);
    }
    buffer_text(l->out, "}");
}

static unsigned operand_bits(const struct line *l, char code)
{
    static const struct {
        char code;
        uint8_t bits;
    } named[] = {{'u', 32}, {'s', 32}, {'b', 32}, {'f', 32},
                 {'h', 16}, {'y', 8},  {'B', 64}, {'q', 128}};

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].code == code)
            return named[i].bits;
    if (code == 'w' && l->types)
        return 2 * l->bits[0];
    return code >= '0' && code - '0' < (int)l->types ? l->bits[code - '0'] : 32;
}

static void value(struct line *l, char kind, unsigned bits, int written)
{
    static const char *const special[] = {
        "%tid.x",       "%ntid.y",      "%ctaid.z",  "%laneid", "%clock64",
        "%globaltimer", "%lanemask_lt", "%nctaid.x", "%warpid", "%gridid"};
    static const char *const parts[] = {".b0", ".b3", ".h1", ".h10", ".b7610"};

    if (!written && strchr("axyzn", kind) && one_in(l, 5)) {
        constant(l);
        return;
    }
    if (kind == 'x' && one_in(l, 5)) {
        if (one_in(l, 2))
            buffer_text(l->out, special[rng_below(l->r, 10)]);
        else
            name(l, one_in(l, 4) ? FORM_FUNCTION : FORM_VARIABLE, 0);
        return;
    }
    if (kind == 'R' && one_in(l, 6)) {
        buffer_text(l->out, "_");
        return;
    }
    if (kind == 'n' && one_in(l, 4))
        buffer_text(l->out, "-");
    name(l, FORM_REGISTER, bits);
    if (strchr("znZ", kind) && one_in(l, 3))
        buffer_text(l->out, parts[rng_below(l->r, 5)]);
}

/* One word of a row's patterns, `=r0~|p?`. */
static void operand(struct line *l, const char *w, size_t len)
{
    const int written = *w == '=';
    const char kind = w[written];
    const char code = len > 1 + (size_t)written ? w[written + 1] : '-';
    const unsigned bits = operand_bits(l, code);

    switch (kind) {
    case 'p':
        if (!written && one_in(l, 5))
            buffer_text(l->out, "!");
        name(l, FORM_REGISTER, 1);
        break;
    case 'm':
        address(l);
        break;
    case 'l':
        name(l, FORM_LABEL, 0);
        break;
    case 't':
        name(l, FORM_TABLE, 0);
        break;
    case 'i':
        constant(l);
        break;
    case 'c':
        name(l, FORM_REGISTER, 64);
        break;
    case 'L':
        buffer_text(l->out, "[");
        name(l, FORM_REGISTER, 64);
        buffer_text(l->out, ", ");
        vector(l, 32, 1 + rng_below(l->r, 5));
        buffer_text(l->out, "]");
        break;
    case 'v':
        if (l->vec)
            vector(l, bits, l->vec);
        else
            value(l, written ? 'r' : 'a', bits, written);
        break;
    case 'V':
        vector(l, bits, 1u << rng_below(l->r, 5));
        break;
    case '4':
        vector(l, bits, 4);
        break;
    default:
        value(l, kind, bits, written);
        break;
    }
    if (memchr(w, '|', len) && one_in(l, 2)) {
        buffer_text(l->out, "|");
        name(l, FORM_REGISTER, 1);
    }
}

/* The row's mnemonic; notes what was chosen. */
static void mnemonic(struct line *l, const struct row *row)
{
    buffer_text(l->out, ptx_op_text(row->op));
    for (const char *s = row->modifiers; *s;) {
        const size_t n = strcspn(s, " ");

        if (n)
            choose_word(l, s, n);
        s += n + (s[n] == ' ');
    }
}

void form_insn(const struct form_names *names, struct rng *r,
               struct buffer *out)
{
    const struct row *row = &rows[rng_below(r, ROWS)];
    struct line l = {.names = names, .r = r, .out = out};
    const char *w = row->operands;
    int first = 1;

    if (one_in(&l, 6)) {
        buffer_text(out, one_in(&l, 2) ? "@" : "@!");
        name(&l, FORM_REGISTER, 1);
        buffer_text(out, " ");
    }
    mnemonic(&l, row);
    /* One of the alternatives: words up to a slash or the end. */
    for (const char *slash; one_in(&l, 2) && (slash = strchr(w, '/'));)
        w = slash + 1;
    while (*w && *w != '/') {
        const size_t n = strcspn(w, " /");

        if (n && *w != '-' && (!memchr(w, '?', n) || one_in(&l, 2))) {
            buffer_text(out, first ? " " : ", ");
            operand(&l, w, n);
            first = 0;
        }
        w += n + (w[n] == ' ');
    }
}

/* Whether an alternative of the row takes so many. */
static int takes(const struct row *row, unsigned operands)
{
    unsigned least = 0, most = 0;

    for (const char *w = row->operands;;) {
        const size_t n = strcspn(w, " /");

        if (n && *w != '-') {
            most += memchr(w, '|', n) ? 2 : 1;
            least += !memchr(w, '?', n);
        }
        w += n;
        if (*w == '/' || !*w) {
            if (operands >= least && operands <= most)
                return 1;
            least = most = 0;
        }
        if (!*w)
            return 0;
        w++;
    }
}

int form_mnemonic(int op, unsigned operands, struct rng *r, struct buffer *out)
{
    struct line l = {.r = r, .out = out};
    uint32_t fit = 0, pick;

    for (size_t i = 0; i < ROWS; i++)
        fit += (op < 0 || (int)rows[i].op == op) && takes(&rows[i], operands);
    if (!fit)
        return 0;
    pick = rng_below(r, fit);
    for (size_t i = 0; i < ROWS; i++) {
        if ((op >= 0 && (int)rows[i].op != op) || !takes(&rows[i], operands))
            continue;
        if (!pick--) {
            mnemonic(&l, &rows[i]);
            break;
        }
    }
    return 1;
}
