/* SPDX-License-Identifier: MIT
 *
 * Copies and fills: small and large, rows and boxes, overlapping.
 */
#include "fixture.h"

#include <string.h>

static void copies_of_every_size_arrive(void **state)
{
    struct fixture *f = *state;
    static const size_t sizes[] = {1, 7, 4096, 524288, 524289, 5000001};

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const size_t n = sizes[k];
        unsigned char *from = malloc(n);
        unsigned char *back = calloc(1, n);
        unsigned char *there = device_alloc(n);
        struct exec_copy down = {.to = there, .from = from, .width = n};
        struct exec_copy up = {.to = back, .from = there, .width = n};

        for (size_t i = 0; i < n; i++)
            from[i] = (unsigned char)(i * 31 + i / 256);
        down.snapshot = k % 2;
        assert_int_equal(exec_copy(f->stream, &down, NULL), 0);
        if (k % 2)
            memset(from, 0, n); /* the copy has its own by now */
        assert_int_equal(exec_copy(f->stream, &up, NULL), 0);
        finish(f->stream);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(back[i], (unsigned char)(i * 31 + i / 256));
        free(from);
        free(back);
        device_free(there);
    }
}

static void overlapping_rows_move_as_memmove_does(void **state)
{
    struct fixture *f = *state;
    enum { N = 3000000 };
    uint32_t *v = device_alloc(N * 4);
    const struct exec_copy up = {
        .to = v + 100, .from = v, .width = (N - 100) * 4};

    for (uint32_t i = 0; i < N; i++)
        v[i] = i;
    assert_int_equal(exec_copy(f->stream, &up, NULL), 0);
    finish(f->stream);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(v[i], i < 100 ? i : i - 100);
    device_free(v);
}

static void boxes_of_memory_are_copied(void **state)
{
    struct fixture *f = *state;
    enum { W = 300, H = 70, D = 40, PITCH = 512, SLICE = PITCH * 80 };
    unsigned char *from = malloc((size_t)W * H * D);
    unsigned char *to = device_alloc((size_t)SLICE * D);
    const struct exec_copy c = {.to = to,
                                .from = from,
                                .width = W,
                                .height = H,
                                .depth = D,
                                .to_pitch = PITCH,
                                .from_pitch = W,
                                .to_slice = SLICE,
                                .from_slice = W * H};

    for (size_t i = 0; i < (size_t)W * H * D; i++)
        from[i] = (unsigned char)(i % 251 + 1);
    assert_int_equal(exec_copy(f->stream, &c, NULL), 0);
    finish(f->stream);
    for (size_t z = 0; z < D; z++)
        for (size_t y = 0; y < SLICE / PITCH; y++)
            for (size_t x = 0; x < PITCH; x++) {
                const size_t i = z * W * H + y * W + x;
                const int in = x < W && y < H;

                assert_int_equal(to[z * SLICE + y * PITCH + x],
                                 in ? (int)(i % 251) + 1 : 0);
            }
    free(from);
    device_free(to);
}

static void fills_write_their_units_and_no_more(void **state)
{
    struct fixture *f = *state;
    enum { N = 1 << 20 };
    unsigned char *v = device_alloc(4 * N + 4096);

    for (unsigned unit = 1; unit <= 4; unit *= 2) {
        const struct exec_fill zero = {.to = v, .unit = 1, .width = 4 * N + 64};
        const struct exec_fill row = {
            .to = v, .value = 0xa1b2c3d4, .unit = unit, .width = N};
        const struct exec_fill box = {.to = v + 2 * unit,
                                      .value = 0x01020304,
                                      .unit = unit,
                                      .width = 5,
                                      .height = 3000,
                                      .pitch = 64};
        const uint32_t mask = unit == 4 ? UINT32_MAX : (1u << unit * 8) - 1;

        assert_int_equal(exec_fill(f->stream, &zero, NULL), 0);
        assert_int_equal(exec_fill(f->stream, &row, NULL), 0);
        assert_int_equal(exec_fill(f->stream, &box, NULL), 0);
        finish(f->stream);
        for (size_t i = 0; i < N; i++) {
            const size_t at = i * unit;
            const size_t column = at % 64 / unit;
            const int in = at / 64 < 3000 && column >= 2 && column < 7;
            uint32_t got = 0;

            memcpy(&got, v + at, unit);
            assert_int_equal(got, (in ? 0x01020304 : 0xa1b2c3d4) & mask);
        }
        assert_int_equal(v[N * unit], 0);
    }
    {
        const struct exec_fill bad = {.to = v, .unit = 3, .width = 1};

        assert_int_equal(exec_fill(f->stream, &bad, NULL), KILN_E_INVALID);
    }
    device_free(v);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copies_of_every_size_arrive),
        TEST(overlapping_rows_move_as_memmove_does),
        TEST(boxes_of_memory_are_copied),
        TEST(fills_write_their_units_and_no_more),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
