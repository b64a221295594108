/* SPDX-License-Identifier: MIT
 *
 * Execution control: launches. What is refused, and with which result, is as
 * measured on NVIDIA's driver.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cpu/api/memory.h"
#include "cpu/api/module.h"

/* Parameter blocks up to this are put together on the stack. */
enum { PARAMS_ON_STACK = 4096, MAX_REGISTERS_BLOCK = 65536 };

struct request {
    CUfunction function;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    CUstream stream;
    void **params;
    void **extra;
    int cooperative;
};

/* "kernel 'saxpy': block 32 x 33 x 1: ..." for the log; the caller returns
 * the code. */
static CUresult refuse(const struct function *f, CUresult result,
                       const char *why, uint64_t found, uint64_t limit)
{
    log_line(LOG_INFO, "launch of '%s': %s %llu, limit %llu", f->kernel->name,
             why, (unsigned long long)found, (unsigned long long)limit);
    return result;
}

static CUresult check_shape(const struct function *f, const struct request *r)
{
    const struct object_kernel *k = f->kernel;
    static const uint32_t grid_max[3] = {0x7fffffff, 65535, 65535};
    static const uint32_t block_max[3] = {1024, 1024, 64};
    uint64_t threads;

    for (int d = 0; d < 3; d++) {
        if (!r->grid[d] || r->grid[d] > grid_max[d])
            return refuse(f, CUDA_ERROR_INVALID_VALUE, "grid dimension",
                          r->grid[d], grid_max[d]);
        if (!r->block[d] || r->block[d] > block_max[d])
            return refuse(f, CUDA_ERROR_INVALID_VALUE, "block dimension",
                          r->block[d], block_max[d]);
    }
    threads = (uint64_t)r->block[0] * r->block[1] * r->block[2];
    if (threads > kernel_max_threads(k))
        return refuse(f, CUDA_ERROR_INVALID_VALUE, "threads of a block",
                      threads, kernel_max_threads(k));
    if (k->reqntid[0])
        for (int d = 0; d < 3; d++)
            if (r->block[d] != (k->reqntid[d] ? k->reqntid[d] : 1))
                return refuse(f, CUDA_ERROR_INVALID_VALUE,
                              "block unlike the kernel's .reqntid", r->block[d],
                              k->reqntid[d]);
    if (threads * kernel_registers(k) > MAX_REGISTERS_BLOCK)
        return refuse(f, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      "registers of a block", threads * kernel_registers(k),
                      MAX_REGISTERS_BLOCK);
    if (r->shared > kernel_dynamic_limit(k, f->settings))
        return refuse(f, CUDA_ERROR_INVALID_VALUE, "dynamic shared bytes",
                      r->shared, kernel_dynamic_limit(k, f->settings));
    if (k->static_shared + (uint64_t)r->shared > EXEC_MAX_SHARED)
        return refuse(f, CUDA_ERROR_INVALID_VALUE, "shared bytes",
                      k->static_shared + (uint64_t)r->shared, EXEC_MAX_SHARED);
    return CUDA_SUCCESS;
}

/* The `extra` list: a ready block and its size. A shorter one is taken, the
 * rest being zero here. */
static CUresult from_extra(const struct function *f, void *const *extra,
                           unsigned char *block)
{
    const void *bytes = NULL;
    const size_t *size = NULL;

    while (*extra != CU_LAUNCH_PARAM_END) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
        extra += 2;
    }
    if (!bytes && !size && !f->kernel->param_count)
        return CUDA_SUCCESS;
    if (!bytes || !size)
        return CUDA_ERROR_INVALID_VALUE;
    if (*size > f->kernel->param_bytes)
        return refuse(f, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      "bytes of parameters", *size, f->kernel->param_bytes);
    memcpy(block, bytes, *size);
    return CUDA_SUCCESS;
}

