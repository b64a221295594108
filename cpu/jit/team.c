/* SPDX-License-Identifier: MIT
 *
 * Units on several processors. Each thread has a target machine of its own
 * and takes the next unit; the caller is one of them. A unit that fails stops
 * those behind it only, so that the error is the same with any number of
 * threads.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/env.h"
#include "cpu/jit/unit.h"

enum { MOST_THREADS = 16, STACK = 16 << 20 };

struct team {
    struct unit *units;
    size_t count;
    const struct unit_module *module;
    atomic_size_t next, first_bad;
};

unsigned unit_threads(void)
{
    const char *text = env_get("KILN_JIT_THREADS");
    long n = text ? strtol(text, NULL, 10) : 0;
    cpu_set_t set;

    if (env_get("KILN_DUMP")) /* one text after the other */
        return 1;
    if (n <= 0)
        n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (unsigned)n;
}

static void fail_unit(struct team *t, size_t at)
{
    size_t first = atomic_load(&t->first_bad);

    while (at < first &&
           !atomic_compare_exchange_weak(&t->first_bad, &first, at))
        ;
}

static void take_units(struct team *t, struct machine *machine)
{
    size_t at;

    while ((at = atomic_fetch_add(&t->next, 1)) < t->count &&
           at < atomic_load(&t->first_bad)) {
        unit_compile(&t->units[at], t->module, machine);
        if (t->units[at].status)
            fail_unit(t, at);
    }
}

/* A thread that has no machine leaves its share to the others. */
static void *work(void *arg)
{
    struct team *t = arg;
    struct machine machine = {0};

    if (machine_open(&machine, t->module->level, NULL))
        return NULL;
    take_units(t, &machine);
    machine_close(&machine);
    return NULL;
}

/* Threads beside the caller's; where there are no more the caller does all.
 * They take no signals, which are for the program's own threads. */
static unsigned start_threads(struct team *t, pthread_t *threads, unsigned n)
{
    pthread_attr_t attr;
    sigset_t all, old;
    unsigned started = 0;

    if (!n || pthread_attr_init(&attr))
        return 0;
    pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (started < n && !pthread_create(&threads[started], &attr, work, t))
        started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return started;
}

enum kiln_status unit_compile_all(struct unit *units, size_t count,
                                  const struct unit_module *module,
                                  struct machine *machine,
                                  struct kiln_error *err)
{
    struct team t = {.units = units, .count = count, .module = module};
    pthread_t threads[MOST_THREADS];
    unsigned wanted = unit_threads(), started;
    size_t bad;

    atomic_store(&t.first_bad, count);
    if (wanted > count)
        wanted = count ? (unsigned)count : 1;
    started = start_threads(&t, threads, wanted - 1);
    take_units(&t, machine);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    bad = atomic_load(&t.first_bad);
    if (bad == count)
        return KILN_OK;
    if (err)
        *err = units[bad].err;
    return units[bad].status;
}
