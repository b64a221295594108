/* SPDX-License-Identifier: MIT */
#include "compile/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void options_add(struct options *o, const char *format, ...)
{
    char *text;
    const char **items;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = n < 0 ? NULL : arena_alloc(o->arena, (size_t)n + 1);
    if (!o->items) {
        o->cap = 8;
        items = arena_array(o->arena, o->cap, sizeof *items);
    } else {
        items = arena_grow(o->arena, o->items, o->count + 1, &o->cap,
                           sizeof *items);
    }
    if (!text || !items) {
        o->bad = 1;
        return;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    o->items = items;
    items[o->count++] = text;
    items[o->count] = NULL;
}

/* What an option is, by all its spellings. */
enum meaning {
    IS_ARCH,
    IS_STANDARD,
    IS_REGISTERS,
    IS_DEFINE,
    IS_FOLDER,
    IS_PRE_INCLUDE,
    IS_OPAQUE, /* reads files of its own choosing */
    IS_OUTPUT  /* writes a file */
};

static const struct spelling {
    const char *text;
    enum meaning meaning;
    int joined; /* the value follows at once, as in -DX; else after '=' */
} spellings[] = {
    {"-arch", IS_ARCH, 0},
    {"--gpu-architecture", IS_ARCH, 0},
    {"--cuda-gpu-arch", IS_ARCH, 0},
    {"-std", IS_STANDARD, 0},
    {"--std", IS_STANDARD, 0},
    {"-maxrregcount", IS_REGISTERS, 0},
    {"--maxrregcount", IS_REGISTERS, 0},
    {"--define-macro", IS_DEFINE, 0},
    {"-D", IS_DEFINE, 1},
    {"--include-path", IS_FOLDER, 0},
    {"-include", IS_PRE_INCLUDE, 0},
    {"--pre-include", IS_PRE_INCLUDE, 0},
    {"-I", IS_FOLDER, 1},
    {"-use-pch", IS_OPAQUE, 0},
    {"--use-pch", IS_OPAQUE, 0},
    {"-pch", IS_OPAQUE, 0},
    {"--pch", IS_OPAQUE, 0},
    {"-pch-", IS_OPAQUE, 1},
    {"--pch-", IS_OPAQUE, 1},
    {"-isystem", IS_OPAQUE, 1},
    {"-iquote", IS_OPAQUE, 1},
    {"-idirafter", IS_OPAQUE, 1},
    {"-imacros", IS_OPAQUE, 1},
    {"-optf", IS_OPAQUE, 0},
    {"--options-file", IS_OPAQUE, 0},
    {"@", IS_OPAQUE, 1},
    {"-create-pch", IS_OUTPUT, 0},
    {"--create-pch", IS_OUTPUT, 0},
    {"-fdevice-time-trace", IS_OUTPUT, 0},
    {"--fdevice-time-trace", IS_OUTPUT, 0},
    {"-time", IS_OUTPUT, 0},
    {"--time", IS_OUTPUT, 0},
    {"-o", IS_OUTPUT, 0},
    {"-MF", IS_OUTPUT, 1},
    {"-MD", IS_OUTPUT, 1},
    {"-save-temps", IS_OUTPUT, 1},
    {"--save-temps", IS_OUTPUT, 1},
};

/* The row that an option matches, and where its value starts. */
static const struct spelling *match(const char *option, const char **value)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        const struct spelling *s = &spellings[i];
        size_t n = strlen(s->text);

        if (strncmp(option, s->text, n))
            continue;
        if (s->joined || option[n] == '\0' || option[n] == '=') {
            *value = option + n + (!s->joined && option[n] == '=');
            return s;
        }
    }
    return NULL;
}

struct lists {
    struct options defines, folders, extra, pre;
};

static enum kiln_status place(const struct spelling *s, const char *option,
                              const char *value, struct lists *l,
                              struct plan *p, struct kiln_error *err)
{
    if (!*value && s->meaning != IS_OPAQUE && s->meaning != IS_OUTPUT)
        return kiln_fail(err, KILN_E_INVALID,
                         "option %s: its value must follow in the same text",
                         option);
    switch (s->meaning) {
    case IS_ARCH:
        p->request.arch = value;
        break;
    case IS_STANDARD:
        p->request.standard = value;
        break;
    case IS_REGISTERS:
        p->request.max_registers = atoi(value);
        break;
    case IS_DEFINE:
        options_add(&l->defines, "%s", value);
        break;
    case IS_FOLDER:
        options_add(&l->folders, "%s", value);
        break;
    case IS_PRE_INCLUDE:
        options_add(&l->pre, "%s", value);
        break;
    case IS_OPAQUE:
        p->opaque = 1;
        options_add(&l->extra, "%s", option);
        break;
    case IS_OUTPUT:
        return kiln_fail(err, KILN_E_INVALID,
                         "option %s: writes a file, which a kernel's "
                         "compilation must not",
                         option);
    }
    return KILN_OK;
}

/* A compiler would take the next option for its value. */
static int has_empty(const char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!*items[i])
            return 1;
    return 0;
}

enum kiln_status plan_make(const struct compile_request *request,
                           const struct compiler *compiler, struct arena *arena,
                           struct plan *out, struct kiln_error *err)
{
    struct lists l = {
        {.arena = arena}, {.arena = arena}, {.arena = arena}, {.arena = arena}};
    struct plan p = {.request = *request};

    if (has_empty(request->defines, request->define_count))
        return kiln_fail(err, KILN_E_INVALID, "a macro without a name");
    if (has_empty(request->folders, request->folder_count))
        return kiln_fail(err, KILN_E_INVALID,
                         "a folder of headers without a name");
    for (size_t i = 0; i < request->define_count; i++)
        options_add(&l.defines, "%s", request->defines[i]);
    for (size_t i = 0; i < request->folder_count; i++)
        options_add(&l.folders, "%s", request->folders[i]);
    for (size_t i = 0; i < request->extra_count; i++) {
        const char *option = request->extra[i], *value;
        const struct spelling *s = match(option, &value);
        enum kiln_status st = KILN_OK;

        if (s)
            st = place(s, option, value, &l, &p, err);
        else
            options_add(&l.extra, "%s", option);
        if (st)
            return st;
    }
    if (*compiler->include) {
        options_add(&l.folders, "%s", compiler->include);
        /* CUDA 13 moved the C++ libraries' headers down. */
        options_add(&l.folders, "%s/cccl", compiler->include);
    }
    if (l.defines.bad || l.folders.bad || l.extra.bad || l.pre.bad)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    p.request.defines = l.defines.items;
    p.request.define_count = l.defines.count;
    p.request.folders = l.folders.items;
    p.request.folder_count = l.folders.count;
    p.request.extra = l.extra.items;
    p.request.extra_count = l.extra.count;
    p.pre_includes = l.pre.items;
    p.pre_include_count = l.pre.count;
    *out = p;
    return KILN_OK;
}
