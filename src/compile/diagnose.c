/* SPDX-License-Identifier: MIT */
#include "compile/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "compile/names.h"
#include "image/ptx_header.h"

/* The first line that has the mark in it, else the first line; trimmed. */
static size_t first_line(const char *log, const char *mark, const char **line)
{
    const char *at = mark ? strstr(log, mark) : log;
    size_t n;

    if (!at)
        at = log;
    while (at > log && at[-1] != '\n')
        at--;
    while (*at == '\n' || *at == ' ')
        at++;
    *line = at;
    n = strcspn(at, "\n");
    return n;
}

static unsigned count(const char *log, const char *mark)
{
    unsigned n = 0;

    for (const char *p = log; (p = strstr(p, mark)); p += strlen(mark))
        n++;
    return n;
}

enum kiln_status diagnose_source(const char *name, const char *compiler,
                                 const char *log, struct kiln_error *err)
{
    unsigned errors = count(log, "error:");
    const char *line;
    size_t n = first_line(log, "error:", &line);

    if (!n)
        return kiln_fail(err, KILN_E_COMPILE,
                         "%s: does not compile; %s gives no reason", name,
                         compiler);
    /* The compiler's line names the file already. */
    return kiln_fail(err, KILN_E_COMPILE,
                     "%s does not compile, %s finds %u error%s; the first: "
                     "%.*s",
                     name, compiler, errors, errors == 1 ? "" : "s", (int)n,
                     line);
}

enum kiln_status diagnose_option(const char *name, const char *compiler,
                                 const char *log, struct kiln_error *err)
{
    const char *line;
    size_t n = first_line(log, "error:", &line);

    return kiln_fail(err, KILN_E_INVALID, "%s: %s refuses an option: %.*s",
                     name, compiler, (int)n, line);
}

/* Whether a kernel is called so, arguments and namespace aside. */
static int exists(const struct name_list *list, const char *wanted)
{
    char bare[128];

    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(wanted, "<"), wanted);
    for (size_t i = 0; i < list->count; i++)
        if (names_match(bare, list->items[i]))
            return 1;
    return 0;
}

enum kiln_status diagnose_names(const struct compile_request *request,
                                const struct buffer *ptx, const char *log,
                                int *useful, struct kiln_error *err)
{
    struct arena arena = {0};
    struct name_list list = {.arena = &arena};
    struct name_list source = {.arena = &arena};
    const char **symbols = NULL;
    const char *wanted = request->names[0];
    size_t n = 0;
    enum kiln_status st;

    *useful = 1;
    if (ptx_entry_names(ptx->bytes, ptx->size, &arena, &symbols, &n, NULL))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        char name[256];

        names_demangle(symbols[i], name, sizeof name);
        names_add(&list, name, strlen(name));
    }
    /* Templates without an instance are in the source alone. */
    names_in_source(&source, request->text, request->text_size);
    for (size_t i = 0; i < source.count; i++)
        if (strchr(source.items[i], '<') || !n)
            names_add(&list, source.items[i], strlen(source.items[i]));
    for (size_t i = 0; i < request->name_count; i++)
        if (!exists(&list, request->names[i])) {
            wanted = request->names[i];
            break;
        }
    if (exists(&list, wanted)) {
        const char *line;
        size_t length = first_line(log, "error:", &line);
        const char *text = strstr(line, "error:");

        /* The place is one of ours, not of the user's. */
        if (text && text < line + length) {
            length -= (size_t)(text - line);
            line = text;
        }
        st = kiln_fail(err, KILN_E_NOT_FOUND,
                       "kernel \"%s\": %s defines that name, but no such "
                       "instance of it: %.*s",
                       wanted, request->name, (int)length, line);
    } else {
        st = names_not_found(&list, wanted, request->name, err);
        *useful = 0;
    }
    arena_fini(&arena);
    return st;
}

enum kiln_status diagnose_plain(const struct compile_request *request,
                                struct compile_result *plain, int passed,
                                struct compile_result *result,
                                struct kiln_error *err)
{
    enum kiln_status st;
    int useful;

    if (!passed) {
        buffer_fini(&result->log);
        result->log = plain->log;
        memset(&plain->log, 0, sizeof plain->log);
        return diagnose_source(request->name, result->compiler,
                               buffer_str(&result->log), err);
    }
    st = diagnose_names(request, &plain->bytes, buffer_str(&result->log),
                        &useful, err);
    if (!useful)
        buffer_fini(&result->log);
    return st;
}
