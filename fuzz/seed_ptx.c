/* SPDX-License-Identifier: MIT
 *
 * Seeds of PTX: the lines that an assembler is known to accept
 * (tests/ptxas/answers.txt), some of a mnemonic and version a text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz/seed.h"

enum { MNEMONICS = 256, LINES = 8 }; /* LINES: of one text */

struct context {
    const char *folder;
    struct buffer head, frame;
    char version[16], target[16];
    struct bucket {
        char mnemonic[24];
        struct buffer lines;
        unsigned count, parts;
    } buckets[MNEMONICS];
    unsigned bucket_count;
};

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void read_part(const char *tests, const char *name, struct buffer *out)
{
    char path[4096];
    struct kiln_error err;

    snprintf(path, sizeof path, "%s/%s", tests, name);
    if (file_read(path, 0, out, &err))
        fail(err.text);
    buffer_str(out);
}

/* The frame up to `mark`; what follows the mark. */
static const char *add_until(struct buffer *out, const char *frame,
                             const char *mark)
{
    const char *end = strstr(frame, mark);

    if (!end)
        fail("frame.ptx lacks a mark");
    buffer_add(out, frame, (size_t)(end - frame));
    return end + strlen(mark);
}

static void put_bucket(const struct context *c, struct bucket *b)
{
    struct buffer text = {0};
    const char *rest = (const char *)c->frame.bytes;
    char name[80];

    buffer_printf(&text, ".version %s\n.target %s\n", c->version, c->target);
    buffer_add(&text, c->head.bytes, c->head.size);
    rest = add_until(&text, rest, "@N@");
    rest = add_until(&text, rest, "@WIDE@");
    if (atof(c->version) >= 8.3) /* 128 bits are no older */
        buffer_text(&text, ".reg .b128 %q<8>;");
    rest = add_until(&text, rest, "@LINE@");
    buffer_add(&text, b->lines.bytes, b->lines.size);
    buffer_text(&text, rest);
    snprintf(name, sizeof name, "%s-%s-%s-%u", c->version, c->target,
             b->mnemonic, ++b->parts);
    seed_put(c->folder, "ptx", name, &text);
    buffer_fini(&text);
    buffer_fini(&b->lines);
    b->count = 0;
}

static void put_context(struct context *c)
{
    for (unsigned i = 0; i < c->bucket_count; i++)
        if (c->buckets[i].count)
            put_bucket(c, &c->buckets[i]);
    memset(c->buckets, 0, sizeof c->buckets);
    c->bucket_count = 0;
}

static void add_line(struct context *c, const char *line)
{
    const char *word = *line == '@' ? line + strcspn(line, " ") + 1 : line;
    const int n = (int)strcspn(word, ". ;");
    char mnemonic[24];
    unsigned i;

    snprintf(mnemonic, sizeof mnemonic, "%.*s", n, word);
    for (i = 0; i < c->bucket_count; i++)
        if (!strcmp(c->buckets[i].mnemonic, mnemonic))
            break;
    if (i == MNEMONICS)
        fail("more mnemonics than there is room for");
    if (i == c->bucket_count)
        memcpy(c->buckets[c->bucket_count++].mnemonic, mnemonic,
               sizeof mnemonic);
    buffer_printf(&c->buckets[i].lines, "%s\n", line);
    if (++c->buckets[i].count == LINES)
        put_bucket(c, &c->buckets[i]);
}

void seed_ptx(const char *folder, const char *tests)
{
    static struct context c;
    struct buffer answers = {0};
    char *line, *next;

    c.folder = folder;
    read_part(tests, "head.ptx", &c.head);
    read_part(tests, "frame.ptx", &c.frame);
    read_part(tests, "answers.txt", &answers);
    for (line = (char *)answers.bytes; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (*line == '=') {
            put_context(&c);
            if (sscanf(line, "= %15s %15s", c.version, c.target) != 2)
                fail("answers.txt: a context without version and target");
        } else if (*line == '+') {
            add_line(&c, line + 1);
        }
    }
    put_context(&c);
    buffer_fini(&answers);
    buffer_fini(&c.head);
    buffer_fini(&c.frame);
}