static CUresult from_params(const struct function *f, void *const *params,
                            unsigned char *block)
{
    const struct object_kernel *k = f->kernel;

    if (k->param_count && !params)
        return refuse(f, CUDA_ERROR_INVALID_VALUE, "no arguments, parameters",
                      0, k->param_count);
    for (uint32_t i = 0; i < k->param_count; i++) {
        if (!params[i])
            return refuse(f, CUDA_ERROR_INVALID_VALUE, "no value for argument",
                          i, k->param_count);
        memcpy(block + k->params[i].offset, params[i], k->params[i].size);
    }
    return CUDA_SUCCESS;
}

/* A thread's local memory: the stack has what CU_LIMIT_STACK_SIZE asks for,
 * and what it has been compiled with at least. */
static uint32_t local_bytes(const struct function *f)
{
    enum { MOST = 512 * 1024 }; /* as a GPU has it */
    const struct object_kernel *k = f->kernel;
    struct context *context = f->module->context;
    size_t stack;

    if (!(k->flags & OBJECT_KERNEL_STACK))
        return k->local_bytes;
    pthread_mutex_lock(&context->lock);
    stack = context->limits[CU_LIMIT_STACK_SIZE];
    pthread_mutex_unlock(&context->lock);
    if (stack > MOST)
        stack = MOST;
    return k->local_bytes +
           (stack > OBJECT_STACK
                ? ((uint32_t)stack - OBJECT_STACK + 15) & ~(uint32_t)15
                : 0);
}

static CUresult submit(const struct function *f, const struct request *r,
                       struct stream *stream, const void *params)
{
    const struct object_kernel *k = f->kernel;
    const struct object_variant *variant = exec_shape(k, r->grid, r->block);
    struct kiln_error err = {0};
    struct exec_launch launch = {
        .flags = k->flags,
        .cooperative = r->cooperative,
        .static_shared = k->static_shared,
        .dynamic_shared = r->shared,
        .local_bytes = local_bytes(f),
        .frame_bytes = k->frame_bytes,
        .params = params,
        .param_bytes = k->param_bytes,
        .name = k->name,
        .code = f->module->image->code,
    };

    if (!variant)
        return CUDA_ERROR_INVALID_IMAGE;
    launch.function =
        (abi_kernel *)object_symbol(f->module->image->code, variant->symbol);
    if (!launch.function)
        return CUDA_ERROR_INVALID_IMAGE;
    if (f->module->data)
        launch.data = (unsigned char *)(uintptr_t)f->module->data->base;
    memcpy(launch.grid, r->grid, sizeof launch.grid);
    memcpy(launch.block, r->block, sizeof launch.block);
    return exec_launch(stream->exec, &launch, &err) ? api_result(&err)
                                                    : CUDA_SUCCESS;
}

/* Blocks that wait for each other must all be under way at once: as many as
 * the occupancy functions promise. */
