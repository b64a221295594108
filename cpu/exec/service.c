/* SPDX-License-Identifier: MIT
 *
 * Calls of a kernel, lane by lane in the order of the lanes.
 */
#include "cpu/exec/service.h"

#include <stdio.h>

#include "cpu/exec/engine.h"

enum { MESSAGE = 1024 };

static void leave_kernel(struct slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst);
    slot->in_kernel = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

static void enter_kernel(struct slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst);
    slot_enter_kernel(slot);
    atomic_signal_fence(memory_order_seq_cst);
}

void service_fetch(struct slot *slot, void *to, uint64_t from, size_t n)
{
    const volatile unsigned char *p =
        (const volatile unsigned char *)(uintptr_t)from;
    unsigned char *out = to;

    enter_kernel(slot);
    for (size_t i = 0; i < n; i++)
        out[i] = p[i];
    leave_kernel(slot);
}

void service_fetch_string(struct slot *slot, uint64_t from, size_t limit)
{
    slot->fetched.size = 0;
    while (slot->fetched.size < limit && !slot->fetched.bad) {
        unsigned char piece[64];
        size_t n = 0;
        const volatile unsigned char *p =
            (const volatile unsigned char *)(uintptr_t)from;

        enter_kernel(slot);
        while (n < sizeof piece && slot->fetched.size + n < limit &&
               (piece[n] = p[n]))
            n++;
        leave_kernel(slot);
        buffer_add(&slot->fetched, piece, n);
        if (n < sizeof piece)
            return;
        from += n;
    }
}

static uint32_t thread_of(const struct slot *slot, uint32_t warp, unsigned lane,
                          int d)
{
    return slot->block.launch->tid[d][warp * ABI_WARP + lane];
}

/* args: message, file, line, function, size of a character. */
static void say_assertion(struct slot *slot, uint32_t warp, unsigned lane,
                          const uint64_t *args)
{
    const uint32_t *at = slot->block.ctaid;
    char part[3][MESSAGE + 1];
    static const unsigned from[] = {0, 1, 3};

    for (int i = 0; i < 3; i++) {
        uint64_t text = args[from[i] * ABI_WARP + lane];

        slot->fetched.size = 0;
        if (text)
            service_fetch_string(slot, text, MESSAGE);
        snprintf(part[i], sizeof part[i], "%.*s", (int)slot->fetched.size,
                 buffer_str(&slot->fetched));
    }
    fprintf(stderr,
            "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
            "failed.\n",
            part[1], (uint32_t)args[2 * ABI_WARP + lane], part[2], at[0], at[1],
            at[2], thread_of(slot, warp, lane, 0),
            thread_of(slot, warp, lane, 1), thread_of(slot, warp, lane, 2),
            part[0]);
}

static void print(struct slot *slot, uint32_t mask, uint64_t *args)
{
    slot->text.size = 0;
    for (; mask; mask &= mask - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(mask);

        slot->block.lanes = (uint32_t)1 << lane; /* should it fault */
        args[lane] =
            (uint32_t)format_text(slot, args[lane], args[ABI_WARP + lane]);
    }
    if (!slot->text.bad)
        output_add(slot->op->stream->context, slot->text.bytes,
                   slot->text.size);
    slot->text.bad = slot->fetched.bad = 0;
}

void service_call(struct abi_block *block, uint32_t warp, uint32_t kind,
                  uint32_t mask, uint64_t *args)
{
    struct slot *slot = block->engine;
    struct exec_context *context = slot->op->stream->context;

    if (!mask)
        return;
    slot->serving = 1;
    leave_kernel(slot);
    switch (kind) {
    case ABI_SERVICE_PRINTF:
        print(slot, mask, args);
        break;
    case ABI_SERVICE_ASSERT:
        block->lanes = mask;
        for (; mask; mask &= mask - 1)
            say_assertion(slot, warp, (unsigned)__builtin_ctz(mask), args);
        fault_call(block, warp, ABI_FAULT_ASSERT, 0);
    case ABI_SERVICE_MALLOC:
        for (; mask; mask &= mask - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(mask);

            args[lane] = heap_alloc(context, args[lane]);
        }
        break;
    case ABI_SERVICE_FREE:
        for (; mask; mask &= mask - 1) {
            const uint64_t p = args[__builtin_ctz(mask)];

            block->lanes = mask;
            if (p && heap_free(context, p))
                fault_call(block, warp, ABI_FAULT_ADDRESS, p);
        }
        break;
    default:
        block->lanes = mask;
        fault_call(block, warp, ABI_FAULT_TRAP, 0);
    }
    slot->serving = 0;
    enter_kernel(slot);
}
