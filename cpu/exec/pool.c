/* SPDX-License-Identifier: MIT
 *
 * Threads and slots: who runs what, and who sleeps.
 *
 * There are as many slots as cores to use, and a worker thread for each. A
 * thread that waits for a stream takes a slot itself if one is free and runs
 * pieces of that stream's grid, of no other: a kernel of another stream may
 * wait for something that this thread does next. When every slot stays taken
 * it uses one of a few extra ones.
 *
 * Sleeping is by two futexes: work_seq changes when there are new pieces,
 * done_seq when an op is over. Both are changed before `sleeping` or
 * `waiting` is looked at, and those are raised before the futex is, so that
 * no wake-up is lost.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cpu/exec/engine.h"

enum {
    SPIN_NS = 20000,        /* of a worker without work */
    WAIT_SPIN_NS = 50000,   /* of a thread that waits */
    PATIENCE_NS = 5000000,  /* before it takes an extra slot */
    BREAK_OFF_NS = 10000000 /* for blocks to stop by themselves */
};

/* ---- sleeping and waking ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    const struct timespec limit = {(time_t)(ns / 1000000000u),
                                   (long)(ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &limit : NULL,
            NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void engine_lock(void)
{
    pthread_mutex_lock(&engine.lock);
}

void engine_unlock(void)
{
    struct op *finished = engine.finished;
    const unsigned workers = engine.wake_workers;
    const int waiters = engine.wake_waiters;

    engine.finished = NULL;
    engine.wake_workers = 0;
    engine.wake_waiters = 0;
    if (waiters)
        atomic_fetch_add(&engine.done_seq, 1);
    pthread_mutex_unlock(&engine.lock);
    if (workers)
        futex_wake(&engine.work_seq, (int)workers);
    if (waiters)
        futex_wake(&engine.done_seq, INT_MAX);
    while (finished) {
        struct op *op = finished;

        finished = op->next;
        op_free(op);
    }
}

static void call_workers(uint64_t wanted)
{
    const unsigned sleeping =
        (atomic_fetch_add(&engine.work_seq, 1), atomic_load(&engine.sleeping));
    const unsigned more = wanted < sleeping ? (unsigned)wanted : sleeping;

    if (engine.wake_workers < more)
        engine.wake_workers = more;
}

/* ---- active grids, under the lock ---- */

void pool_list(struct op *op)
{
    struct op **end = &engine.active;

    while (*end)
        end = &(*end)->grid.next;
    op->grid.next = NULL;
    op->grid.listed = 1;
    *end = op;
    atomic_fetch_add_explicit(&engine.active_count, 1, memory_order_relaxed);
    call_workers(op->grid.total);
}

static void unlist(struct op *op)
{
    struct op **link = &engine.active;

    if (!op->grid.listed)
        return;
    while (*link != op)
        link = &(*link)->grid.next;
    *link = op->grid.next;
    op->grid.listed = 0;
    atomic_fetch_sub_explicit(&engine.active_count, 1, memory_order_relaxed);
}

static int is_exhausted(const struct grid *grid)
{
    return atomic_load(&grid->stop) ||
           atomic_load(&grid->ticket) >= grid->total;
}

/* A second cooperative launch waits until the first one is over: with both
 * half begun neither might have the slots to go on. */
static int must_wait(const struct op *op)
{
    if (!op->grid.cooperative || atomic_load(&op->grid.ticket))
        return 0;
    for (unsigned i = 0; i < engine.slot_count; i++) {
        const struct op *other = engine.slots[i].op;

        if (other && other != op && other->grid.cooperative)
            return 1;
    }
    return 0;
}

/* The first of the most urgent grids; of `only`'s when that is not NULL. */
static struct op *pick(const struct exec_stream *only)
{
    struct op *best = NULL;

    for (struct op *op = engine.active; op; op = op->grid.next)
        if ((!only || op->stream == only) && !is_exhausted(&op->grid) &&
            (!best || op->stream->priority < best->stream->priority) &&
            !must_wait(op))
            best = op;
    return best;
}

/* May one more thread run blocks? */
static int has_room(int extra)
{
    return engine.running < engine.runners + (extra ? EXTRA_SLOTS : 0u);
}

/* A slot for a block of op, where a thread may run it and not too many are
 * under way. */
