/* SPDX-License-Identifier: MIT
 *
 * KILN_CPU_CHECK: the addresses of an access, lane by lane, against what a
 * thread may touch: live allocations to the byte, the block's shared memory,
 * its own local memory, and other memory of the process that can be read.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cpu/exec/engine.h"

/* From its first byte on all in [from, from + size)? */
static int is_inside(uint64_t address, uint64_t bytes, uint64_t from,
                     uint64_t size)
{
    return address - from < size && bytes <= size - (address - from);
}

/* Memory of the process. Where one may not ask, the access itself tells. */
static int is_readable(uint64_t address, uint64_t bytes)
{
    unsigned char to[64];
    const struct iovec local = {to, bytes < sizeof to ? bytes : sizeof to};
    const struct iovec remote = {(void *)(uintptr_t)address, local.iov_len};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
               (ssize_t)local.iov_len ||
           errno != EFAULT;
}

static int is_own_local(const struct slot *slot, unsigned thread,
                        uint64_t address, uint64_t bytes)
{
    const struct abi_block *b = &slot->block;

    return is_inside(address, bytes,
                     (uint64_t)(uintptr_t)b->local + thread * b->local_stride,
                     b->local_stride);
}

/* 1, with the first byte that may not be touched. */
static int is_bad(const struct slot *slot, unsigned thread, uint64_t address,
                  uint64_t bytes, int writes, struct exec_range *last,
                  uint64_t *bad)
{
    const struct abi_block *b = &slot->block;
    const uint64_t shared = (uint64_t)(uintptr_t)b->shared;

    *bad = address;
    if (slot->block.shared &&
        address - (shared - WINDOW_HALF) < 2 * (uint64_t)WINDOW_HALF)
        return !is_inside(address, bytes, shared, slot->op->grid.shared);
    if (exec_memory_is_device(address)) {
        if (writes && constant_writable((void *)(uintptr_t)address) !=
                          (void *)(uintptr_t)address)
            return 1;
        if (is_inside(address, bytes, last->base, last->size))
            return 0;
        if (!exec_memory_find(address, last)) {
            last->size = 0;
            return 1;
        }
        *bad = last->base + last->size;
        return !is_inside(address, bytes, last->base, last->size);
    }
    if (slot->local_map &&
        is_inside(address, 1, (uint64_t)(uintptr_t)slot->local_map,
                  slot->local_size + 2 * (uint64_t)LOCAL_GUARD))
        return !is_own_local(slot, thread, address, bytes);
    return !is_readable(address, bytes);
}

void check_access(struct abi_block *block, uint32_t warp, uint32_t lanes,
                  const uint64_t *addresses, uint32_t what)
{
    struct slot *slot = block->engine;
    const uint32_t bytes = what & ~(uint32_t)ABI_CHECK_WRITE;
    struct exec_range last = {0};
    uint64_t bad;
    int found = 0;

    /* from here on nothing breaks this off: it may hold a lock */
    atomic_signal_fence(memory_order_seq_cst);
    slot->in_kernel = 0;
    atomic_signal_fence(memory_order_seq_cst);
    for (; lanes && !found; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(lanes);

        found = is_bad(slot, warp * ABI_WARP + lane, addresses[lane], bytes,
                       (what & ABI_CHECK_WRITE) != 0, &last, &bad);
        block->lanes = (uint32_t)1 << lane;
    }
    if (found)
        fault_call(block, warp,
                   what & ABI_CHECK_WRITE ? ABI_FAULT_WRITE : ABI_FAULT_READ,
                   bad);
    atomic_signal_fence(memory_order_seq_cst);
    slot_enter_kernel(slot);
    atomic_signal_fence(memory_order_seq_cst);
}
