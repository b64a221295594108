/* SPDX-License-Identifier: MIT
 *
 * run_kernels: see run.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static const char help[] =
    "usage: run_kernels [option...] PACK\n"
    "\n"
    "Launches the kernels that ptx_coverage --pack has chosen, each with "
    "four\n"
    "inputs, on the driver that KILN_TEST_DRIVER names.\n"
    "\n"
    "  --answers FILE  compare with what another device answered\n"
    "  --record FILE   write this device's answers\n"
    "  --processes N   default: one a core\n"
    "  --seconds N     for a kernel, with compiling; default 60\n"
    "  --need N        fail when fewer kernels run; default 0\n"
    "  --first N       only so many kernels\n"
    "  --finished      only what finished on that other device\n"
    "  --within N      start no kernel after so many seconds\n"
    "  --all           name each kernel and how it ended\n"
    "\n"
    "Exit status 1 when a result differs from its answer, or fewer kernels\n"
    "run than needed.\n";

struct arguments {
    const char *pack, *answers, *record;
    unsigned need, first;
    struct run_options options;
    int all;
};

struct counts { /* of kernels: by how their best run ended */
    unsigned kernels, ends[RUN_ENDS], verdicts[VERDICTS];
};

static int number(int argc, char **argv, int *i, const char *name,
                  unsigned *value)
{
    if (strcmp(argv[*i], name) || *i + 1 >= argc)
        return 0;
    *value = (unsigned)strtoul(argv[++*i], NULL, 0);
    return 1;
}

static int path(int argc, char **argv, int *i, const char *name,
                const char **value)
{
    if (strcmp(argv[*i], name) || *i + 1 >= argc)
        return 0;
    *value = argv[++*i];
    return 1;
}

static int read_arguments(struct arguments *a, int argc, char **argv)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    a->options.processes = cores > 0 ? (unsigned)cores : 1;
    a->options.seconds = 60;
    a->options.within = ~0u;
    a->first = ~0u;
    for (int i = 1; i < argc; i++) {
        if (path(argc, argv, &i, "--answers", &a->answers) ||
            path(argc, argv, &i, "--record", &a->record) ||
            number(argc, argv, &i, "--processes", &a->options.processes) ||
            number(argc, argv, &i, "--seconds", &a->options.seconds) ||
            number(argc, argv, &i, "--within", &a->options.within) ||
            number(argc, argv, &i, "--need", &a->need) ||
            number(argc, argv, &i, "--first", &a->first))
            continue;
        if (strcmp(argv[i], "--all") == 0) {
            a->all = 1;
        } else if (strcmp(argv[i], "--finished") == 0) {
            a->options.finished = 1;
        } else if (argv[i][0] == '-' || a->pack) {
            fputs(help, stderr);
            return -1;
        } else {
            a->pack = argv[i];
        }
    }
    if (!a->pack || !a->options.processes)
        fputs(help, stderr);
    return a->pack && a->options.processes ? 0 : -1;
}

/* --- what came of it --- */

/* The kernel as a whole: it runs when any of its runs does. */
static enum run_end best_end(const struct run *runs)
{
    static const enum run_end rank[] = {
        RUN_CHANGED, RUN_VARIES,  RUN_SAME,   RUN_FAULT, RUN_TRAP,
        RUN_LIMIT,   RUN_REFUSED, RUN_LAUNCH, RUN_LOST,  RUN_NOT};

    for (size_t r = 0; r < sizeof rank / sizeof *rank; r++)
        for (int s = 0; s < SEEDS; s++)
            if (runs[s].end == rank[r])
                return rank[r];
    return RUN_NOT;
}

/* The worst of its comparisons, none if it has none. */
static enum run_verdict worst_verdict(const struct run *runs)
{
    static const enum run_verdict rank[] = {VERDICT_DIFFERS, VERDICT_OPEN,
                                            VERDICT_CLOSE, VERDICT_EQUAL,
                                            VERDICT_OTHER};

    for (size_t r = 0; r < sizeof rank / sizeof *rank; r++)
        for (int s = 0; s < SEEDS; s++)
            if (runs[s].end == RUN_CHANGED && runs[s].verdict == rank[r])
                return rank[r];
    return VERDICT_NONE;
}

static void count(struct counts *c, const struct run *runs)
{
    const enum run_end end = best_end(runs);

    c->kernels++;
    c->ends[end]++;
    if (end == RUN_CHANGED)
        c->verdicts[worst_verdict(runs)]++;
}

static void print_head(int with_answers)
{
    printf("%-34s %7s %7s %7s %7s %7s %7s %7s %7s %7s", "file", "kernels",
           "run", "varies", "same", "fault", "trap", "limit", "refused",
           "lost");
    if (with_answers)
        printf(" | %7s %7s %7s %7s %7s %7s", "equal", "close", "differs",
               "open", "other", "none");
    putchar('\n');
}