static struct slot *take_slot(unsigned preferred, const struct op *op,
                              int extra)
{
    const unsigned most = engine.runners * RESIDENT + EXTRA_SLOTS;

    if (!has_room(extra) ||
        (!op->grid.cooperative && engine.running + engine.parked_count >= most))
        return NULL;
    if (!engine.slots[preferred].op)
        return &engine.slots[preferred];
    for (unsigned i = 0; i < engine.slot_count; i++)
        if (!engine.slots[i].op)
            return &engine.slots[i];
    return engine.slot_count < engine.slot_max
               ? &engine.slots[engine.slot_count++]
               : NULL;
}

/* ---- parked slots, under the lock ---- */

static void put_aside(struct slot *slot)
{
    struct slot **end = &engine.parked;

    while (*end)
        end = &(*end)->next_parked;
    slot->next_parked = NULL;
    *end = slot;
    atomic_fetch_add_explicit(&engine.parked_count, 1, memory_order_relaxed);
}

static void take_back(struct slot *slot)
{
    struct slot **link = &engine.parked;

    while (*link != slot)
        link = &(*link)->next_parked;
    *link = slot->next_parked;
    atomic_fetch_sub_explicit(&engine.parked_count, 1, memory_order_relaxed);
}

/* The one that has waited longest; of `only`'s when that is not NULL. */
static struct slot *first_parked(const struct exec_stream *only)
{
    struct slot *slot = engine.parked;

    while (slot && only && slot->op->stream != only)
        slot = slot->next_parked;
    return slot;
}

/* What a thread is to run: a parked slot, or a free one for *op. Parked ones
 * all have a turn before one more block is begun. NULL: nothing, *op: but not
 * for want of blocks. */
static struct slot *next_slot(unsigned preferred,
                              const struct exec_stream *only, int extra,
                              struct op **op)
{
    struct slot *parked = has_room(extra) ? first_parked(only) : NULL;
    struct slot *fresh = NULL;

    *op = pick(only);
    if (*op && !(parked && engine.turns))
        fresh = take_slot(preferred, *op, extra);
    if (fresh) {
        engine.turns = engine.parked_count;
        return fresh;
    }
    if (parked) {
        if (engine.turns)
            engine.turns--;
        take_back(parked);
        *op = parked->op;
    }
    return parked;
}

/* Run pieces of op in slot. Called and returns under the lock; not held in
 * between. */
static void work(struct slot *slot, struct op *op,
                 const struct exec_stream *until, uint64_t until_seq)
{
    static _Thread_local pid_t tid;
    struct grid *grid = &op->grid;
    struct kiln_error why;
    enum kiln_status st;

    if (!tid)
        tid = (pid_t)syscall(SYS_gettid);
    if (!slot->parked)
        grid->runners++;
    if (engine.watching && !grid->started)
        grid->started = clock_ns();
    slot->op = op;
    slot->tid = tid;
    slot->leaving = 0;
    engine.running++;
    engine_unlock();
    st = slot->parked ? KILN_OK : slot_prepare(slot, op, &why);
    if (st) {
        engine_lock();
        slot->leaving = 1;
        context_fail(op->stream->context, &why);
        engine_unlock();
        pool_break_off(op->stream->context, slot);
        engine_lock();
    } else {
        slot_run(slot, until, until_seq);
        engine_lock();
    }
    engine.running--;
    if (slot->parked) {
        put_aside(slot);
    } else {
        slot->op = NULL;
        grid->runners--;
    }
    if (is_exhausted(grid)) {
        unlist(op);
        if (!grid->runners)
            stream_finish(op->stream);
        stream_drain();
    } else {
        /* others of its priority get their turn */
        unlist(op);
        pool_list(op);
    }
}

/* Nobody comes back to the context's parked slots. */
static void stop_parked(const struct exec_context *context)
{
    struct slot *slot = engine.parked;

    while (slot) {
        struct slot *next = slot->next_parked;
        struct op *op = slot->op;

        if (op->stream->context == context) {
            take_back(slot);
            slot_abandon(slot);
            slot->op = NULL;
            if (!--op->grid.runners) {
                unlist(op);
                stream_finish(op->stream);
            }
        }
        slot = next;
    }
}

void pool_stop(struct exec_context *context)
{
    struct op *op;

    for (unsigned i = 0; i < engine.slot_count; i++) {
        const struct slot *slot = &engine.slots[i];

        if (slot->op && slot->op->stream->context == context)
            atomic_store(&slot->op->grid.stop, 1);
    }
    stop_parked(context);
    op = engine.active;
    while (op) {
        struct op *next = op->grid.next;

        if (op->stream->context == context) {
            atomic_store(&op->grid.stop, 1);
            if (!op->grid.runners) {
                unlist(op);
                stream_finish(op->stream);
            }
        }
        op = next;
    }
    stream_drain();
}

