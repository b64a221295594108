/* SPDX-License-Identifier: MIT
 *
 * The part of the Itanium C++ ABI's mangling that kernels' names use: nested
 * names, and template arguments that are built-in types, pointers to them,
 * named types or numbers. Anything else ends in "<...>" or in the symbol as
 * it was.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "compile/names.h"

struct reader {
    const char *at;
    char *out;
    size_t size;
    size_t used;
    int lost;  /* something was not understood */
    int depth; /* of arguments within arguments */
};

static void put(struct reader *r, const char *text, size_t n)
{
    if (r->used + n + 1 > r->size) {
        r->lost = 1;
        return;
    }
    memcpy(r->out + r->used, text, n);
    r->used += n;
    r->out[r->used] = '\0';
}

static void source_name(struct reader *r)
{
    size_t n = 0;

    while (isdigit((unsigned char)*r->at) && n < 10000)
        n = n * 10 + (size_t)(*r->at++ - '0');
    if (!n || strnlen(r->at, n) < n) {
        r->lost = 1;
        return;
    }
    if (n >= 10 && !strncmp(r->at, "_GLOBAL__N", 10))
        put(r, "(anonymous namespace)", 21);
    else
        put(r, r->at, n);
    r->at += n;
}

static void arguments(struct reader *r);
static void nested(struct reader *r);

static const char *builtin(char code)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
        ['f' - 'a'] = "float",       ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long"};

    return code >= 'a' && code <= 'z' ? names[code - 'a'] : NULL;
}

static void type(struct reader *r)
{
    const char *name = builtin(*r->at);

    if (++r->depth > 32) {
        r->lost = 1;
    } else if (name) {
        r->at++;
        put(r, name, strlen(name));
    } else if (*r->at == 'P' || *r->at == 'R') {
        const char *mark = *r->at++ == 'P' ? "*" : "&";

        type(r);
        put(r, mark, 1);
    } else if (*r->at == 'K') {
        r->at++;
        put(r, "const ", 6);
        type(r);
    } else if (isdigit((unsigned char)*r->at)) {
        source_name(r);
        if (*r->at == 'I')
            arguments(r);
    } else if (*r->at == 'N') {
        nested(r);
    } else {
        r->lost = 1;
    }
    r->depth--;
}

/* L <type> <number> E */
static void literal(struct reader *r)
{
    char kind = *++r->at;

    if (!builtin(kind)) {
        r->lost = 1;
        return;
    }
    r->at++;
    if (kind == 'b') {
        put(r, *r->at == '1' ? "true" : "false", *r->at == '1' ? 4 : 5);
        r->at += *r->at != '\0';
    } else {
        if (*r->at == 'n') {
            put(r, "-", 1);
            r->at++;
        }
        while (isdigit((unsigned char)*r->at))
            put(r, r->at++, 1);
    }
    if (*r->at == 'E')
        r->at++;
    else
        r->lost = 1;
}

static void arguments(struct reader *r)
{
    put(r, "<", 1);
    r->at++;
    for (int first = 1; *r->at != 'E' && !r->lost; first = 0) {
        if (!first)
            put(r, ", ", 2);
        if (*r->at == 'L')
            literal(r);
        else
            type(r);
    }
    if (!r->lost)
        r->at++;
    put(r, ">", 1);
}

static void nested(struct reader *r)
{
    r->at++;
    for (int first = 1; *r->at != 'E' && !r->lost;) {
        if (*r->at == 'I') {
            arguments(r);
        } else {
            if (!first)
                put(r, "::", 2);
            source_name(r);
            first = 0;
        }
    }
    if (!r->lost)
        r->at++;
}

void names_demangle(const char *symbol, char *out, size_t size)
{
    struct reader r = {.at = symbol, .out = out, .size = size};

    if (!size)
        return;
    *out = '\0';
    if (strncmp(symbol, "_Z", 2)) {
        r.lost = 1;
    } else if (symbol[2] == 'N') {
        r.at += 2;
        nested(&r);
    } else {
        r.at += 2;
        if (*r.at == 'L')
            r.at++;
        source_name(&r);
        if (*r.at == 'I' && !r.lost)
            arguments(&r);
    }
    if (r.lost)
        snprintf(out, size, "%s", symbol);
}
