/* SPDX-License-Identifier: MIT
 *
 * A module: its header, then variables and functions. Also where errors are
 * made: each is a line in the log, the first one is the caller's error.
 */
#include "cpu/ptx/ptx.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/ptx/parse.h"

/* --- errors ------------------------------------------------------------ */

static void report(struct parser *p, enum kiln_status status, unsigned line,
                   const char *format, va_list args)
{
    char text[512];

    vsnprintf(text, sizeof text, format, args);
    if (p->log)
        buffer_printf(p->log, "ptx, line %u; error : %s\n", line, text);
    if (!p->status) {
        p->status = status;
        kiln_fail(p->err, status, "line %u: %.200s", line, text);
    }
    p->errors++;
}

enum kiln_status ptx_error(struct parser *p, unsigned line, const char *format,
                           ...)
{
    va_list args;

    va_start(args, format);
    report(p, KILN_E_PTX, line, format, args);
    va_end(args);
    return p->errors < MAX_ERRORS ? KILN_OK : p->status;
}

enum kiln_status ptx_unsupported(struct parser *p, unsigned line,
                                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(p, KILN_E_NOT_SUPPORTED, line, format, args);
    va_end(args);
    return p->errors < MAX_ERRORS ? KILN_OK : p->status;
}

enum kiln_status ptx_fatal(struct parser *p, unsigned line, const char *format,
                           ...)
{
    va_list args;

    va_start(args, format);
    report(p, KILN_E_PTX, line, format, args);
    va_end(args);
    return p->status;
}

enum kiln_status ptx_no_memory(struct parser *p)
{
    if (!p->status)
        kiln_fail(p->err, KILN_E_MEMORY, "line %u: out of memory for the PTX",
                  p->lx.token.line);
    p->status = KILN_E_MEMORY;
    return p->status;
}

enum kiln_status ptx_expected(struct parser *p, const char *what)
{
    const struct token *t = &p->lx.token;
    const int len = (int)(t->len < 60 ? t->len : 60);

    if (t->kind == TOKEN_END)
        return ptx_fatal(p, t->line,
                         "Parsing error at the end of the text: %s expected",
                         what);
    if (t->kind == TOKEN_BAD)
        return ptx_fatal(p, t->line, "Parsing error: %s", t->text);
    return ptx_fatal(p, t->line, "Parsing error near '%s%.*s': %s expected",
                     t->kind == TOKEN_DIRECTIVE ? "." : "", len, t->text, what);
}

/* --- tokens ------------------------------------------------------------ */

int token_is(const struct token *t, const char *text)
{
    return strlen(text) == t->len && memcmp(t->text, text, t->len) == 0;
}

int at_text(const struct parser *p, const char *text)
{
    return at(p, TOKEN_NAME) && token_is(&p->lx.token, text);
}

int at_directive(const struct parser *p, const char *text)
{
    return at(p, TOKEN_DIRECTIVE) && token_is(&p->lx.token, text);
}

int accept(struct parser *p, int kind)
{
    if (!at(p, kind))
        return 0;
    next(p);
    return 1;
}

enum kiln_status expect(struct parser *p, int kind, const char *what)
{
    if (!at(p, kind))
        return ptx_expected(p, what);
    next(p);
    return KILN_OK;
}

/* --- the header -------------------------------------------------------- */

/* `9.0`, as the lexer does not read it: 1.10 would not be 1.1. */
static enum kiln_status version(struct parser *p)
{
    unsigned major = 0;
    unsigned minor = 0;
    int n = 0;
    char text[16] = {0};
    const struct token *t = &p->lx.token;

    next(p);
    if (!at(p, TOKEN_F64) || t->len >= sizeof text)
        return ptx_expected(p, "a version number");
    memcpy(text, t->text, t->len);
    if (sscanf(text, "%2u.%1u%n", &major, &minor, &n) != 2 || text[n] != '\0' ||
        major == 0)
        return ptx_expected(p, "a version number");
    p->module->version = major * 10 + minor;
    next(p);
    return KILN_OK;
}

/* sm_90, sm_90a, compute_90, sm_120f */
static enum kiln_status architecture(struct parser *p)
{
    const struct token *t = &p->lx.token;
    char text[16] = {0};
    char suffix = 0;
    unsigned sm = 0;
    int n = 0;

    if (t->len < sizeof text)
        memcpy(text, t->text, t->len);
    if (sscanf(text, "sm_%3u%n", &sm, &n) != 1 &&
        sscanf(text, "compute_%3u%n", &sm, &n) != 1)
        return ptx_expected(p, "a target");
    if (text[n] == 'a' || text[n] == 'f')
        suffix = text[n++];
    if (text[n] || sm < 10)
        return ptx_expected(p, "a target");
    p->module->target = sm;
    p->module->target_suffix = suffix;
    return KILN_OK;
}

static enum kiln_status target(struct parser *p)
{
    static const char *const options[] = {"texmode_unified", "map_f64_to_f32"};
    enum kiln_status st = KILN_OK;

