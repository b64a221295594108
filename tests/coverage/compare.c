/* SPDX-License-Identifier: MIT
 *
 * What another device left in memory. The file of answers is text: the
 * device's name behind "# ", then a line for each run:
 *
 *     KEY SEED DIGEST CHANGED [?] [UNIT:VALUE...]
 *     KEY SEED END ERROR
 *
 * in hexadecimal but for seed, count and error. Values are those of the other
 * device at some units of 8 bytes, there where its digest differed from a first
 * one's: a kernel that computes with approximate instructions is then held
 * to a tolerance. A ? stands where results differ for a reason that is no fault
 * of either: docs/fidelity.md, "Library kernels that run". keep.py makes the
 * file that is kept.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

const char *const run_end_text[RUN_ENDS] = {
    [RUN_NOT] = "not-run",     [RUN_CHANGED] = "changed",
    [RUN_SAME] = "same",       [RUN_VARIES] = "varies",
    [RUN_REFUSED] = "refused", [RUN_LAUNCH] = "not-launched",
    [RUN_FAULT] = "fault",     [RUN_TRAP] = "trap",
    [RUN_LIMIT] = "limit",     [RUN_LOST] = "lost",
};

/* --- the file --- */

static int order(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

static int read_samples(struct answer *a, const char *text)
{
    struct sample found[MAX_SAMPLES];
    uint32_t n = 0;
    int used;

    while (n < MAX_SAMPLES &&
           sscanf(text, " %" SCNx32 ":%" SCNx64 "%n", &found[n].unit,
                  &found[n].value, &used) == 2) {
        text += used;
        n++;
    }
    if (!n)
        return 0;
    a->samples = malloc(n * sizeof *a->samples);
    if (!a->samples)
        return -1;
    memcpy(a->samples, found, n * sizeof *a->samples);
    a->sample_count = n;
    return 0;
}

static int read_line(struct answer *a, const char *line)
{
    char what[32];
    int used = 0;

    memset(a, 0, sizeof *a);
    if (sscanf(line, "%" SCNx64 " %u %31s%n", &a->key, &a->seed, what, &used) !=
            3 ||
        a->seed >= SEEDS)
        return -1;
    for (int i = 0; i < RUN_ENDS; i++)
        if (strcmp(what, run_end_text[i]) == 0) {
            a->end = (enum run_end)i;
            return 0;
        }
    a->end = RUN_CHANGED;
    line += used;
    if (sscanf(what, "%" SCNx64, &a->digest) != 1 ||
        sscanf(line, " %" SCNu32 "%n", &a->changed, &used) != 1)
        return -1;
    line += used;
    a->open = strncmp(line, " ?", 2) == 0;
    return read_samples(a, line + 2 * a->open);
}

static int add(struct answers *all, const struct answer *a)
{
    if (all->count == all->cap) {
        const size_t cap = all->cap ? all->cap * 2 : 1024;
        void *more = realloc(all->items, cap * sizeof *all->items);

        if (!more)
            return -1;
        all->items = more;
        all->cap = cap;
    }
    all->items[all->count++] = *a;
    return 0;
}

int answers_read(struct answers *all, const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    int bad = !f;

    memset(all, 0, sizeof *all);
    while (!bad && getline(&line, &room, f) > 0) {
        struct answer a;

        number++;
        if (line[0] == '#') {
            line[strcspn(line, "\n")] = 0;
            if (number == 1 && line[1])
                snprintf(all->device, sizeof all->device, "%s", line + 2);
            continue;
        }
        bad = read_line(&a, line) || add(all, &a);
    }
    if (bad)
        fprintf(stderr, "%s: line %u: no answers can be read\n", path, number);
    else
        qsort(all->items, all->count, sizeof *all->items, order);
    free(line);
    if (f)
        fclose(f);
    return bad ? -1 : 0;
}

const struct answer *answers_find(const struct answers *all, uint64_t key,
                                  unsigned seed)
{
    const struct answer wanted = {.key = key, .seed = seed};

    return all && all->count
               ? bsearch(&wanted, all->items, all->count, sizeof wanted, order)
               : NULL;
}

void answers_free(struct answers *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].samples);
    free(all->items);
    memset(all, 0, sizeof *all);
}

/* --- how far two results are apart --- */