static CUresult check_cooperative(const struct function *f,
                                  const struct request *r)
{
    const uint64_t blocks = (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
    const unsigned threads = r->block[0] * r->block[1] * r->block[2];
    uint64_t most;

    if (!r->cooperative)
        return CUDA_SUCCESS;
    most = (uint64_t)kernel_occupancy(f, threads, r->shared) * exec_runners();
    return blocks <= most
               ? CUDA_SUCCESS
               : refuse(f, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                        "blocks of a cooperative launch", blocks, most);
}

static CUresult launch(const struct request *r)
{
    unsigned char small[PARAMS_ON_STACK];
    unsigned char *block = small;
    struct context *context;
    struct function *f;
    struct stream *stream;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(r->function, context, &f);
    if (!result)
        result = stream_find(context, r->stream, &stream);
    if (result)
        return result;
    if (f->module->context != context || stream->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    result = check_shape(f, r);
    if (!result)
        result = check_cooperative(f, r);
    if (result)
        return result;
    if (r->params && r->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (f->kernel->param_bytes > sizeof small)
        block = kiln_alloc(f->kernel->param_bytes);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(block, 0, f->kernel->param_bytes);
    result = r->extra ? from_extra(f, r->extra, block)
                      : from_params(f, r->params, block);
    if (!result)
        result = submit(f, r, stream, block);
    if (block != small)
        kiln_release(block);
    return result;
}

#define LAUNCH_PARAMS                                                          \
    (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,   \
     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,   \
     CUstream stream, void **params, void **extra)
#define LAUNCH_ARGS                                                            \
    (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)

API_ON_STREAM(cuLaunchKernel, LAUNCH_PARAMS, LAUNCH_ARGS)
{
    struct request r = {function, {gx, gy, gz}, {bx, by, bz}, shared,
                        stream,   params,       extra,        0};

    return launch(&r);
}

API_ON_STREAM(cuLaunchCooperativeKernel,
              (CUfunction function, unsigned int gx, unsigned int gy,
               unsigned int gz, unsigned int bx, unsigned int by,
               unsigned int bz, unsigned int shared, CUstream stream,
               void **params),
              (function, gx, gy, gz, bx, by, bz, shared, stream, params))
{
    struct request r = {function, {gx, gy, gz}, {bx, by, bz}, shared,
                        stream,   params,       NULL,         1};

    return launch(&r);
}

static CUresult check_cluster(const CUlaunchConfig *c,
                              const CUlaunchAttributeValue *value)
{
    unsigned x = value->clusterDim.x;
    unsigned y = value->clusterDim.y;
    unsigned z = value->clusterDim.z;

    if (!x && !y && !z) /* as if it were not given */
        return CUDA_SUCCESS;
    if (!x || !y || !z || c->gridDimX % x || c->gridDimY % y ||
        c->gridDimZ % z || (uint64_t)x * y * z > 8)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return x * y * z == 1 ? CUDA_SUCCESS
                          : api_unsupported("clusters of blocks");
}

/* Attributes that only steer what this device does anyhow are taken. */
static CUresult read_attributes(const CUlaunchConfig *c, struct request *r)
{
    if (c->numAttrs && !c->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < c->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &c->attrs[i].value;
        CUresult result = CUDA_SUCCESS;

        switch (c->attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            r->cooperative = value->cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            result = check_cluster(c, value);
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            result = api_unsupported("events of a launch");
            break;
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
            result = api_unsupported("device-updatable kernel nodes");
            break;
        default:
            if ((unsigned)c->attrs[i].id >
                CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
                result = CUDA_ERROR_INVALID_VALUE;
        }
        if (result)
            return result;
    }
    return CUDA_SUCCESS;
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction function,
                          void **params, void **extra, int per_thread)
{
    struct request r = {.function = function};
    CUresult result;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    r.grid[0] = c->gridDimX;
    r.grid[1] = c->gridDimY;
    r.grid[2] = c->gridDimZ;
    r.block[0] = c->blockDimX;
    r.block[1] = c->blockDimY;
    r.block[2] = c->blockDimZ;
    r.shared = c->sharedMemBytes;
    r.stream = c->hStream;
    if (!r.stream && per_thread)
        r.stream = CU_STREAM_PER_THREAD;
    r.params = params;
    r.extra = extra;
    result = read_attributes(c, &r);
    return result ? result : launch(&r);
}

API(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function,
    void **params, void **extra)
{
    return launch_ex(config, function, params, extra, 0);
}

API(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction function,
    void **params, void **extra)
{
    return launch_ex(config, function, params, extra, 1);
}

struct host_call {
    CUhostFn fn;
    void *data;
};

/* Runs also after an error, to free the record; the program's function then
 * does not run. */
static void call_host(void *data, enum kiln_status status)
{
    struct host_call *call = data;

    if (!status)
        call->fn(call->data);
    kiln_release(call);
}

API_ON_STREAM(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data),
              (stream, fn, data))
{
    struct kiln_error err = {0};
    struct host_call *call;
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    if (result)
        return result;
    if (!fn)
        return CUDA_ERROR_INVALID_VALUE;
    call = kiln_zalloc(sizeof *call);
    if (!call)
        return CUDA_ERROR_OUT_OF_MEMORY;
    call->fn = fn;
    call->data = data;
    if (exec_host(s->exec, call_host, call, 1, &err)) {
        kiln_release(call);
        return api_result(&err);
    }
    return CUDA_SUCCESS;
}
