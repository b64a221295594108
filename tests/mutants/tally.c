/* SPDX-License-Identifier: MIT
 *
 * How many mutants there were of each kind, how long they took, and the
 * sentences of those that were not made, numbers and names in them aside.
 */
#include "workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SENTENCES = 4096, BUCKETS = 24, SHOWN = 40 };

struct sentence {
    char text[200];
    unsigned outcome;
    uint64_t count, example;
};
struct tally {
    uint64_t outcomes[OUTCOMES], runs[RUN_OUTCOMES];
    uint64_t isas[3], levels[2], hurried, changes, object_bytes, text_bytes;
    uint64_t cpu_ns, slowest_ns, slowest, largest_size, largest;
    uint64_t times[BUCKETS]; /* under 2^i ms */
    struct sentence sentences[MOST_SENTENCES];
    size_t sentence_count;
};

struct tally *tally_new(void)
{
    return calloc(1, sizeof(struct tally));
}

/* The sentence without what differs from mutant to mutant: digits are #, and
 * what stands in quotes is left out. */
static void simplify(const char *why, char *out, size_t size)
{
    size_t n = 0;

    for (; *why && n + 1 < size; why++) {
        const char *end = *why == '\'' ? strchr(why + 1, '\'') : NULL;

        if (end)
            why = end;
        if (*why < '0' || *why > '9')
            out[n++] = *why;
        else if (!n || out[n - 1] != '#')
            out[n++] = '#';
    }
    out[n] = 0;
}

static void add_sentence(struct tally *t, const struct report *r)
{
    char text[sizeof t->sentences->text];
    size_t i;

    simplify(r->why, text, sizeof text);
    for (i = 0; i < t->sentence_count; i++)
        if (t->sentences[i].outcome == r->outcome &&
            !strcmp(t->sentences[i].text, text))
            break;
    if (i == MOST_SENTENCES)
        return;
    if (i == t->sentence_count) {
        t->sentence_count++;
        memcpy(t->sentences[i].text, text, sizeof text);
        t->sentences[i].outcome = r->outcome;
        t->sentences[i].example = r->number;
    }
    t->sentences[i].count++;
}

void tally_add(struct tally *t, const struct report *r)
{
    unsigned bucket = 0;

    t->outcomes[r->outcome]++;
    t->runs[r->run]++;
    t->isas[r->isa]++;
    t->levels[r->level != 0]++;
    t->hurried += r->hurried;
    t->changes += r->changes;
    t->object_bytes += r->object_size;
    t->text_bytes += r->text_size;
    t->cpu_ns += r->cpu_ns;
    while (bucket + 1 < BUCKETS && r->cpu_ns >> bucket >= 1000000)
        bucket++;
    t->times[bucket]++;
    if (r->cpu_ns > t->slowest_ns) {
        t->slowest_ns = r->cpu_ns;
        t->slowest = r->number;
    }
    if (r->object_size > t->largest_size) {
        t->largest_size = r->object_size;
        t->largest = r->number;
    }
    if (r->outcome > REFUSED) {
        printf("FINDING %llu %s, %s level %u%s: %s\n",
               (unsigned long long)r->number, outcome_names[r->outcome],
               isa_names[r->isa], r->level, r->hurried ? ", as if huge" : "",
               r->why);
        fflush(stdout);
    }
    if (r->outcome != MADE)
        add_sentence(t, r);
}

static int by_count(const void *a, const void *b)
{
    const struct sentence *x = a, *y = b;

    if ((x->outcome > REFUSED) != (y->outcome > REFUSED))
        return x->outcome > REFUSED ? -1 : 1;
    return (x->count < y->count) - (x->count > y->count);
}

static double part(uint64_t sum, uint64_t n)
{
    return n ? (double)sum / (double)n : 0;
}

uint64_t tally_print(struct tally *t, double seconds)
{
    uint64_t total = 0, findings = 0;

    for (unsigned i = 0; i < OUTCOMES; i++) {
        total += t->outcomes[i];
        findings += i > REFUSED ? t->outcomes[i] : 0;
    }
    qsort(t->sentences, t->sentence_count, sizeof *t->sentences, by_count);
    for (size_t i = 0; i < t->sentence_count && i < SHOWN; i++)
        printf("%8llu %s, first %llu: %s\n",
               (unsigned long long)t->sentences[i].count,
               outcome_names[t->sentences[i].outcome],
               (unsigned long long)t->sentences[i].example,
               t->sentences[i].text);
    printf("time of one, processor:");
    for (unsigned i = 0; i < BUCKETS; i++)
        if (t->times[i])
            printf(" <%u ms %llu", 1u << i, (unsigned long long)t->times[i]);
    printf("\nslowest %.2f s (%llu); largest object %llu bytes (%llu)\n",
           (double)t->slowest_ns / 1e9, (unsigned long long)t->slowest,
           (unsigned long long)t->largest_size, (unsigned long long)t->largest);
    for (unsigned i = 0; i < 3; i++)
        printf("%s %llu, ", isa_names[i], (unsigned long long)t->isas[i]);
    printf("level 0 %llu, as if huge %llu\n", (unsigned long long)t->levels[0],
           (unsigned long long)t->hurried);
    printf("run: %llu to their end, %llu to a fault, %llu to the limit of "
           "time, %llu that reached the process itself\n",
           (unsigned long long)t->runs[RAN],
           (unsigned long long)t->runs[FAULTED],
           (unsigned long long)t->runs[RAN_LONG],
           (unsigned long long)t->runs[WILD]);
    printf("%llu mutants of %.1f changes and %.0f bytes in %.0f s (%.1f ms of "
           "a processor each): %llu objects of %.0f bytes, %llu refused with "
           "their line, %llu findings\n",
           (unsigned long long)total, part(t->changes, total),
           part(t->text_bytes, total), seconds, part(t->cpu_ns, total) / 1e6,
           (unsigned long long)t->outcomes[MADE],
           part(t->object_bytes, t->outcomes[MADE]),
           (unsigned long long)t->outcomes[REFUSED],
           (unsigned long long)findings);
    free(t);
    return findings;
}
