/* SPDX-License-Identifier: MIT
 *
 * Events. An event is a place in a stream: the stream and the sequence number
 * of the record that was queued last, and the time at which it was reached.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/exec/engine.h"

enum kiln_status exec_event_new(struct exec_event **out, struct kiln_error *err)
{
    struct exec_event *event = kiln_zalloc(sizeof *event);

    if (!event)
        return kiln_fail(err, KILN_E_MEMORY, "no memory for an event");
    event->refs = 1;
    *out = event;
    return KILN_OK;
}

void event_unref(struct exec_event *event)
{
    if (--event->refs)
        return;
    if (event->stream)
        stream_unref(event->stream);
    kiln_release(event);
}

void exec_event_free(struct exec_event *event)
{
    if (!event)
        return;
    engine_lock();
    event_unref(event);
    engine_unlock();
}

void event_reached(struct op *op)
{
    struct exec_event *event = op->event;

    /* a later record, still queued, is the one that counts */
    if (event->stream == op->stream && event->seq == op->seq)
        event->time = clock_ns();
    event_unref(event);
}

enum kiln_status exec_event_record(struct exec_event *event,
                                   struct exec_stream *stream,
                                   struct kiln_error *err)
{
    struct op *op = op_new(OP_RECORD, 0, err);

    if (!op)
        return KILN_E_MEMORY;
    op->event = event;
    return stream_submit(stream, op, err);
}

/* The event's place, with a reference on its stream; NULL: never recorded. */
static struct exec_stream *place_of(const struct exec_event *event,
                                    uint64_t *seq)
{
    struct exec_stream *stream;

    engine_lock();
    stream = event->stream;
    *seq = event->seq;
    if (stream)
        stream->refs++;
    engine_unlock();
    return stream;
}

/* What the event's context has to say; gives place_of's reference back. */
static enum kiln_status leave(struct exec_stream *stream, enum kiln_status st,
                              struct kiln_error *err)
{
    if (!st)
        st = context_error(stream->context, err);
    engine_lock();
    stream_unref(stream);
    engine_unlock();
    return st;
}

enum kiln_status exec_event_query(struct exec_event *event,
                                  struct kiln_error *err)
{
    uint64_t seq;
    enum kiln_status st = engine_ready(err);
    struct exec_stream *stream = st ? NULL : place_of(event, &seq);

    if (!stream)
        return st;
    if (atomic_load_explicit(&stream->completed, memory_order_acquire) < seq)
        st = KILN_E_NOT_READY;
    return leave(stream, st, err);
}

enum kiln_status exec_event_sync(struct exec_event *event,
                                 struct kiln_error *err)
{
    uint64_t seq;
    enum kiln_status st = engine_ready(err);
    struct exec_stream *stream = st ? NULL : place_of(event, &seq);

    if (!stream)
        return st;
    pool_wait(stream, seq);
    return leave(stream, KILN_OK, err);
}

static enum kiln_status check_reached(const struct exec_event *event,
                                      struct kiln_error *err)
{
    if (!event->stream)
        return kiln_fail(err, KILN_E_HANDLE, "event was never recorded");
    if (atomic_load_explicit(&event->stream->completed, memory_order_relaxed) <
        event->seq)
        return KILN_E_NOT_READY;
    return KILN_OK;
}

enum kiln_status exec_event_elapsed(struct exec_event *a, struct exec_event *b,
                                    int64_t *ns, struct kiln_error *err)
{
    enum kiln_status st;

    engine_lock();
    st = check_reached(a, err);
    if (!st)
        st = check_reached(b, err);
    if (!st)
        st = context_error(a->stream->context, err);
    if (!st)
        *ns = (int64_t)(b->time - a->time);
    engine_unlock();
    return st;
}
