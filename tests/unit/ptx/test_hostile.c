/* SPDX-License-Identifier: MIT
 *
 * Text that means harm: it must be refused, or taken, in bounded time and
 * memory, whatever it says.
 */
#include "parsed.h"

#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"

/* Processor time, which a busy machine does not stretch. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Four times the input may take four times as long, and some; twice squared
 * would be sixteen. */
static void expect_linear(double quarter, double whole)
{
    if (whole > 0.2 && whole > 10 * quarter)
        fail_msg("%.3f s for a quarter of the input, %.3f s for all of it",
                 quarter, whole);
}

/* Repeat `part` to about `size` bytes between head and tail. */
static void build(struct buffer *b, const char *head, const char *part,
                  size_t size, const char *tail)
{
    memset(b, 0, sizeof *b);
    buffer_text(b, head);
    while (b->size < size)
        buffer_text(b, part);
    buffer_text(b, tail);
    assert_false(b->bad);
}

static double refuse(const char *head, const char *part, size_t size,
                     const char *tail)
{
    struct buffer b;
    struct parsed p;
    double took = -seconds();

    build(&b, head, part, size, tail);
    parse_bytes(&p, (const char *)b.bytes, b.size);
    if (!p.status)
        fail_msg("taken: %s %.40s", head, part);
    assert_true(p.err.text[0] != '\0');
    assert_true(p.log.size < 64 * 1024);
    took += seconds();
    parsed_fini(&p);
    buffer_fini(&b);
    return took;
}

static void expect_refused(const char *head, const char *part, size_t size,
                           const char *tail)
{
    if (size < 1u << 16)
        refuse(head, part, size, tail);
    else
        expect_linear(refuse(head, part, size / 4, tail),
                      refuse(head, part, size, tail));
}

static void nuls_and_odd_bytes_are_refused(void **state)
{
    static const char nul[] = KERNEL("ret;\0ret;");
    struct parsed p;

    (void)state;
    parse_bytes(&p, nul, sizeof nul - 1);
    assert_int_equal(p.status, KILN_E_PTX);
    parsed_fini(&p);
    parse_bytes(&p, "\xff\xfe\0\0", 4);
    assert_int_equal(p.status, KILN_E_PTX);
    parsed_fini(&p);
    parse_bytes(&p, NULL, 0);
    assert_int_equal(p.status, KILN_E_PTX);
    parsed_fini(&p);
}

static void trailing_nuls_are_no_part_of_the_text(void **state)
{
    static const char text[] = KERNEL("ret;") "\0\0\0\0";
    struct parsed p;

    (void)state;
    parse_bytes(&p, text, sizeof text);
    assert_int_equal(p.status, KILN_OK);
    parsed_fini(&p);
}

static void every_prefix_of_a_program_ends_cleanly(void **state)
{
    static const char text[] =
        HEADER ".global .u64 g[2] = {0xFF, generic(g)+4};\n"
               ".func (.param .b32 r) f(.param .align 8 .b8 a[16]);\n"
               ".visible .entry k(.param .u64 a) .maxntid 1, 2, 3 {\n"
               ".reg .b32 %r<9>; .reg .pred p, q; .loc 1 2 3\n"
               "{ L: @!p add.s32 %r1, %r2, (1+2)*3; }\n"
               "setp.lt.u32 p|q, %r1, 0x10; /* c */ // d\n"
               "t: .branchtargets M, M; brx.idx %r1, t; M: ret; }\n";

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        char *exact = malloc(n ? n : 1); /* so that overruns are seen */
        struct parsed p;

        assert_non_null(exact);
        memcpy(exact, text, n);
        parse_bytes(&p, exact, n);
        parsed_fini(&p);
        free(exact);
    }
}

static void nesting_has_a_limit(void **state)
{
    const size_t size = 1u << 20;

    (void)state;
    expect_refused(KERNEL("") "", "", 0, "{");
    expect_refused(HEADER ".entry k() {", "{", size, "");
    expect_refused(HEADER ".global .u32 x = ", "(", size, "");
    expect_refused(HEADER ".global .u32 x = ", "-", size, "1;");
    expect_refused(HEADER ".global .u32 x = 1", "?1:1", size, "?;");
    expect_refused(HEADER ".global .u32 x = ", "1?", size, ";");
    expect_refused(HEADER ".global .u32 x[1] = ", "{", size, ";");
    expect_refused(HEADER ".global .u32 x", "[1]", size, ";");
    expect_refused(KERNEL("") ".entry l() { bra ", "{", size, "");
    expect_refused(HEADER ".entry k() { add.u32 ", "[", size, "");
    expect_refused(HEADER ".entry k() { add.u32 ", "!", size, "");
    expect_refused(HEADER ".entry k() { add.u32 ", "-", size, "1;");
    expect_refused(HEADER ".entry k() { add", ".u32", size, ";");
    expect_refused(HEADER ".entry k() { add.u32 ", "1,", size, "1;");
    expect_refused(HEADER ".global .u64 x = ", "generic(", size, "");
}

