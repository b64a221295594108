/* SPDX-License-Identifier: MIT
 *
 * Kernels written by hand against abi.h: blocks, warps, barriers, memory of
 * each kind.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- without barriers ---- */

struct saxpy {
    float *y;
    const float *x;
    float a;
    uint32_t n;
};

static void saxpy(struct abi_block *block, uint32_t first, uint32_t end)
{
    const struct saxpy *p = PARAMS(block, struct saxpy);
    const uint32_t size = block->launch->block[0];

    for (uint32_t t = first * 32; t < end * 32 && t < size; t++) {
        const uint32_t i = block->ctaid[0] * size + block->launch->tid[0][t];

        if (i < p->n)
            p->y[i] += p->a * p->x[i];
    }
}

static void saxpy_runs_every_thread_once(void **state)
{
    struct fixture *f = *state;
    enum { N = 100000 };
    struct saxpy p = {.a = 2, .n = N};

    p.y = device_alloc(N * sizeof(float));
    float *x = device_alloc(N * sizeof(float));
    p.x = x;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        p.y[i] = 1;
    }
    launch(f->stream, saxpy, (N + 255) / 256, 256, &p, sizeof p, 0);
    /* the parameters were copied */
    p.n = 0;
    finish(f->stream);
    for (int i = 0; i < N; i++)
        assert_true(p.y[i] == 2 * (float)i + 1);
    device_free(p.y);
    device_free(x);
}

static void mark_block(struct abi_block *block, uint32_t first, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);
    const uint32_t *grid = block->launch->grid;
    const uint64_t i =
        block->ctaid[0] +
        (uint64_t)grid[0] * (block->ctaid[1] + grid[1] * block->ctaid[2]);

    CHECK(block->worker < exec_runners());
    __atomic_fetch_add(&out[i], first == 0 && end == 1, __ATOMIC_RELAXED);
}

static void every_block_of_a_3d_grid_runs_once(void **state)
{
    struct fixture *f = *state;
    static const uint32_t grids[][3] = {
        {7, 5, 3}, {1, 1, 1000}, {1000, 1, 1}, {1, 999, 2}, {64, 64, 64}};

    for (size_t k = 0; k < sizeof grids / sizeof grids[0]; k++) {
        const uint32_t *g = grids[k];
        const size_t n = (size_t)g[0] * g[1] * g[2];
        uint32_t *out = device_alloc(n * 4);
        const struct exec_launch l = {.function = mark_block,
                                      .grid = {g[0], g[1], g[2]},
                                      .block = {1, 1, 1},
                                      .params = &out,
                                      .param_bytes = sizeof out};

        assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
        finish(f->stream);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], 1);
        device_free(out);
    }
}

static void write_tids(struct abi_block *block, uint32_t first, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);

    for (uint32_t t = first * 32; t < end * 32; t++)
        for (int d = 0; d < 3; d++)
            out[t * 3 + (uint32_t)d] = block->launch->tid[d][t];
}

static void thread_indices_go_on_past_the_last_thread(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(96 * 3 * 4);
    struct exec_launch l = {.function = write_tids,
                            .grid = {1, 1, 1},
                            .block = {6, 5, 3},
                            .params = &out,
                            .param_bytes = sizeof out};

    assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
    finish(f->stream);
    for (uint32_t t = 0; t < 96; t++) {
        assert_int_equal(out[t * 3], t % 6);
        assert_int_equal(out[t * 3 + 1], t / 6 % 5);
        assert_int_equal(out[t * 3 + 2], t / 30);
    }
    /* more shapes than the cache keeps, twice */
    for (int round = 0; round < 2; round++)
        for (uint32_t x = 1; x <= 90; x++) {
            l.block[0] = x;
            l.block[1] = 1;
            l.block[2] = 1;
            assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
            finish(f->stream);
            for (uint32_t t = 0; t < x; t++)
                assert_int_equal(out[t * 3], t);
        }
    device_free(out);
}

/* ---- barriers ---- */

