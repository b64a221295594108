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

#include "base/buffer.h"
#include "cpu/jit/jit.h"

enum { TIMES = 8, MOST = 3 * TIMES };

static const char head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<200>;\n.reg .b64 %rd<4>;\n"
    "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %r0;\nmov.u32 %r2, 1;\n"
    "ld.param.u64 %rd0, [p];\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n";
static const char tail[] = "st.global.u32 [%rd1], %r1;\nret;\n}\n";

/* Branches one after the other that part the lanes. */
static void branches(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "and.b32 %%r2, %%r1, %d;\nsetp.eq.u32 %%p1, %%r2, 0;\n"
                      "@%%p1 bra E%d;\nadd.u32 %%r1, %%r1, %d;\nE%d:\n",
                      1 << i % 7, i, i | 1, i);
}

/* Loops in each other, each of another number of turns in each lane. */
static void loops(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        buffer_printf(b, "mov.u32 %%r%d, 0;\nL%d:\nadd.u32 %%r1, %%r1, 3;\n",
                      i + 3, i);
    for (int i = n; i-- > 0;)
        buffer_printf(b,
                      "add.u32 %%r%d, %%r%d, 1;\n"
                      "setp.lt.u32 %%p1, %%r%d, %%r0;\n@%%p1 bra L%d;\n",
                      i + 3, i + 3, i + 3, i);
}

/* Addresses that are read, in one block. */
static void gathers(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "ld.global.u32 %%r2, [%%rd1+%d];\n"
                      "mad.wide.u32 %%rd2, %%r2, 4, %%rd0;\n"
                      "ld.global.u32 %%r3, [%%rd2];\n"
                      "add.u32 %%r1, %%r1, %%r3;\n"
                      "st.global.u32 [%%rd2], %%r1;\n",
                      4 * i);
}

static void arithmetic(struct buffer *b, int n)
{
    for (int i = 0; i < n; i++)
        buffer_printf(b,
                      "mad.lo.u32 %%r1, %%r1, 5, %%r2;\n"
                      "xor.b32 %%r2, %%r1, %d;\n",
                      i);
}

static void many_targets(struct buffer *b, int n)
{
    buffer_text(b, "ts: .branchtargets ");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "%sB%d", i ? "," : "", i);
    buffer_text(b, ";\nbrx.idx %r0, ts;\n");
    for (int i = 0; i < n; i++)
        buffer_printf(b, "B%d: add.u32 %%r1, %%r1, %d;\n%s", i, i,
                      i % 2 ? "bra END;\n" : "");
    buffer_text(b, "END:\n");
}

static double seconds(void (*form)(struct buffer *, int), int n)
{
    struct jit_request q = {.struct_size = sizeof q, .level = 4, .target = 121};
    struct jit_result r = {.struct_size = sizeof r};
    struct kiln_error err = {0};
    struct buffer text = {0};
    struct timespec from, to;

    buffer_text(&text, head);
    form(&text, n);
    buffer_text(&text, tail);
    q.ptx = buffer_str(&text);
    q.size = text.size;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    if (jit_compile(&q, &r, &err))
        fail_msg("%s", err.text);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    free(r.object);
    free(r.info_log);
    buffer_fini(&text);
    return (double)(to.tv_sec - from.tv_sec) +
           (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

static void compare(const char *name, void (*form)(struct buffer *, int), int n)
{
    const double one = seconds(form, n), more = seconds(form, n * TIMES);

    printf("     %s: %d in %.0f ms, %d in %.0f ms\n", name, n, one * 1e3,
           n * TIMES, more * 1e3);
    if (more > one * (double)MOST)
        fail_msg("%s: %d times as much takes %.1f times as long", name, TIMES,
                 more / one);
}

static void branches_in_a_row_take_time_by_their_number(void **state)
{
    (void)state;
    compare("branches", branches, 100);
}

static void loops_in_each_other_take_time_by_their_number(void **state)
{
    (void)state;
    compare("loops", loops, 15);
}

static void long_blocks_of_loads_take_time_by_their_length(void **state)
{
    (void)state;
    compare("gathers", gathers, 100);
}

static void long_blocks_of_arithmetic_take_time_by_their_length(void **state)
{
    (void)state;
    compare("arithmetic", arithmetic, 300);
}

static void many_targets_take_time_by_their_number(void **state)
{
    (void)state;
    compare("targets", many_targets, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_in_a_row_take_time_by_their_number),
        cmocka_unit_test(loops_in_each_other_take_time_by_their_number),
        cmocka_unit_test(long_blocks_of_loads_take_time_by_their_length),
        cmocka_unit_test(long_blocks_of_arithmetic_take_time_by_their_length),
        cmocka_unit_test(many_targets_take_time_by_their_number),
    };

    seconds(arithmetic, 1); /* what LLVM does once */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
