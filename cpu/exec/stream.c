/* SPDX-License-Identifier: MIT
 *
 * Streams and contexts: ordered queues of ops. Only the head of a stream is
 * ever started; when it is over the next one is. Waiting for another stream
 * is waiting for one of its sequence numbers, so neither events nor streams
 * need outlive what waits for them.
 *
 * "Under the lock" is engine.lock throughout. A step of one stream may let
 * others go on; those are put on engine.ready and taken up in turn by
 * stream_drain, never by recursion.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

/* ---- ops ---- */

struct op *op_new(enum op_kind kind, size_t extra, struct kiln_error *err)
{
    struct op *op = kiln_zalloc(sizeof *op + 16 + extra);

    if (op)
        op->kind = kind;
    else
        kiln_fail(err, KILN_E_MEMORY, "no memory to queue work");
    return op;
}

void *op_extra(struct op *op)
{
    const uintptr_t end = (uintptr_t)op + sizeof *op;

    return (void *)((end + 15) & ~(uintptr_t)15);
}

/* Not under the lock: a release function is the caller's code. */
void op_free(struct op *op)
{
    if (!op)
        return;
    if (op->kind == OP_GRID) {
        if (op->grid.tids)
            tid_put(op->grid.tids);
        if (op->grid.release)
            op->grid.release(op->grid.owner);
    }
    kiln_release(op->snapshot);
    kiln_release(op);
}

/* ---- contexts ---- */

static void context_unref(struct exec_context *context)
{
    if (--context->refs)
        return;
    heap_close(context);
    output_free(context);
    kiln_release(context);
}

enum kiln_status exec_context_new(struct exec_context **out,
                                  struct kiln_error *err)
{
    struct exec_context *context;
    enum kiln_status st = engine_ready(err);

    if (st)
        return st;
    context = kiln_zalloc(sizeof *context);
    if (!context)
        return kiln_fail(err, KILN_E_MEMORY, "no memory for a context");
    context->refs = 1;
    exec_context_set_heap(context, 8 << 20);
    *out = context;
    return KILN_OK;
}

void exec_context_set_heap(struct exec_context *context, uint64_t bytes)
{
    atomic_store_explicit(&context->heap_size, bytes, memory_order_relaxed);
}

void exec_context_free(struct exec_context *context)
{
    if (!context)
        return;
    if (!engine_ready(NULL))
        exec_context_sync(context, NULL);
    output_flush(context);
    engine_lock();
    context_unref(context);
    engine_unlock();
}

enum kiln_status context_error(const struct exec_context *context,
                               struct kiln_error *err)
{
    const int status =
        atomic_load_explicit(&context->status, memory_order_acquire);

    /* written once, before status */
    if (status && err)
        *err = context->error;
    return (enum kiln_status)status;
}

enum kiln_status exec_context_status(const struct exec_context *context,
                                     struct kiln_error *err)
{
    return context_error(context, err);
}

void context_fail(struct exec_context *context, const struct kiln_error *why)
{
    if (!atomic_load_explicit(&context->status, memory_order_relaxed)) {
        context->error = *why;
        atomic_store_explicit(&context->status, (int)why->status,
                              memory_order_release);
    }
    pool_stop(context);
}

void exec_context_poison(struct exec_context *context,
                         const struct kiln_error *why)
{
    engine_lock();
    context_fail(context, why);
    engine_unlock();
    pool_break_off(context, NULL);
}

enum kiln_status exec_context_sync(struct exec_context *context,
                                   struct kiln_error *err)
{
    struct exec_stream *stream;
    enum kiln_status st = engine_ready(err);

    if (st)
        return st;
    engine_lock();
    stream = context->streams;
    if (stream)
        stream->refs++;
    while (stream) {
        const uint64_t seq = stream->submitted;
        struct exec_stream *next;

        engine_unlock();
        pool_wait(stream, seq);
        engine_lock();
        /* the reference kept it in the list */
        next = stream->next;
        if (next)
            next->refs++;
        stream_unref(stream);
        stream = next;
    }
    engine_unlock();
    return context_error(context, err);
}