    do {
        int known = 0;

        next(p);
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "a target");
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            known |= at_text(p, options[i]);
        if (at_text(p, "debug"))
            p->module->debug = 1;
        else if (at_text(p, "texmode_independent"))
            p->module->texmode_independent = 1;
        else if (!known)
            st = architecture(p);
        if (st)
            return st;
        next(p);
    } while (at(p, ','));
    if (!p->module->target)
        return ptx_fatal(p, p->lx.token.line,
                         "Target architecture not defined at start of file");
    return KILN_OK;
}

static enum kiln_status address_size(struct parser *p)
{
    uint64_t size;
    enum kiln_status st;

    next(p);
    st = expect_u64(p, "an address size", &size);
    if (st)
        return st;
    if (size == 32)
        return ptx_unsupported(p, p->lx.token.line,
                               "32-bit addresses are not supported: "
                               ".address_size 64 needed");
    if (size != 64)
        return ptx_fatal(p, p->lx.token.line, "Illegal address size %llu",
                         (unsigned long long)size);
    p->module->address_size = (uint8_t)size;
    return KILN_OK;
}

static enum kiln_status header(struct parser *p)
{
    enum kiln_status st;

    if (!at_directive(p, "version"))
        return ptx_fatal(p, p->lx.token.line,
                         "Missing .version directive at start of file");
    st = version(p);
    if (!st && !at_directive(p, "target"))
        return ptx_fatal(p, p->lx.token.line, "Missing .target directive");
    if (!st)
        st = target(p);
    p->module->address_size = 64;
    if (!st && at_directive(p, "address_size"))
        st = address_size(p);
    return st;
}

/* --- statements of the module ------------------------------------------ */

/* .alias f, g;  f is another name of g. */
static enum kiln_status alias(struct parser *p)
{
    struct found f[2];
    enum kiln_status st = KILN_OK;

    next(p);
    for (int i = 0; i < 2; i++) {
        if (!at(p, TOKEN_NAME))
            return ptx_expected(p, "a function");
        st = symbol_lookup(p, p->lx.token.text, p->lx.token.len, &f[i]);
        if (st)
            return st;
        if (!f[i].found || f[i].kind != BIND_FUNC)
            return ptx_fatal(
                p, p->lx.token.line, "Unknown function '%.*s'",
                (int)(p->lx.token.len < 100 ? p->lx.token.len : 100),
                p->lx.token.text);
        next(p);
        if (i == 0)
            st = expect(p, ',', "','");
        if (st)
            return st;
    }
    if (f[0].binding->func->has_body ||
        f[0].binding->func == f[1].binding->func)
        return ptx_fatal(p, p->lx.token.line,
                         "Illegal redefinition of function '%.100s' as alias",
                         f[0].binding->func->name);
    f[0].binding->func->alias = f[1].binding->func;
    return expect(p, ';', "';'");
}

static void linkage(struct parser *p, struct linkage *l)
{
    memset(l, 0, sizeof *l);
    for (;;) {
        if (at_directive(p, "extern"))
            l->is_extern = 1;
        else if (at_directive(p, "visible"))
            l->is_visible = 1;
        else if (at_directive(p, "weak") || at_directive(p, "common"))
            l->is_weak = 1;
        else
            return;
        next(p);
    }
}

static enum kiln_status statement(struct parser *p)
{
    struct linkage l;
    enum ptx_space space;
    int skipped;
    enum kiln_status st = skip_debug(p, &skipped);

    if (st || skipped)
        return st;
    if (accept(p, ';'))
        return KILN_OK;
    if (at_directive(p, "alias"))
        return alias(p);
    linkage(p, &l);
    if (at_directive(p, "entry") || at_directive(p, "func"))
        return parse_function(p, &l, at_directive(p, "entry"));
    if (at_space(p, &space) && space != PTX_SPACE_REG)
        return parse_variables(p, space, &l);
    return ptx_expected(p, "a variable or function");
}

static enum kiln_status parse(struct parser *p, const char *text, size_t size)
{
    char *copy = arena_strndup(&p->scratch, text, size);
    enum kiln_status st;

    p->module = arena_alloc(p->arena, sizeof *p->module);
    if (!copy || !p->module)
        return ptx_no_memory(p);
    p->module->arena = p->arena;
    names_init(&p->names);
    lexer_init(&p->lx, copy, size);
    next(p);
    st = header(p);
    while (!st && !at(p, TOKEN_END))
        st = statement(p);
    return st ? st : rename_late(p);
}

enum kiln_status ptx_parse(const char *text, size_t size, struct arena *arena,
                           struct ptx_module **out, struct buffer *log,
                           struct kiln_error *err)
{
    struct parser *p = kiln_zalloc(sizeof *p);
    enum kiln_status st;

    if (!p)
        return kiln_fail(err, KILN_E_MEMORY, "PTX: out of memory");
    while (size && text[size - 1] == '\0')
        size--;
    p->arena = arena;
    p->log = log;
    p->err = err;
    p->text_size = size;
    p->func_id = 1;
    st = parse(p, text, size);
    if (!st)
        st = p->status;
    if (!st)
        *out = p->module;
    arena_fini(&p->scratch);
    kiln_release(p);
    return st;
}
