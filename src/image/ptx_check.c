/* SPDX-License-Identifier: MIT
 *
 * Whether text is fit for an assembler that runs inside this process: it
 * ends where it should, what is opened is closed, nothing in it is binary,
 * and no number makes the assembler take all memory. What the instructions
 * say is the assembler's matter.
 */
#include "image/ptx_header.h"

#include <string.h>

/* Compilers nest blocks a few deep; recursion on more ends a process. */
enum { DEPTH_MAX = 256 };

/* NVIDIA's assembler takes 8 bytes for each register of `%r<N>`, used or not,
 * and the bytes of each array that has an initialiser: it ended a process at
 * `%rd<4294967295>`. Compilers' texts stay a hundredfold under these. */
static const uint64_t registers_max = UINT64_C(1) << 26;
static const uint64_t elements_max = UINT64_C(1) << 30;

struct text {
    const unsigned char *at;
    const unsigned char *end;
    uint32_t line;
    unsigned depth;
    unsigned char open[DEPTH_MAX];
    uint64_t registers; /* in all ranges so far */
    uint64_t elements;  /* of the array that was just declared, or 0 */
};

static enum kiln_status comment(struct text *t, struct kiln_error *err)
{
    uint32_t line = t->line;

    if (t->at[1] == '/') {
        while (t->at < t->end && *t->at != '\n')
            t->at++;
        return KILN_OK;
    }
    for (t->at += 2; t->end - t->at >= 2; t->at++) {
        if (t->at[0] == '*' && t->at[1] == '/') {
            t->at += 2;
            return KILN_OK;
        }
        t->line += *t->at == '\n';
    }
    return kiln_fail(err, KILN_E_PTX, "PTX: line %u: a comment without an end",
                     line);
}

static enum kiln_status quoted(struct text *t, struct kiln_error *err)
{
    for (t->at++; t->at < t->end && *t->at != '\n'; t->at++) {
        if (*t->at == '"') {
            t->at++;
            return KILN_OK;
        }
        if (*t->at == '\\' && t->end - t->at > 1)
            t->at++;
    }
    return kiln_fail(err, KILN_E_PTX, "PTX: line %u: a string without an end",
                     t->line);
}

static const unsigned char *spaces(const unsigned char *at,
                                   const unsigned char *end)
{
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    return at;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static unsigned digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - (unsigned)'0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10 : 16;
}

/* The integer behind the bracket at `at`, where nothing but the bracket
 * `close` follows it; else 0. */
static uint64_t enclosed(const unsigned char *at, const unsigned char *end,
                         unsigned char close)
{
    unsigned base = 10;
    uint64_t value = 0;

    at = spaces(at + 1, end);
    if (at < end && *at == '0') {
        base = 8;
        if (end - at > 1 && (at[1] | 0x20) == 'x')
            base = 16;
        else if (end - at > 1 && (at[1] | 0x20) == 'b')
            base = 2;
        at += base == 8 ? 1 : 2;
    }
    for (; at < end && digit(*at) < base; at++)
        value = value > (UINT64_MAX - 15) / base ? UINT64_MAX
                                                 : value * base + digit(*at);
    if (at < end && (*at | 0x20) == 'u')
        at++;
    at = spaces(at, end);
    return at < end && *at == close ? value : 0;
}

/* `%r<N>`: all such ranges of the text together. */
static enum kiln_status range(struct text *t, struct kiln_error *err)
{
    uint64_t count = enclosed(t->at++, t->end, '>');

    if (count > registers_max - t->registers)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: %llu registers, %llu declared "
                         "before, at most %llu taken",
                         t->line, (unsigned long long)count,
                         (unsigned long long)t->registers,
                         (unsigned long long)registers_max);
    t->registers += count;
    return KILN_OK;
}

/* `x[N][M] =`: the sizes multiply until something else comes. */
static enum kiln_status initialiser(struct text *t, struct kiln_error *err)
{
    t->at++;
    if (t->elements > elements_max)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: an initialised array of %llu "
                         "elements, at most %llu taken",
                         t->line, (unsigned long long)t->elements,
                         (unsigned long long)elements_max);
    t->elements = 0;
    return KILN_OK;
}

static enum kiln_status bracket(struct text *t, struct kiln_error *err)
{
    unsigned char c = *t->at++;
    unsigned char opening = c == ')' ? '(' : c == ']' ? '[' : '{';

    if (c == '(' || c == '[' || c == '{') {
        if (t->depth == DEPTH_MAX)
            return kiln_fail(err, KILN_E_PTX,
                             "PTX: line %u: nested more than %d deep", t->line,
                             DEPTH_MAX);
        t->open[t->depth++] = c;
        if (c == '[')
            t->elements = multiply(t->elements ? t->elements : 1,
                                   enclosed(t->at - 1, t->end, ']'));
        return KILN_OK;
    }
    if (!t->depth || t->open[t->depth - 1] != opening)
        return kiln_fail(err, KILN_E_PTX, "PTX: line %u: '%c' closes nothing",
                         t->line, c);
    t->depth--;
    return KILN_OK;
}

/* Whatever is none of the above. */
static void skip(struct text *t)
{
    if (*t->at == ';' || *t->at == ',')
        t->elements = 0;
    t->line += *t->at == '\n';
    t->at++;
}

enum kiln_status ptx_text_check(const void *text, size_t size,
                                struct kiln_error *err)
{
    struct text t = {.at = text, .line = 1};
    enum kiln_status st = KILN_OK;

    t.end = t.at + size;
    while (!st && t.at < t.end) {
        unsigned char c = *t.at;

        if (c == '/' && t.end - t.at > 1 &&
            (t.at[1] == '/' || t.at[1] == '*')) {
            st = comment(&t, err);
        } else if (c == '"') {
            st = quoted(&t, err);
        } else if (c && strchr("(){}[]", c)) {
            st = bracket(&t, err);
        } else if (c == '<') {
            st = range(&t, err);
        } else if (c == '=') {
            st = initialiser(&t, err);
        } else if ((c < ' ' && (c < '\t' || c > '\r')) || c >= 127) {
            st = kiln_fail(err, KILN_E_PTX,
                           "PTX: line %u: byte 0x%02x, text expected", t.line,
                           c);
        } else {
            skip(&t);
        }
    }
    if (!st && t.depth)
        st = kiln_fail(err, KILN_E_PTX, "PTX: line %u: ends within '%c'",
                       t.line, t.open[t.depth - 1]);
    return st;
}