/* Tree sum over shared memory, one warp a call. */
static void reduce(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);
    uint32_t *shared = (uint32_t *)(void *)block->shared;
    const uint32_t n = block->launch->threads;

    CHECK(end == warp + 1);
    for (uint32_t t = warp * 32; t < end * 32 && t < n; t++)
        shared[t] = block->ctaid[0] + t;
    block->barrier(block, warp, 0, 0, ABI_BARRIER_SYNC, 0);
    for (uint32_t half = n / 2; half; half /= 2) {
        for (uint32_t t = warp * 32; t < end * 32 && t < half; t++)
            shared[t] += shared[t + half];
        block->barrier(block, warp, 0, n, ABI_BARRIER_SYNC, 0);
    }
    if (warp == 0)
        out[block->ctaid[0]] = shared[0];
}

static void a_tree_reduction_meets_at_its_barriers(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 500 };
    uint32_t *out = device_alloc(BLOCKS * 4);

    for (uint32_t size = 32; size <= 1024; size *= 2) {
        launch(f->stream, reduce, BLOCKS, size, &out, sizeof out,
               OBJECT_KERNEL_BARRIER);
        finish(f->stream);
        for (uint32_t i = 0; i < BLOCKS; i++)
            assert_int_equal(out[i], size * i + size * (size - 1) / 2);
    }
    device_free(out);
}

static void vote(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *) + warp * 4;

    (void)end;
    out[0] = block->barrier(block, warp, 3, 0, ABI_BARRIER_POPC, warp + 1);
    out[1] = block->barrier(block, warp, 3, 0, ABI_BARRIER_AND, warp != 2);
    out[2] = block->barrier(block, warp, 3, 0, ABI_BARRIER_OR, warp == 3);
    out[3] = block->barrier(block, warp, 3, 0, ABI_BARRIER_AND, 1) << 1 |
             block->barrier(block, warp, 3, 0, ABI_BARRIER_OR, 0);
}

static void reductions_reach_every_warp(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(32 * 16);

    for (uint32_t warps = 1; warps <= 32; warps += 7) {
        launch(f->stream, vote, 1, warps * 32, &out, sizeof out,
               OBJECT_KERNEL_BARRIER);
        finish(f->stream);
        for (uint32_t w = 0; w < warps; w++) {
            assert_int_equal(out[w * 4], warps * (warps + 1) / 2);
            assert_int_equal(out[w * 4 + 1], warps <= 2);
            assert_int_equal(out[w * 4 + 2], warps > 3);
            assert_int_equal(out[w * 4 + 3], 2);
        }
    }
    device_free(out);
}

/* Warps 0 and 1 produce, 2 and 3 consume, through barriers 1 (full) and 2
 * (empty), as bar.sync and bar.arrive are used for it. */
static void pipeline(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);
    uint32_t *buffer = (uint32_t *)(void *)block->shared;

    (void)end;
    for (uint32_t i = 0; i < 100; i++) {
        if (warp < 2) {
            if (i)
                block->barrier(block, warp, 2, 128, ABI_BARRIER_SYNC, 0);
            buffer[warp] = i * 2 + warp;
            block->barrier(block, warp, 1, 128, ABI_BARRIER_ARRIVE, 0);
        } else {
            block->barrier(block, warp, 1, 128, ABI_BARRIER_SYNC, 0);
            out[i * 2 + warp - 2] = buffer[warp - 2];
            if (i < 99)
                block->barrier(block, warp, 2, 128, ABI_BARRIER_ARRIVE, 0);
        }
    }
}

static void producers_and_consumers_keep_step(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(200 * 4);

    launch(f->stream, pipeline, 1, 128, &out, sizeof out,
           OBJECT_KERNEL_BARRIER);
    finish(f->stream);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(out[i], i);
    device_free(out);
}

static void leave_early(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);

    (void)end;
    if (warp % 2)
        return;
    for (uint32_t i = 0; i < 3 + warp; i++)
        out[warp] = block->barrier(block, warp, 0, 0, ABI_BARRIER_POPC, 1);
}

