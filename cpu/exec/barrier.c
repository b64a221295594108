/* SPDX-License-Identifier: MIT
 *
 * Barriers of one block. All its warps run on one thread, on a fiber each or
 * resumed one after the other (resume.c), so nothing here is atomic: a warp
 * runs until it waits, yields or returns, then the next ready one goes on, in
 * warp order.
 *
 * A barrier is counted in warps, as the PTX ISA counts it (barrier: "operates
 * on a per-warp basis"). Without a thread count it is complete when every
 * warp that has not returned has arrived; so the last warp to return can
 * complete it too. When no warp is ready and some have not returned, none
 * ever will be: a deadlock, reported as a fault.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/exec/engine.h"

void barrier_reset(struct slot *slot, uint32_t warps)
{
    const uint32_t all = warps == 32 ? UINT32_MAX : ((uint32_t)1 << warps) - 1;

    slot->ready = all;
    slot->live = all;
    slot->pending = 0;
    slot->handed = slot->held = slot->yielded = slot->turn = 0;
    memset(slot->barriers, 0, sizeof slot->barriers);
}

static void go(struct slot *slot, uint32_t from, uint32_t to)
{
    const uint32_t bit = (uint32_t)1 << to;

    slot->ready &= ~bit;
    slot->busy |= bit;
    slot->current = to;
    fiber_switch(&slot->fibers[from], &slot->fibers[to]);
}

void barrier_deadlock(struct slot *slot)
{
    if (slot->fault.source != FAULT_NONE)
        return;
    slot->fault.source = FAULT_DEADLOCK;
    slot->fault.warp = (uint32_t)__builtin_ctz(slot->live);
}

void barrier_next(struct slot *slot, uint32_t warp)
{
    if (slot->ready) {
        go(slot, warp, next_after(slot->ready, warp));
        return;
    }
    if (slot->live)
        barrier_deadlock(slot);
    fiber_switch(&slot->fibers[warp], &slot->base);
}

static int is_complete(const struct slot *slot, uint32_t id)
{
    const struct barrier *b = &slot->barriers[id];
    const uint32_t all = (uint32_t)__builtin_popcount(slot->live);

    if (id == ABI_CLUSTER_BARRIER) /* who has ended may have arrived before */
        return !(slot->live & ~b->members);
    return b->arrived >= (b->expected ? b->expected : all);
}

static void complete(struct slot *slot, uint32_t id)
{
    struct barrier *b = &slot->barriers[id];
    uint32_t waiting = b->waiting;

    slot->ready |= waiting;
    slot->pending &= ~((uint32_t)1 << id);
    if (b->kind != ABI_BARRIER_SYNC && b->kind != ABI_BARRIER_ARRIVE)
        for (; waiting; waiting &= waiting - 1)
            slot->results[__builtin_ctz(waiting)] = b->value;
    b->waiting = 0;
    b->arrived = 0;
    b->members = 0;
}

static void arrive(struct slot *slot, struct barrier *b, uint32_t threads,
                   uint32_t kind, uint32_t value)
{
    const uint32_t warps = slot->block.launch->warps;
    const uint32_t expected = threads / ABI_WARP + (threads % ABI_WARP != 0);

    if (!b->arrived) {
        b->kind = kind;
        b->value = kind == ABI_BARRIER_AND;
    }
    b->arrived++;
    /* a count of the whole block means what no count means */
    b->expected = expected >= warps ? 0 : expected;
    switch (kind) {
    case ABI_BARRIER_POPC:
        b->value += value;
        break;
    case ABI_BARRIER_AND:
        b->value &= value != 0;
        break;
    case ABI_BARRIER_OR:
        b->value |= value != 0;
        break;
    default:
        return;
    }
    b->kind = kind; /* arrivals and plain waits may share it */
}

/* The cluster's barrier, which threads come to and wait at in two steps. A warp
 * that waits and has not arrived in this phase did so in the one before, which
 * is over. */
static int cluster_step(struct slot *slot, uint32_t warp, uint32_t kind)
{
    struct barrier *b = &slot->barriers[ABI_CLUSTER_BARRIER];
    const uint32_t bit = (uint32_t)1 << warp;

    if (kind == ABI_BARRIER_WAIT) {
        b->waiting |= b->members & bit;
        return !(b->members & bit);
    }
    b->arrived += !(b->members & bit);
    b->members |= bit;
    slot->pending |= (uint32_t)1 << ABI_CLUSTER_BARRIER;
    if (is_complete(slot, ABI_CLUSTER_BARRIER))
        complete(slot, ABI_CLUSTER_BARRIER);
    return 1;
}

int barrier_arrive(struct slot *slot, uint32_t warp, uint32_t id,
                   uint32_t threads, uint32_t kind, uint32_t value)
{
    struct barrier *b = &slot->barriers[id % ABI_BARRIERS];

    if (id >= ABI_BARRIERS) {
        if (slot->fault.source == FAULT_BARRIER) /* the first one stays */
            return 0;
        slot->fault.source = FAULT_BARRIER;
        slot->fault.warp = warp;
        slot->fault.address = id;
        return 0;
    }
    if (id == ABI_CLUSTER_BARRIER)
        return cluster_step(slot, warp, kind);
    arrive(slot, b, threads, kind, value);
    if (is_complete(slot, id)) {
        slot->results[warp] = b->value;
        complete(slot, id);
        return 1;
    }
    slot->pending |= (uint32_t)1 << id;
    if (kind == ABI_BARRIER_ARRIVE)
        return 1;
    b->waiting |= (uint32_t)1 << warp;
    return 0;
}

uint32_t barrier_wait(struct abi_block *block, uint32_t warp, uint32_t id,
                      uint32_t threads, uint32_t kind, uint32_t value)
{
    struct slot *slot = block->engine;

    slot->in_kernel = 0;
    if (!barrier_arrive(slot, warp, id, threads, kind, value)) {
        if (slot->fault.source == FAULT_BARRIER) {
            slot->fault.ip = (uintptr_t)__builtin_return_address(0) - 1;
            fault_landing(slot);
        }
        barrier_next(slot, warp);
    }
    block->warp = warp;
    slot_enter_kernel(slot);
    return slot->results[warp];
}

void barrier_leave(struct slot *slot, uint32_t warp)
{
    slot->live &= ~((uint32_t)1 << warp);
    for (uint32_t ids = slot->pending; ids; ids &= ids - 1) {
        const uint32_t id = (uint32_t)__builtin_ctz(ids);

        if (slot->live && is_complete(slot, id))
            complete(slot, id);
    }
}

void barrier_exit(struct slot *slot, uint32_t warp)
{
    slot->busy &= ~((uint32_t)1 << warp);
    barrier_leave(slot, warp);
    barrier_next(slot, warp);
}

void barrier_describe(const struct slot *slot, char *text, size_t size)
{
    size_t at = 0;

    text[0] = 0;
    for (uint32_t id = 0; id < ABI_BARRIERS && at < size; id++) {
        const struct barrier *b = &slot->barriers[id];
        int n;

        if (!b->waiting)
            continue;
        n = snprintf(text + at, size - at, "%s%d at barrier %u (%u of %u)",
                     at ? ", " : "", __builtin_popcount(b->waiting), id,
                     b->arrived,
                     b->expected ? b->expected
                                 : (uint32_t)__builtin_popcount(slot->live));
        if (n < 0)
            return;
        at += (size_t)n;
    }
}
