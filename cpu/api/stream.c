/* SPDX-License-Identifier: MIT
 *
 * Stream management: created streams, the legacy default stream of a context
 * and the default stream of each thread.
 */
#include <stdint.h>

#include "base/alloc.h"
#include "cpu/api/context.h"
#include "cpu/api/driver.h"

/* Identity of the calling thread, which is never given twice as a pthread_t
 * may be. */
static unsigned long long thread_id(void)
{
    static _Thread_local unsigned long long id;

    if (!id)
        id = driver_next_id();
    return id;
}

CUresult stream_new(struct context *context, unsigned flags, int priority,
                    struct stream **out)
{
    struct stream *stream = kiln_zalloc(sizeof *stream);
    struct kiln_error err = {0};

    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->context = context;
    stream->priority = priority;
    stream->id = driver_next_id();
    stream->flags = flags & EXEC_STREAM_NONBLOCKING ? CU_STREAM_NON_BLOCKING
                                                    : CU_STREAM_DEFAULT;
    if (exec_stream_new(context->exec, flags, priority, &stream->exec, &err)) {
        kiln_release(stream);
        return api_result(&err);
    }
    *out = stream;
    return CUDA_SUCCESS;
}

static void unlink_stream(struct stream **at, struct stream *stream)
{
    while (*at && *at != stream)
        at = &(*at)->next;
    if (*at)
        *at = stream->next;
}

void stream_destroy(struct stream *stream)
{
    struct context *context = stream->context;

    handle_free(stream->handle);
    pthread_mutex_lock(&context->lock);
    unlink_stream(&context->streams, stream);
    unlink_stream(&context->threads, stream);
    pthread_mutex_unlock(&context->lock);
    exec_stream_free(stream->exec);
    kiln_release(stream);
}

/* Made at the thread's first use of it in this context. */
static CUresult own_stream(struct context *context, struct stream **out)
{
    unsigned long long self = thread_id();
    struct stream *s;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&context->lock);
    for (s = context->threads; s && s->thread != self; s = s->next)
        ;
    if (!s) {
        result = stream_new(context, 0, 0, &s);
        if (!result) {
            s->thread = self;
            s->next = context->threads;
            context->threads = s;
        }
    }
    pthread_mutex_unlock(&context->lock);
    if (!result)
        *out = s;
    return result;
}

CUresult stream_find(struct context *context, CUstream handle,
                     struct stream **out)
{
    struct stream *stream;

