/* SPDX-License-Identifier: MIT */
#include "compile/symbols.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void symbols_ask(struct buffer *source, const char *const *names, size_t count)
{
    buffer_printf(source, "\n#line 1 \"%s\"\n", SYMBOLS_FILE);
    for (size_t i = 0; i < count; i++)
        buffer_printf(source,
                      "extern \"C\" __attribute__((device, used)) auto *%s%zu "
                      "= &%s;\n",
                      SYMBOLS_PREFIX, i, names[i]);
}

/* The start of the line that p is on. */
static char *line_start(char *text, char *p)
{
    while (p > text && p[-1] != '\n')
        p--;
    return p;
}

static int defines(const char *line, const char *name)
{
    const char *space = strstr(line, ".global");

    return space && space < name;
}

static void blank_out(char *from, char *to)
{
    for (; from < to; from++)
        if (*from != '\n')
            *from = ' ';
}

/* ".visible .global .align 8 .u64 NAME = SYMBOL;" */
static char *take_one(char *text, size_t index)
{
    char name[64], *at, *end, *symbol;
    size_t n = (size_t)snprintf(name, sizeof name, SYMBOLS_PREFIX "%zu", index);

    for (at = text; (at = strstr(at, name)); at += n)
        if (!strncmp(at + n, " = ", 3) && defines(line_start(text, at), at))
            break;
    if (!at)
        return NULL;
    symbol = at + n + 3;
    end = strchr(symbol, ';');
    if (!end)
        return NULL;
    symbol = kiln_strndup(symbol, (size_t)(end - symbol));
    blank_out(line_start(text, at), end + 1);
    return symbol;
}

/* An initialiser makes clang declare the entry ahead of its definition, which
 * not every PTX reader expects of an entry. */
static void drop_declarations(char *text)
{
    static const char mark[] = ".visible .entry ";

    for (char *at = text; (at = strstr(at, mark)); at += sizeof mark - 1) {
        char *end = strchr(at, ')');

        if (!end)
            return;
        for (end++; isspace((unsigned char)*end);)
            end++;
        if (*end == ';')
            blank_out(at, end + 1);
    }
}

enum kiln_status symbols_take(const struct compile_request *request,
                              struct compile_result *result,
                              struct kiln_error *err)
{
    char *text = (char *)result->bytes.bytes;

    if (!request->name_count)
        return KILN_OK;
    result->symbols = kiln_array(NULL, request->name_count, sizeof(char *));
    if (!result->symbols)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    for (size_t i = 0; i < request->name_count; i++) {
        char *symbol = take_one(text, i);

        if (!symbol)
            return kiln_fail(err, KILN_E_NOT_FOUND,
                             "name \"%s\": %s gave no symbol for it",
                             request->names[i], result->compiler);
        result->symbols[i] = symbol;
        result->symbol_count = i + 1;
    }
    drop_declarations(text);
    return KILN_OK;
}
