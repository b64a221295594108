/* SPDX-License-Identifier: MIT
 *
 * fidelity [--record FILE | --answers FILE] [--only TEXT] [--every N]
 *          [--shard I/N] [--group NAME] [--skip FILE] [--way NAME] [--list]
 *          [--ptx DIR] [--apart] [-v]
 * fidelity --merge FILE FILE...
 *
 * Without --record, compares the driver with the answers and prints a line a
 * family. --every N takes each Nth case, --only those whose name or family has
 * the text in it, --group those of forms, memory, warp, matrix or sparse; the
 * file of
 * --skip has names of cases to leave out, a line each. --way uniform and
 * --way mixed are other kernels for the same results (fidelity.h), --apart
 * takes video instructions one by one.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

struct options {
    const char *record, *answers, *only, *ptx, *group;
    char *skip; /* names between newlines */
    unsigned every, shard, shards;
    int list, verbose;
    enum fid_way way;
};

struct family {
    const char *name;
    unsigned long forms, refused, unanswered;
    unsigned long long values, equal, close, open, wrong;
    double worst, worst_theirs;
};

struct run {
    struct options o;
    struct fid_cases all;
    struct fid_answers answers, made;
    struct family families[160];
    size_t family_count;
    unsigned printed;
};

static struct family *family_of(struct run *r, const char *name)
{
    for (size_t i = 0; i < r->family_count; i++)
        if (!strcmp(r->families[i].name, name))
            return &r->families[i];
    r->families[r->family_count].name = name;
    return &r->families[r->family_count++];
}

/* What NVIDIA leaves open, by name of the case: open.def. */
static const char *open_reason(const char *name)
{
    static const struct {
        const char *pattern, *reason;
    } rows[] = {
        {"", ""},
#define OPEN(pattern, reason) {pattern, reason},
#include "open.def"
#undef OPEN
    };

    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        if (!fnmatch(rows[i].pattern, name, 0))
            return rows[i].reason;
    return NULL;
}

/* --- one case --- */

static uint64_t value_at(const uint32_t *planes, unsigned words, size_t n,
                         size_t i)
{
    return planes[i] | (words > 1 ? (uint64_t)planes[n + i] << 32 : 0);
}

static void operands(const struct fid_inputs *in, size_t i, uint64_t *v)
{
    for (unsigned s = 0; in->kinds[s]; s++)
        v[s] = fid_input(in, s, i);
}

static double worst_error(const struct fid_case *c, const struct fid_inputs *in,
                          const uint32_t *planes, size_t *at)
{
    double worst = 0;

    for (size_t i = 0; i < in->count; i++) {
        uint64_t v[FID_IN];
        double error;

        operands(in, i, v);
        error = c->error(c, v, value_at(planes, c->words, in->count, i));
        if (!(error <= worst)) {
            worst = error;
            *at = i;
        }
    }
    return worst;
}

static void record(struct run *r, const struct fid_case *c,
                   const struct fid_inputs *in, uint32_t *planes)
{
    struct fid_answer *a = fid_answers_add(&r->made, c->name);
    const size_t n = in->count;
    size_t at;

    a->inputs = in->digest;
    a->edges = in->edges;
    a->words = c->words;
    a->close = c->error != NULL;
    a->edge = fid_alloc((size_t)a->edges * a->words, 4);
    for (unsigned w = 0; w < a->words; w++)
        memcpy(a->edge + (size_t)w * a->edges, planes + w * n, a->edges * 4ul);
    if (c->error)
        a->worst = worst_error(c, in, planes, &at);
    fid_one_nan(c->result, planes, c->words, n);
    for (unsigned k = 0; k < DIGEST_COUNT; k++)
        a->digests[k] =
            fid_digest(planes, c->words, n, in->edges + k * DIGEST_EVERY,
                       in->edges + (k + 1) * DIGEST_EVERY);
}

static void print_case(struct run *r, const struct fid_case *c,
                       const struct fid_inputs *in, size_t i,
                       const uint32_t *planes, const struct fid_answer *a)
{
    if (r->printed++ > (r->o.verbose ? 20000u : 60u))
        return;
    printf("  %s:", c->name);
    for (unsigned s = 0; in->kinds[s]; s++)
        printf(" %llx", (unsigned long long)fid_input(in, s, i));
    printf(" ->");
    for (unsigned w = 0; w < c->words; w++)
        printf(" %x", planes[w * in->count + i]);
    printf(", expected");
    for (unsigned w = 0; w < c->words; w++)
        printf(" %x", a->edge[w * a->edges + i]);
    printf("\n");
}

