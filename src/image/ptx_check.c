/* SPDX-License-Identifier: MIT
 *
 * Whether text is fit for an assembler that runs inside this process: it
 * ends where it should, what is opened is closed, and nothing in it is
 * binary. What the instructions say is the assembler's matter.
 */
#include "image/ptx_header.h"

#include <string.h>

/* Compilers nest blocks a few deep; recursion on more ends a process. */
enum { DEPTH_MAX = 256 };

struct text {
    const unsigned char *at;
    const unsigned char *end;
    uint32_t line;
    unsigned depth;
    unsigned char open[DEPTH_MAX];
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
        return KILN_OK;
    }
    if (!t->depth || t->open[t->depth - 1] != opening)
        return kiln_fail(err, KILN_E_PTX, "PTX: line %u: '%c' closes nothing",
                         t->line, c);
    t->depth--;
    return KILN_OK;
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
        } else if ((c < ' ' && (c < '\t' || c > '\r')) || c >= 127) {
            st = kiln_fail(err, KILN_E_PTX,
                           "PTX: line %u: byte 0x%02x, text expected", t.line,
                           c);
        } else {
            t.line += c == '\n';
            t.at++;
        }
    }
    if (!st && t.depth)
        st = kiln_fail(err, KILN_E_PTX, "PTX: line %u: ends within '%c'",
                       t.line, t.open[t.depth - 1]);
    return st;
}
