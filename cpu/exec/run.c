/* SPDX-License-Identifier: MIT
 *
 * One slot running pieces of one grid. Kernels always run on fibers: on the
 * first one whole blocks, a chunk of them in one go, when they have no
 * barriers or can be resumed at them; on one fiber a warp otherwise.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "base/clock.h"
#include "cpu/exec/engine.h"

enum {
    CHUNK_MAX = 64,
    /* a chunk grows until it takes this long, so that blocks start close to
     * their order and the ticket still costs nothing */
    CHUNK_NS = 2000,
    /* then another grid may have its turn */
    SLICE_NS = 2000000,
    MXCSR_DEFAULT = 0x1f80, /* all masked, to nearest */
    MXCSR_FLUSH = 0x8040    /* FTZ and DAZ */
};

static size_t round_page(size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) & ~(page - 1);
}

/* ---- the fibers' side ---- */

static void place_block(struct abi_block *block, uint64_t index)
{
    const uint32_t *grid = block->launch->grid;

    block->ctaid[0] = (uint32_t)(index % grid[0]);
    index /= grid[0];
    block->ctaid[1] = (uint32_t)(index % grid[1]);
    block->ctaid[2] = (uint32_t)(index / grid[1]);
}

static void next_block(struct abi_block *block)
{
    const uint32_t *grid = block->launch->grid;

    if (++block->ctaid[0] < grid[0])
        return;
    block->ctaid[0] = 0;
    if (++block->ctaid[1] < grid[1])
        return;
    block->ctaid[1] = 0;
    block->ctaid[2]++;
}

static void run_blocks(struct slot *slot)
{
    const struct grid *grid = &slot->op->grid;
    abi_kernel *function = grid->function;
    const uint32_t warps = grid->launch.warps;
    const int barrier = (grid->flags & OBJECT_KERNEL_BARRIER) != 0;
    const int resume =
        grid->frame || (!barrier && grid->flags & OBJECT_KERNEL_YIELD);

    place_block(&slot->block, slot->next);
    slot->block.warp = 0;
    for (;;) {
        if (resume) {
            resume_block(slot);
        } else {
            if (barrier) { /* of a single warp */
                barrier_reset(slot, warps);
                slot->ready = slot->block.ready = 0;
            }
            slot_enter_kernel(slot);
            function(&slot->block, 0, warps);
            slot->in_kernel = 0;
        }
        if (++slot->next == slot->last)
            break;
        next_block(&slot->block);
    }
    slot->busy = 0;
    fiber_switch(&slot->fibers[0], &slot->base);
}

static void fiber_body(void *data)
{
    struct slot *slot = data;
    const uint32_t warp = slot->current;

    fiber_entered();
    for (;;) {
        if (!slot->by_warp) {
            if (warp)
                yield_help(slot);
            else
                run_blocks(slot);
            continue;
        }
        slot->block.warp = warp;
        slot_enter_kernel(slot);
        slot->op->grid.function(&slot->block, warp, warp + 1);
        slot->in_kernel = 0;
        barrier_exit(slot, warp);
    }
}

/* ---- the runner's side ---- */

static void enter_fibers(struct slot *slot)
{
    const uint32_t mxcsr = _mm_getcsr();

    _mm_setcsr(MXCSR_DEFAULT |
               (slot->op->grid.flags & OBJECT_KERNEL_FLUSH ? MXCSR_FLUSH : 0));
    if (slot->parked) {
        slot->parked = 0;
    } else {
        slot->current = 0;
        slot->busy |= 1;
        slot->ready &= ~(uint32_t)1;
    }
    fiber_switch(&slot->base, &slot->fibers[slot->current]);
    _mm_setcsr(mxcsr);
}

void slot_abandon(struct slot *slot)
{
    for (uint32_t busy = slot->busy; busy; busy &= busy - 1)
        fiber_reset(&slot->fibers[__builtin_ctz(busy)], fiber_body, slot);
    slot->busy = 0;
    slot->parked = 0;
}

