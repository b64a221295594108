/* SPDX-License-Identifier: MIT
 *
 * What is read only to be passed over: debugging information and hints. The
 * line of the PTX text itself is what diagnostics give.
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* .loc FILE LINE COLUMN [, function_name NAME {+ N}, inlined_at F L C] */
static enum kiln_status skip_loc(struct parser *p)
{
    next(p);
    while (at(p, TOKEN_INT))
        next(p);
    while (accept(p, ',')) {
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "function_name or inlined_at");
        next(p);
        if (at(p, TOKEN_NAME)) /* the name's label in .debug_str */
            next(p);
        if (accept(p, '+') && !at(p, TOKEN_INT))
            return ptx_expected(p, "an offset");
        while (at(p, TOKEN_INT))
            next(p);
    }
    return KILN_OK;
}

/* .file N "name" [, time, size] */
static enum kiln_status skip_file(struct parser *p)
{
    uint64_t ignored;
    enum kiln_status st;

    next(p);
    st = expect_u64(p, "a file number", &ignored);
    if (!st)
        st = expect(p, TOKEN_STRING, "a file name");
    while (!st && accept(p, ','))
        st = expect_u64(p, "a number", &ignored);
    return st;
}

/* .section .debug_info { ... } */
static enum kiln_status skip_section(struct parser *p)
{
    const unsigned line = p->lx.token.line;

    next(p);
    if (!at(p, TOKEN_DIRECTIVE) && !at(p, TOKEN_NAME))
        return ptx_expected(p, "a section name");
    next(p);
    if (at(p, TOKEN_STRING))
        next(p);
    if (!at(p, '{'))
        return ptx_expected(p, "'{'");
    while (!at(p, '}')) {
        if (at(p, TOKEN_END) || at(p, TOKEN_BAD))
            return ptx_fatal(p, line, "section without its closing brace");
        next(p);
    }
    next(p);
    return KILN_OK;
}

static enum kiln_status skip_pragma(struct parser *p)
{
    enum kiln_status st;

    do {
        next(p);
        st = expect(p, TOKEN_STRING, "a string");
    } while (!st && at(p, ','));
    return st ? st : expect(p, ';', "';'");
}

enum kiln_status skip_debug(struct parser *p, int *skipped)
{
    *skipped = 1;
    if (at(p, '@')) { /* @@DWARF: one line */
        lexer_skip_line(&p->lx);
        next(p);
        return KILN_OK;
    }
    if (at_directive(p, "loc"))
        return skip_loc(p);
    if (at_directive(p, "file"))
        return skip_file(p);
    if (at_directive(p, "section"))
        return skip_section(p);
    if (at_directive(p, "pragma"))
        return skip_pragma(p);
    *skipped = 0;
    return KILN_OK;
}
