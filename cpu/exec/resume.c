/* SPDX-License-Identifier: MIT
 *
 * Blocks whose kernels can be resumed, or that have no barriers but yield. One
 * call runs every ready warp until it ends or waits (or yields: yield.c); the
 * frames then say what each waits for. In the common
 * case, all warps at one plain barrier, that is all there is to see; else the
 * arrivals are counted one by one as on fibers (barrier.c).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/exec/engine.h"

static struct abi_frame *frame_of(const struct slot *slot, uint32_t warp)
{
    return (struct abi_frame *)(void *)(slot->block.frames +
                                        warp * slot->block.frame_stride);
}

/* All warps that live were run; do those that go on all wait at the same
 * barrier, with nothing counted there before? Their bits, or 0. */
static uint32_t at_one_barrier(const struct slot *slot, uint32_t ran)
{
    const struct abi_frame *first = NULL;
    uint32_t waiting = 0;

    if (ran != slot->live || slot->pending)
        return 0;
    for (uint32_t left = ran; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctz(left);
        const struct abi_frame *f = frame_of(slot, warp);

        if (f->state == ABI_ENDED)
            continue;
        if (!first)
            first = f;
        if (f->kind != ABI_BARRIER_SYNC || f->threads ||
            f->barrier >= ABI_BARRIERS || f->barrier != first->barrier)
            return 0;
        waiting |= (uint32_t)1 << warp;
    }
    return waiting;
}

/* Count what each warp did; slot->ready: those that may go on. */
static void count_arrivals(struct slot *slot, uint32_t ran)
{
    for (uint32_t left = ran; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctz(left);
        const struct abi_frame *f = frame_of(slot, warp);

        if (f->state == ABI_ENDED)
            barrier_leave(slot, warp);
        else if (barrier_arrive(slot, warp, f->barrier, f->threads, f->kind,
                                f->value))
            slot->ready |= (uint32_t)1 << warp;
    }
    for (uint32_t left = slot->ready; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctz(left);

        frame_of(slot, warp)->result = slot->results[warp];
    }
}

/* Of the warps handed out, those that neither wait to be taken nor are held
 * up in a yield have ended, or wait at a barrier. */
static void look(struct slot *slot)
{
    const uint32_t ran = slot->handed & ~slot->block.ready & ~slot->held;
    uint32_t together = 0;

    slot->handed &= ~ran;
    if (!slot->op->grid.frame) {
        slot->live &= ~ran;
        return;
    }
    if (!slot->held)
        together = at_one_barrier(slot, ran);
    if (together)
        slot->ready = slot->live = together;
    else
        count_arrivals(slot, ran);
}

void resume_ready(struct slot *slot)
{
    const struct grid *grid = &slot->op->grid;

    slot->handed |= slot->ready;
    slot->block.ready |= slot->ready;
    slot->ready = 0;
    slot_enter_kernel(slot);
    grid->function(&slot->block, 0, grid->launch.warps);
    slot->in_kernel = 0;
    slot->fault.ip = 0;
    if (!(grid->flags & OBJECT_KERNEL_YIELD))
        slot->block.ready = 0;
    look(slot);
    if (atomic_load_explicit(&grid->stop, memory_order_relaxed) &&
        slot->fault.source == FAULT_NONE)
        slot->fault.source = FAULT_STOPPED;
}

void resume_block(struct slot *slot)
{
    const struct grid *grid = &slot->op->grid;
    const uint32_t warps = grid->launch.warps;

    barrier_reset(slot, warps);
    slot->block.ready = 0;
    for (uint32_t w = 0; grid->frame && w < warps; w++)
        frame_of(slot, w)->state = 0;
    while (slot->fault.source == FAULT_NONE) {
        if (slot->ready | slot->block.ready)
            resume_ready(slot);
        else if (slot->yielded)
            yield_leave(slot);
        else
            break;
    }
    if (slot->live && slot->fault.source == FAULT_NONE)
        barrier_deadlock(slot);
    if (slot->fault.source != FAULT_NONE)
        fiber_switch(&slot->fibers[0], &slot->base);
}

static void *map_frames(size_t size)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return map == MAP_FAILED ? NULL : map;
}

/* An odd number of lines a frame, so that the frames of a block do not fall
 * into the same sets of the cache. */
enum kiln_status resume_prepare(struct slot *slot, uint32_t bytes,
                                uint32_t warps, struct kiln_error *err)
{
    const size_t stride = ((size_t)bytes + 63) / 64 % 2 ? bytes : bytes + 64u;
    const size_t size = stride * warps;

    slot->block.frame_stride = stride;
    if (!bytes || size <= slot->frames_size)
        return KILN_OK;
    resume_free(slot);
    slot->block.frames = map_frames(size);
    if (!slot->block.frames)
        return kiln_fail(err, KILN_E_MEMORY,
                         "no room for frames of %u bytes for %u warps: %m",
                         bytes, warps);
    slot->frames_size = size;
    return KILN_OK;
}

void resume_free(struct slot *slot)
{
    if (slot->frames_size)
        munmap(slot->block.frames, slot->frames_size);
    slot->block.frames = NULL;
    slot->frames_size = 0;
}
