/* SPDX-License-Identifier: MIT
 *
 * A limit of the time that a kernel may run, KILN_CPU_TIME_LIMIT seconds: a
 * thread looks at the grids that run, and breaks those off that have run for
 * longer, wherever they are. Without the variable there is no such thread.
 */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "cpu/exec/engine.h"

enum { LONGEST = 1000000 };

static uint64_t limit_ns;
static pthread_t thread;
static pthread_cond_t ending = PTHREAD_COND_INITIALIZER;
static int running, stop;

static uint64_t read_limit(void)
{
    const char *text = env_get("KILN_CPU_TIME_LIMIT");
    double seconds;
    char *end;

    if (!text)
        return 0;
    seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= (double)LONGEST)) {
        log_line(LOG_WARN,
                 "KILN_CPU_TIME_LIMIT=%s ignored: seconds up to %d expected",
                 text, LONGEST);
        return 0;
    }
    return (uint64_t)(seconds * 1e9) + 1;
}

/* Under the lock: the context of a grid that has run for too long. */
static struct exec_context *find_late(uint64_t now)
{
    for (unsigned i = 0; i < engine.slot_count; i++) {
        const struct op *op = engine.slots[i].op;
        struct kiln_error why;

        if (!op || !op->grid.name[0] || atomic_load(&op->grid.stop) ||
            !op->grid.started || now - op->grid.started < limit_ns)
            continue;
        kiln_fail(&why, KILN_E_TIMEOUT,
                  "kernel %.100s has run for more than %.3g s "
                  "(KILN_CPU_TIME_LIMIT)",
                  op->grid.name, (double)limit_ns / 1e9);
        log_line(LOG_WARN, "%s", why.text);
        context_fail(op->stream->context, &why);
        return op->stream->context;
    }
    return NULL;
}

static void *watch(void *data)
{
    const uint64_t step = limit_ns / 4 < 1000000000 ? limit_ns / 4 : 1000000000;

    (void)data;
    engine_lock();
    while (!stop) {
        struct exec_context *late = find_late(clock_ns());
        struct timespec until;

        if (late) {
            engine_unlock();
            pool_break_off(late, NULL);
            engine_lock();
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)step;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ending, &engine.lock, &until);
    }
    engine_unlock();
    return NULL;
}

void watch_open(void)
{
    limit_ns = read_limit();
    stop = 0;
    if (!limit_ns)
        return;
    running = !pthread_create(&thread, NULL, watch, NULL);
    engine_lock();
    engine.watching = running;
    engine_unlock();
    if (!running)
        log_line(LOG_WARN, "KILN_CPU_TIME_LIMIT: no thread to watch: %m");
}

void watch_close(void)
{
    if (!running)
        return;
    engine_lock();
    stop = 1;
    pthread_cond_signal(&ending);
    engine_unlock();
    pthread_join(thread, NULL);
    running = engine.watching = 0;
}