static double f16_value(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const double m = h & 0x3ff;
    const double v = exponent == 31 ? (m > 0 ? NAN : INFINITY)
                     : exponent     ? ldexp(1024 + m, exponent - 25)
                                    : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
}

static double value_of(uint64_t bits, enum fill type)
{
    uint32_t word = (uint32_t)bits;
    float f;
    double d;

    switch (type) {
    case FILL_F16:
        return f16_value((uint16_t)bits);
    case FILL_BF16:
        word = (uint32_t)(bits & 0xffff) << 16;
        /* fall through */
    case FILL_F32:
        memcpy(&f, &word, 4);
        return (double)f;
    default:
        memcpy(&d, &bits, 8);
        return d;
    }
}

static unsigned bits_of(enum fill type)
{
    return type == FILL_F64 ? 64 : type == FILL_F32 ? 32 : 16;
}

/* The relative error of two units read as `type`: 0 when all of it is equal
 * or NaN in both. Integers look like tiny numbers, so what is below any value
 * that a kernel of floats computes has to be equal. */
static double error_of(uint64_t a, uint64_t b, enum fill type)
{
    const double least = type == FILL_F16 ? 0x1p-10 : 0x1p-100;
    const unsigned bits = bits_of(type);
    double worst = 0;

    for (unsigned at = 0; at < 64; at += bits) {
        const uint64_t mask =
            bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
        const double x = value_of(a >> at & mask, type);
        const double y = value_of(b >> at & mask, type);
        double e;

        if ((a >> at & mask) == (b >> at & mask) || (isnan(x) && isnan(y)) ||
            x == y)
            continue;
        if (isnan(x) || isnan(y) || isinf(x) || isinf(y) ||
            fmax(fabs(x), fabs(y)) < least)
            return INFINITY;
        e = fabs(x - y) / fmax(fmax(fabs(x), fabs(y)), 0x1p-4);
        worst = fmax(worst, e);
    }
    return worst;
}

/* Relative to the larger value, or to a part of what inputs are. */
static double tolerance(enum fill type)
{
    switch (type) {
    case FILL_F16:
        return 0x1p-8;
    case FILL_BF16:
        return 0x1p-6;
    case FILL_F32:
        return 1e-5;
    default: /* rsqrt.approx.f64 has half the digits */
        return 1e-6;
    }
}

static double worst_of(const struct answer *answer, const uint64_t *after,
                       size_t units, enum fill type)
{
    double worst = 0;

    for (uint32_t i = 0; i < answer->sample_count; i++) {
        const struct sample *s = &answer->samples[i];

        worst = fmax(worst, s->unit < units
                                ? error_of(after[s->unit], s->value, type)
                                : INFINITY);
    }
    return worst;
}

/* Evenly spread over what changed. */
static void take_samples(struct run *run, const uint64_t *before,
                         const uint64_t *after, size_t units)
{
    const uint32_t every = run->changed / MAX_SAMPLES + 1;
    uint32_t seen = 0;

    run->sample_count = 0;
    for (size_t i = 0; i < units; i++)
        if (before[i] != after[i] && seen++ % every == 0 &&
            run->sample_count < MAX_SAMPLES)
            run->samples[run->sample_count++] =
                (struct sample){(uint32_t)i, after[i]};
}

void compare_run(struct run *run, const struct plan *plan,
                 const struct answer *answer, const uint64_t *before,
                 const uint64_t *after, size_t units)
{
    run->verdict = VERDICT_NONE;
    if (!answer)
        return;
    if (answer->end != RUN_CHANGED) {
        run->verdict = VERDICT_OTHER;
        return;
    }
    if (answer->digest == run->digest && answer->changed == run->changed) {
        run->verdict = VERDICT_EQUAL;
        return;
    }
    run->verdict = answer->open ? VERDICT_OPEN : VERDICT_DIFFERS;
    run->worst = INFINITY;
    take_samples(run, before, after, units);
    if (!answer->sample_count || answer->changed != run->changed)
        return;
    for (int type = FILL_F16; type <= FILL_F64; type++) {
        double worst;

        if (!(plan->floats >> type & 1))
            continue;
        worst = worst_of(answer, after, units, (enum fill)type);
        run->worst = fmin(run->worst, worst);
        if (worst <= tolerance((enum fill)type))
            run->verdict = VERDICT_CLOSE;
    }
}
