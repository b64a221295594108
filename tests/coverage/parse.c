/* SPDX-License-Identifier: MIT
 *
 * One text: parsed and checked, printed, and parsed again to the same
 * program (its print, which holds all of it, must not differ).
 */
#include <stdio.h>
#include <string.h>

#include "coverage.h"

/* What a text would hold if it parsed: lines that end an instruction. */
static uint64_t count_lines(const char *text, size_t size)
{
    uint64_t n = 0;

    for (size_t i = 1; i < size; i++)
        n += text[i] == '\n' && text[i - 1] == ';';
    return n;
}

static const char *line_of(const char *text, size_t size, unsigned line,
                           size_t *len)
{
    const char *end = text + size;

    for (unsigned i = 1; i < line && text; i++) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    *len =
        text && memchr(text, '\n', (size_t)(end - text))
            ? (size_t)((const char *)memchr(text, '\n', (size_t)(end - text)) -
                       text)
            : 0;
    return text;
}

/* Each diagnostic by its sentence, with the line that it is of. */
static void note_diagnostics(struct coverage *c, uint64_t number,
                             const char *text, size_t size, const char *log)
{
    const char *name = c->sources.items[number].name;

    for (const char *at = log; *at;) {
        const char *end = strchr(at, '\n');
        const char *what = strstr(at, ": ");
        unsigned line = 0;
        char key[200], example[400];
        size_t len = 0;
        const char *source;

        end = end ? end : at + strlen(at);
        sscanf(at, "ptx, line %u", &line);
        if (!what || what > end)
            what = at;
        snprintf(key, sizeof key, "%.*s", (int)(end - what), what);
        source = line_of(text, size, line, &len);
        snprintf(example, sizeof example, "%s, line %u: %.*s", name, line,
                 (int)(len < 200 ? len : 200), source ? source : "");
        table_add(&c->parser, key, 1, number, example);
        at = *end ? end + 1 : end;
    }
}

static int same_again(struct coverage *c, uint64_t number,
                      const struct ptx_module *m)
{
    struct buffer first = {0}, second = {0}, log = {0};
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct ptx_module *again;
    int same = 0;

    ptx_print(m, &first);
    if (ptx_parse(buffer_str(&first), first.size, &arena, &again, &log, &err)) {
        char key[400];

        snprintf(key, sizeof key, "its print: %s", err.text);
        table_add(&c->parser, key, 1, number, c->sources.items[number].name);
    } else {
        ptx_print(again, &second);
        same = !first.bad && !second.bad && first.size == second.size &&
               !memcmp(first.bytes, second.bytes, first.size);
        if (!same)
            table_add(&c->parser, "its print prints differently", 1, number,
                      c->sources.items[number].name);
    }
    buffer_fini(&first);
    buffer_fini(&second);
    buffer_fini(&log);
    arena_fini(&arena);
    return same;
}

static void count_used(struct coverage *c, uint64_t number,
                       const struct ptx_module *m)
{
    uint64_t by_op[PTX_OP_COUNT] = {0};

    for (size_t i = 0; i < m->func_count; i++)
        for (size_t k = 0; k < m->funcs[i]->insn_count; k++)
            by_op[m->funcs[i]->insns[k].op]++;
    for (int op = 0; op < PTX_OP_COUNT; op++)
        if (by_op[op])
            table_add(&c->used, ptx_op_text((enum ptx_op)op), by_op[op], number,
                      NULL);
}

struct ptx_module *parse_module(struct coverage *c, struct totals *t,
                                uint64_t number, const char *text, size_t size,
                                struct arena *arena)
{
    struct buffer log = {0};
    struct kiln_error err = {0};
    struct ptx_module *m = NULL;

    t->modules++;
    if (ptx_parse(text, size, arena, &m, &log, &err)) {
        t->insns += count_lines(text, size);
        if (!log.size)
            buffer_printf(&log, ": %s", err.text);
        note_diagnostics(c, number, text, size, buffer_str(&log));
        buffer_fini(&log);
        return NULL;
    }
    buffer_fini(&log);
    t->parsed++;
    for (size_t i = 0; i < m->func_count; i++) {
        t->insns += m->funcs[i]->insn_count;
        t->insns_parsed += m->funcs[i]->insn_count;
    }
    count_used(c, number, m);
    t->same += (uint64_t)same_again(c, number, m);
    return m;
}
