/* SPDX-License-Identifier: MIT
 *
 * The parameter list of one entry of PTX text, as far as a launch needs it:
 *     .param .u64 .ptr .global .align 4 NAME,
 *     .param .align 8 .b8 NAME[24]
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/parameters.h"

static int word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static const char *skip(const char *p)
{
    for (;;) {
        while (isspace((unsigned char)*p))
            p++;
        if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            p = strstr(p, "*/");
            if (!p)
                return "";
            p += 2;
        } else {
            return p;
        }
    }
}

/* Behind ".entry symbol" at its '(', or NULL. */
static const char *find_entry(const char *text, const char *symbol)
{
    size_t n = strlen(symbol);

    for (const char *p = text; (p = strstr(p, ".entry"));) {
        p = skip(p + 6);
        if (!strncmp(p, symbol, n) && !word(p[n])) {
            p = skip(p + n);
            return p;
        }
    }
    return NULL;
}

/* ".u64" and its kind: bytes, or 0 for a word that is no type. */
static size_t type_size(const char *type, size_t n)
{
    if (n < 3 || n > 5 || !strchr("usbf", type[1]))
        return 0;
    switch (atoi(type + 2)) {
    case 8:
        return 1;
    case 16:
        return 2;
    case 32:
        return 4;
    case 64:
        return 8;
    case 128:
        return 16;
    default:
        return 0;
    }
}

struct item {
    size_t size, align;
    unsigned long long count; /* 0: no array */
    int pointer;
};

/* One parameter; p behind ".param". */
static const char *read_item(const char *p, struct item *item)
{
    *item = (struct item){0};
    for (;;) {
        const char *start = p = skip(p);
        size_t n;

        if (*p == '[') {
            item->count = strtoull(p + 1, NULL, 10);
            p += strcspn(p, "]");
            p += *p == ']';
            continue;
        }
        if (*p != '.' && !word(*p))
            return p;
        for (p++; word(*p);)
            p++;
        n = (size_t)(p - start);
        if (n == 6 && !memcmp(start, ".align", n))
            item->align = strtoul(p = skip(p), (char **)&p, 10);
        else if (n == 4 && !memcmp(start, ".ptr", n))
            item->pointer = 1;
        else if (*start == '.' && !item->size)
            item->size = type_size(start, n);
    }
}

static enum kiln_status place(const struct item *item, size_t *offset, int told,
                              struct kiln_parameter **out, size_t *count,
                              const char *symbol, struct kiln_error *err)
{
    /* For a pointer .align tells of what it points to. */
    size_t align = item->align && !item->pointer ? item->align : item->size;
    size_t size;
    struct kiln_parameter *larger;
    int pointer = item->pointer;

    if (*count == PARAMETERS_MAX)
        return kiln_fail(err, KILN_E_FORMAT, "%s: more than %d parameters",
                         symbol, PARAMETERS_MAX);
    if (!item->size || (align & (align - 1)) || align > 4096 ||
        item->count > 65536)
        return kiln_fail(err, KILN_E_FORMAT,
                         "%s: parameter %zu of the PTX is not understood",
                         symbol, *count + 1);
    size = item->size * (item->count ? (size_t)item->count : 1);
    if (!pointer && !told && size == 8 && !item->count)
        pointer = -1;
    *offset = (*offset + align - 1) & ~(align - 1);
    larger = kiln_array(*out, *count + 1, sizeof **out);
    if (!larger)
        return kiln_fail(err, KILN_E_MEMORY, "parameters: out of memory");
    *out = larger;
    larger[(*count)++] = (struct kiln_parameter){*offset, size, pointer};
    *offset += size;
    return KILN_OK;
}

void required_block_ptx(const char *text, const char *symbol, unsigned out[3])
{
    const char *p = find_entry(text, symbol);

    /* Through parameters and directives up to the body. */
    while (p && *p && *p != '{' && *p != ';') {
        if (strncmp(p, ".reqntid", 8) || word(p[8])) {
            p = skip(p + 1);
            continue;
        }
        p = skip(p + 8);
        for (int i = 0; i < 3 && isdigit((unsigned char)*p); i++) {
            char *end;

            out[i] = (unsigned)strtoul(p, &end, 0);
            p = skip(end);
            p = *p == ',' ? skip(p + 1) : p;
        }
        return;
    }
}

enum kiln_status parameters_from_ptx(const char *text, int compiled,
                                     const char *symbol,
                                     struct kiln_parameter **out, size_t *count,
                                     struct kiln_error *err)
{
    int told = compiled && strstr(text, " .ptr ") != NULL;
    const char *p = find_entry(text, symbol);
    struct kiln_parameter *list = NULL;
    size_t n = 0, offset = 0;
    enum kiln_status st = KILN_OK;

    if (!p)
        return kiln_fail(err, KILN_E_NOT_FOUND, "%s: not in the PTX", symbol);
    if (*p == '(')
        p = skip(p + 1);
    while (!st && !strncmp(p, ".param", 6)) {
        struct item item;

        p = read_item(p + 6, &item);
        st = place(&item, &offset, told, &list, &n, symbol, err);
        if (*p == ',')
            p = skip(p + 1);
    }
    if (st) {
        kiln_release(list);
        return st;
    }
    *out = list;
    *count = n;
    return KILN_OK;
}