/* 0 when the chunk is finished; slot->fault or slot->parked says why not. */
static int run_chunk(struct slot *slot)
{
    if (slot->by_warp) {
        if (!slot->parked)
            place_block(&slot->block, slot->next);
        for (; slot->next < slot->last; slot->next++) {
            if (!slot->parked)
                barrier_reset(slot, slot->block.launch->warps);
            enter_fibers(slot);
            if (slot->fault.source != FAULT_NONE || slot->parked)
                break;
            next_block(&slot->block);
        }
    } else {
        enter_fibers(slot);
    }
    return slot->fault.source == FAULT_NONE && !slot->parked ? 0 : -1;
}

static void report(struct slot *slot)
{
    struct exec_context *context = slot->op->stream->context;
    struct kiln_error why;

    if (slot->fault.source != FAULT_STOPPED) {
        fault_report(slot, &why);
        engine_lock();
        slot->leaving = 1;
        context_fail(context, &why);
        engine_unlock();
        pool_break_off(context, slot);
    }
    slot_abandon(slot);
    slot->serving = 0;
    slot->fault.source = FAULT_NONE;
}

/* Enough chunks for everybody: at most an eighth of a share of the rest. */
static uint64_t limit(uint64_t chunk, const struct grid *grid, uint64_t at)
{
    const uint64_t left = at < grid->total ? grid->total - at : 0;
    const uint64_t most = left / ((uint64_t)engine.runners * 8) + 1;

    return chunk < most ? chunk : most;
}

/* The chunk, and while it only waits and there is nothing else to run, over
 * and over. */
static int run_on(struct slot *slot)
{
    int left = run_chunk(slot);

    while (slot->parked && slot->fault.source == FAULT_NONE &&
           !atomic_load_explicit(&engine.parked_count, memory_order_relaxed) &&
           !atomic_load_explicit(&engine.active_count, memory_order_relaxed)) {
        sched_yield();
        left = run_chunk(slot);
    }
    return left;
}

void slot_run(struct slot *slot, const struct exec_stream *until,
              uint64_t until_seq)
{
    struct grid *grid = &slot->op->grid;
    const uint64_t start = clock_ns();
    uint64_t before = start;
    uint64_t chunk = 1;
    /* a block that others may have to wait for must not wait for a chunk's
     * turn */
    const uint64_t most = grid->flags & OBJECT_KERNEL_YIELD ? 1 : CHUNK_MAX;

    fault_enter(slot);
    fiber_adopt(&slot->base);
    while (slot->parked ||
           !atomic_load_explicit(&grid->stop, memory_order_relaxed)) {
        uint64_t now;

        if (!slot->parked) {
            slot->next = atomic_fetch_add(&grid->ticket, chunk);
            if (slot->next >= grid->total)
                break;
            slot->last = slot->next + chunk < grid->total ? slot->next + chunk
                                                          : grid->total;
        }
        if (run_on(slot))
            break;
        if (slot->last == grid->total)
            break;
        now = clock_ns();
        if (now - before < CHUNK_NS && chunk < most)
            chunk *= 2;
        else if (now - before > 4 * CHUNK_NS && chunk > 1)
            chunk /= 2;
        chunk = limit(chunk, grid, slot->last);
        before = now;
        if (until && atomic_load_explicit(&until->completed,
                                          memory_order_acquire) >= until_seq)
            break;
        if (now - start > SLICE_NS &&
            atomic_load_explicit(&engine.active_count, memory_order_relaxed) >
                1)
            break;
    }
    fault_enter(NULL);
    if (slot->fault.source != FAULT_NONE)
        report(slot);
}

/* ---- what a slot needs ---- */

enum kiln_status slot_add_fiber(struct slot *slot, struct kiln_error *err)
{
    const uint32_t i = slot->fiber_count;
    enum kiln_status st = fiber_init(&slot->fibers[i], i, err);

    if (st)
        return st;
    fiber_reset(&slot->fibers[i], fiber_body, slot);
    slot->fiber_count++;
    return KILN_OK;
}

static enum kiln_status prepare_fibers(struct slot *slot, uint32_t count,
                                       struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;

    while (!st && slot->fiber_count < count)
        st = slot_add_fiber(slot, err);
    return st;
}

/* Exactly the block's pages are accessible. A kernel without shared memory
 * leaves them as they are: two system calls a launch for nothing it uses. */
