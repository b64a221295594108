/* SPDX-License-Identifier: MIT
 *
 * The head of PTX text. This is a scanner of comments, words and lines, not
 * a parser: it must also serve text that a parser would refuse.
 */
#include "image/ptx_header.h"

#include <string.h>

struct scan {
    const char *at;
    const char *end;
    uint32_t line;
};

static struct scan scan_of(const void *text, size_t size)
{
    const char *t = text;
    size_t n = t ? strnlen(t, size) : 0;
    struct scan s = {t, t ? t + n : t, 1};

    return s;
}

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static void step(struct scan *s)
{
    s->line += *s->at == '\n';
    s->at++;
}

/* A comment at s: past it and 1; else 0. One without an end runs to the end
 * of the text. */
static int comment(struct scan *s)
{
    if (s->end - s->at < 2 || s->at[0] != '/' ||
        (s->at[1] != '/' && s->at[1] != '*'))
        return 0;
    if (s->at[1] == '/') {
        while (s->at < s->end && *s->at != '\n')
            s->at++;
        return 1;
    }
    s->at += 2;
    while (s->at < s->end &&
           !(s->end - s->at > 1 && s->at[0] == '*' && s->at[1] == '/'))
        step(s);
    s->at += s->end - s->at > 1 ? 2 : s->end - s->at;
    return 1;
}

static void skip(struct scan *s)
{
    while (s->at < s->end)
        if (is_space(*s->at))
            step(s);
        else if (!comment(s))
            break;
}

/* A quoted string at s: past it. */
static void quoted(struct scan *s)
{
    step(s);
    while (s->at < s->end && *s->at != '"') {
        if (*s->at == '\\' && s->end - s->at > 1)
            step(s);
        step(s);
    }
    if (s->at < s->end)
        s->at++;
}

static size_t word(const struct scan *s)
{
    size_t n = 0;

    while (s->at + n < s->end && is_word(s->at[n]))
        n++;
    return n;
}

/* The directive at s, taken when it is this one. */
static int directive(struct scan *s, const char *name)
{
    size_t n = strlen(name);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, name, n) ||
        (s->at + n < s->end && is_word(s->at[n])))
        return 0;
    s->at += n;
    return 1;
}

static int number(struct scan *s, uint32_t *out)
{
    uint32_t v = 0;
    int digits = 0;

    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (++digits > 6)
            return 0;
        v = v * 10 + (uint32_t)(*s->at - '0');
    }
    *out = v;
    return digits > 0;
}

/* What stands at s, for a message. */
static int shown(const struct scan *s)
{
    int n = 0;

    while (s->at + n < s->end && n < 24 && s->at[n] >= ' ' && s->at[n] < 127)
        n++;
    return n;
}

int ptx_looks(const void *text, size_t size)
{
    struct scan s = scan_of(text, size);

    skip(&s);
    return directive(&s, ".version");
}

size_t ptx_skip_blank(const char *text, size_t size, enum ptx_blank *state)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];

        if (!c)
            return i;
        switch (*state) {
        case PTX_BLANK:
            if (c == '/')
                *state = PTX_SLASH;
            else if (!is_space(c))
                return i;
            break;
        case PTX_SLASH:
            if (c != '/' && c != '*')
                return i;
            *state = c == '/' ? PTX_LINE : PTX_COMMENT;
            break;
        case PTX_LINE:
            *state = c == '\n' ? PTX_BLANK : PTX_LINE;
            break;
        default: /* the star that opens a comment does not close it */
            *state = c == '*'                         ? PTX_STAR
                     : c == '/' && *state == PTX_STAR ? PTX_BLANK
                                                      : PTX_COMMENT;
        }
    }
    return size;
}

static enum kiln_status version(struct scan *s, struct ptx_header *out,
                                struct kiln_error *err)
{
    uint32_t major, minor;

    skip(s);
    out->version_line = s->line;
    if (!directive(s, ".version"))
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: \"%.*s\" found, .version expected",
                         s->line, shown(s), s->at);
    skip(s);
    if (!number(s, &major) || s->at == s->end || *s->at++ != '.' ||
        !number(s, &minor) || major > 999 || minor > 999)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: .version without a number as 8.0",
                         s->line);
    out->major = (uint16_t)major;
    out->minor = (uint16_t)minor;
    return KILN_OK;
}

/* One word of .target: sm_NN, compute_NN, or a feature. 0 when malformed. */
static int target_word(const char *w, size_t n, struct ptx_header *out)
{
    size_t prefix = n >= 3 && !memcmp(w, "sm_", 3)        ? 3
                    : n >= 8 && !memcmp(w, "compute_", 8) ? 8
                                                          : 0;
    struct scan s = {w + prefix, w + n, 0};
    uint32_t sm;

    if (!prefix) {
        out->debug |= n == 5 && !memcmp(w, "debug", 5);
        return n > 0;
    }
    if (!number(&s, &sm) || s.end - s.at > 1 ||
        (s.at < s.end && *s.at != 'a' && *s.at != 'f'))
        return 0;
    if (sm > out->sm) {
        out->sm = sm;
        out->variant = s.at < s.end ? *s.at : 0;
    }
    return 1;
}

