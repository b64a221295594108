/* SPDX-License-Identifier: MIT
 *
 * Context management: creation, the calling thread's stack of contexts,
 * settings and limits.
 */
#include "cpu/api/context.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/api/driver.h"

/* The calling thread's stack of contexts. Only a pointer is thread-local: a
 * library that is opened late gets little room for such variables. */
struct stack {
    CUcontext *items;
    size_t count;
    size_t room;
};

static _Thread_local struct stack *stack;
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void free_stack(void *data)
{
    struct stack *s = data;

    stack = NULL;
    kiln_release(s->items);
    kiln_release(s);
}

static void make_key(void)
{
    pthread_key_create(&stack_key, free_stack);
}

struct context *context_of(CUcontext handle)
{
    return handle_get(handle, HANDLE_CONTEXT);
}

static CUcontext top(void)
{
    return stack && stack->count ? stack->items[stack->count - 1] : NULL;
}

/* Room for one more; 0, or -1 when memory is out. */
static int stack_grow(void)
{
    CUcontext *more;
    size_t room;

    if (!stack) {
        pthread_once(&stack_once, make_key);
        stack = kiln_zalloc(sizeof *stack);
        if (!stack)
            return -1;
        pthread_setspecific(stack_key, stack);
    }
    if (stack->count < stack->room)
        return 0;
    room = stack->room ? stack->room * 2 : 8;
    more = kiln_array(stack->items, room, sizeof *more);
    if (!more)
        return -1;
    stack->items = more;
    stack->room = room;
    return 0;
}

static CUresult push(CUcontext handle)
{
    if (stack_grow())
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack->items[stack->count++] = handle;
    return CUDA_SUCCESS;
}

static CUresult set_top(CUcontext handle)
{
    if (!stack || !stack->count)
        return handle ? push(handle) : CUDA_SUCCESS;
    if (handle)
        stack->items[stack->count - 1] = handle;
    else
        stack->count--;
    return CUDA_SUCCESS;
}

CUresult api_current(struct context **out)
{
    CUresult result = api_initialized();
    struct context *context;

    if (result)
        return result;
    if (!top())
        return CUDA_ERROR_INVALID_CONTEXT;
    context = context_of(top());
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = context;
    return CUDA_SUCCESS;
}

CUresult api_enter(struct context **out)
{
    struct context *context;
    CUresult result = api_current(&context);

    if (!result)
        result = api_status(exec_context_status(context->exec, NULL));
    if (!result)
        *out = context;
    return result;
}

static void default_limits(struct context *context)
{
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

CUresult context_new(unsigned flags, void *handle, struct context **out)
{
    struct context *context = kiln_zalloc(sizeof *context);
    struct kiln_error err = {0};
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (!context)
        return result;
    pthread_mutex_init(&context->lock, NULL);
    context->flags = flags;
    context->is_primary = handle != NULL;
    context->id = driver_next_id();
    default_limits(context);
    if (exec_context_new(&context->exec, &err)) {
        result = api_result(&err);
        goto out;
    }
    result = stream_new(context, EXEC_STREAM_LEGACY, 0, &context->legacy);
    if (result)
        goto out;
    context->handle = handle ? handle : handle_new(HANDLE_CONTEXT, context);
    if (!context->handle) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
        goto out;
    }
    handle_set(context->handle, context);
    pthread_mutex_lock(&driver.lock);
    context->next = driver.contexts;
    driver.contexts = context;
    pthread_mutex_unlock(&driver.lock);
    *out = context;
    return CUDA_SUCCESS;
out:
    if (context->legacy)
        stream_destroy(context->legacy);
    exec_context_free(context->exec);
    pthread_mutex_destroy(&context->lock);
    kiln_release(context);
    return result;
}

static void unlink_context(struct context *context)
{
    struct context **at = &driver.contexts;

    pthread_mutex_lock(&driver.lock);
    while (*at && *at != context)
        at = &(*at)->next;
    if (*at)
        *at = context->next;
    pthread_mutex_unlock(&driver.lock);
}

void context_destroy(struct context *context)
{
    if (context->is_primary)
        handle_set(context->handle, NULL);
    else
        handle_free(context->handle);
    unlink_context(context);
    exec_context_sync(context->exec, NULL);
    library_release_context(context);
    module_release_context(context);
    while (context->events)
        event_destroy(context->events);
    while (context->streams)
        stream_destroy(context->streams);
    while (context->threads)
        stream_destroy(context->threads);
    stream_destroy(context->legacy);
    texture_release_context(context);
    array_release_context(context);
    memory_release_context(context);
    exec_context_free(context->exec);
    pthread_mutex_destroy(&context->lock);
    kiln_release(context);
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice device,
                       unsigned api_version)
{
    struct context *context;
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!out || flags & ~(unsigned)CU_CTX_FLAGS_MASK ||
        (flags & CU_CTX_SCHED_MASK) == 3 || (flags & CU_CTX_SCHED_MASK) > 4)
        return CUDA_ERROR_INVALID_VALUE;
    result = context_new(flags, NULL, &context);
    if (result)
        return result;
    context->api_version = api_version;
    result = push(context->handle);
    if (result)
        context_destroy(context);
    else
        *out = context->handle;
    return result;
}

