/* SPDX-License-Identifier: MIT
 *
 * Kernels that are resumed at barriers, written by hand as the code generator
 * writes them: each call runs every ready warp from its frame's state on.
 */
#include "fixture.h"

#include <string.h>

enum { FRAME = 128 };

static struct abi_frame *frame_of(const struct abi_block *block, uint32_t warp)
{
    return (struct abi_frame *)(void *)(block->frames +
                                        warp * block->frame_stride);
}

static uint32_t *values_of(struct abi_frame *frame)
{
    return (uint32_t *)(void *)(frame + 1);
}

/* One warp's step: leaves the frame ended or waiting. */
typedef void step_fn(struct abi_block *block, struct abi_frame *frame,
                     uint32_t warp);

static void each_ready(struct abi_block *block, uint32_t first, uint32_t end,
                       step_fn *step)
{
    for (uint32_t w = first; w < end; w++)
        if (block->ready >> w & 1)
            step(block, frame_of(block, w), w);
}

static void wait_at(struct abi_frame *frame, uint32_t state, uint32_t barrier,
                    uint32_t threads, uint32_t kind, uint32_t value)
{
    frame->state = state;
    frame->barrier = barrier;
    frame->threads = threads;
    frame->kind = kind;
    frame->value = value;
}

static void resumable(struct exec_stream *stream, abi_kernel *kernel,
                      uint32_t grid, uint32_t threads, uint32_t *out)
{
    struct kiln_error err = {0};
    const struct exec_launch l = {.function = kernel,
                                  .flags = OBJECT_KERNEL_BARRIER |
                                           OBJECT_KERNEL_RESUME,
                                  .grid = {grid, 1, 1},
                                  .block = {threads, 1, 1},
                                  .static_shared = 4096,
                                  .frame_bytes = FRAME,
                                  .params = &out,
                                  .param_bytes = sizeof out,
                                  .name = "resumed"};

    if (exec_launch(stream, &l, &err))
        fail_msg("%s", err.text);
}

/* ---- a tree sum: values live across barriers ---- */

static void tree_step(struct abi_block *block, struct abi_frame *frame,
                      uint32_t warp)
{
    uint32_t *shared = (uint32_t *)(void *)block->shared;
    uint32_t *half = &values_of(frame)[0];
    const uint32_t n = block->launch->threads;

    if (frame->state == 0) {
        for (uint32_t t = warp * 32; t < warp * 32 + 32; t++)
            shared[t] = block->ctaid[0] + t;
        *half = n / 2;
    } else {
        for (uint32_t t = warp * 32; t < warp * 32 + 32 && t < *half; t++)
            shared[t] += shared[t + *half];
        *half /= 2;
    }
    /* the first wait is for the stores, each later one for a round */
    if (frame->state == 0 || *half) {
        wait_at(frame, 1, 0, 0, ABI_BARRIER_SYNC, 0);
        return;
    }
    frame->state = ABI_ENDED;
    if (warp == 0)
        (*PARAMS(block, uint32_t *))[block->ctaid[0]] = shared[0];
}

static void tree(struct abi_block *block, uint32_t first, uint32_t end)
{
    each_ready(block, first, end, tree_step);
}

static void a_resumed_tree_reduction_meets_at_its_barriers(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 300 };
    uint32_t *out = device_alloc(BLOCKS * 4);

    for (uint32_t size = 32; size <= 1024; size *= 2) {
        resumable(f->stream, tree, BLOCKS, size, out);
        finish(f->stream);
        for (uint32_t i = 0; i < BLOCKS; i++)
            assert_int_equal(out[i], size * i + size * (size - 1) / 2);
    }
    device_free(out);
}

/* ---- reductions, and warps that end early ---- */

static void vote_step(struct abi_block *block, struct abi_frame *frame,
                      uint32_t warp)
{
    uint32_t *out = *PARAMS(block, uint32_t *) + warp * 4;

    switch (frame->state) {
    case 0:
        wait_at(frame, 1, 2, 0, ABI_BARRIER_POPC, warp + 1);
        return;
    case 1:
        out[0] = frame->result;
        wait_at(frame, 2, 2, 0, ABI_BARRIER_AND, warp != 2);
        return;
    case 2:
        out[1] = frame->result;
        if (warp % 2) {
            frame->state = ABI_ENDED;
            return;
        }
        wait_at(frame, 3, 2, 0, ABI_BARRIER_OR, warp == 4);
        return;
    default:
        out[2] = frame->result;
        frame->state = ABI_ENDED;
    }
}

static void vote(struct abi_block *block, uint32_t first, uint32_t end)
{
    each_ready(block, first, end, vote_step);
}

