/* SPDX-License-Identifier: MIT
 *
 * What is left of a program that differs: every statement goes, those with the
 * most in them first, unless the difference goes with it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static void ask_both(const struct program *p, struct device *a,
                     struct device *b, struct reply *ra, struct reply *rb)
{
    char *text = program_text(p);

    device_ask(a, p, text, 1);
    device_ask(b, p, text, 1);
    device_reply(a, ra);
    device_reply(b, rb);
    free(text);
}

static int replies_differ(const struct reply *a, const struct reply *b)
{
    return a->outcome != b->outcome ||
           (a->outcome == DEVICE_RAN && a->digest != b->digest);
}

static int differs(const struct program *p, struct device *a, struct device *b)
{
    struct reply ra, rb;
    int differ;

    ask_both(p, a, b, &ra, &rb);
    differ = ra.outcome == DEVICE_RAN && replies_differ(&ra, &rb);
    free(ra.image);
    free(rb.image);
    return differ;
}

/* How many went. */
static unsigned leave_out(struct program *p, struct node *n, struct device *a,
                          struct device *b)
{
    unsigned count = 0;

    for (; n; n = n->next) {
        if (n->gone)
            continue;
        if (n->may_go) {
            n->gone = 1;
            if (differs(p, a, b)) {
                count++;
                continue;
            }
            n->gone = 0;
        }
        count += leave_out(p, n->first, a, b);
    }
    return count;
}

static void print_difference(const struct program *p, const struct reply *a,
                             const struct reply *b)
{
    size_t at = 0, different = 0, first = 0;

    for (size_t i = 0; i < a->words && i < b->words; i++)
        if (a->image[i] != b->image[i] && !different++)
            first = i;
    if (!different)
        return;
    printf("    program %" PRIu64 ": %zu words differ\n", p->seed, different);
    for (int i = 0; i < LAUNCHES; i++) {
        const struct launch *l = &p->launches[i];
        const size_t words = program_image_words(l);
        const size_t threads = (words - ACC_WORDS) / (ROW_WORDS + RESULTS);

        if (first >= at && first < at + words) {
            const size_t k = first - at;

            printf("    program %" PRIu64
                   ": the first: launch %d (grid %u,%u,%u "
                   "block %u,%u,%u), ",
                   p->seed, i, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                   l->block[1], l->block[2]);
            if (k < ACC_WORDS)
                printf("sum %zu", k);
            else if (k - ACC_WORDS < threads * ROW_WORDS)
                printf("thread %zu, word %zu of its row",
                       (k - ACC_WORDS) / ROW_WORDS,
                       (k - ACC_WORDS) % ROW_WORDS);
            else
                printf("thread %zu, result %zu",
                       (k - ACC_WORDS - threads * ROW_WORDS) % threads,
                       (k - ACC_WORDS - threads * ROW_WORDS) / threads);
            printf(": %08" PRIx32 " and %08" PRIx32 "\n", a->image[first],
                   b->image[first]);
        }
        at += words;
    }
}

static void keep(const struct program *p, const char *folder)
{
    char path[512], *text = program_text(p);
    FILE *f;

    snprintf(path, sizeof path, "%s/random-%" PRIu64 ".ptx", folder, p->seed);
    f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
        printf("    kept as %s\n", path);
    } else {
        printf("%s", text);
    }
    free(text);
}

void reduce(struct program *p, struct device *a, struct device *b,
            const char *folder)
{
    struct reply ra, rb;

    if (!differs(p, a, b)) {
        printf("    program %" PRIu64 " differs not every time\n", p->seed);
        keep(p, folder);
        return;
    }
    while (leave_out(p, p->root, a, b))
        ;
    ask_both(p, a, b, &ra, &rb);
    if (rb.outcome != DEVICE_RAN)
        printf("    %s\n", rb.why);
    else
        print_difference(p, &ra, &rb);
    free(ra.image);
    free(rb.image);
    keep(p, folder);
}
