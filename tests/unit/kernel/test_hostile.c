/* SPDX-License-Identifier: MIT
 *
 * Files made to take long take time and memory in proportion to their size.
 * By hand, for the kiln command:
 *
 *     test_kernel_hostile KIND BYTES >FILE
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "hostile.h"
#include "image/cubin.h"
#include "image/ptx_header.h"
#include "kiln/image.h"

enum { SMALL = 1 << 20, TIMES = 6, TRIES = 4 };

/* Seconds below which a time tells nothing. */
static const double LEAST = 0.03;

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All that inspect, explain and a load do with the bytes. */
static void go_through(const struct buffer *b)
{
    struct arena arena = {0};
    struct kiln_file *file;
    struct kiln_symbols *symbols;
    struct cubin cubin;

    cubin_check(b->bytes, b->size, &arena, &cubin, NULL);
    ptx_text_check(b->bytes, b->size, NULL);
    arena_fini(&arena);
    if (kiln_file_open_bytes("hostile", b->bytes, b->size, &file, NULL))
        return;
    for (size_t i = 0; i < kiln_file_entry_count(file); i++)
        if (!kiln_symbols_read(file, i, &symbols, NULL))
            kiln_symbols_free(symbols);
    kiln_file_close(file);
}

static double seconds(const struct buffer *b)
{
    double start = processor_time();

    go_through(b);
    return processor_time() - start;
}

/* What is quadratic would take TIMES times TIMES as long, and what reads a
 * whole file for each of its parts far more than that. A machine that others
 * use too gets several tries. */
static void grows(const char *kind)
{
    struct buffer one = hostile_make(kind, SMALL);
    struct buffer more = hostile_make(kind, SMALL * TIMES);
    double short_time = 0, long_time = 0;
    int tries = 0;

    assert_true(one.size >= SMALL / 2 && one.size <= 2 * SMALL);
    assert_true(more.size >= one.size * TIMES / 2);
    do {
        double t = seconds(&one);

        short_time = t > short_time ? t : short_time;
        t = seconds(&more);
        long_time = !tries || t < long_time ? t : long_time;
    } while (long_time > LEAST && long_time > short_time * (double)TIMES * 3 &&
             ++tries < TRIES);
    if (tries == TRIES)
        fail_msg("%s: %.1f ms, %d times as many bytes: %.1f ms", kind,
                 short_time * 1e3, TIMES, long_time * 1e3);
    buffer_fini(&one);
    buffer_fini(&more);
}

static void time_grows_with_the_size_alone(void **state)
{
    (void)state;
    for (size_t i = 0; hostile_kind(i); i++)
        grows(hostile_kind(i));
}

/* ---- what does not depend on the machine -------------------------------- */

static struct kiln_file *open_kind(const char *kind, size_t size,
                                   struct buffer *b)
{
    struct kiln_file *file;

    *b = hostile_make(kind, size);
    assert_int_equal(kiln_file_open_bytes(kind, b->bytes, b->size, &file, NULL),
                     KILN_OK);
    return file;
}

static size_t held(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* With the bytes of the file themselves, four times its size. */
static void a_walk_keeps_little_of_each_entry(void **state)
{
    static const enum kiln_policy policies[] = {KILN_POLICY_BEST,
                                                KILN_POLICY_DRIVER};
    struct kiln_target target = {
        .size = sizeof target, .sm = 90, .driver_version = 13000};

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct buffer b = hostile_make("entries", 16 * SMALL);
        size_t before = held(), after, asked;
        struct kiln_file *file;
        struct kiln_walk *walk;

        assert_int_equal(
            kiln_file_open_bytes("entries", b.bytes, b.size, &file, NULL),
            KILN_OK);

        target.policy = policies[i];
        assert_int_equal(kiln_walk_new(file, 0, &target, &walk, NULL), KILN_OK);
        after = held();
        for (size_t k = 0; k < kiln_walk_count(walk); k++) {
            struct kiln_verdict v = {.size = sizeof v};

            assert_int_equal(kiln_walk_verdict(walk, k, &v, NULL), KILN_OK);
            assert_true(*v.text);
        }
        asked = held();
        if (after - before > b.size * 3)
            fail_msg("%zu bytes are kept of a file of %zu", after - before,
                     b.size);
        assert_true(asked - after < SMALL / 16);
        kiln_walk_free(walk);
        kiln_file_close(file);
        buffer_fini(&b);
    }
}

/* Bytes that all its entries unpack to, those that are refused aside. */
static uint64_t unpacked(const char *kind, size_t size, size_t *refused)
{
    struct buffer b;
    struct kiln_file *file = open_kind(kind, size, &b);
    uint64_t sum = 0;

    *refused = 0;
    for (size_t i = 0; i < kiln_file_entry_count(file); i++) {
        struct kiln_error err;
        void *bytes;
        size_t n;

        if (!kiln_file_unpack(file, i, &bytes, &n, &err)) {
            kiln_bytes_free(bytes);
            sum += n;
        } else if (strstr(err.text, "KILN_UNPACK_MAX")) {
            ++*refused;
        } else {
            fail_msg("%s", err.text);
        }
    }
    kiln_file_close(file);
    buffer_fini(&b);
    return sum;
}

static void what_a_file_unpacks_to_has_a_bound(void **state)
{
    const uint64_t free = 192 << 20;
    size_t refused;
    uint64_t cubins, ptx;

    (void)state;
    cubins = unpacked("packed-cubins", 4 * SMALL, &refused);
    assert_true(refused > 0);
    assert_true(cubins > free && cubins <= free + 4 * 12 * SMALL);
    ptx = unpacked("packed-kernels", SMALL, &refused);
    assert_true(refused > 0);
    assert_true(ptx > free / 3 && ptx <= free / 3 + 4 * SMALL);
    /* The operator may set another. */
    setenv("KILN_UNPACK_MAX", "1M", 1);
    assert_true(unpacked("packed-cubins", SMALL, &refused) <= SMALL);
    setenv("KILN_UNPACK_MAX", "100G", 1);
    assert_true(unpacked("packed-kernels", SMALL, &refused) > ptx);
    assert_int_equal(refused, 0);
    unsetenv("KILN_UNPACK_MAX");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_grows_with_the_size_alone),
        cmocka_unit_test(a_walk_keeps_little_of_each_entry),
        cmocka_unit_test(what_a_file_unpacks_to_has_a_bound),
    };

    if (argc == 3) {
        struct buffer b = hostile_make(argv[1], strtoul(argv[2], NULL, 0));
        size_t done = fwrite(b.bytes, 1, b.size, stdout);
        int bad = !b.size || done != b.size || fflush(stdout);

        buffer_fini(&b);
        return bad;
    }
    for (size_t i = 0; argc == 2 && hostile_kind(i); i++)
        puts(hostile_kind(i));
    return argc == 2 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
