/* SPDX-License-Identifier: MIT */
#include "compile/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 96 }; /* of a name that is compared by distance */

void names_add(struct name_list *list, const char *text, size_t size)
{
    const char **items;
    char *copy;

    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i]) == size &&
            !memcmp(list->items[i], text, size))
            return;
    items = arena_grow(list->arena, list->items, list->count, &list->cap,
                       sizeof *items);
    copy = arena_strndup(list->arena, text, size);
    if (!items || !copy)
        return;
    list->items = items;
    items[list->count++] = copy;
}

static int word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Past a comment or a literal that starts at p, or p itself. */
static const char *skip_dead(const char *p, const char *end)
{
    if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
        while (p < end && *p != '\n')
            p++;
    } else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
        for (p += 2; p < end && !(end - p >= 2 && p[0] == '*' && p[1] == '/');)
            p++;
        p = end - p >= 2 ? p + 2 : end;
    } else if (*p == '"' || *p == '\'') {
        char quote = *p++;

        while (p < end && *p != quote && *p != '\n')
            p += *p == '\\' && end - p >= 2 ? 2 : 1;
        p += p < end;
    }
    return p;
}

/* Past the parenthesis that closes the one at p. */
static const char *skip_parens(const char *p, const char *end)
{
    int depth = 0;

    for (; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (!depth)
            return p + 1;
    }
    return end;
}

/* Where in the source a name stands: the namespaces around it. */
struct scope {
    char prefix[LONGEST]; /* "a::b::" */
    size_t length;
    int depth; /* of braces */
    int count;
    struct {
        int depth;
        size_t length;
    } outer[16];
};

/* Behind the word namespace: "a::b {" opens a scope, "x;" does not. */
static const char *open_namespace(struct scope *s, const char *p,
                                  const char *end)
{
    const char *name;
    size_t n = 0;

    while (p < end && isspace((unsigned char)*p))
        p++;
    name = p;
    while (p < end && (word(*p) || *p == ':'))
        p++;
    n = (size_t)(p - name);
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p >= end || *p != '{' || s->count == 16 ||
        s->length + n + 3 > sizeof s->prefix)
        return p;
    s->outer[s->count].depth = s->depth;
    s->outer[s->count++].length = s->length;
    if (n) {
        memcpy(s->prefix + s->length, name, n);
        memcpy(s->prefix + s->length + n, "::", 3);
        s->length += n + 2;
    }
    return p;
}

static void brace(struct scope *s, char c)
{
    s->depth += (c == '{') - (c == '}');
    while (s->count && s->depth <= s->outer[s->count - 1].depth && c == '}') {
        s->length = s->outer[--s->count].length;
        s->prefix[s->length] = '\0';
    }
}

/* The declarator after __global__: the word before its parameter list. */
static const char *take_kernel(struct name_list *list, const char *p,
                               const char *end, const char *prefix,
                               int is_template)
{
    const char *name = NULL;
    size_t length = 0;

    while (p < end && *p != ';' && *p != '{') {
        const char *after = skip_dead(p, end);

        if (after != p) {
            p = after;
        } else if (word(*p)) {
            name = p;
            while (p < end && word(*p))
                p++;
            length = (size_t)(p - name);
        } else if (*p == '(') {
            /* __launch_bounds__(...) and its kind are not the name. */
            if (name && strncmp(name, "__", 2)) {
                char text[2 * LONGEST + 8];

                snprintf(text, sizeof text, "%s%.*s%s", prefix,
                         length < LONGEST ? (int)length : LONGEST, name,
                         is_template ? "<...>" : "");
                names_add(list, text, strlen(text));
                return p;
            }
            p = skip_parens(p, end);
        } else {
            p++;
        }
    }
    return p;
}

void names_in_source(struct name_list *list, const char *text, size_t size)
{
    static const char mark[] = "__global__";
    const char *end = text + size;
    struct scope scope = {.length = 0};
    int is_template = 0;

    for (const char *p = text; p < end;) {
        const char *after = skip_dead(p, end);
        size_t n = 0;

        if (after != p) {
            p = after;
            continue;
        }
        while (p + n < end && word(p[n]))
            n++;
        if (n == sizeof mark - 1 && !memcmp(p, mark, n)) {
            p = take_kernel(list, p + n, end, scope.prefix, is_template);
            is_template = 0;
        } else if (n == 9 && !memcmp(p, "namespace", n)) {
            p = open_namespace(&scope, p + n, end);
        } else {
            if (!n && (*p == '{' || *p == '}'))
                brace(&scope, *p);
            if (n == 8 && !memcmp(p, "template", 8))
                is_template = 1;
            else if (!n && (*p == ';' || *p == '{' || *p == '}'))
                is_template = 0;
            p += n ? n : 1;
        }
    }
}

/* Both without spaces, up to the end of `wanted` and of `name`. */
int names_match(const char *wanted, const char *name)
{
    if (!strncmp(wanted, "::", 2))
        wanted += 2;
    for (;;) {
        while (*wanted == ' ')
            wanted++;
        while (*name == ' ')
            name++;
        if (!*wanted)
            return !*name || *name == '<';
        if (*wanted != *name)
            return 0;
        wanted++;
        name++;
    }
}

static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t n = strnlen(b, LONGEST);

    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= LONGEST && a[i - 1]; i++) {
        unsigned corner = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned same = corner + (tolower((unsigned char)a[i - 1]) !=
                                      tolower((unsigned char)b[j - 1]));
            unsigned best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            corner = row[j];
            row[j] = same < best ? same : best;
        }
    }
    return row[n];
}

/* The name without namespace and arguments, so that saxpi is near
 * ns::saxpy<float>. */
static unsigned nearness(const char *wanted, const char *name)
{
    char a[LONGEST + 1], b[LONGEST + 1];
    const char *from[2] = {wanted, name};
    char *to[2] = {a, b};
    unsigned whole = distance(wanted, name), bare;

    for (int k = 0; k < 2; k++) {
        size_t n = strcspn(from[k], "<");
        const char *start = from[k];

        for (size_t i = 0; i + 1 < n; i++)
            if (from[k][i] == ':' && from[k][i + 1] == ':')
                start = from[k] + i + 2;
        n -= (size_t)(start - from[k]);
        n = n < LONGEST ? n : LONGEST;
        memcpy(to[k], start, n);
        to[k][n] = '\0';
    }
    bare = distance(a, b);
    return bare < whole ? bare : whole;
}

static int by_nearness(const void *a, const void *b, void *wanted)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    unsigned dx = nearness(wanted, x), dy = nearness(wanted, y);

    return dx != dy ? (dx < dy ? -1 : 1) : strcmp(x, y);
}

enum kiln_status names_not_found(struct name_list *list, const char *wanted,
                                 const char *where, struct kiln_error *err)
{
    char names[200] = "";
    size_t at = 0;

    if (!list->count)
        return kiln_fail(err, KILN_E_NOT_FOUND,
                         "kernel \"%s\": not in %s, which defines no kernel",
                         wanted, where);
    qsort_r(list->items, list->count, sizeof *list->items, by_nearness,
            (void *)(uintptr_t)wanted);
    for (size_t i = 0; i < list->count; i++) {
        size_t n = strlen(list->items[i]);

        if (at + n + 8 > sizeof names) {
            snprintf(names + at, sizeof names - at, ", ...");
            break;
        }
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               i ? ", " : "", list->items[i]);
    }
    return kiln_fail(err, KILN_E_NOT_FOUND,
                     "kernel \"%s\": not in %s, which defines %s", wanted,
                     where, names);
}
