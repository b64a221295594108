/* SPDX-License-Identifier: MIT */
#include "compile/headers.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"

enum { FILES_MAX = 20000, HEADER_MAX = 64 << 20, ALIASES = 8 };

struct scanner {
    struct header_scan *scan;
    struct arena *arena;
    const struct plan *plan;
    int failed;      /* out of memory or past a limit */
    const char *odd; /* a header that is no file of the plain kind */
    /* Macros of one parameter that stand for __has_include of it. */
    const char *aliases[ALIASES];
    size_t alias_count;
};

static int blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* Past blanks and comments on one line. */
static const char *skip(const char *p, const char *end)
{
    for (;;) {
        while (p < end && blank(*p))
            p++;
        if (end - p < 2 || p[0] != '/' || p[1] != '*')
            return p;
        for (p += 2; p < end && !(end - p >= 2 && p[0] == '*' && p[1] == '/');)
            p++;
        p = end - p >= 2 ? p + 2 : end;
    }
}

/* The text with lines joined at backslashes, so that a directive is always
 * whole. */
static char *join_lines(struct arena *arena, const char *text, size_t size,
                        size_t *joined)
{
    char *out = arena_alloc(arena, size + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < size; i++) {
        size_t k = i + 1;

        if (text[i] == '\\') {
            while (k < size && blank(text[k]))
                k++;
            if (k < size && text[k] == '\n') {
                i = k;
                continue;
            }
        }
        out[n++] = text[i];
    }
    *joined = n;
    return out;
}

static void scan_text(struct scanner *s, const char *path, const char *text,
                      size_t size);

/* The look-up that read this file, or NULL. */
static const struct header_lookup *seen(const struct scanner *s,
                                        const char *path)
{
    for (size_t i = 0; i < s->scan->count; i++)
        if (s->scan->lookups[i].found &&
            !strcmp(s->scan->lookups[i].path, path))
            return &s->scan->lookups[i];
    return NULL;
}

static struct header_lookup *add(struct scanner *s, const char *name,
                                 int quoted)
{
    struct header_scan *scan = s->scan;
    struct header_lookup *items;

    if (scan->count >= FILES_MAX) {
        s->failed = 1;
        return NULL;
    }
    items = arena_grow(s->arena, scan->lookups, scan->count, &scan->cap,
                       sizeof *items);
    if (!items) {
        s->failed = 1;
        return NULL;
    }
    scan->lookups = items;
    items[scan->count] = (struct header_lookup){.name = name, .quoted = quoted};
    return &items[scan->count++];
}

/* Takes the file at path if there is one, and what it includes. */
static int take(struct scanner *s, const char *name, int quoted,
                const char *path)
{
    struct buffer content = {0};
    const struct header_lookup *known = seen(s, path);
    struct header_lookup *lookup, first;
    struct stat info;

    if (known) {
        first = *known;
        lookup = add(s, name, quoted);
        if (lookup) {
            *lookup = first;
            lookup->name = name;
            lookup->quoted = quoted;
        }
        return 1;
    }
    if (!stat(path, &info) && !S_ISREG(info.st_mode) &&
        !S_ISDIR(info.st_mode)) {
        /* A compiler would wait for its writer, or read without end. */
        s->odd = arena_strndup(s->arena, path, strlen(path));
        s->failed = 1;
        return 1;
    }
    if (stat(path, &info) || !S_ISREG(info.st_mode) ||
        file_read(path, HEADER_MAX, &content, NULL)) {
        buffer_fini(&content);
        return 0;
    }
    lookup = add(s, name, quoted);
    if (lookup) {
        lookup->found = 1;
        lookup->path = arena_strndup(s->arena, path, strlen(path));
        lookup->size = content.size;
        if (!lookup->path ||
            hash_bytes(content.bytes, content.size, &lookup->content))
            s->failed = 1;
        s->scan->bytes += content.size;
    }
    if (lookup && lookup->path)
        scan_text(s, lookup->path, (const char *)content.bytes, content.size);
    buffer_fini(&content);
    return 1;
}

/* All: an #include_next may take any of the folders' files. */
static void look_up(struct scanner *s, const char *from, const char *name,
                    int quoted, int all)
{
    const struct compile_request *r = &s->plan->request;
    const char *slash = strrchr(from, '/');
    char path[PATH_MAX];
    int found = 0;
    int n;

    if (*name == '/') {
        found = take(s, name, quoted, name);
    } else if (quoted) {
        n = snprintf(path, sizeof path, "%.*s%s",
                     slash ? (int)(slash - from) + 1 : 0, from, name);
        if (n > 0 && (size_t)n < sizeof path)
            found = take(s, name, quoted, path);
    }
    for (size_t i = 0; i < r->folder_count && (all || !found); i++) {
        n = snprintf(path, sizeof path, "%s/%s", r->folders[i], name);
        if (n > 0 && (size_t)n < sizeof path)
            found |= take(s, name, quoted, path);
    }
    if (!found)
        add(s, name, quoted);
}