/* ---- streams ---- */

enum kiln_status exec_stream_new(struct exec_context *context, unsigned flags,
                                 int priority, struct exec_stream **out,
                                 struct kiln_error *err)
{
    struct exec_stream *stream;
    enum kiln_status st = engine_ready(err);

    if (st)
        return st;
    stream = kiln_zalloc(sizeof *stream);
    if (!stream)
        return kiln_fail(err, KILN_E_MEMORY, "no memory for a stream");
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->refs = 1;
    engine_lock();
    context->refs++;
    stream->next = context->streams;
    if (stream->next)
        stream->next->prev = stream;
    context->streams = stream;
    if (flags & EXEC_STREAM_LEGACY)
        context->legacy = stream;
    engine_unlock();
    *out = stream;
    return KILN_OK;
}

void stream_unref(struct exec_stream *stream)
{
    struct exec_context *context = stream->context;

    if (--stream->refs)
        return;
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        context->streams = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    if (context->legacy == stream)
        context->legacy = NULL;
    kiln_release(stream);
    context_unref(context);
}

void exec_stream_free(struct exec_stream *stream)
{
    if (!stream)
        return;
    engine_lock();
    stream_unref(stream);
    engine_unlock();
}

/* ---- going on ---- */

static void make_ready(struct exec_stream *stream)
{
    stream->refs++;
    stream->next_ready = engine.ready;
    engine.ready = stream;
}

static void retire(struct op *op)
{
    op->next = engine.finished;
    engine.finished = op;
}

/* The head is over: take it off, and let go who waited for it. */
void stream_finish(struct exec_stream *stream)
{
    struct op *op = stream->head;
    struct op **link = &stream->waiters;

    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->started = 0;
    if (op->kind == OP_RECORD)
        event_reached(op);
    if (op->other)
        stream_unref(op->other);
    atomic_store_explicit(&stream->completed, op->seq, memory_order_release);
    if (atomic_load_explicit(&engine.waiting, memory_order_relaxed))
        engine.wake_waiters = 1;
    while (*link) {
        struct op *waiter = *link;

        if (waiter->other_seq > op->seq) {
            link = &waiter->next_waiter;
            continue;
        }
        *link = waiter->next_waiter;
        /* its own stream finishes it when it is taken up */
        waiter->other_seq = 0;
        make_ready(waiter->stream);
    }
    retire(op);
    if (stream->head)
        make_ready(stream);
    stream_unref(stream); /* the op's */
}

/* 1 when the op is over at once. */
static int begin(struct op *op)
{
    const int failed = atomic_load_explicit(&op->stream->context->status,
                                            memory_order_relaxed) != 0;

    switch (op->kind) {
    case OP_RECORD:
        return 1;
    case OP_WAIT:
        if (atomic_load_explicit(&op->other->completed, memory_order_relaxed) >=
            op->other_seq)
            return 1;
        op->next_waiter = op->other->waiters;
        op->other->waiters = op;
        return 0;
    case OP_HOST:
        if (failed && !op->host_always)
            return 1;
        host_queue(op);
        return 0;
    case OP_GRID:
        if (failed)
            return 1;
        pool_list(op);
        return 0;
    }
    return 1;
}

void stream_drain(void)
{
    while (engine.ready) {
        struct exec_stream *stream = engine.ready;

        engine.ready = stream->next_ready;
        stream->next_ready = NULL;
        if (stream->head && !stream->started) {
            stream->started = 1;
            if (begin(stream->head))
                stream_finish(stream);
        } else if (stream->head && stream->head->kind == OP_WAIT &&
                   !stream->head->other_seq) {
            stream_finish(stream);
        }
        stream_unref(stream);
    }
}

/* ---- queueing ---- */