static enum kiln_status target(struct scan *s, struct ptx_header *out,
                               struct kiln_error *err)
{
    skip(s);
    out->target_line = s->line;
    if (!directive(s, ".target"))
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: \"%.*s\" found, .target expected",
                         s->line, shown(s), s->at);
    do {
        size_t n;

        skip(s);
        n = word(s);
        if (!target_word(s->at, n, out))
            return kiln_fail(err, KILN_E_PTX,
                             "PTX: line %u: \"%.*s\" found in .target, sm_NN "
                             "expected",
                             s->line, shown(s), s->at);
        s->at += n;
        skip(s);
    } while (s->at < s->end && *s->at == ',' && s->at++);
    if (!out->sm)
        return kiln_fail(err, KILN_E_PTX,
                         "PTX: line %u: .target names no sm_NN",
                         out->target_line);
    return KILN_OK;
}

enum kiln_status ptx_header_read(const void *text, size_t size,
                                 struct ptx_header *out, struct kiln_error *err)
{
    struct scan s = scan_of(text, size);
    struct ptx_header h = {.address_size = 32};
    enum kiln_status st = version(&s, &h, err);
    uint32_t bits;

    if (!st)
        st = target(&s, &h, err);
    if (st)
        return st;
    skip(&s);
    if (directive(&s, ".address_size")) {
        skip(&s);
        if (!number(&s, &bits) || (bits != 32 && bits != 64))
            return kiln_fail(err, KILN_E_PTX,
                             "PTX: line %u: .address_size without 32 or 64",
                             s.line);
        h.address_size = (uint8_t)bits;
    }
    *out = h;
    return KILN_OK;
}

struct ptx_entries ptx_entries(const void *text, size_t size)
{
    struct scan s = scan_of(text, size);

    return (struct ptx_entries){s.at, s.at, s.end};
}

/* The next character that may begin a directive, a string or a comment. Most
 * of a large text is none, so this loop is its price. */
static const char *next_mark(const char *at, const char *end)
{
    static const char marks[256] = {['.'] = 1, ['"'] = 1, ['/'] = 1};

    while (at < end && !marks[(unsigned char)*at])
        at++;
    return at;
}

/* Behind .entry: a name, and what may follow one. */
static enum kiln_status entry_name(const struct ptx_entries *entries,
                                   struct scan *s, struct ptx_entry *entry,
                                   struct kiln_error *err)
{
    static const char behind[] = "({;./ \t\n\v\f\r";
    unsigned line = 1;

    skip(s);
    entry->name = s->at;
    entry->length = word(s);
    s->at += entry->length;
    if (entry->length && s->at < s->end && *s->at && strchr(behind, *s->at))
        return KILN_OK;
    for (const char *p = entries->text;
         (p = memchr(p, '\n', (size_t)(s->at - p))); p++)
        line++;
    return s->at == s->end
               ? kiln_fail(err, KILN_E_PTX, "PTX: line %u: .entry at the end",
                           line)
               : kiln_fail(err, KILN_E_PTX,
                           "PTX: line %u: byte 0x%02x in the name of an entry",
                           line, (unsigned char)*s->at);
}

enum kiln_status ptx_entries_next(struct ptx_entries *entries,
                                  struct ptx_entry *entry, int *more,
                                  struct kiln_error *err)
{
    struct scan s = {entries->at, entries->end, 1};

    for (;;) {
        const char *start = s.at = next_mark(s.at, s.end);
        enum kiln_status st;

        if (s.at >= s.end) {
            entries->at = s.end;
            *more = 0;
            return KILN_OK;
        }
        if (*s.at == '"') {
            quoted(&s);
            continue;
        }
        if (*s.at == '/') {
            s.at += !comment(&s);
            continue;
        }
        /* "x.entry" and "x..entry" are no directives. */
        if (s.end - s.at < 6 || s.at[1] != 'e' ||
            (start > entries->text &&
             (is_word(start[-1]) || start[-1] == '.')) ||
            !directive(&s, ".entry")) {
            s.at++;
            continue;
        }
        entry->offset = (size_t)(start - entries->text);
        st = entry_name(entries, &s, entry, err);
        entries->at = s.at;
        *more = 1;
        return st;
    }
}

enum kiln_status ptx_entry_names(const void *text, size_t size,
                                 struct arena *arena, const char ***names,
                                 size_t *count, struct kiln_error *err)
{
    struct ptx_entries entries = ptx_entries(text, size);
    struct ptx_entry entry;
    const char **list = NULL;
    size_t n = 0, cap = 0;

    for (;;) {
        int more;
        enum kiln_status st = ptx_entries_next(&entries, &entry, &more, err);

        if (st)
            return st;
        if (!more)
            break;
        list = arena_grow(arena, list, n, &cap, sizeof *list);
        if (list)
            list[n] = arena_strndup(arena, entry.name, entry.length);
        if (!list || !list[n])
            return kiln_fail(err, KILN_E_MEMORY,
                             "PTX: out of memory for %zu names", n + 1);
        n++;
    }
    *names = list;
    *count = n;
    return KILN_OK;
}