/* The name at p, "..." or <...>; anything else comes from a macro. */
static const char *operand(struct scanner *s, const char *from, const char *p,
                           const char *end, int all)
{
    const char *close;
    char *name;

    p = skip(p, end);
    if (p >= end || (*p != '"' && *p != '<')) {
        if (!s->scan->opaque)
            log_line(LOG_INFO, "%s: a header's name is made by a macro: %.*s",
                     from, (int)strcspn(p, "\n)"), p);
        s->scan->opaque = 1;
        return p;
    }
    for (close = p + 1;
         close < end && *close != '\n' && *close != (*p == '<' ? '>' : '"');)
        close++;
    name = arena_strndup(s->arena, p + 1, (size_t)(close - p) - 1);
    if (!name)
        s->failed = 1;
    else
        look_up(s, from, name, *p == '"', all);
    return close;
}

static int starts(const char *p, const char *end, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(end - p) >= n && !memcmp(p, text, n);
}

static size_t word_length(const char *p, const char *end)
{
    size_t n = 0;

    while (p + n < end && (isalnum((unsigned char)p[n]) || p[n] == '_'))
        n++;
    return n;
}

/* Behind #define: whether it reads NAME(X) __has_include(X). Such a macro is
 * noted, and its uses are looked up. Returns where the line's scan goes on. */
static const char *define(struct scanner *s, const char *p, const char *end)
{
    const char *start = p = skip(p, end), *parameter, *body, *q;
    size_t name = word_length(p, end), n;

    q = p + name;
    if (!name || q >= end || *q != '(')
        return q;
    parameter = q = skip(q + 1, end);
    n = word_length(q, end);
    q = skip(q + n, end);
    if (!n || q >= end || *q != ')')
        return q;
    body = q = skip(q + 1, end);
    if (!starts(q, end, "__has_include"))
        return body;
    q = skip(q + 13, end);
    if (q >= end || *q != '(')
        return body;
    q = skip(q + 1, end);
    if (word_length(q, end) != n || memcmp(q, parameter, n) ||
        s->alias_count == ALIASES)
        return body;
    q = skip(q + n, end);
    if (q >= end || *q != ')')
        return body;
    s->aliases[s->alias_count] = arena_strndup(s->arena, start, name);
    if (!s->aliases[s->alias_count])
        s->failed = 1;
    else
        s->alias_count++;
    return q + 1;
}

/* At a word of n bytes: the end of the name of __has_include,
 * __has_include_next or an alias of the first, or NULL. */
static const char *asks(const struct scanner *s, const char *p, size_t n,
                        int *next)
{
    *next = n == 18 && !memcmp(p, "__has_include_next", n);
    if (*next || (n == 13 && !memcmp(p, "__has_include", n)))
        return p + n;
    for (size_t i = 0; i < s->alias_count; i++)
        if (strlen(s->aliases[i]) == n && !memcmp(p, s->aliases[i], n))
            return p + n;
    return NULL;
}

static const char *directive(struct scanner *s, const char *from, const char *p,
                             const char *end)
{
    static const struct {
        const char *word;
        int all;
    } words[] = {
        {"include_next", 1}, {"include", 0}, {"import", 0}, {"embed", 0}};

    p = skip(p, end);
    if (word_length(p, end) == 6 && !memcmp(p, "define", 6))
        return define(s, p + 6, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);

        if ((size_t)(end - p) > n && !memcmp(p, words[i].word, n) &&
            (blank(p[n]) || strchr("\"</", p[n])))
            return operand(s, from, p + n, end, words[i].all);
    }
    return p;
}

/* One word or one character at p; the rest of a question is taken too. */
static const char *word(struct scanner *s, const char *path, const char *p,
                        const char *end)
{
    size_t n = word_length(p, end);
    const char *q;
    int next;

    if (!n)
        return p + 1;
    if (n == 8 && !memcmp(p, "__FILE__", n))
        s->scan->names_file = 1;
    q = *p == '_' || s->alias_count ? asks(s, p, n, &next) : NULL;
    if (!q)
        return p + n;
    q = skip(q, end);
    return q < end && *q == '(' ? operand(s, path, q + 1, end, next) : q;
}

static void scan_text(struct scanner *s, const char *path, const char *text,
                      size_t size)
{
    int line_start = 1;
    size_t n = 0;
    char *joined = join_lines(s->arena, text, size, &n);
    const char *end = joined + n;

    if (!joined) {
        s->failed = 1;
        return;
    }
    for (const char *p = joined; p < end && !s->failed;) {
        if (line_start)
            p = skip(p, end);
        if (p >= end)
            break;
        if (line_start && (*p == '#' || starts(p, end, "%:"))) {
            p = directive(s, path, p + (*p == '#' ? 1 : 2), end);
            line_start = 0;
            continue;
        }
        line_start = *p == '\n';
        p = word(s, path, p, end);
    }
}

enum kiln_status headers_scan(const struct plan *plan, struct arena *arena,
                              struct header_scan *out, struct kiln_error *err)
{
    const struct compile_request *r = &plan->request;
    struct scanner s = {.scan = out, .arena = arena, .plan = plan};

    memset(out, 0, sizeof *out);
    out->opaque = plan->opaque;
    for (size_t i = 0; i < plan->pre_include_count; i++)
        look_up(&s, r->name, plan->pre_includes[i], 1, 0);
    scan_text(&s, r->name, r->text, r->text_size);
    if (s.odd)
        return kiln_fail(err, KILN_E_FILE,
                         "%s: its header %s is a pipe or device, a regular "
                         "file is needed",
                         r->name, s.odd);
    return s.failed ? kiln_fail(err, KILN_E_MEMORY,
                                "%s: its headers: out of memory or more than "
                                "%d files",
                                r->name, FILES_MAX)
                    : KILN_OK;
}