    if (!handle || handle == CU_STREAM_LEGACY) {
        *out = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return own_stream(context, out);
    stream = handle_get(handle, HANDLE_STREAM);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult stream_enter(CUstream handle, struct stream **out)
{
    struct context *context;
    struct stream *stream;
    CUresult result = api_initialized();

    if (result)
        return result;
    stream = handle_get(handle, HANDLE_STREAM);
    if (!stream) {
        result = api_enter(&context);
        return result ? result : stream_find(context, handle, out);
    }
    result = api_status(exec_context_status(stream->context->exec, NULL));
    if (!result)
        *out = stream;
    return result;
}

API(cuStreamCreateWithPriority, CUstream *out, unsigned int flags, int priority)
{
    struct context *context;
    struct stream *stream;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    /* Outside the range the nearest priority is meant. */
    priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    result = stream_new(
        context, flags & CU_STREAM_NON_BLOCKING ? EXEC_STREAM_NONBLOCKING : 0,
        priority, &stream);
    if (result)
        return result;
    stream->handle = handle_new(HANDLE_STREAM, stream);
    if (!stream->handle) {
        stream_destroy(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&context->lock);
    stream->next = context->streams;
    context->streams = stream;
    pthread_mutex_unlock(&context->lock);
    *out = stream->handle;
    return CUDA_SUCCESS;
}

API(cuStreamCreate, CUstream *out, unsigned int flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

API(cuStreamDestroy_v2, CUstream handle)
{
    struct stream *stream;
    CUresult result = api_initialized();

    if (result)
        return result;
    stream = handle_get(handle, HANDLE_STREAM);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    stream_destroy(stream);
    return CUDA_SUCCESS;
}

API_ALIAS(cuStreamDestroy, cuStreamDestroy_v2, (CUstream handle), (handle))

API_ON_STREAM(cuStreamSynchronize, (CUstream stream), (stream))
{
    struct kiln_error err = {0};
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    if (result)
        return result;
    return exec_stream_sync(s->exec, &err) ? api_result(&err) : CUDA_SUCCESS;
}

API_ON_STREAM(cuStreamQuery, (CUstream stream), (stream))
{
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    return result ? result : api_status(exec_stream_query(s->exec, NULL));
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
    struct kiln_error err = {0};
    struct event *e = handle_get(event, HANDLE_EVENT);
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    if (result)
        return result;
    if (!e)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return exec_stream_wait_event(s->exec, e->exec, &err) ? api_result(&err)
                                                          : CUDA_SUCCESS;
}

API(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned int flags)
{
    return wait_event(stream, event, flags);
}

API(cuStreamWaitEvent_ptsz, CUstream stream, CUevent event, unsigned int flags)
{
    return wait_event(stream ? stream : CU_STREAM_PER_THREAD, event, flags);
}

/* What the queries below have in common: a stream, and a twin that means the
 * thread's own one by NULL. */
#define QUERY(name, type, value)                                               \
    static CUresult name##_of(CUstream stream, type *out)                      \
    {                                                                          \
        struct stream *s;                                                      \
        CUresult result = stream_enter(stream, &s);                            \
                                                                               \
        if (result)                                                            \
            return result;                                                     \
        if (!out)                                                              \
            return CUDA_ERROR_INVALID_VALUE;                                   \
        *out = value;                                                          \
        return CUDA_SUCCESS;                                                   \
    }                                                                          \
    API(name, CUstream stream, type *out)                                      \
    {                                                                          \
        return name##_of(stream, out);                                         \
    }                                                                          \
    API(name##_ptsz, CUstream stream, type *out)                               \
    {                                                                          \
        return name##_of(stream ? stream : CU_STREAM_PER_THREAD, out);         \
    }

QUERY(cuStreamGetFlags, unsigned int, s->flags)
QUERY(cuStreamGetPriority, int, s->priority)
QUERY(cuStreamGetId, unsigned long long, s->id)
QUERY(cuStreamGetCtx, CUcontext, s->context->handle)
QUERY(cuStreamGetDevice, CUdevice, 0)
/* Nothing captures here. */
QUERY(cuStreamIsCapturing, CUstreamCaptureStatus, CU_STREAM_CAPTURE_STATUS_NONE)

API(cuStreamGetCtx_v2, CUstream stream, CUcontext *out, CUgreenCtx *green)
{
    CUresult result = cuStreamGetCtx_of(stream, out);

    if (!result && green)
        *green = NULL;
    return result;
}

API(cuStreamGetCtx_v2_ptsz, CUstream stream, CUcontext *out, CUgreenCtx *green)
{
    return cuStreamGetCtx_v2(stream ? stream : CU_STREAM_PER_THREAD, out,
                             green);
}

/* ---- host functions in a stream ---- */

struct callback {
    CUstreamCallback fn;
    CUstream stream;
    void *data;
};

static void run_callback(void *data, enum kiln_status status)
{
    struct callback *c = data;

    c->fn(c->stream, api_status(status), c->data);
    kiln_release(c);
}

static CUresult add_callback(CUstream stream, CUstreamCallback fn, void *data,
                             unsigned flags)
{
    struct kiln_error err = {0};
    struct callback *c;
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    if (result)
        return result;
    if (!fn || flags)
        return CUDA_ERROR_INVALID_VALUE;
    c = kiln_zalloc(sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct callback){fn, stream, data};
    if (exec_host(s->exec, run_callback, c, 1, &err)) {
        kiln_release(c);
        return api_result(&err);
    }
    return CUDA_SUCCESS;
}

API(cuStreamAddCallback, CUstream stream, CUstreamCallback fn, void *data,
    unsigned int flags)
{
    return add_callback(stream, fn, data, flags);
}

API(cuStreamAddCallback_ptsz, CUstream stream, CUstreamCallback fn, void *data,
    unsigned int flags)
{
    return add_callback(stream ? stream : CU_STREAM_PER_THREAD, fn, data,
                        flags);
}