static void warps_that_return_do_not_hold_up_the_rest(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(32 * 4);

    launch(f->stream, leave_early, 1, 8 * 32, &out, sizeof out,
           OBJECT_KERNEL_BARRIER);
    finish(f->stream);
    /* the last rounds of warp 6 are its own */
    assert_int_equal(out[6], 1);
    assert_int_equal(out[4], 2);
    device_free(out);
}

/* Warp 0 spins on what the last warp writes: only yields bring it on. */
static void spin(struct abi_block *block, uint32_t warp, uint32_t end)
{
    volatile uint32_t *flag = (volatile uint32_t *)(void *)block->shared;
    uint32_t *out = *PARAMS(block, uint32_t *);

    (void)end;
    if (warp == 0)
        flag[0] = 0;
    block->barrier(block, warp, 0, 0, ABI_BARRIER_SYNC, 0);
    if (warp == block->launch->warps - 1)
        flag[0] = 1;
    while (!flag[0])
        block->yield(block, warp);
    __atomic_fetch_add(out, 1, __ATOMIC_RELAXED);
}

static void a_yield_lets_the_other_warps_run(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(4);

    launch(f->stream, spin, 50, 512, &out, sizeof out, OBJECT_KERNEL_BARRIER);
    finish(f->stream);
    assert_int_equal(*out, 50 * 16);
    device_free(out);
}

/* ---- registers and memory ---- */

static void tiny(struct abi_block *block, uint32_t first, uint32_t end)
{
    volatile float *v = *PARAMS(block, float *);

    (void)first;
    (void)end;
    v[1] = v[0] * 0.5f;
}

static void the_flush_mode_is_the_kernels_alone(void **state)
{
    struct fixture *f = *state;
    float *v = device_alloc(8);
    volatile float here = 0x1p-126f;

    v[0] = 0x1p-126f;
    launch(f->stream, tiny, 1, 32, &v, sizeof v, 0);
    finish(f->stream);
    assert_true(v[1] == 0x1p-127f);
    launch(f->stream, tiny, 1, 32, &v, sizeof v, OBJECT_KERNEL_FLUSH);
    finish(f->stream);
    assert_true(v[1] == 0);
    assert_true(here * 0.5f == 0x1p-127f);
    device_free(v);
}

static void use_local(struct abi_block *block, uint32_t first, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);

    for (uint32_t t = first * 32; t < end * 32; t++)
        for (uint32_t i = 0; i < 100; i++) {
            unsigned char *at = block->local + t * block->local_stride;

            ((uint32_t *)(void *)at)[i] = t;
        }
    for (uint32_t t = first * 32; t < end * 32; t++) {
        const unsigned char *at = block->local + t * block->local_stride;

        out[t] = ((const uint32_t *)(const void *)at)[99];
    }
}

static void every_thread_has_local_memory_of_its_own(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = device_alloc(1024 * 4);

    for (uint32_t threads = 32; threads <= 1024; threads *= 32) {
        const struct exec_launch l = {.function = use_local,
                                      .grid = {1, 1, 1},
                                      .block = {threads, 1, 1},
                                      .local_bytes = 400,
                                      .params = &out,
                                      .param_bytes = sizeof out};

        assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
        finish(f->stream);
        for (uint32_t t = 0; t < threads; t++)
            assert_int_equal(out[t], t);
    }
    device_free(out);
}

static void touch_shared(struct abi_block *block, uint32_t first, uint32_t end)
{
    const int64_t at = *PARAMS(block, int64_t);

    (void)first;
    (void)end;
    *(volatile unsigned char *)(block->shared + at) = 1;
}

static void launch_shared(struct fixture *f, uint32_t bytes, int64_t at)
{
    const struct exec_launch l = {.function = touch_shared,
                                  .grid = {8, 1, 1},
                                  .block = {32, 1, 1},
                                  .static_shared = bytes / 2,
                                  .dynamic_shared = bytes - bytes / 2,
                                  .params = &at,
                                  .param_bytes = sizeof at};

    assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
}

