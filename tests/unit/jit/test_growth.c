/* SPDX-License-Identifier: MIT
 *
 * The time to compile a kernel stays in proportion to its size, for forms
 * that are hard on a compiler. Processor time of eight times as much is
 * compared, never a time with a limit; a step that is quadratic takes 64
 * times as long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/jit/jit.h"
#include "hostile.h"

enum { TIMES = 8, MOST = 3 * TIMES };

/* Bytes of code. */
static size_t compile(const char *kind, int n)
{
    struct jit_request q = {.struct_size = sizeof q, .level = 4, .target = 121};
    struct jit_result r = {.struct_size = sizeof r};
    struct kiln_error err = {0};
    struct buffer text = hostile_make(kind, n);

    q.ptx = buffer_str(&text);
    q.size = text.size;
    if (jit_compile(&q, &r, &err))
        fail_msg("%s", err.text);
    free(r.object);
    free(r.info_log);
    buffer_fini(&text);
    return r.size;
}

static double seconds(const char *kind, int n)
{
    struct timespec from, to;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    compile(kind, n);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) +
           (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

static void compare(const char *kind, int n)
{
    const double one = seconds(kind, n), more = seconds(kind, n * TIMES);

    printf("     %s: %d in %.0f ms, %d in %.0f ms\n", kind, n, one * 1e3,
           n * TIMES, more * 1e3);
    if (more > one * (double)MOST)
        fail_msg("%s: %d times as much takes %.1f times as long", kind, TIMES,
                 more / one);
}

static void branches_in_a_row_take_time_by_their_number(void **state)
{
    (void)state;
    compare("branches", 100);
}

static void loops_in_each_other_take_time_by_their_number(void **state)
{
    (void)state;
    compare("loops", 15);
}

static void long_blocks_of_loads_take_time_by_their_length(void **state)
{
    (void)state;
    compare("gathers", 100);
}

static void long_blocks_of_arithmetic_take_time_by_their_length(void **state)
{
    (void)state;
    compare("arithmetic", 300);
}

static void many_targets_take_time_by_their_number(void **state)
{
    (void)state;
    compare("targets", 60);
}

/* A lesser processor has no instruction for a gather or a masked access, and
 * twice or four times as many vectors. Written out lane by lane these were 7
 * and 9 times the code with AVX2, 8 and 17 times with SSE 4.2. */
static void lesser_processors_need_code_by_their_vectors(void **state)
{
    static const struct {
        const char *isa, *kind;
        size_t most;
    } lesser[] = {{"avx2", "gathers", 4},
                  {"avx2", "masked", 4},
                  {"sse4.2", "gathers", 7},
                  {"sse4.2", "masked", 11}};

    (void)state;
    for (size_t i = 0; i < sizeof lesser / sizeof *lesser; i++) {
        size_t best, bytes;

        setenv("KILN_CPU_ISA", "avx512", 1);
        best = compile(lesser[i].kind, 100);
        setenv("KILN_CPU_ISA", lesser[i].isa, 1);
        bytes = compile(lesser[i].kind, 100);
        unsetenv("KILN_CPU_ISA");
        printf("     %s: avx512 %zu bytes, %s %zu\n", lesser[i].kind, best,
               lesser[i].isa, bytes);
        if (bytes > best * lesser[i].most)
            fail_msg("%s: %zu bytes for %s, %zu for avx512", lesser[i].kind,
                     bytes, lesser[i].isa, best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_in_a_row_take_time_by_their_number),
        cmocka_unit_test(loops_in_each_other_take_time_by_their_number),
        cmocka_unit_test(long_blocks_of_loads_take_time_by_their_length),
        cmocka_unit_test(long_blocks_of_arithmetic_take_time_by_their_length),
        cmocka_unit_test(many_targets_take_time_by_their_number),
        cmocka_unit_test(lesser_processors_need_code_by_their_vectors),
    };

    compile("arithmetic", 1); /* what LLVM does once */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
