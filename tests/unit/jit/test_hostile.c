/* SPDX-License-Identifier: MIT
 *
 * PTX made to take long becomes code in proportion to its size, or is refused
 * with what was found and what can be done. By hand:
 *
 *     test_jit_hostile KIND N      processor time, memory and code of one
 *     test_jit_hostile KIND N -    its text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cpu/jit/jit.h"
#include "hostile.h"

/* Bytes of code for a line of PTX: a `match` compares each lane with 31. */
enum { MOST_BYTES = 4096 };

struct made {
    enum kiln_status status;
    struct kiln_error err;
    size_t bytes, lines;
};

static struct made compile(const char *kind, int n)
{
    struct jit_request q = {.struct_size = sizeof q, .level = 4, .target = 121};
    struct jit_result r = {.struct_size = sizeof r};
    struct buffer text = hostile_make(kind, n);
    struct made m = {0};

    q.ptx = buffer_str(&text);
    q.size = text.size;
    m.status = jit_compile(&q, &r, &m.err);
    m.bytes = r.size;
    for (size_t i = 0; i < text.size; i++)
        m.lines += text.bytes[i] == '\n';
    free(r.object);
    free(r.info_log);
    free(r.error_log);
    buffer_fini(&text);
    return m;
}

static void each_kind_becomes_code_by_its_lines(void **state)
{
    const char *kind;

    (void)state;
    for (size_t i = 0; (kind = hostile_kind(i)); i++) {
        struct made m = compile(kind, 10);

        if (m.status)
            fail_msg("%s: %s", kind, m.err.text);
        if (m.bytes > m.lines * MOST_BYTES)
            fail_msg("%s: %zu bytes of code for %zu lines", kind, m.bytes,
                     m.lines);
    }
}

static void refused(const char *kind, int n, const char *says)
{
    struct made m = compile(kind, n);

    if (m.status != KILN_E_NOT_SUPPORTED && m.status != KILN_E_PTX)
        fail_msg("%s %d: status %d: %s", kind, n, (int)m.status, m.err.text);
    if (!strstr(m.err.text, says))
        fail_msg("%s %d: \"%s\" does not say \"%s\"", kind, n, m.err.text,
                 says);
}

static void what_is_too_much_is_refused_with_its_size(void **state)
{
    (void)state;
    refused("arithmetic", 100000,
            "kernel k with all that it calls: 200007 instructions, 0 branches, "
            "0 loops; 200000, 10000, 2000 at most: make it several kernels");
    refused("branches", 10001, "10001 branches, 0 loops");
    refused("loops_in_a_row", 2001, "2001 branches, 2001 loops");
    refused("targets", 10002, "10001 branches, 0 loops");
    refused("doubled_calls", 40, "more than 200000 instructions");
    refused("ring", 1000, "calls too deep");
    refused("parameters", 10000, "parameter space");
    refused("arrays", 1000000000, "268435456 bytes");
}

static void a_part_that_is_begun_too_late_is_refused(void **state)
{
    struct made m;

    (void)state;
    setenv("KILN_JIT_LIMIT", "0.000001", 1);
    m = compile("branches", 1);
    unsetenv("KILN_JIT_LIMIT");
    assert_int_equal(m.status, KILN_E_TIMEOUT);
    assert_non_null(strstr(m.err.text, "kernel k, "));
    assert_non_null(strstr(m.err.text, "KILN_JIT_LIMIT"));
}

static int by_hand(const char *kind, int n, int print)
{
    struct buffer text;
    struct timespec from, to;
    struct rusage usage;
    struct made m;

    if (print) {
        text = hostile_make(kind, n);
        fwrite(text.bytes, 1, text.size, stdout);
        buffer_fini(&text);
        return 0;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    m = compile(kind, n);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    getrusage(RUSAGE_SELF, &usage);
    printf("%s %d: %zu lines, %.2f s, %ld MB, %zu bytes%s%s\n", kind, n,
           m.lines,
           (double)(to.tv_sec - from.tv_sec) +
               (double)(to.tv_nsec - from.tv_nsec) * 1e-9,
           usage.ru_maxrss / 1024, m.bytes, m.status ? ": " : "",
           m.status ? m.err.text : "");
    return m.status != KILN_OK;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_becomes_code_by_its_lines),
        cmocka_unit_test(what_is_too_much_is_refused_with_its_size),
        cmocka_unit_test(a_part_that_is_begun_too_late_is_refused),
    };

    if (argc > 2)
        return by_hand(argv[1], atoi(argv[2]), argc > 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
