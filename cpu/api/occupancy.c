/* SPDX-License-Identifier: MIT
 *
 * Occupancy: blocks of a kernel that would share one multiprocessor of the
 * size that the device's attributes describe. Programs size their grids by
 * it; a core runs one block at a time, but keeps as many under way when they
 * wait for each other (RESIDENT of cpu/exec).
 */
#include "cpu/api/module.h"

enum {
    SM_THREADS = 2048,
    SM_REGISTERS = 65536,
    SM_SHARED = EXEC_MAX_SHARED + 1024,
    SM_BLOCKS = 32,
    RESERVED_SHARED = 1024
};

static CUresult enter(CUfunction handle, struct function **out)
{
    struct context *context;
    CUresult result = api_enter(&context);

    return result ? result : function_find(handle, context, out);
}

unsigned kernel_occupancy(const struct function *f, unsigned threads,
                          size_t dynamic)
{
    const struct object_kernel *k = f->kernel;
    unsigned warps = (threads + 31) / 32;
    uint64_t shared = k->static_shared + (uint64_t)dynamic;
    uint64_t n;
    uint64_t by_registers;
    uint64_t by_shared;

    if (!threads || threads > kernel_max_threads(k) || shared > EXEC_MAX_SHARED)
        return 0;
    n = SM_THREADS / (warps * 32);
    by_registers = SM_REGISTERS / (warps * 32 * kernel_registers(k));
    by_shared = SM_SHARED / (shared + RESERVED_SHARED);
    n = by_registers < n ? by_registers : n;
    n = by_shared < n ? by_shared : n;
    return n < SM_BLOCKS ? (unsigned)n : SM_BLOCKS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks,
    CUfunction handle, int threads, size_t dynamic, unsigned int flags)
{
    struct function *f;
    CUresult result = enter(handle, &f);

    if (result)
        return result;
    if (!blocks || threads <= 0 ||
        flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = (int)kernel_occupancy(f, (unsigned)threads, dynamic);
    return CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction handle,
    int threads, size_t dynamic)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, handle, threads, dynamic, 0);
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block,
    CUfunction handle, CUoccupancyB2DSize size_of, size_t dynamic, int limit,
    unsigned int flags)
{
    struct function *f;
    unsigned best_threads = 0;
    unsigned best = 0;
    unsigned most;
    CUresult result = enter(handle, &f);

    if (result)
        return result;
    if (!grid || !block || limit < 0 ||
        flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    most = kernel_max_threads(f->kernel);
    if (limit && (unsigned)limit < most)
        most = (unsigned)limit;
    /* Most threads on a multiprocessor; of equals the largest block. */
    for (unsigned t = most; t; t = t % 32 ? t - t % 32 : t - 32) {
        unsigned n =
            kernel_occupancy(f, t, size_of ? size_of((int)t) : dynamic);

        if (n * t > best * best_threads) {
            best = n;
            best_threads = t;
        }
    }
    *block = (int)best_threads;
    *grid = (int)(best * exec_runners());
    return CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, CUfunction handle,
    CUoccupancyB2DSize size_of, size_t dynamic, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid, block, handle, size_of, dynamic, limit, 0);
}

API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, CUfunction handle,
    int blocks, int threads)
{
    struct function *f;
    int64_t room;
    CUresult result = enter(handle, &f);

    if (result)
        return result;
    if (!bytes || blocks <= 0 || threads <= 0 ||
        (unsigned)blocks > kernel_occupancy(f, (unsigned)threads, 0))
        return CUDA_ERROR_INVALID_VALUE;
    room = SM_SHARED / blocks - RESERVED_SHARED -
           (int64_t)f->kernel->static_shared;
    if (room > (int64_t)EXEC_MAX_SHARED - f->kernel->static_shared)
        room = (int64_t)EXEC_MAX_SHARED - f->kernel->static_shared;
    *bytes = room > 0 ? (size_t)room : 0;
    return CUDA_SUCCESS;
}
