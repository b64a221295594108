/* SPDX-License-Identifier: MIT
 *
 * Device memory against a plain model of it, and its limits.
 */
#include "fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Whether the page can be read, without reading it. */
static int is_accessible(uint64_t at)
{
    int fd[2];
    int ok;

    assert_int_equal(pipe(fd), 0);
    ok = write(fd[1], (const void *)(uintptr_t)at, 1) == 1;
    close(fd[0]);
    close(fd[1]);
    return ok;
}

static void an_allocation_is_aligned_zero_and_found(void **state)
{
    static const size_t sizes[] = {1, 511, 4096, 4097, 3 << 20};
    int tag;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t at;
        struct exec_range range;

        assert_int_equal(exec_memory_alloc(sizes[i], &tag, &at, NULL), 0);
        assert_int_equal(at % 512, 0);
        for (size_t k = 0; k < sizes[i]; k += 97)
            assert_int_equal(((char *)(uintptr_t)at)[k], 0);
        memset((void *)(uintptr_t)at, 0xff, sizes[i]);
        assert_true(exec_memory_find(at + sizes[i] - 1, &range));
        assert_int_equal(range.base, at);
        assert_int_equal(range.size, sizes[i]);
        assert_ptr_equal(range.tag, &tag);
        assert_false(exec_memory_find(at + sizes[i], &range));
        assert_false(exec_memory_find(at - 1, &range));
        assert_true(exec_memory_is_device(at));
        /* the page after it, the page before it, and itself once freed */
        assert_false(is_accessible((at + sizes[i] + 4095) & ~4095ull));
        assert_false(is_accessible(at - 1));
        assert_int_equal(exec_memory_free(at, NULL), 0);
        assert_false(is_accessible(at));
        assert_false(exec_memory_find(at, &range));
        assert_true(exec_memory_is_device(at));
    }
}

static void what_is_not_device_memory_is_not_found(void **state)
{
    struct exec_range range;
    struct kiln_error err;
    int here = 0;
    char *p = device_alloc(8192);

    (void)state;
    assert_false(exec_memory_find(0, &range));
    assert_false(exec_memory_find(address(&here), &range));
    assert_false(exec_memory_is_device(address(&here)));
    assert_false(exec_memory_find(UINT64_MAX, &range));
    assert_int_equal(exec_memory_free(0, &err), KILN_E_INVALID);
    assert_int_equal(exec_memory_free(address(p) + 512, &err), KILN_E_INVALID);
    device_free(p);
    assert_int_equal(exec_memory_free(address(p), &err), KILN_E_INVALID);
}

static void more_than_there_is_is_refused(void **state)
{
    uint64_t at;
    uint64_t free_bytes;
    uint64_t total;
    struct kiln_error err;

    (void)state;
    exec_memory_info(&free_bytes, &total);
    assert_true(free_bytes <= total && free_bytes > 0);
    assert_true(total <= (uint64_t)sysconf(_SC_PHYS_PAGES) *
                             (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(exec_memory_alloc(0, NULL, &at, &err), KILN_E_INVALID);
    assert_int_equal(exec_memory_alloc(total + 1, NULL, &at, &err),
                     KILN_E_MEMORY);
    assert_non_null(strstr(err.text, "are free"));
    assert_int_equal(exec_memory_alloc(UINT64_MAX, NULL, &at, &err),
                     KILN_E_MEMORY);
}

static void the_figures_follow_the_allocations(void **state)
{
    uint64_t before;
    uint64_t after;
    uint64_t total;
    uint64_t at;

    (void)state;
    exec_memory_info(&before, &total);
    /* never touched, so the system's own figure does not move */
    assert_int_equal(exec_memory_alloc(total / 2, NULL, &at, NULL), 0);
    exec_memory_info(&after, &total);
    assert_true(after <= total - total / 2);
    assert_int_equal(exec_memory_free(at, NULL), 0);
    exec_memory_info(&after, &total);
    assert_true(after > total - total / 2 || before <= total - total / 2);
}

struct model {
    unsigned char *at;
    size_t size;
    unsigned char value;
};

static void random_allocations_never_overlap(void **state)
{
    enum { SLOTS = 200, ROUNDS = 20000 };
    static struct model live[SLOTS];
    uint32_t seed = 12345;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct model *m;

        seed = seed * 1664525 + 1013904223;
        m = &live[(seed >> 8) % SLOTS];
        if (m->at) {
            assert_int_equal(m->at[0], m->value);
            assert_int_equal(m->at[m->size - 1], m->value);
            device_free(m->at);
            m->at = NULL;
        } else {
            m->size = 1 + (seed >> 16) % 20000;
            m->at = device_alloc(m->size);
            m->value = (unsigned char)i;
            m->at[0] = m->value;
            m->at[m->size - 1] = m->value;
        }
    }
    for (int i = 0; i < SLOTS; i++)
        if (live[i].at)
            device_free(live[i].at);
}

/* More than the kernel lets a process have mappings. */
static void very_many_small_allocations_are_possible(void **state)
{
    enum { MANY = 100000 };
    uint32_t **all = calloc(MANY, sizeof *all);

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        all[i] = device_alloc(64 + i % 1000);
        assert_int_equal(all[i][0], 0);
        all[i][0] = i;
        all[i][(64 + i % 1000) / 4 - 1] = i;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        struct exec_range range;

        assert_int_equal(all[i][0], i);
        assert_int_equal(all[i][(64 + i % 1000) / 4 - 1], i);
        assert_true(exec_memory_find(address(all[i]) + 63, &range));
        assert_int_equal(range.base, address(all[i]));
        assert_int_equal(range.size, 64 + i % 1000);
    }
    /* freed in another order, and reused clean */
    for (uint32_t i = 0; i < MANY; i += 2)
        device_free(all[i]);
    for (uint32_t i = 0; i < MANY; i += 2) {
        all[i] = device_alloc(100);
        assert_int_equal(all[i][0], 0);
        all[i][0] = 1;
    }
    for (uint32_t i = 0; i < MANY; i++)
        device_free(all[i]);
    free(all);
}

/* The addresses run out long before the allocations do. */
static void addresses_are_used_again_at_the_end(void **state)
{
    uint64_t free_bytes;
    uint64_t total;
    uint64_t size;
    char *kept = device_alloc(100);

    (void)state;
    exec_memory_info(&free_bytes, &total);
    size = free_bytes / 4;
    kept[0] = 42;
    for (uint64_t sum = 0; sum < (uint64_t)3 << 40; sum += size) {
        char *a = device_alloc(size);
        char *b = device_alloc(size / 2);

        a[size - 1] = 1;
        b[0] = 2;
        device_free(a);
        device_free(b);
    }
    assert_int_equal(kept[0], 42);
    device_free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_is_aligned_zero_and_found),
        cmocka_unit_test(what_is_not_device_memory_is_not_found),
        cmocka_unit_test(more_than_there_is_is_refused),
        cmocka_unit_test(the_figures_follow_the_allocations),
        cmocka_unit_test(random_allocations_never_overlap),
        cmocka_unit_test(very_many_small_allocations_are_possible),
        cmocka_unit_test(addresses_are_used_again_at_the_end),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