static void resumed_reductions_reach_every_warp(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(32 * 16);

    for (uint32_t warps = 1; warps <= 32; warps += 3) {
        resumable(f->stream, vote, 1, warps * 32, out);
        finish(f->stream);
        for (uint32_t w = 0; w < warps; w++) {
            assert_int_equal(out[w * 4], warps * (warps + 1) / 2);
            assert_int_equal(out[w * 4 + 1], warps <= 2);
            if (w % 2 == 0)
                assert_int_equal(out[w * 4 + 2], warps > 4);
        }
    }
    device_free(out);
}

/* ---- producers and consumers ---- */

static void produce(struct abi_block *block, struct abi_frame *frame,
                    uint32_t warp)
{
    uint32_t *buffer = (uint32_t *)(void *)block->shared;
    uint32_t *i = &values_of(frame)[0];

    /* state 1: has arrived at "full"; state 2: was let on by "empty" */
    if (frame->state == 0)
        *i = 0;
    if (frame->state == 1) {
        if (++*i == 100) {
            frame->state = ABI_ENDED;
            return;
        }
        wait_at(frame, 2, 2, 128, ABI_BARRIER_SYNC, 0);
        return;
    }
    buffer[warp] = *i * 2 + warp;
    wait_at(frame, 1, 1, 128, ABI_BARRIER_ARRIVE, 0);
}

static void consume(struct abi_block *block, struct abi_frame *frame,
                    uint32_t warp)
{
    uint32_t *buffer = (uint32_t *)(void *)block->shared;
    uint32_t *out = *PARAMS(block, uint32_t *);
    uint32_t *i = &values_of(frame)[0];

    if (frame->state == 0)
        *i = 0;
    if (frame->state == 1) {
        out[*i * 2 + warp - 2] = buffer[warp - 2];
        if (++*i == 100) {
            frame->state = ABI_ENDED;
            return;
        }
        wait_at(frame, 2, 2, 128, ABI_BARRIER_ARRIVE, 0);
        return;
    }
    wait_at(frame, 1, 1, 128, ABI_BARRIER_SYNC, 0);
}

static void pipeline_step(struct abi_block *block, struct abi_frame *frame,
                          uint32_t warp)
{
    if (warp < 2)
        produce(block, frame, warp);
    else
        consume(block, frame, warp);
}

static void pipeline(struct abi_block *block, uint32_t first, uint32_t end)
{
    each_ready(block, first, end, pipeline_step);
}

static void resumed_producers_and_consumers_keep_step(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(200 * 4);

    resumable(f->stream, pipeline, 1, 128, out);
    finish(f->stream);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(out[i], i);
    device_free(out);
}

/* ---- faults ---- */

static void cross_step(struct abi_block *block, struct abi_frame *frame,
                       uint32_t warp)
{
    (void)block;
    if (frame->state == 0)
        wait_at(frame, 1, warp & 1, 96, ABI_BARRIER_SYNC, 0);
    else
        frame->state = ABI_ENDED;
}

static void cross(struct abi_block *block, uint32_t first, uint32_t end)
{
    each_ready(block, first, end, cross_step);
}

static void a_resumed_deadlock_is_a_launch_failure(void **state)
{
    struct fixture *f = *state;

    resumable(f->stream, cross, 3, 128, NULL);
    fails(f->stream, KILN_E_LAUNCH, "deadlock: of 4 warps left 2 at barrier 0");
}

static void trap_step(struct abi_block *block, struct abi_frame *frame,
                      uint32_t warp)
{
    if (frame->state == 0)
        wait_at(frame, 1, 0, 0, ABI_BARRIER_SYNC, 0);
    else if (warp == 2)
        block->fault(block, warp, ABI_FAULT_TRAP, 0);
    else
        frame->state = ABI_ENDED;
}

static void trap(struct abi_block *block, uint32_t first, uint32_t end)
{
    each_ready(block, first, end, trap_step);
}

static void a_resumed_trap_leaves_the_slot_usable(void **state)
{
    uint32_t *out = device_alloc(300 * 4);

    for (int i = 0; i < 10; i++) {
        struct fixture *f = *state;

        resumable(f->stream, trap, 3, 128, NULL);
        fails(f->stream, KILN_E_LAUNCH, "trap");
        fixture_teardown(state);
        fixture_setup(state);
        f = *state;
        resumable(f->stream, tree, 10, 256, out);
        finish(f->stream);
        assert_int_equal(out[9], 256 * 9 + 256 * 255 / 2);
    }
    device_free(out);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_resumed_tree_reduction_meets_at_its_barriers),
        TEST(resumed_reductions_reach_every_warp),
        TEST(resumed_producers_and_consumers_keep_step),
        TEST(a_resumed_deadlock_is_a_launch_failure),
        TEST(a_resumed_trap_leaves_the_slot_usable),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