/* The edges: equal but for NaN, which is one, or close, or wrong. */
static void compare_edges(struct run *r, struct family *f,
                          const struct fid_case *c, const struct fid_inputs *in,
                          const uint32_t *planes, const struct fid_answer *a)
{
    const char *reason = open_reason(c->name);
    unsigned shown = 0;

    for (size_t i = 0; i < a->edges; i++) {
        uint32_t mine[FID_WORDS], theirs[FID_WORDS];
        uint64_t v[FID_IN];

        for (unsigned w = 0; w < c->words; w++) {
            mine[w] = planes[w * in->count + i];
            theirs[w] = a->edge[w * a->edges + i];
        }
        fid_one_nan(c->result, mine, c->words, 1);
        fid_one_nan(c->result, theirs, c->words, 1);
        operands(in, i, v);
        if (!memcmp(mine, theirs, c->words * 4ul))
            f->equal++;
        else if (c->error &&
                 c->error(c, v, value_at(mine, c->words, 1, 0)) <= 1)
            f->close++;
        else if (reason)
            f->open++;
        else {
            f->wrong++;
            if (shown++ < (r->o.verbose ? 8u : 2u))
                print_case(r, c, in, i, planes, a);
        }
    }
    f->values += a->edges;
}

static void compare_close(struct run *r, struct family *f,
                          const struct fid_case *c, const struct fid_inputs *in,
                          const uint32_t *planes, const struct fid_answer *a)
{
    (void)r;
    for (size_t i = a->edges; i < in->count; i++) {
        uint64_t v[FID_IN];
        double error;

        operands(in, i, v);
        error = c->error(c, v, value_at(planes, c->words, in->count, i));
        if (!(error <= f->worst))
            f->worst = error;
        if (error <= 1)
            f->close++;
        else {
            f->wrong++;
            printf("  %s: %llx -> %llx: error %.3g of what is allowed\n",
                   c->name, (unsigned long long)v[0],
                   (unsigned long long)value_at(planes, c->words, in->count, i),
                   error);
        }
    }
    f->values += RANDOM_COUNT;
    if (!(a->worst <= f->worst_theirs))
        f->worst_theirs = a->worst;
}

static void compare(struct run *r, const struct fid_case *c,
                    const struct fid_inputs *in, uint32_t *planes)
{
    struct family *f = family_of(r, c->family);
    const struct fid_answer *a = fid_answers_find(&r->answers, c->name);
    const int open = open_reason(c->name) != NULL;
    unsigned bad = 0;

    f->forms += c->texts;
    if (!a || a->inputs != in->digest || a->words != c->words ||
        a->edges != in->edges) {
        if (a)
            printf("  %s: other inputs than the answer's\n", c->name);
        f->unanswered++;
        return;
    }
    compare_edges(r, f, c, in, planes, a);
    if (r->o.way == FID_UNIFORM)
        return;
    if (c->error) {
        compare_close(r, f, c, in, planes, a);
        return;
    }
    fid_one_nan(c->result, planes, c->words, in->count);
    for (unsigned k = 0; k < DIGEST_COUNT; k++)
        bad += fid_digest(planes, c->words, in->count,
                          in->edges + k * DIGEST_EVERY,
                          in->edges + (k + 1) * DIGEST_EVERY) != a->digests[k];
    f->values += RANDOM_COUNT;
    f->equal += (unsigned long long)(DIGEST_COUNT - bad) * DIGEST_EVERY;
    *(open ? &f->open : &f->wrong) += (unsigned long long)bad * DIGEST_EVERY;
    if (bad && !open)
        printf("  %s: %u of %d digests differ\n", c->name, bad, DIGEST_COUNT);
}

/* --- all cases --- */

static int skipped(const struct options *o, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = o->skip; at && (at = strstr(at, name)); at++)
        if (at > o->skip && at[-1] == '\n' && at[n] == '\n')
            return 1;
    return 0;
}

static int by_kinds(const void *a, const void *b)
{
    const struct fid_case *const *x = a, *const *y = b;
    const int order = strcmp((*x)->kinds, (*y)->kinds);

    return order ? order : *x < *y ? -1 : *x > *y;
}