static void append(struct exec_stream *stream, struct op *op)
{
    op->stream = stream;
    op->seq = ++stream->submitted;
    stream->refs++;
    op->next = NULL;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
}

/* Make stream wait until other has completed seq; nothing when it has. */
static enum kiln_status wait_for(struct exec_stream *stream,
                                 struct exec_stream *other, uint64_t seq,
                                 struct kiln_error *err)
{
    struct op *op;

    if (stream == other ||
        atomic_load_explicit(&other->completed, memory_order_relaxed) >= seq)
        return KILN_OK;
    op = op_new(OP_WAIT, 0, err);
    if (!op)
        return KILN_E_MEMORY;
    op->other = other;
    op->other_seq = seq;
    other->refs++;
    append(stream, op);
    return KILN_OK;
}

/* CUDA's rule for the default stream: it and the blocking streams of its
 * context wait for each other. */
static enum kiln_status wait_for_legacy(struct exec_stream *stream,
                                        struct kiln_error *err)
{
    struct exec_context *context = stream->context;
    enum kiln_status st = KILN_OK;

    if (stream->flags & EXEC_STREAM_LEGACY) {
        for (struct exec_stream *s = context->streams; s && !st; s = s->next)
            if (!(s->flags & EXEC_STREAM_NONBLOCKING))
                st = wait_for(stream, s, s->submitted, err);
    } else if (!(stream->flags & EXEC_STREAM_NONBLOCKING) && context->legacy) {
        st = wait_for(stream, context->legacy, context->legacy->submitted, err);
    }
    return st;
}

enum kiln_status stream_submit(struct exec_stream *stream, struct op *op,
                               struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);

    if (st) {
        op_free(op);
        return st;
    }
    engine_lock();
    st = context_error(stream->context, err);
    if (!st)
        st = wait_for_legacy(stream, err);
    if (!st) {
        if (op->kind == OP_RECORD) {
            op->event->refs++;
            stream->refs++;
            if (op->event->stream)
                stream_unref(op->event->stream);
            op->event->stream = stream;
            op->event->seq = stream->submitted + 1;
        }
        append(stream, op);
        if (!stream->started)
            make_ready(stream);
        stream_drain();
        op = NULL;
    } else if (!stream->started && stream->head) {
        make_ready(stream); /* waits that were queued before memory ran out */
        stream_drain();
    }
    engine_unlock();
    op_free(op);
    return st;
}

enum kiln_status exec_stream_wait_stream(struct exec_stream *stream,
                                         struct exec_stream *other,
                                         struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);

    if (st)
        return st;
    engine_lock();
    st = context_error(stream->context, err);
    if (!st)
        st = wait_for(stream, other, other->submitted, err);
    if (!stream->started && stream->head)
        make_ready(stream);
    stream_drain();
    engine_unlock();
    return st;
}

enum kiln_status exec_stream_wait_event(struct exec_stream *stream,
                                        struct exec_event *event,
                                        struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);

    if (st)
        return st;
    engine_lock();
    st = context_error(stream->context, err);
    if (!st && event->stream)
        st = wait_for(stream, event->stream, event->seq, err);
    if (!stream->started && stream->head)
        make_ready(stream);
    stream_drain();
    engine_unlock();
    return st;
}

enum kiln_status exec_stream_query(struct exec_stream *stream,
                                   struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);
    uint64_t submitted;

    if (!st)
        st = context_error(stream->context, err);
    if (st)
        return st;
    engine_lock();
    submitted = stream->submitted;
    engine_unlock();
    if (atomic_load_explicit(&stream->completed, memory_order_acquire) <
        submitted)
        return KILN_E_NOT_READY;
    return context_error(stream->context, err);
}

enum kiln_status exec_stream_sync(struct exec_stream *stream,
                                  struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);
    uint64_t submitted;

    if (st)
        return st;
    engine_lock();
    submitted = stream->submitted;
    engine_unlock();
    pool_wait(stream, submitted);
    return context_error(stream->context, err);
}