static enum kiln_status prepare_shared(struct slot *slot, size_t bytes,
                                       struct kiln_error *err)
{
    const size_t size = round_page(bytes);
    unsigned char *at = slot->block.shared;
    int bad = 0;

    if (!bytes || size == slot->shared_size)
        return KILN_OK;
    if (size > slot->shared_size)
        bad = mprotect(at + slot->shared_size, size - slot->shared_size,
                       PROT_READ | PROT_WRITE);
    else
        bad = mprotect(at + size, slot->shared_size - size, PROT_NONE);
    if (bad)
        return kiln_fail(err, KILN_E_MEMORY,
                         "no room for %zu bytes of shared memory: %m", bytes);
    slot->shared_size = size;
    return KILN_OK;
}

static enum kiln_status prepare_local(struct slot *slot, uint32_t bytes,
                                      uint32_t threads, struct kiln_error *err)
{
    const size_t stride = ((size_t)bytes + 15) & ~(size_t)15;
    const size_t guard = LOCAL_GUARD;
    /* chunks of the last warp reach past its last thread */
    const size_t size =
        round_page(stride * ((threads + ABI_WARP - 1) & ~(ABI_WARP - 1u)));

    slot->block.local_stride = stride;
    if (size <= slot->local_size)
        return KILN_OK;
    if (slot->local_map)
        munmap(slot->local_map, slot->local_size + 2 * guard);
    slot->local_size = 0;
    slot->block.local = NULL;
    slot->local_map = mmap(NULL, size + 2 * guard, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slot->local_map == MAP_FAILED) {
        slot->local_map = NULL;
    } else if (!mprotect(slot->local_map + guard, size,
                         PROT_READ | PROT_WRITE)) {
        slot->local_size = size;
        slot->block.local = slot->local_map + guard;
        return KILN_OK;
    } else {
        munmap(slot->local_map, size + 2 * guard);
        slot->local_map = NULL;
    }
    return kiln_fail(err, KILN_E_MEMORY,
                     "no room for %u bytes of local memory for each of %u "
                     "threads: %m",
                     bytes, threads);
}

/* The slots of a launch's first blocks have theirs from the start (open.c). */
static enum kiln_status prepare_window(struct slot *slot,
                                       struct kiln_error *err)
{
    void *map;

    if (slot->block.shared)
        return KILN_OK;
    map = mmap(NULL, WINDOW_BYTES, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_E_MEMORY,
                         "no %llu bytes of address space for the shared memory "
                         "of one block more: %m",
                         (unsigned long long)WINDOW_BYTES);
    slot->window = map;
    slot->block.shared = slot->window + WINDOW_HALF;
    return KILN_OK;
}

enum kiln_status slot_prepare(struct slot *slot, const struct op *op,
                              struct kiln_error *err)
{
    const struct grid *grid = &op->grid;
    const uint32_t warps = grid->launch.warps;
    enum kiln_status st;

    slot->by_warp =
        (grid->flags & OBJECT_KERNEL_BARRIER) && warps > 1 && !grid->frame;
    slot->block.launch = &grid->launch;
    slot->block.line = 0;
    st = prepare_fibers(slot, slot->by_warp ? warps : 1, err);
    if (!st)
        st = prepare_window(slot, err);
    if (!st)
        st = prepare_shared(slot, grid->shared, err);
    if (!st)
        st = prepare_local(slot, grid->local, grid->launch.threads, err);
    if (!st)
        st = resume_prepare(slot, grid->frame, warps, err);
    return st;
}

void slot_free_memory(struct slot *slot)
{
    for (uint32_t i = 0; i < slot->fiber_count; i++)
        fiber_fini(&slot->fibers[i]);
    slot->fiber_count = 0;
    resume_free(slot);
    buffer_fini(&slot->format);
    buffer_fini(&slot->fetched);
    buffer_fini(&slot->text);
    if (slot->local_map)
        munmap(slot->local_map, slot->local_size + 2 * (size_t)LOCAL_GUARD);
    slot->local_map = NULL;
    slot->local_size = 0;
    if (slot->window)
        munmap(slot->window, WINDOW_BYTES);
    slot->window = NULL;
    slot->block.shared = NULL;
    slot->shared_size = 0;
}