static void sizes_have_limits(void **state)
{
    (void)state;
    expect_refused(HEADER ".global .b8 x[0xffffffffffffffff];", "", 0, "");
    expect_refused(HEADER ".global .b64 x[0x2000000000000001];", "", 0, "");
    expect_refused(HEADER ".global .b32 x[4294967296][4294967296];", "", 0, "");
    expect_refused(HEADER ".global .b8 x[0x10000000000] = {1};", "", 0, "");
    expect_refused(HEADER,
                   ".global .b8 x[0x8000000] = {1};"
                   ".global .b8 y[0x8000000] = {1};"
                   ".global .b8 z[0x8000000] = {1};",
                   64, "");
    expect_refused(HEADER ".entry k(.param .b8 a[40000]) { ret; }", "", 0, "");
    expect_refused(HEADER ".global .b32 x[-1];", "", 0, "");
    expect_refused(HEADER ".global .align 0 .b32 x;", "", 0, "");
    expect_refused(HEADER ".global .u32 x = 1/0;", "", 0, "");
    expect_refused(HEADER ".entry k() { .reg .b32 %r<2147483647>; "
                          "mov.u32 %r2147483646, %r2147483647; ret; }",
                   "", 0, "");
}

static void a_sparse_family_of_registers_takes_no_memory(void **state)
{
    static const char text[] =
        HEADER ".entry k() { .reg .b32 %r<999999999>; .reg .b32 %s<9>;\n"
               "mov.u32 %s1, %r99999; ret; }";
    struct parsed p;

    (void)state;
    parse_bytes(&p, text, strlen(text));
    assert_true(p.arena.total < 1u << 20);
    parsed_fini(&p);
}

static double take_names(unsigned n)
{
    struct buffer b = {0};
    struct parsed p;
    double took;

    buffer_text(&b, HEADER ".entry k() {\n");
    for (unsigned i = 0; i < n; i++)
        buffer_printf(&b,
                      "{ .reg .b32 a%u, r; L%u: mov.u32 a%u, r; bra L%u; "
                      "bra END; }\n",
                      i % 7, i % 3, i % 7, i % 3);
    buffer_text(&b, "END: ret; }\n");
    took = -seconds();
    parse_bytes(&p, (const char *)b.bytes, b.size);
    took += seconds();
    if (p.status)
        fail_msg("%s", p.err.text);
    assert_int_equal(p.module->funcs[0]->label_count, n + 1);
    parsed_fini(&p);
    buffer_fini(&b);
    return took;
}

static void many_names_take_linear_time(void **state)
{
    (void)state;
    expect_linear(take_names(25000), take_names(100000));
}

static double take_comments(unsigned n)
{
    struct buffer b = {0};
    struct parsed p;
    double took;

    buffer_text(&b, HEADER);
    for (unsigned i = 0; i < n; i++)
        buffer_printf(&b, ".func f%u() { ret; /*{*/ }\n", i);
    took = -seconds();
    parse_bytes(&p, (const char *)b.bytes, b.size);
    took += seconds();
    if (p.status)
        fail_msg("%s", p.err.text);
    parsed_fini(&p);
    buffer_fini(&b);
    return took;
}

static void braces_in_comments_take_linear_time(void **state)
{
    (void)state;
    expect_linear(take_comments(12500), take_comments(50000));
}

static void megabytes_of_junk_are_refused(void **state)
{
    static const char *const junk[] = {
        "x",  "%",    ".",    "\"",         "/*",  "//",  "1",
        "0f", "{",    "}",    "@",          "\n",  "ld.", ";",
        "(",  "\x01", "a b ", ".reg .b32 ", "$a:", "<",   "0x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        expect_refused("", junk[i], 1u << 20, "");
        expect_refused(HEADER, junk[i], 1u << 20, "\n'");
        expect_refused(HEADER ".entry k() {", junk[i], 1u << 20, "\n'");
    }
    expect_refused(HEADER ".entry k() {", "a+b*c ", 61u << 20, "");
}

static void every_failing_allocation_is_an_error_and_no_crash(void **state)
{
    static const char text[] =
        HEADER ".global .u64 g[2] = {1, 2};\n.global .u64 h = generic(g);\n"
               ".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
               ".visible .entry k(.param .u64 a) { .reg .b32 %r<300>;\n"
               ".param .b32 p; .param .b32 q; call (p), f, (q);\n"
               "L: add.u32 %r1, %r2, %r299; bra L; }\n";
    long n = 0;
    struct parsed p;

    (void)state;
    for (;; n++) {
        kiln_alloc_fail_after(n);
        parse_bytes(&p, text, strlen(text));
        kiln_alloc_fail_after(-1);
        if (!p.status)
            break;
        assert_int_equal(p.status, KILN_E_MEMORY);
        parsed_fini(&p);
    }
    assert_true(n > 2);
    parsed_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nuls_and_odd_bytes_are_refused),
        cmocka_unit_test(trailing_nuls_are_no_part_of_the_text),
        cmocka_unit_test(every_prefix_of_a_program_ends_cleanly),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(a_sparse_family_of_registers_takes_no_memory),
        cmocka_unit_test(many_names_take_linear_time),
        cmocka_unit_test(braces_in_comments_take_linear_time),
        cmocka_unit_test(megabytes_of_junk_are_refused),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
