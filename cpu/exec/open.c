/* SPDX-License-Identifier: MIT
 *
 * Opening and closing the engine, and what a fork leaves of it.
 */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "cpu/exec/engine.h"

struct engine engine = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned core_count(void)
{
    const char *asked = env_get("KILN_CPU_THREADS");
    cpu_set_t *set = CPU_ALLOC(8192);
    const size_t size = CPU_ALLOC_SIZE(8192);
    int count = 1;

    if (set && !sched_getaffinity(0, size, set))
        count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (asked) {
        char *end;
        const long n = strtol(asked, &end, 10);

        if (!*end && n >= 1 && n <= MAX_RUNNERS)
            count = (int)n;
        else
            log_line(LOG_WARN, "KILN_CPU_THREADS=%s ignored: 1 to %d expected",
                     asked, MAX_RUNNERS);
    }
    return count > MAX_RUNNERS ? MAX_RUNNERS : (unsigned)count;
}

static uint64_t nanoseconds(void)
{
    return clock_ns();
}

/* Shared memory sits in the middle of 4 GiB that nothing else uses; the upper
 * half of one slot is the lower half of the next. Slots for blocks beyond one
 * a runner get a window of their own when they are first used. */
static enum kiln_status open_slots(struct kiln_error *err)
{
    char limit[120];

    /* as many again for one cooperative launch beside other blocks */
    engine.slot_max = engine.runners * RESIDENT * 2 + EXTRA_SLOTS;
    engine.slot_count = engine.runners;
    engine.slots = kiln_zalloc(engine.slot_max * sizeof *engine.slots);
    engine.workers = kiln_zalloc(engine.runners * sizeof *engine.workers);
    if (!engine.slots || !engine.workers)
        return kiln_fail(err, KILN_E_MEMORY, "no memory for %u block runners",
                         engine.runners);
    engine.window_size = WINDOW_HALF + engine.runners * WINDOW_STEP;
    engine.window = mmap(NULL, engine.window_size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (engine.window == MAP_FAILED) {
        engine.window = NULL;
        return kiln_fail(err, KILN_E_MEMORY,
                         "no %zu MiB of address space for shared memory of %u "
                         "block runners: %m%s; KILN_CPU_THREADS=1 needs 4097 "
                         "MiB",
                         engine.window_size >> 20, engine.runners,
                         memory_limit_text(limit, sizeof limit));
    }
    for (unsigned i = 0; i < engine.slot_max; i++) {
        struct slot *slot = &engine.slots[i];

        slot->index = i;
        slot->block.worker = i % engine.runners;
        if (i < engine.runners)
            slot->block.shared = engine.window + WINDOW_HALF + i * WINDOW_STEP;
        slot->block.barrier = barrier_wait;
        slot->block.yield = yield_warp;
        slot->block.clock = nanoseconds;
        slot->block.fault = fault_call;
        slot->block.service = service_call;
        slot->block.texture = texture_call;
        slot->block.check = check_access;
        slot->block.tensor = tensor_call;
        slot->block.engine = slot;
    }
    return KILN_OK;
}

static enum kiln_status start_workers(struct kiln_error *err)
{
    sigset_t all;
    sigset_t old;

    /* the application's signals are the application's threads' matter */
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 0; i < engine.runners; i++) {
        char name[16];

        if (pthread_create(&engine.workers[i], NULL, pool_worker,
                           (void *)(uintptr_t)i))
            break;
        snprintf(name, sizeof name, "kiln-cpu-%u", i % 10000);
        pthread_setname_np(engine.workers[i], name);
        engine.worker_count++;
    }
    watch_open();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!engine.worker_count)
        return kiln_fail(err, KILN_E_OS, "no thread can be started: %m");
    return KILN_OK;
}

static void stop_workers(void)
{
    engine_lock();
    engine.stopping = 1;
    atomic_fetch_add(&engine.work_seq, 1);
    engine.wake_workers = INT_MAX;
    engine_unlock();
    for (unsigned i = 0; i < engine.worker_count; i++)
        pthread_join(engine.workers[i], NULL);
    engine.worker_count = 0;
    engine.stopping = 0;
}

static void close_all(void)
{
    watch_close();
    stop_workers();
    host_close();
    for (unsigned i = 0; engine.slots && i < engine.slot_count; i++)
        slot_free_memory(&engine.slots[i]);
    if (engine.window)
        munmap(engine.window, engine.window_size);
    engine.window = NULL;
    kiln_release(engine.slots);
    kiln_release(engine.workers);
    engine.slots = NULL;
    engine.workers = NULL;
    fault_uninstall();
    tid_close();
    memory_close();
}

static void before_fork(void)
{
    pthread_mutex_lock(&engine.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&engine.lock);
}

static void after_fork_in_child(void)
{
    engine.forked = engine.open;
    pthread_mutex_unlock(&engine.lock);
}

enum kiln_status exec_open(struct kiln_error *err)
{
    static int watches_forks;
    enum kiln_status st = KILN_OK;

    if (engine.forked)
        return engine_ready(err);
    pthread_mutex_lock(&open_lock);
    if (engine.open)
        goto out;
    engine.runners = core_count();
    st = memory_open(err);
    if (!st)
        st = open_slots(err);
    if (!st)
        st = fault_install(err);
    if (!st)
        st = start_workers(err);
    if (st) {
        close_all();
        goto out;
    }
    if (!watches_forks)
        pthread_atfork(before_fork, after_fork, after_fork_in_child);
    watches_forks = 1;
    engine_lock();
    engine.open = 1;
    engine_unlock();
out:
    pthread_mutex_unlock(&open_lock);
    return st;
}

void exec_close(void)
{
    pthread_mutex_lock(&open_lock);
    if (engine.open && !engine.forked) {
        engine_lock();
        engine.open = 0;
        engine_unlock();
        close_all();
    }
    pthread_mutex_unlock(&open_lock);
}

enum kiln_status engine_ready(struct kiln_error *err)
{
    if (engine.forked)
        return kiln_fail(err, KILN_E_NOT_INITIALIZED,
                         "the CPU device was opened before fork(); a child "
                         "has none of its threads");
    if (!engine.open)
        return kiln_fail(err, KILN_E_NOT_INITIALIZED,
                         "the CPU device is not open");
    return KILN_OK;
}

unsigned exec_runners(void)
{
    return engine.runners;
}
