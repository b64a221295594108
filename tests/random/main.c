/* SPDX-License-Identifier: MIT
 *
 *     random [--first N] [--count N] [--jobs N] [--device NAME]...
 *            [--answers FILE] [--reference NAME] [--record FILE]
 *            [--edition 1|2] [--name TEXT] [--keep FOLDER] [--seconds N]
 *     random [--edition 1|2] --print N
 *
 * Runs the programs on each device (cpu, where none is named) and compares
 * their memory with that on the first, and that on the first with the answers.
 * A program that differs from another device, or from the answers where
 * --reference names the device that gave them, is made small and kept.
 * --record: the first device's answers, under that name, where all devices
 * agree. --seconds: none is begun after that.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

enum { DEVICES = 24, REDUCED_MOST = 4 };

static const struct {
    uint64_t program;
    const char *why;
} without[] = {
#define WITHOUT(program, why) {program, why},
#include "without.def"
#undef WITHOUT
};

/* What jobs share. */
struct totals {
    atomic_ulong ran, same, differ, refused, failed, open, beyond;
};

static struct {
    uint64_t first, count;
    unsigned jobs, device_count;
    int edition;
    struct device devices[DEVICES], reference;
    struct answers answers;
    const char *record, *name, *keep;
    struct totals *totals;
    uint64_t *words;
    unsigned reduced;
    time_t until;
} my = {.first = 1, .count = 100, .jobs = 1, .edition = 1, .keep = "."};

static void one_reply(struct program *p, const char *text, unsigned i,
                      const struct reply *r, const struct reply *first)
{
    static const char *const outcomes[] = {"", "refuses it", "fails", "hangs"};
    struct device *d = &my.devices[i];
    const uint64_t k = p->seed - my.answers.first;

    if (r->outcome == DEVICE_REFUSED && strstr(r->why, "needs AVX-512")) {
        atomic_fetch_add(&my.totals->beyond, 1);
        return;
    }
    if (r->outcome != DEVICE_RAN) {
        atomic_fetch_add(r->outcome == DEVICE_REFUSED ? &my.totals->refused
                                                      : &my.totals->failed,
                         1);
        printf("FAIL program %" PRIu64 ", %s: %s: %s\n", p->seed, d->name,
               outcomes[r->outcome], r->why);
    } else if (first->outcome == DEVICE_RAN && first->digest != r->digest) {
        atomic_fetch_add(&my.totals->differ, 1);
        printf("FAIL program %" PRIu64 ", %s: differs from %s\n", p->seed,
               d->name, my.devices[0].name);
    } else if (!i && my.answers.words && k < my.answers.count) {
        const uint64_t word = my.answers.words[k];

        if (!word) { /* the device that was asked failed */
            atomic_fetch_add(&my.totals->open, 1);
            return;
        }
        if (!answer_is_of(word, text)) {
            atomic_fetch_add(&my.totals->failed, 1);
            printf("FAIL program %" PRIu64 ": the answers are of another "
                   "program\n",
                   p->seed);
            return;
        }
        if (word == answer_word(r->digest, text)) {
            atomic_fetch_add(&my.totals->same, 1);
            return;
        }
        atomic_fetch_add(&my.totals->differ, 1);
        printf("FAIL program %" PRIu64 ", %s: differs from %s\n", p->seed,
               d->name, my.answers.device);
        if (*my.reference.name && my.reduced++ < REDUCED_MOST)
            reduce(p, &my.reference, d, my.keep);
        return;
    } else {
        atomic_fetch_add(&my.totals->same, 1);
        return;
    }
    if (i && my.reduced++ < REDUCED_MOST)
        reduce(p, &my.devices[0], d, my.keep);
}

static void one(uint64_t seed)
{
    struct program p;
    struct reply replies[DEVICES];
    int agree = 1;
    char *text;

    program_make(&p, seed, my.edition);
    text = program_text(&p);
    for (unsigned i = 0; i < my.device_count; i++)
        device_ask(&my.devices[i], &p, text, 0);
    for (unsigned i = 0; i < my.device_count; i++)
        device_reply(&my.devices[i], &replies[i]);
    atomic_fetch_add(&my.totals->ran, 1);
    for (unsigned i = 1; i < my.device_count; i++)
        agree &= replies[i].outcome == DEVICE_RAN &&
                 replies[i].digest == replies[0].digest;
    if (replies[0].outcome == DEVICE_RAN && (agree || !my.record))
        my.words[seed - my.first] = answer_word(replies[0].digest, text);
    for (unsigned i = 0; i < my.device_count; i++)
        one_reply(&p, text, i, &replies[i], &replies[0]);
    free(text);
    program_free(&p);
}

