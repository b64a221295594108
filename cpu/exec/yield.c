/* SPDX-License-Identifier: MIT
 *
 * Kernels that wait in loops for memory to change: locks, flags, barriers of
 * their own. Whoever they wait for must run meanwhile, be it another warp of
 * the block, another block, or another kernel.
 *
 * A call of the kernel takes warps out of block->ready one by one. When one
 * of them yields, its fiber stays as it is, and the next fiber calls the
 * kernel for the warps that are left; then the fibers that yielded have a
 * turn each. When all have had theirs, the slot is parked: its thread leaves
 * it as it is, and runs another block or returns to this one (pool.c).
 *
 * Fiber 0 owns the block: it starts it and sees its end. The others call the
 * kernel while there are warps to run, and are idle otherwise.
 */
#include "cpu/exec/engine.h"

static uint32_t bit_of(uint32_t i)
{
    return (uint32_t)1 << i;
}

/* Leave the slot as it is; returns when a thread comes back to it. */
static void park(struct slot *slot)
{
    slot->parked = 1;
    fiber_switch(&slot->fibers[slot->current], &slot->base);
}

/* The running fiber stays where it is until something switches back. */
static void go(struct slot *slot, uint32_t to)
{
    const uint32_t from = slot->current;

    slot->busy |= bit_of(to);
    slot->current = to;
    fiber_switch(&slot->fibers[from], &slot->fibers[to]);
}

static int has_warps(const struct slot *slot)
{
    return (slot->ready | slot->block.ready) != 0;
}

/* On a fiber with nothing to run: where others have yielded they go on. */
void yield_leave(struct slot *slot)
{
    for (;;) {
        if (slot->turn) {
            go(slot, (uint32_t)__builtin_ctz(slot->turn));
            return;
        }
        if (slot->current && !(slot->yielded & 1)) {
            go(slot, 0); /* it sees the block's end, or parks */
            return;
        }
        slot->turn = slot->yielded;
        park(slot);
    }
}

/* A fiber that has not yielded, for the warps that are left. */
static void run_the_rest(struct slot *slot)
{
    const uint32_t to = (uint32_t)__builtin_ctz(~slot->yielded);
    struct kiln_error why;

    if (to < slot->fiber_count || !slot_add_fiber(slot, &why)) {
        go(slot, to);
        return;
    }
    slot->fault.source = FAULT_MEMORY;
    fault_landing(slot);
}

/* Kernels whose warps are called one by one: a fiber each. */
static void by_warp(struct slot *slot, uint32_t warp)
{
    uint32_t next;

    slot->ready |= bit_of(warp);
    slot->yielded |= bit_of(warp);
    if (!(slot->ready & ~slot->yielded)) {
        slot->yielded = 0;
        park(slot);
        next = next_after(slot->ready, warp);
    } else {
        next = next_after(slot->ready & ~slot->yielded, warp);
    }
    slot->ready &= ~bit_of(next);
    if (next != warp)
        go(slot, next);
}

static void by_call(struct slot *slot, uint32_t warp)
{
    const uint32_t self = bit_of(slot->current);

    slot->held |= bit_of(warp);
    slot->yielded |= self;
    slot->turn &= ~self;
    if (has_warps(slot)) {
        run_the_rest(slot);
    } else {
        if (!slot->turn) {
            slot->turn = slot->yielded;
            park(slot);
        }
        if (slot->turn != self)
            go(slot, next_after(slot->turn, slot->current));
    }
    slot->yielded &= ~self;
    slot->turn &= ~self;
    slot->held &= ~bit_of(warp);
}

void yield_warp(struct abi_block *block, uint32_t warp)
{
    struct slot *slot = block->engine;

    slot->in_kernel = 0;
    if (slot->by_warp)
        by_warp(slot, warp);
    else
        by_call(slot, warp);
    block->warp = warp;
    slot_enter_kernel(slot);
}

/* A fiber other than the first: what is left of the block's warps. */
void yield_help(struct slot *slot)
{
    while (has_warps(slot) && slot->fault.source == FAULT_NONE)
        resume_ready(slot);
    if (slot->fault.source != FAULT_NONE)
        fault_landing(slot);
    yield_leave(slot);
}
