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

/* The least of several, as others use this machine too. */
static double seconds(const char *kind, size_t size)
{
    struct buffer b = hostile_make(kind, size);
    double least = 1e9;

    assert_true(b.size >= size / 2 && b.size <= size + (1 << 21));
    for (int i = 0; i < TRIES; i++) {
        double start = processor_time(), took;

        go_through(&b);
        took = processor_time() - start;
        least = took < least ? took : least;
    }
    buffer_fini(&b);
    return least;
}

/* What is quadratic would take TIMES times TIMES as long, and what reads a
 * whole file for each of its parts far more than that. */
static void time_grows_with_the_size_alone(void **state)
{
    (void)state;
    for (size_t i = 0; hostile_kind(i); i++) {
        double one = seconds(hostile_kind(i), SMALL);
        double more = seconds(hostile_kind(i), SMALL * TIMES);

        if (more > 0.02 && more > one * TIMES * 3)
            fail_msg("%s: %.1f ms, %d times as many bytes: %.1f ms",
                     hostile_kind(i), one * 1e3, TIMES, more * 1e3);
    }
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
