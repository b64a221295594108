/* SPDX-License-Identifier: MIT
 *
 * texture_answers --record FILE        what this driver answers
 * texture_answers --pack FILE SMALL    the same file, compressed
 * texture_answers --compare FILE       with what another one answered
 *
 * KILN_TEST_DRIVER names the driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "texture.h"

struct recording {
    FILE *file;
    const char *path;
    char *self;
    unsigned index, skip;
};

/* A kernel that faulted has left the process without a device. */
static void go_on(const struct recording *r)
{
    char skip[16];

    snprintf(skip, sizeof skip, "%u", r->index);
    fclose(r->file);
    execl(r->self, r->self, "--record", r->path, skip, NULL);
    exit(1);
}

static int record(const struct kase *k, void *data)
{
    struct recording *r = data;
    char why[160] = "";
    size_t count = 0;
    uint32_t *words, n;

    if (r->index++ < r->skip)
        return 0;
    words = run_case(k, &count, why, sizeof why);
    n = words ? (uint32_t)count : 0;
    fprintf(r->file, "%s%s%s", k->name, words ? "" : "\t", why);
    fputc(0, r->file);
    fwrite(&n, 4, 1, r->file);
    if (words)
        fwrite(words, 4, count, r->file);
    else
        printf("%s: %s\n", k->name, why);
    free(words);
    if (strstr(why, "launch"))
        go_on(r);
    return 0;
}

/* --- comparing --- */

/* Differences that are known: a case whose name starts so may have them. */
static const struct {
    const char *name;
    double error; /* at most */
    const char *cause;
} open_rows[] = {
#define OPEN(name, error, cause) {name, error, cause},
#include "open.def"
#undef OPEN
    {NULL, 0, NULL}};
enum { OPEN_ROWS = sizeof open_rows / sizeof *open_rows };

struct comparison {
    struct answers answers;
    size_t cases, words, equal_cases, unanswered;
    struct {
        size_t cases, words, all;
        double error;
    } open[OPEN_ROWS];
};

static int open_row(const char *name)
{
    for (unsigned i = 0; open_rows[i].name; i++)
        if (!strncmp(name, open_rows[i].name, strlen(open_rows[i].name)))
            return (int)i;
    return -1;
}

/* Whether the answer's words are floats. */
static int gives_floats(const struct kase *k)
{
    const int is_integer = k->format <= CU_AD_FORMAT_SIGNED_INT32;
    const int is_word = k->format == CU_AD_FORMAT_UNSIGNED_INT32 ||
                        k->format == CU_AD_FORMAT_SIGNED_INT32;

    if (k->is_surface || strstr(k->kernel, "txq") || strstr(k->kernel, "f16x2"))
        return 0;
    return !is_integer || !(is_word || k->flags & CU_TRSF_READ_AS_INTEGER);
}

static void differs(struct comparison *c, const struct kase *k,
                    const struct answer *a, const struct difference *d)
{
    const int row = open_row(k->name);

    if (row >= 0 && d->error <= open_rows[row].error) {
        c->open[row].cases++;
        c->open[row].words += d->words;
        c->open[row].all += a->count;
        if (d->error > c->open[row].error)
            c->open[row].error = d->error;
        return;
    }
    CHECK_SAYS(0,
               "%s: %zu of %u words differ, the first at %zu: 0x%08x, wanted "
               "0x%08x; largest error %g",
               k->name, d->words, a->count, d->at, d->ours, d->theirs,
               d->error);
}

static int compare(const struct kase *k, void *data)
{
    struct comparison *c = data;
    char why[160] = "";
    struct difference d;
    struct answer a;
    size_t count = 0;
    uint32_t *words;

    /* a GPU that runs no such instruction has nothing to say of it */
    if (!answers_find(&c->answers, k->name, &a) || strstr(a.name, "\tkernel") ||
        strstr(a.name, "\tlaunch")) {
        c->unanswered++;
        return 0;
    }
    words = run_case(k, &count, why, sizeof why);
    c->cases++;
    if (!words) {
        CHECK_SAYS(strchr(a.name, '\t') != NULL, "%s: %s", k->name, why);
        return 0;
    }
    if (count != a.count) {
        CHECK_SAYS(0, "%s: wanted%s", k->name, strchr(a.name, '\t'));
        free(words);
        return 0;
    }
    answers_compare(&a, words, gives_floats(k), &d);
    c->words += count;
    if (d.words)
        differs(c, k, &a, &d);
    else
        c->equal_cases++;
    free(words);
    return 0;
}

static int compare_all(const char *path)
{
    static struct comparison c;
    size_t open = 0;

    if (answers_open(&c.answers, path)) {
        printf("FAIL cannot read %s\n", path);
        return 1;
    }
    run_open();
    cases_all(compare, &c);
    for (unsigned i = 0; open_rows[i].name; i++) {
        open += c.open[i].words;
        if (c.open[i].cases)
            printf("open %s...: %zu words of %zu in %zu cases, largest error "
                   "%g: %s\n",
                   open_rows[i].name, c.open[i].words, c.open[i].all,
                   c.open[i].cases, c.open[i].error, open_rows[i].cause);
    }
    printf("%zu cases, %zu alike, %zu not answered; %zu words, %zu open\n",
           c.cases, c.equal_cases, c.unanswered, c.words, open);
    CHECK(c.equal_cases > c.cases / 2);
    return test_end();
}

int main(int argc, char **argv)
{
    struct recording r = {.self = argv[0]};

    if (argc > 3 && !strcmp(argv[1], "--pack"))
        return answers_pack(argv[2], argv[3]);
    if (argc > 2 && !strcmp(argv[1], "--compare"))
        return compare_all(argv[2]);
    if (argc < 3 || strcmp(argv[1], "--record")) {
        fprintf(stderr, "texture_answers --record|--compare FILE, "
                        "--pack FILE SMALL\n");
        return 2;
    }
    r.path = argv[2];
    r.skip = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    run_open();
    r.file = fopen(r.path, r.skip ? "ab" : "wb");
    if (!r.file)
        return 1;
    cases_all(record, &r);
    return fclose(r.file) != 0;
}