static int is_without(uint64_t seed)
{
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (my.edition == 1 && without[i].program == seed)
            return 1;
    return 0;
}

static void job(unsigned number)
{
    for (uint64_t k = number; k < my.count; k += my.jobs) {
        if (my.until && time(NULL) >= my.until)
            break;
        if (is_without(my.first + k)) {
            atomic_fetch_add(&my.totals->ran, 1);
            atomic_fetch_add(&my.totals->open, 1);
        } else {
            one(my.first + k);
        }
    }
    device_stop(&my.reference);
    for (unsigned i = 0; i < my.device_count; i++)
        device_stop(&my.devices[i]);
}

/* 0, 1 where a job failed, 77 where a driver has no compiler. */
static int all_jobs(void)
{
    int status = 0, bad = 0;

    for (unsigned i = 0; i < my.jobs; i++) {
        fflush(stdout);
        if (!fork()) {
            job(i);
            exit(0);
        }
    }
    while (wait(&status) > 0)
        if (status)
            bad = WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : 1;
    return bad;
}

static void usage(void)
{
    fprintf(stderr, "usage: random [--first N] [--count N] [--jobs N] "
                    "[--device NAME]... [--answers FILE]\n"
                    "              [--reference NAME] [--record FILE] "
                    "[--name TEXT] [--keep FOLDER] [--seconds N]\n"
                    "              [--edition 1|2]\n"
                    "       random [--edition 1|2] --print N\n");
    exit(2);
}

static void print(uint64_t seed)
{
    struct program p;
    char *text;

    program_make(&p, seed, my.edition);
    text = program_text(&p);
    printf("%s", text);
    free(text);
    program_free(&p);
    exit(0);
}

static void options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = argv[++i];

        if (!value)
            usage();
        if (!strcmp(name, "--first"))
            my.first = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--count"))
            my.count = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--jobs"))
            my.jobs = (unsigned)strtoul(value, NULL, 10);
        else if (!strcmp(name, "--device") && my.device_count < DEVICES)
            snprintf(my.devices[my.device_count++].name,
                     sizeof my.devices[0].name, "%s", value);
        else if (!strcmp(name, "--answers")) {
            if (answers_read(&my.answers, value))
                exit(2);
        } else if (!strcmp(name, "--reference"))
            snprintf(my.reference.name, sizeof my.reference.name, "%s", value);
        else if (!strcmp(name, "--edition"))
            my.edition = atoi(value);
        else if (!strcmp(name, "--seconds"))
            my.until = time(NULL) + atoi(value);
        else if (!strcmp(name, "--record"))
            my.record = value;
        else if (!strcmp(name, "--name"))
            my.name = value;
        else if (!strcmp(name, "--keep"))
            my.keep = value;
        else if (!strcmp(name, "--print"))
            print(strtoull(value, NULL, 10));
        else
            usage();
    }
    if (!my.jobs || !my.count)
        usage();
    if (!my.device_count)
        snprintf(my.devices[my.device_count++].name, 4, "cpu");
}

static void *shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        fprintf(stderr, "random: no memory\n");
        exit(2);
    }
    return p;
}

int main(int argc, char **argv)
{
    struct timespec start, stop;
    const struct totals *t;
    int bad;

    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    options(argc, argv);
    my.totals = shared(sizeof *my.totals);
    my.words = shared(my.count * sizeof *my.words);
    clock_gettime(CLOCK_MONOTONIC, &start);
    bad = all_jobs();
    clock_gettime(CLOCK_MONOTONIC, &stop);
    if (bad == 77)
        return 77;
    t = my.totals;
    printf("%lu programs from %" PRIu64 " on %u devices: %lu alike, %lu "
           "differ, %lu refused, %lu failed, %lu need AVX-512, %lu without an "
           "answer; %.1f s\n",
           (unsigned long)t->ran, my.first, my.device_count,
           (unsigned long)t->same, (unsigned long)t->differ,
           (unsigned long)t->refused, (unsigned long)t->failed,
           (unsigned long)t->beyond, (unsigned long)t->open,
           (double)(stop.tv_sec - start.tv_sec) +
               (double)(stop.tv_nsec - start.tv_nsec) / 1e9);
    if (my.record && !bad) {
        struct answers a = {.first = my.first, .count = my.count};

        snprintf(a.device, sizeof a.device, "%.63s",
                 my.name ? my.name : my.devices[0].name);
        a.words = my.words;
        bad = answers_write(&a, my.record) != 0;
    }
    answers_fini(&my.answers);
    return bad || (t->ran != my.count && !my.until) || t->differ ||
           t->refused || t->failed;
}
