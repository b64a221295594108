/* SPDX-License-Identifier: MIT
 *
 * Streams and events: the driver's own, under the runtime's names.
 */
#include "runtime/start.h"

static cudaStream_t own(cudaStream_t stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, CU_STREAM_DEFAULT);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    cudaError_t e;
    const struct driver *d;

    if (!stream)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    return d ? rt_result(d->cuStreamCreate(stream, flags)) : rt_note(e);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!stream)
        return rt_note(cudaErrorInvalidResourceHandle);
    return rt_result(d->cuStreamDestroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    return d ? rt_result(d->cuStreamSynchronize(stream)) : rt_note(e);
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
    return cudaStreamSynchronize(own(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!d->cuStreamQuery)
        return rt_note(cudaErrorNotSupported);
    return rt_result(d->cuStreamQuery(stream));
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
    return cudaStreamQuery(own(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!d->cuStreamWaitEvent)
        return rt_note(cudaErrorNotSupported);
    return rt_result(d->cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event,
                                     unsigned flags)
{
    return cudaStreamWaitEvent(own(stream), event, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, CU_EVENT_DEFAULT);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    cudaError_t e;
    const struct driver *d;

    if (!event)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    if (!d->cuEventCreate)
        return rt_note(cudaErrorNotSupported);
    return rt_result(d->cuEventCreate(event, flags));
}

/* The driver, when it has events and the handle is one. */
static const struct driver *enter_event(cudaEvent_t event, cudaError_t *e)
{
    const struct driver *d = rt_enter(e);

    if (d &&
        (!event || !d->cuEventRecord || !d->cuEventSynchronize ||
         !d->cuEventQuery || !d->cuEventElapsedTime || !d->cuEventDestroy)) {
        *e = event ? cudaErrorNotSupported : cudaErrorInvalidResourceHandle;
        return NULL;
    }
    return d;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d = enter_event(event, &e);

    return d ? rt_result(d->cuEventRecord(event, stream)) : rt_note(e);
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecord(event, own(stream));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t e;
    const struct driver *d = enter_event(event, &e);

    return d ? rt_result(d->cuEventSynchronize(event)) : rt_note(e);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t e;
    const struct driver *d = enter_event(event, &e);

    return d ? rt_result(d->cuEventQuery(event)) : rt_note(e);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t end)
{
    cudaError_t e;
    const struct driver *d = enter_event(start, &e);

    return d ? rt_result(d->cuEventElapsedTime(milliseconds, start, end))
             : rt_note(e);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t e;
    const struct driver *d = enter_event(event, &e);

    return d ? rt_result(d->cuEventDestroy(event)) : rt_note(e);
}