static int wanted(const struct options *o, const struct fid_case *c, size_t i)
{
    return i % o->every == 0 && i / 24 % o->shards == o->shard &&
           (!o->only || strstr(c->name, o->only) ||
            !strcmp(c->family, o->only)) &&
           (c->is_form || o->way == FID_PLAIN) && !skipped(o, c->name);
}

static void write_ptx(const struct options *o,
                      const struct fid_case *const *cases, size_t count)
{
    static unsigned number;
    char *text = fid_module(cases, count, o->way);
    char *path = fid_format("%s/m%04u.ptx", o->ptx, number++);
    FILE *f = fopen(path, "w");

    if (f) {
        for (size_t i = 0; i < count; i++)
            fprintf(f, "// k%zu: %s\n", i, cases[i]->name);
        fputs(text, f);
        fclose(f);
    }
    free(path);
    free(text);
}

static void run_some(struct run *r, const struct fid_case *const *cases,
                     size_t count, const struct fid_inputs *in)
{
    struct loaded l;

    device_load(&l, cases, count, r->o.way);
    for (size_t i = 0; i < count; i++) {
        struct family *f = family_of(r, cases[i]->family);
        uint32_t *planes;

        if (!l.functions[i]) {
            f->refused += cases[i]->texts;
            if (r->o.verbose || r->o.record)
                printf("refused %s: %s\n", cases[i]->name, l.why[i]);
            continue;
        }
        planes = device_run(cases[i], l.functions[i], in, r->o.way);
        if (!planes) { /* the context is of no use any more */
            f->wrong += RANDOM_COUNT;
            device_unload(&l);
            device_restart();
            if (i + 1 < count)
                run_some(r, cases + i + 1, count - i - 1, in);
            return;
        }
        if (r->o.record)
            record(r, cases[i], in, planes);
        else
            compare(r, cases[i], in, planes);
        free(planes);
    }
    device_unload(&l);
}

static void run_all(struct run *r)
{
    const struct fid_case **list = fid_alloc(r->all.count, sizeof *list);
    struct fid_inputs in = {.count = 0};
    size_t count = 0;

    for (size_t i = 0; i < r->all.count; i++)
        if (wanted(&r->o, &r->all.items[i], i))
            list[count++] = &r->all.items[i];
    qsort(list, count, sizeof *list, by_kinds);
    for (size_t at = 0, n; at < count; at += n) {
        for (n = 1; n < 16 && at + n < count &&
                    !strcmp(list[at]->kinds, list[at + n]->kinds);)
            n++;
        if (r->o.ptx) {
            write_ptx(&r->o, list + at, n);
            continue;
        }
        if (strcmp(in.kinds, list[at]->kinds)) {
            device_forget();
            fid_inputs_free(&in);
            fid_inputs_make(&in, list[at]->kinds);
        }
        run_some(r, list + at, n, &in);
    }
    fid_inputs_free(&in);
    free(list);
}

static int table(const struct run *r)
{
    struct family sum = {.name = "all"};

    printf("%-14s %6s %10s %10s %9s %8s %8s %8s\n", "family", "forms", "values",
           "equal", "close", "open", "wrong", "refused");
    for (size_t i = 0; i <= r->family_count; i++) {
        const struct family *f = i < r->family_count ? &r->families[i] : &sum;

        printf("%-14s %6lu %10llu %10llu %9llu %8llu %8llu %8lu", f->name,
               f->forms, f->values, f->equal, f->close, f->open, f->wrong,
               f->refused);
        if (f->worst_theirs > 0)
            printf("  error %.3f, NVIDIA's %.3f of the allowed", f->worst,
                   f->worst_theirs);
        if (f->unanswered)
            printf("  %lu without an answer", f->unanswered);
        printf("\n");
        sum.forms += f->forms;
        sum.values += f->values;
        sum.equal += f->equal;
        sum.close += f->close;
        sum.open += f->open;
        sum.wrong += f->wrong;
        sum.refused += f->refused;
        sum.unanswered += f->unanswered;
    }
    return sum.wrong != 0;
}

static int has_case(const struct fid_cases *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (!strcmp(all->items[i].name, name))
            return 1;
    return 0;
}