static void shared_memory_may_be_as_large_as_a_block_may_have(void **state)
{
    struct fixture *f = *state;

    launch_shared(f, EXEC_MAX_SHARED, EXEC_MAX_SHARED - 1);
    launch_shared(f, 4096, 4095);
    finish(f->stream);
}

static void shared_memory_of_an_earlier_launch_is_out_of_bounds(void **state)
{
    struct fixture *f = *state;

    launch_shared(f, 65536, 65535);
    finish(f->stream);
    launch_shared(f, 4096, 4096);
    fails(f->stream, KILN_E_ADDRESS, "offset 4096 in shared memory of 4096");
}

static void a_negative_shared_offset_faults(void **state)
{
    struct fixture *f = *state;

    launch_shared(f, 4096, INT32_MIN);
    fails(f->stream, KILN_E_ADDRESS, "offset -2147483648 in shared memory");
}

/* ---- what is refused ---- */

static void bad_shapes_are_refused_and_released(void **state)
{
    struct fixture *f = *state;
    struct exec_launch l = {
        .function = saxpy, .grid = {1, 0, 1}, .block = {32, 1, 1}, .name = "k"};
    struct kiln_error err;

    assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_INVALID);
    l.grid[1] = 1;
    l.block[1] = 33;
    assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_INVALID);
    l.block[1] = 0xffffffff;
    assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_INVALID);
    l.block[1] = 1;
    l.dynamic_shared = EXEC_MAX_SHARED;
    l.static_shared = 1;
    assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_INVALID);
    assert_non_null(strstr(err.text, "shared memory"));
    l.static_shared = l.dynamic_shared = 0;
    l.grid[0] = l.grid[1] = l.grid[2] = 0xffffffff;
    assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_INVALID);
    finish(f->stream);
}

static void shapes_choose_the_variant(void **state)
{
    static const struct object_variant both[] = {{OBJECT_SHAPE_ROWS, "rows"},
                                                 {OBJECT_SHAPE_ANY, "any"}};
    const struct object_kernel kernel = {
        .variants = both, .variant_count = 2, .chunk_lanes = 16};
    const struct object_kernel rows_only = {
        .variants = both, .variant_count = 1, .chunk_lanes = 16};
    static const struct {
        uint32_t grid[3], block[3];
        const char *symbol;
    } cases[] = {
        {{1, 1, 1}, {256, 1, 1}, "rows"},
        {{1, 1, 1}, {16, 16, 1}, "rows"},
        {{1, 1, 1}, {8, 8, 1}, "any"},
        {{1, 1, 1}, {96, 1, 1}, "rows"},
        {{1, 1, 1}, {100, 1, 1}, "any"},
        {{1, 1, 1}, {16, 3, 1}, "any"},
        {{1, 1, 1}, {8, 2, 2}, "any"},
        {{1, 1, 1}, {48, 2, 4}, "rows"},
        {{1u << 21, 1, 1}, {1024, 1, 1}, "rows"},
        {{(1u << 21) + 1, 1, 1}, {1024, 1, 1}, "any"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(
            exec_shape(&kernel, cases[i].grid, cases[i].block)->symbol,
            cases[i].symbol);
    assert_null(exec_shape(&rows_only, cases[2].grid, cases[2].block));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(saxpy_runs_every_thread_once),
        TEST(every_block_of_a_3d_grid_runs_once),
        TEST(thread_indices_go_on_past_the_last_thread),
        TEST(a_tree_reduction_meets_at_its_barriers),
        TEST(reductions_reach_every_warp),
        TEST(producers_and_consumers_keep_step),
        TEST(warps_that_return_do_not_hold_up_the_rest),
        TEST(a_yield_lets_the_other_warps_run),
        TEST(the_flush_mode_is_the_kernels_alone),
        TEST(every_thread_has_local_memory_of_its_own),
        TEST(shared_memory_may_be_as_large_as_a_block_may_have),
        TEST(shared_memory_of_an_earlier_launch_is_out_of_bounds),
        TEST(a_negative_shared_offset_faults),
        TEST(bad_shapes_are_refused_and_released),
        TEST(shapes_choose_the_variant),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
