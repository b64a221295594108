/* SPDX-License-Identifier: MIT
 *
 * PTX for which there is not enough memory, at every place where some is
 * asked for: the status says so, and nothing else does harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/ptx/ptx.h"

enum { UNIT = 16, ROOM = 1 << 18 };

/* With `units` more in the caller's arena, and `blocks` from the heap, of
 * which the parser has its own needs. */
static enum kiln_status parse(const struct buffer *text, size_t units,
                              long blocks)
{
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct ptx_module *module;
    enum kiln_status st;

    assert_non_null(arena_alloc(&arena, ROOM));
    arena.used -= units * UNIT;
    kiln_alloc_fail_after(blocks);
    st = ptx_parse((const char *)text->bytes, text->size, &arena, &module, NULL,
                   &err);
    kiln_alloc_fail_after(-1);
    if (st) {
        assert_int_equal(st, KILN_E_MEMORY);
        assert_non_null(strstr(err.text, "out of memory"));
    }
    arena_fini(&arena);
    return st;
}

static void runs_short_everywhere(const char *path)
{
    struct buffer text = {0};
    struct kiln_error err;
    enum kiln_status st = KILN_E_MEMORY;
    unsigned failed = 0;

    if (file_read(path, 0, &text, &err))
        fail_msg("%s", err.text);
    for (long blocks = 0; st && blocks < 64; blocks++)
        for (size_t units = 0; units < ROOM / UNIT; units += 1 + units / 256) {
            st = parse(&text, units, blocks);
            if (!st)
                break;
            failed++;
        }
    assert_int_equal(st, KILN_OK);
    assert_true(failed > 100);
    buffer_fini(&text);
}

static void declarations_and_initialisers_run_short(void **state)
{
    (void)state;
    runs_short_everywhere(GOLDEN "initialisers.ptx");
}

static void scopes_run_short(void **state)
{
    (void)state;
    runs_short_everywhere(GOLDEN "scopes.ptx");
}

static void calls_run_short(void **state)
{
    (void)state;
    runs_short_everywhere(GOLDEN "calls.ptx");
}

static void kernels_run_short(void **state)
{
    (void)state;
    runs_short_everywhere(GOLDEN "kernel.ptx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_and_initialisers_run_short),
        cmocka_unit_test(scopes_run_short),
        cmocka_unit_test(calls_run_short),
        cmocka_unit_test(kernels_run_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
