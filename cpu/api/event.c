/* SPDX-License-Identifier: MIT
 *
 * Event management.
 */
#include "base/alloc.h"
#include "cpu/api/context.h"

API(cuEventCreate, CUevent *out, unsigned int flags)
{
    struct kiln_error err = {0};
    struct context *context;
    struct event *event;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    /* An event for other processes carries no time. */
    if (!out || flags & ~7u ||
        (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
        return api_unsupported("cuEventCreate for other processes");
    event = kiln_zalloc(sizeof *event);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = context;
    event->flags = flags;
    event->handle = handle_new(HANDLE_EVENT, event);
    if (!event->handle || exec_event_new(&event->exec, &err)) {
        handle_free(event->handle);
        kiln_release(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&context->lock);
    event->next = context->events;
    context->events = event;
    pthread_mutex_unlock(&context->lock);
    *out = event->handle;
    return CUDA_SUCCESS;
}

void event_destroy(struct event *event)
{
    struct context *context = event->context;
    struct event **at = &context->events;

    handle_free(event->handle);
    pthread_mutex_lock(&context->lock);
    while (*at && *at != event)
        at = &(*at)->next;
    if (*at)
        *at = event->next;
    pthread_mutex_unlock(&context->lock);
    exec_event_free(event->exec);
    kiln_release(event);
}

/* Calls on an event need no current context. */
static CUresult find(CUevent handle, struct event **out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_EVENT);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuEventDestroy_v2, CUevent handle)
{
    struct event *event;
    CUresult result = find(handle, &event);

    if (!result)
        event_destroy(event);
    return result;
}

API_ALIAS(cuEventDestroy, cuEventDestroy_v2, (CUevent handle), (handle))

static CUresult record(CUevent handle, CUstream stream, unsigned flags)
{
    struct kiln_error err = {0};
    struct event *event;
    struct stream *s;
    CUresult result = find(handle, &event);

    if (result)
        return result;
    result = stream_enter(stream, &s);
    if (result)
        return result;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->context != event->context)
        return CUDA_ERROR_INVALID_HANDLE;
    return exec_event_record(event->exec, s->exec, &err) ? api_result(&err)
                                                         : CUDA_SUCCESS;
}

API_ON_STREAM(cuEventRecord, (CUevent event, CUstream stream), (event, stream))
{
    return record(event, stream, 0);
}

API(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned int flags)
{
    return record(event, stream, flags);
}

API(cuEventRecordWithFlags_ptsz, CUevent event, CUstream stream,
    unsigned int flags)
{
    return record(event, stream ? stream : CU_STREAM_PER_THREAD, flags);
}

API(cuEventQuery, CUevent handle)
{
    struct event *event;
    CUresult result = find(handle, &event);

    return result ? result : api_status(exec_event_query(event->exec, NULL));
}

API(cuEventSynchronize, CUevent handle)
{
    struct kiln_error err = {0};
    struct event *event;
    CUresult result = find(handle, &event);

    if (result)
        return result;
    return exec_event_sync(event->exec, &err) ? api_result(&err) : CUDA_SUCCESS;
}

API(cuEventElapsedTime_v2, float *ms, CUevent start, CUevent end)
{
    struct event *a;
    struct event *b;
    int64_t ns;
    enum kiln_status status;
    CUresult result = find(start, &a);

    if (!result)
        result = find(end, &b);
    if (result)
        return result;
    if (!ms)
        return CUDA_ERROR_INVALID_VALUE;
    if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING ||
        a->context != b->context)
        return CUDA_ERROR_INVALID_HANDLE;
    status = exec_event_elapsed(a->exec, b->exec, &ns, NULL);
    if (status)
        return api_status(status);
    *ms = (float)((double)ns / 1e6);
    return CUDA_SUCCESS;
}

API_ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2,
          (float *ms, CUevent start, CUevent end), (ms, start, end))
