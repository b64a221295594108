/* SPDX-License-Identifier: MIT
 *
 * Whether text is fit for an assembler that runs inside this process: it
 * ends where it should, what is opened is closed, nothing in it is binary,
 * and no number makes the assembler divide by zero or take all memory. What
 * the instructions say is the assembler's matter.
 */
#include "image/ptx_header.h"

#include <string.h>

/* Compilers nest blocks a few deep; recursion on more ends a process. */
enum { DEPTH_MAX = 256 };

/* NVIDIA's assembler takes 8 bytes for each register of `%r<N>`, used or not,
 * the bytes of each array that is constant, four times those of one that has
 * an initialiser, and those of an alignment: it ended a process at
 * `%rd<4294967295>`. Its time goes with the square of an array's dimensions.
 * Compilers' texts stay a hundredfold under these. */
static const uint64_t registers_max = UINT64_C(1) << 26;
static const uint64_t elements_max = UINT64_C(1) << 26;
static const uint64_t alignment_max = UINT64_C(1) << 20;
enum { DIMENSIONS_MAX = 64 };
/* `.maxntid` and `.reqntid`: it rounds the product up to warps in 32 bits and
 * divides by them, by 0 from 4294967265 on. No device runs more than 1024. */
static const uint64_t threads_max = UINT64_C(1) << 20;

struct text {
    const unsigned char *at;
    const unsigned char *end;
    uint32_t line;
    unsigned depth;
    unsigned char open[DEPTH_MAX];
    uint64_t registers; /* in all ranges so far */
    uint64_t elements;  /* of the array that was just declared, or 0 */
    unsigned dimensions;
    int constant; /* in a declaration of .const */
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

/* Behind a comment that starts at `at`. */
static const unsigned char *behind_comment(const unsigned char *at,
                                           const unsigned char *end)
{
    int line = at[1] == '/';

    for (at += 2; at < end; at++) {
        if (line && *at == '\n')
            return at + 1;
        if (!line && end - at > 1 && at[0] == '*' && at[1] == '/')
            return at + 2;
    }
    return end;
}

static const unsigned char *spaces(const unsigned char *at,
                                   const unsigned char *end)
{
    while (at < end) {
        if (*at == ' ' || (*at >= '\t' && *at <= '\r'))
            at++;
        else if (*at == '/' && end - at > 1 && (at[1] == '/' || at[1] == '*'))
            at = behind_comment(at, end);
        else
            break;
    }
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

/* The integer at *at, past spaces, or 0; *at goes behind it and spaces. */
static uint64_t integer(const unsigned char **from, const unsigned char *end)
{
    const unsigned char *at = spaces(*from, end);
    unsigned base = 10;
    uint64_t value = 0;

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
    *from = spaces(at, end);
    return value;
}

/* The integer behind the bracket at `at`, where nothing but the bracket
 * `close` follows it; else 0. */
static uint64_t enclosed(const unsigned char *at, const unsigned char *end,
                         unsigned char close)
{
    uint64_t value;

    at++;
    value = integer(&at, end);
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

/* `x[N][M]`: the sizes multiply until something else comes. */
static enum kiln_status array(struct text *t, const char *what,
                              struct kiln_error *err)
{
    if (t->elements > elements_max)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: %s array of %llu elements, at most "
                         "%llu taken",
                         t->line, what, (unsigned long long)t->elements,
                         (unsigned long long)elements_max);
    if (t->dimensions > DIMENSIONS_MAX)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: an array of more than %d dimensions, "
                         "so many are not taken",
                         t->line, DIMENSIONS_MAX);
    return KILN_OK;
}

static void declared(struct text *t)
{
    t->elements = 0;
    t->dimensions = 0;
}

static enum kiln_status initialiser(struct text *t, struct kiln_error *err)
{
    enum kiln_status st = array(t, "an initialised", err);

    t->at++;
    declared(t);
    return st;
}

static enum kiln_status threads(struct text *t, const char *name,
                                struct kiln_error *err)
{
    const unsigned char *at = t->at;
    uint64_t product = 1;

    for (int i = 0; i < 3; i++) {
        product = multiply(product, integer(&at, t->end));
        if (at == t->end || *at != ',')
            break;
        at++;
    }
    if (product > threads_max)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: %s of %llu threads, at most %llu "
                         "taken",
                         t->line, name, (unsigned long long)product,
                         (unsigned long long)threads_max);
    return KILN_OK;
}

static int word_is(const struct text *t, const char *word)
{
    size_t n = strlen(word);
    const unsigned char *behind = t->at + n;

    return (size_t)(t->end - t->at) > n && !memcmp(t->at, word, n) &&
           (*behind <= ' ' || (*behind == '/' && t->end - behind > 1));
}

/* Those whose number counts. */
static enum kiln_status directive(struct text *t, struct kiln_error *err)
{
    static const char *const words[] = {".maxntid", ".reqntid", ".align"};
    const unsigned char *at = t->at;
    uint64_t bytes;
    size_t i = 0;

    /* Nearly every dot of a text is none of these. */
    if (t->end - at < 6 ||
        !((at[1] == 'c' && at[2] == 'o') || (at[1] == 'm' && at[2] == 'a') ||
          (at[1] == 'r' && at[2] == 'e') || (at[1] == 'a' && at[2] == 'l'))) {
        t->at++;
        return KILN_OK;
    }
    if (word_is(t, ".const"))
        t->constant = 1;
    while (i < sizeof words / sizeof *words && !word_is(t, words[i]))
        i++;
    if (i == sizeof words / sizeof *words) {
        t->at++;
        return KILN_OK;
    }
    t->at += strlen(words[i]);
    if (i < 2)
        return threads(t, words[i], err);
    at = t->at;
    bytes = integer(&at, t->end);
    if (bytes > alignment_max)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: an alignment of %llu bytes, at most "
                         "%llu taken",
                         t->line, (unsigned long long)bytes,
                         (unsigned long long)alignment_max);
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
        if (c != '[')
            return KILN_OK;
        t->elements = multiply(t->elements ? t->elements : 1,
                               enclosed(t->at - 1, t->end, ']'));
        t->dimensions++;
        return t->constant || t->dimensions > DIMENSIONS_MAX
                   ? array(t, "a constant", err)
                   : KILN_OK;
    }
    if (!t->depth || t->open[t->depth - 1] != opening)
        return kiln_fail(err, KILN_E_PTX, "PTX: line %u: '%c' closes nothing",
                         t->line, c);
    t->depth--;
    return KILN_OK;
}

/* Most of a text. */
static int is_plain(unsigned char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') ||
           c == ' ' || c == '%' || c == '_' || c == '$';
}

/* Whatever is none of the above. */
static void skip(struct text *t)
{
    if (*t->at == ';' || *t->at == ',')
        declared(t);
    if (*t->at == ';')
        t->constant = 0;
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

        if (is_plain(c)) {
            t.at++;
        } else if (c == '/' && t.end - t.at > 1 &&
                   (t.at[1] == '/' || t.at[1] == '*')) {
            st = comment(&t, err);
        } else if (c == '"') {
            st = quoted(&t, err);
        } else if (c && strchr("(){}[]", c)) {
            st = bracket(&t, err);
        } else if (c == '<') {
            st = range(&t, err);
        } else if (c == '.') {
            st = directive(&t, err);
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
