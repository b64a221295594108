/* SPDX-License-Identifier: MIT
 *
 * Processes that run kernels. None of them is trusted to end: a kernel may
 * hang a device or break a driver, so the parent, which never opens one,
 * ends a process whose kernel takes too long and starts another in its place.
 * What they find lies in memory that all of them share.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

enum { MAX_WORKERS = 64, TICK_NS = 20 * 1000 * 1000 };

struct worker {
    pid_t pid;
    atomic_int kernel; /* or -1 */
    atomic_int seed;
    atomic_uint_least64_t since; /* ns */
    atomic_int worked;           /* it got as far as a device once */
};

struct job {
    struct shared *shared;
    const struct pack *pack;
    const struct answers *answers;
    const struct run_options *options;
    uint64_t start; /* ns */
};

struct shared {
    atomic_uint next;
    char device[96];
    struct worker workers[MAX_WORKERS];
    struct run runs[];
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Those of one library do not come one after the other, so that a run that
 * is cut short has some of each. */
static unsigned in_turn(unsigned i, size_t count)
{
    enum { STRIDE = 7919 }; /* prime */

    return count % STRIDE ? (unsigned)((uint64_t)i * STRIDE % count) : i;
}

static void quiet(void)
{
    const int null = open("/dev/null", O_WRONLY);

    if (null >= 0) /* kernels print */
        dup2(null, 1);
}

static void work(const struct job *j, struct worker *w)
{
    struct shared *s = j->shared;
    char device[sizeof s->device];
    unsigned i;

    launch_open(device, sizeof device);
    quiet();
    memcpy(s->device, device, sizeof device); /* the same from all */
    atomic_store(&w->worked, 1);
    while ((i = atomic_fetch_add(&s->next, 1)) < j->pack->count) {
        const unsigned k = in_turn(i, j->pack->count);

        if (now() - j->start > j->options->within * UINT64_C(1000000000))
            break;
        atomic_store(&w->seed, 0);
        atomic_store(&w->since, now());
        atomic_store(&w->kernel, (int)k);
        if (launch_kernel(&j->pack->items[k], j->answers, j->options->finished,
                          &s->runs[k * SEEDS], &w->seed)) {
            atomic_store(&w->kernel, -1);
            _exit(1);
        }
        atomic_store(&w->kernel, -1);
    }
    _exit(0);
}

/* 0, or -1 when there is no starting it. */
static int start(const struct job *j, struct worker *w)
{
    pid_t pid;

    atomic_store(&w->kernel, -1);
    atomic_store(&w->since, now());
    pid = fork();
    if (pid == 0)
        work(j, w);
    w->pid = pid; /* shared memory: only the parent writes it */
    return pid < 0 ? -1 : 0;
}

/* The process is gone: what it was at stays undone. */
static void note_lost(struct shared *s, const struct worker *w)
{
    const int kernel = atomic_load(&w->kernel);
    const int seed = atomic_load(&w->seed);

    if (kernel >= 0)
        s->runs[kernel * SEEDS + seed].end = RUN_LOST;
}

static int is_over(const struct job *j, struct worker *w)
{
    const uint64_t limit = j->options->seconds * UINT64_C(1000000000);
    int status = 0;

    if (!waitpid(w->pid, &status, WNOHANG)) {
        if (now() - atomic_load(&w->since) > limit)
            kill(w->pid, SIGKILL); /* and seen gone at the next tick */
        return 0;
    }
    note_lost(j->shared, w);
    if ((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
        !atomic_load(&w->worked) ||
        atomic_load(&j->shared->next) >= j->pack->count)
        return 1;
    return start(j, w) != 0;
}

static void run_all(const struct job *j)
{
    const struct timespec tick = {0, TICK_NS};
    struct worker *workers = j->shared->workers;
    unsigned count = j->options->processes, left = 0;

    if (count > MAX_WORKERS)
        count = MAX_WORKERS;
    for (unsigned i = 0; i < count; i++)
        if (!start(j, &workers[i]))
            left++;
        else
            workers[i].pid = 0;
    while (left) {
        nanosleep(&tick, NULL);
        for (unsigned i = 0; i < count; i++)
            if (workers[i].pid > 0 && is_over(j, &workers[i])) {
                workers[i].pid = 0;
                left--;
            }
        if (isatty(2))
            fprintf(stderr, "\r%u of %zu kernels ",
                    atomic_load(&j->shared->next), j->pack->count);
    }
}

struct run *workers_run(const struct pack *p, const struct answers *answers,
                        const struct run_options *options, char *device,
                        size_t device_size)
{
    const size_t bytes = p->count * SEEDS * sizeof(struct run);
    struct shared *s = mmap(NULL, sizeof *s + bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const struct job j = {s, p, answers, options, now()};
    struct run *runs = NULL;

    if (s == MAP_FAILED)
        return NULL;
    run_all(&j);
    snprintf(device, device_size, "%s", s->device);
    if (s->device[0] && (runs = malloc(bytes + 1)))
        memcpy(runs, s->runs, bytes);
    munmap(s, sizeof *s + bytes);
    return runs;
}
