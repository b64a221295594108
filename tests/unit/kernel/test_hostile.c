/* SPDX-License-Identifier: MIT
 *
 * Files made to take long take time and memory in proportion to their size.
 * By hand, for the kiln command:
 *
 *     test_kernel_hostile KIND BYTES >FILE
 */
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_grows_with_the_size_alone),
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