/* Answers to cases that there are no more are left out. */
static int merge(const struct fid_cases *cases, char **files, int count)
{
    struct fid_answers all = {.count = 0};

    for (int i = 1; i < count; i++) {
        struct fid_answers part = {.count = 0};

        if (fid_answers_read(&part, files[i]))
            return 2;
        memcpy(all.device, part.device, sizeof all.device);
        for (size_t k = 0; k < part.count; k++) {
            char *name;

            if (fid_answers_find(&all, part.items[k].name) ||
                !has_case(cases, part.items[k].name))
                continue;
            name = fid_answers_add(&all, part.items[k].name)->name;
            all.items[all.count - 1] = part.items[k];
            part.items[k].edge = NULL;
            part.items[k].name = name;
        }
        fid_answers_free(&part);
    }
    return fid_answers_write(&all, files[0], 19) ? 2 : 0;
}

static void usage(void)
{
    fprintf(stderr,
            "usage: fidelity [--record FILE | --answers FILE] [--only TEXT]\n"
            "       [--every N] [--shard I/N] [--group NAME] [--skip FILE] "
            "[--way NAME]\n"
            "       [--list] [--ptx DIR] [--apart] [-v]\n"
            "       fidelity --merge FILE FILE...\n");
    exit(2);
}

static void parse(struct options *o, int argc, char **argv)
{
    o->every = o->shards = 1;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;

        if (!strcmp(a, "--list"))
            o->list = 1;
        else if (!strcmp(a, "-v"))
            o->verbose = 1;
        else if (!strcmp(a, "--apart"))
            fid_apart = 1;
        else if (!next)
            usage();
        else if (!strcmp(a, "--record"))
            o->record = argv[++i];
        else if (!strcmp(a, "--answers"))
            o->answers = argv[++i];
        else if (!strcmp(a, "--only"))
            o->only = argv[++i];
        else if (!strcmp(a, "--way"))
            o->way = !strcmp(next, "uniform") ? FID_UNIFORM
                     : !strcmp(next, "mixed") ? FID_MIXED
                                              : FID_PLAIN,
            i++;
        else if (!strcmp(a, "--group"))
            o->group = argv[++i];
        else if (!strcmp(a, "--skip")) {
            char *names = test_read_file(argv[++i]);

            o->skip = fid_format("\n%s\n", names);
            free(names);
        } else if (!strcmp(a, "--ptx"))
            o->ptx = argv[++i];
        else if (!strcmp(a, "--every"))
            o->every = (unsigned)atoi(argv[++i]);
        else if (strcmp(a, "--shard") ||
                 sscanf(argv[++i], "%u/%u", &o->shard, &o->shards) != 2)
            usage();
    }
    if (!o->every || !o->shards)
        usage();
}

static void make_cases(struct run *r)
{
    static const struct {
        const char *group;
        void (*make)(struct fid_cases *all);
    } makers[] = {{"forms", fid_forms},    {"memory", fid_memory},
                  {"memory", fid_atomics}, {"warp", fid_warp},
                  {"matrix", fid_matrix},  {"sparse", fid_sparse}};

    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        const size_t before = r->all.count;

        if (!r->o.group || !strcmp(r->o.group, makers[i].group))
            makers[i].make(&r->all);
        for (size_t k = before; k < r->all.count; k++)
            r->all.items[k].is_form = i == 0;
    }
}

int main(int argc, char **argv)
{
    static struct run r;
    int missing;

    if (argc > 3 && !strcmp(argv[1], "--merge")) {
        make_cases(&r);
        return merge(&r.all, argv + 2, argc - 2);
    }
    parse(&r.o, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    missing = fid_untested();
    make_cases(&r);
    if (r.o.list) {
        for (size_t i = 0; i < r.all.count; i++)
            printf("%s %s %u %s\n", r.all.items[i].family, r.all.items[i].kinds,
                   r.all.items[i].texts, r.all.items[i].name);
        return missing != 0;
    }
    if (r.o.answers && fid_answers_read(&r.answers, r.o.answers))
        return 2;
    if (!r.o.ptx)
        device_open(r.made.device, sizeof r.made.device);
    run_all(&r);
    if (r.o.ptx)
        return 0;
    if (r.o.record)
        return fid_answers_write(&r.made, r.o.record, 6) ? 2 : 0;
    printf("device: %s\nanswers: %s\n", r.made.device, r.answers.device);
    return table(&r) | (missing != 0);
}