static void print_counts(const char *name, const struct counts *c,
                         int with_answers)
{
    const unsigned *e = c->ends, *v = c->verdicts;

    printf("%-34s %7u %7u %7u %7u %7u %7u %7u %7u %7u", name, c->kernels,
           e[RUN_CHANGED], e[RUN_VARIES], e[RUN_SAME], e[RUN_FAULT],
           e[RUN_TRAP], e[RUN_LIMIT], e[RUN_REFUSED] + e[RUN_LAUNCH],
           e[RUN_LOST] + e[RUN_NOT]);
    if (with_answers)
        printf(" | %7u %7u %7u %7u %7u %7u", v[VERDICT_EQUAL], v[VERDICT_CLOSE],
               v[VERDICT_DIFFERS], v[VERDICT_OPEN], v[VERDICT_OTHER],
               v[VERDICT_NONE]);
    putchar('\n');
}

static void report(const struct pack *p, const struct run *runs,
                   struct counts *sum, int with_answers)
{
    print_head(with_answers);
    for (size_t i = 0; i < p->count;) {
        const char *file = p->items[i].file;
        struct counts c = {0};

        for (; i < p->count && strcmp(p->items[i].file, file) == 0; i++) {
            count(&c, &runs[i * SEEDS]);
            count(sum, &runs[i * SEEDS]);
        }
        print_counts(file, &c, with_answers);
    }
    print_counts("all", sum, with_answers);
}

static void list(const struct pack *p, const struct run *runs, int all)
{
    static const char *const verdicts[VERDICTS] = {"",        "equal", "close",
                                                   "differs", "open",  "other"};

    for (size_t i = 0; i < p->count * SEEDS; i++) {
        const struct packed_kernel *k = &p->items[i / SEEDS];
        const struct run *r = &runs[i];

        if (!all && (r->end != RUN_CHANGED || r->verdict != VERDICT_DIFFERS))
            continue;
        printf("%016" PRIx64 " %u %s %s", k->key, (unsigned)(i % SEEDS),
               run_end_text[r->end],
               r->end == RUN_CHANGED ? verdicts[r->verdict] : "");
        if (r->end == RUN_CHANGED &&
            (r->verdict == VERDICT_DIFFERS || r->verdict == VERDICT_CLOSE))
            printf(" by %.2g", r->worst);
        printf(" %" PRIu32 " %s %.120s", r->changed, k->file, k->name);
        if (r->error)
            printf(" (%d %s)", r->error, r->why);
        putchar('\n');
    }
}

static int record(const struct pack *p, const struct run *runs,
                  const char *device, const char *name)
{
    FILE *f = fopen(name, "w");

    if (!f) {
        fprintf(stderr, "%s: cannot be written\n", name);
        return -1;
    }
    fprintf(f, "# %s\n", device);
    for (size_t i = 0; i < p->count * SEEDS; i++) {
        const struct run *r = &runs[i];

        if (r->end == RUN_NOT)
            continue;
        fprintf(f, "%016" PRIx64 " %u ", p->items[i / SEEDS].key,
                (unsigned)(i % SEEDS));
        if (r->end != RUN_CHANGED) {
            fprintf(f, "%s %d\n", run_end_text[r->end], r->error);
            continue;
        }
        fprintf(f, "%016" PRIx64 " %" PRIu32, r->digest, r->changed);
        for (uint32_t k = 0; k < r->sample_count; k++)
            fprintf(f, " %" PRIx32 ":%" PRIx64, r->samples[k].unit,
                    r->samples[k].value);
        fputc('\n', f);
    }
    return fclose(f) ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct arguments a = {0};
    struct pack pack = {0};
    struct answers answers = {0};
    struct counts sum = {0};
    struct run *runs = NULL;
    char device[96] = "";
    size_t all;
    int bad;

    if (read_arguments(&a, argc, argv))
        return 2;
    setenv("KILN_CPU_TIME_LIMIT", "2", 0);
    bad = pack_read(&pack, a.pack) ||
          (a.answers && answers_read(&answers, a.answers));
    all = pack.count;
    if (!bad) {
        if (pack.count > a.first)
            pack.count = a.first;
        runs = workers_run(&pack, a.answers ? &answers : NULL, &a.options,
                           device, sizeof device);
        bad = !runs;
    }
    if (!bad) {
        printf("%s%s%s\n", device, a.answers ? ", compared with " : "",
               answers.device);
        list(&pack, runs, a.all);
        report(&pack, runs, &sum, a.answers != NULL);
        bad = sum.verdicts[VERDICT_DIFFERS] || sum.ends[RUN_CHANGED] < a.need;
        if (sum.ends[RUN_CHANGED] < a.need)
            printf("only %u kernels ran, %u are needed\n",
                   sum.ends[RUN_CHANGED], a.need);
    }
    if (runs && a.record && record(&pack, runs, device, a.record))
        bad = 1;
    free(runs);
    answers_free(&answers);
    pack.count = all;
    pack_free(&pack);
    return bad != 0;
}