API(cuCtxCreate, CUcontext *out, unsigned int flags, CUdevice device)
{
    return create(out, flags, device, 3010);
}

API(cuCtxCreate_v2, CUcontext *out, unsigned int flags, CUdevice device)
{
    return create(out, flags, device, 3020);
}

API(cuCtxCreate_v3, CUcontext *out, CUexecAffinityParam *params, int count,
    unsigned int flags, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (count < 0 || (count && !params))
        return CUDA_ERROR_INVALID_VALUE;
    /* A share of the multiprocessors is not something this device gives. */
    if (count)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(out, flags, device, 3020);
}

API(cuCtxCreate_v4, CUcontext *out, CUctxCreateParams *params,
    unsigned int flags, CUdevice device)
{
    if (params && params->cigParams)
        return api_unsupported("cuCtxCreate with graphics data");
    if (params)
        return cuCtxCreate_v3(out, params->execAffinityParams,
                              params->numExecAffinityParams, flags, device);
    return cuCtxCreate_v3(out, NULL, 0, flags, device);
}

API(cuCtxDestroy_v2, CUcontext handle)
{
    struct context *context;
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    context = context_of(handle);
    if (!context || context->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (top() == handle)
        stack->count--;
    context_destroy(context);
    return CUDA_SUCCESS;
}

API_ALIAS(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext handle), (handle))

API(cuCtxPushCurrent_v2, CUcontext handle)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!handle_is(handle, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return push(handle);
}

API_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext handle), (handle))

API(cuCtxPopCurrent_v2, CUcontext *out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!stack || !stack->count)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (out)
        *out = top();
    stack->count--;
    return CUDA_SUCCESS;
}

API_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * out), (out))

API(cuCtxSetCurrent, CUcontext handle)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (handle && !handle_is(handle, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return set_top(handle);
}

API(cuCtxGetCurrent, CUcontext *out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = top();
    return CUDA_SUCCESS;
}

/* The context a call names, or the current one for NULL. */
static CUresult named(CUcontext handle, struct context **out)
{
    CUresult result = api_initialized();

    if (result || !handle)
        return result ? result : api_current(out);
    *out = context_of(handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

API(cuCtxGetDevice_v2, CUdevice *device, CUcontext handle)
{
    struct context *context;
    CUresult result = named(handle, &context);

    if (result)
        return result;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

API(cuCtxGetDevice, CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

API(cuCtxSynchronize_v2, CUcontext handle)
{
    struct context *context;
    struct kiln_error err = {0};
    CUresult result = named(handle, &context);

    if (result)
        return result;
    if (exec_context_sync(context->exec, &err))
        return api_result(&err);
    return CUDA_SUCCESS;
}

API(cuCtxSynchronize, void)
{
    return cuCtxSynchronize_v2(NULL);
}

API(cuCtxGetApiVersion, CUcontext handle, unsigned int *version)
{
    struct context *context;
    CUresult result = named(handle, &context);

    if (result)
        return result;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = context->api_version ? context->api_version : 3020;
    return CUDA_SUCCESS;
}

API(cuCtxGetId, CUcontext handle, unsigned long long *id)
{
    struct context *context;
    CUresult result = named(handle, &context);

    if (result)
        return result;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}

API(cuCtxGetFlags, unsigned int *flags)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

API(cuCtxSetFlags, unsigned int flags)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

API(cuCtxGetLimit, size_t *value, CUlimit limit)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!value || (unsigned)limit >= CONTEXT_LIMITS)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    *value = context->limits[limit];
    pthread_mutex_unlock(&context->lock);
    return CUDA_SUCCESS;
}

API(cuCtxSetLimit, CUlimit limit, size_t value)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if ((unsigned)limit >= CONTEXT_LIMITS)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_CIG_ENABLED ||
        limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    context->limits[limit] = value;
    pthread_mutex_unlock(&context->lock);
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
        exec_context_set_heap(context->exec, value);
    return CUDA_SUCCESS;
}

API(cuCtxGetCacheConfig, CUfunc_cache *out)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->cache_config;
    return CUDA_SUCCESS;
}

API(cuCtxSetCacheConfig, CUfunc_cache config)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    context->cache_config = config;
    return CUDA_SUCCESS;
}

API(cuCtxGetSharedMemConfig, CUsharedconfig *out)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->shared_config;
    return CUDA_SUCCESS;
}

API(cuCtxSetSharedMemConfig, CUsharedconfig config)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    context->shared_config = config;
    return CUDA_SUCCESS;
}

API(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

API(cuCtxResetPersistingL2Cache, void)
{
    struct context *context;

    return api_enter(&context);
}

API(cuCtxGetExecAffinity, CUexecAffinityParam *out, CUexecAffinityType type)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    memset(out, 0, sizeof *out);
    out->type = type;
    out->param.smCount.val = exec_runners();
    return CUDA_SUCCESS;
}

/* Attach and detach, from before contexts had stacks: one reference only. */
API(cuCtxAttach, CUcontext *out, unsigned int flags)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *out = context->handle;
    return CUDA_SUCCESS;
}

API(cuCtxDetach, CUcontext handle)
{
    if (!context_of(handle) || top() != handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    return cuCtxDestroy_v2(handle);
}