void pool_break_off(struct exec_context *context, struct slot *self)
{
    const struct timespec patience = {0, BREAK_OFF_NS};
    unsigned left = 1;

    for (int round = 0; left; round++) {
        left = 0;
        engine_lock();
        for (unsigned i = 0; i < engine.slot_count; i++) {
            const struct slot *slot = &engine.slots[i];

            /* Its context may be gone by now and another be in its place:
             * that one's grids are not stopped. */
            if (slot == self || !slot->op || slot->leaving ||
                slot->op->stream->context != context ||
                !atomic_load(&slot->op->grid.stop))
                continue;
            left++;
            if (round)
                fault_kick(slot);
        }
        engine_unlock();
        if (left)
            nanosleep(&patience, NULL);
    }
}

/* ---- workers ---- */

static void idle(uint32_t seq)
{
    const unsigned spinning = atomic_fetch_add(&engine.spinning, 1);
    const uint64_t start = clock_ns();

    /* leave a core to the thread that will bring work */
    while (spinning + 1 < engine.runners &&
           atomic_load_explicit(&engine.work_seq, memory_order_relaxed) == seq)
        for (int i = 0; i < 32; i++) {
            __builtin_ia32_pause();
            if (i == 31 && clock_ns() - start > SPIN_NS)
                goto sleep;
        }
sleep:
    atomic_fetch_sub(&engine.spinning, 1);
    atomic_fetch_add(&engine.sleeping, 1);
    futex_wait(&engine.work_seq, seq, 0);
    atomic_fetch_sub(&engine.sleeping, 1);
}

void *pool_worker(void *data)
{
    const unsigned index = (unsigned)(uintptr_t)data;

    engine_lock();
    while (!engine.stopping) {
        struct op *op;
        struct slot *slot = next_slot(index, NULL, 0, &op);

        if (slot) {
            work(slot, op, NULL, 0);
        } else {
            const uint32_t seq = atomic_load(&engine.work_seq);

            engine_unlock();
            idle(seq);
            engine_lock();
        }
    }
    engine_unlock();
    return NULL;
}

/* ---- waiting ---- */

/* The stream whose work brings this one on. */
static const struct exec_stream *helpful(const struct exec_stream *stream)
{
    for (int depth = 0; depth < 1000; depth++) {
        const struct op *head = stream->head;

        if (!head || head->kind != OP_WAIT || !stream->started)
            break;
        stream = head->other;
    }
    return stream;
}

static int is_done(const struct exec_stream *stream, uint64_t seq)
{
    return atomic_load_explicit(&stream->completed, memory_order_acquire) >=
           seq;
}

/* Called under the lock with nothing to help with; returns without. */
static void wait_done(const struct exec_stream *stream, uint64_t seq,
                      int finite)
{
    const uint32_t snapshot = atomic_load(&engine.done_seq);
    const uint64_t start = clock_ns();

    atomic_fetch_add(&engine.waiting, 1);
    engine_unlock();
    while (engine.runners > 1 && !is_done(stream, seq) &&
           clock_ns() - start < WAIT_SPIN_NS)
        for (int i = 0; i < 32 && !is_done(stream, seq); i++)
            __builtin_ia32_pause();
    if (!is_done(stream, seq))
        futex_wait(&engine.done_seq, snapshot, finite ? PATIENCE_NS : 0);
    atomic_fetch_sub(&engine.waiting, 1);
}

static void wait_until(struct exec_stream *stream, uint64_t seq)
{
    int waited = 0;

    if (is_done(stream, seq))
        return;
    engine_lock();
    stream->refs++;
    while (!is_done(stream, seq)) {
        struct op *op;
        struct slot *slot = next_slot(0, helpful(stream), waited, &op);

        if (slot) {
            work(slot, op, stream, seq);
            /* it may leave others' work and a free slot behind */
            if (engine.active)
                call_workers(1);
            waited = 0;
        } else {
            wait_done(stream, seq, op != NULL);
            waited = 1;
            engine_lock();
        }
    }
    stream_unref(stream);
    engine_unlock();
}

void pool_wait(struct exec_stream *stream, uint64_t seq)
{
    wait_until(stream, seq);
    output_flush(stream->context);
}
