/* SPDX-License-Identifier: MIT
 *
 * Kernels that go wrong: each fault becomes an error of its context, says
 * where, and leaves the process and other contexts alone.
 */
#include "fixture.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The faults are meant; only the processor shall notice them. */
#define BAD __attribute__((no_sanitize("undefined", "address", "thread")))

static BAD void store(struct abi_block *block, uint32_t first, uint32_t end)
{
    volatile uint32_t *to = *PARAMS(block, uint32_t *);

    (void)first;
    (void)end;
    *to = 1;
}

static BAD void load(struct abi_block *block, uint32_t first, uint32_t end)
{
    const volatile uint32_t *from = *PARAMS(block, uint32_t *);

    (void)first;
    (void)end;
    (void)*from;
}

static void a_null_pointer_is_an_illegal_address(void **state)
{
    struct fixture *f = *state;
    uint32_t *p = NULL;

    launch(f->stream, store, 1, 32, &p, sizeof p, 0);
    fails(f->stream, KILN_E_ADDRESS,
          "kernel tested, block (0,0,0), threads (0,0,0) to (31,0,0): "
          "write to 0x0: a null");
}

static void freed_memory_is_an_illegal_address(void **state)
{
    struct fixture *f = *state;
    uint32_t *p = device_alloc(1000);

    device_free(p);
    launch(f->stream, load, 1, 32, &p, sizeof p, 0);
    fails(f->stream, KILN_E_ADDRESS, "read of 0x");
}

static void the_page_after_an_allocation_is_an_illegal_address(void **state)
{
    struct fixture *f = *state;
    static const size_t sizes[] = {4096, 8192, 4 << 20};

    for (size_t i = 0; i < 3; i++) {
        char *a = device_alloc(sizes[i]);
        char *b = device_alloc(sizes[i]);
        char *p = a + sizes[i] - 4;

        launch(f->stream, store, 1, 32, &p, sizeof p, 0);
        finish(f->stream);
        p = a + sizes[i];
        launch(f->stream, store, 1, 32, &p, sizeof p, 0);
        fails(f->stream, KILN_E_ADDRESS, "past an allocation of");
        device_free(a);
        device_free(b);
        fixture_teardown(state);
        fixture_setup(state);
        f = *state;
    }
}

static void an_address_that_is_not_canonical_is_illegal(void **state)
{
    struct fixture *f = *state;
    uint32_t *p = (uint32_t *)(uintptr_t)0x8000000000000000u;

    launch(f->stream, store, 1, 32, &p, sizeof p, 0);
    fails(f->stream, KILN_E_ADDRESS, "no space has");
}

static void call_fault(struct abi_block *block, uint32_t warp, uint32_t end)
{
    (void)end;
    block->fault(block, warp, *PARAMS(block, uint32_t), 0x1234);
}

static void generated_code_may_give_up(void **state)
{
    static const struct {
        uint32_t kind;
        enum kiln_status status;
        const char *words;
    } cases[] = {
        {ABI_FAULT_TRAP, KILN_E_LAUNCH, "trap"},
        {ABI_FAULT_ADDRESS, KILN_E_ADDRESS, "0x1234"},
        {ABI_FAULT_ASSERT, KILN_E_ASSERT, "assertion"},
        {ABI_FAULT_SYNC, KILN_E_LAUNCH, "0x1234"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = *state;

        launch(f->stream, call_fault, 100, 64, &cases[i].kind, 4,
               i % 2 ? OBJECT_KERNEL_BARRIER : 0);
        fails(f->stream, cases[i].status, cases[i].words);
        fixture_teardown(state);
        fixture_setup(state);
        f = *state;
        /* a single warp has its barriers on the first fiber */
        launch(f->stream, call_fault, 3, 32, &cases[i].kind, 4,
               OBJECT_KERNEL_BARRIER);
        fails(f->stream, cases[i].status, cases[i].words);
        fixture_teardown(state);
        fixture_setup(state);
    }
}

static void divide(struct abi_block *block, uint32_t first, uint32_t end)
{
    uint32_t q;

    (void)first;
    (void)end;
    __asm__ volatile("xor %%edx, %%edx\n divl %1"
                     : "=a"(q)
                     : "r"(*PARAMS(block, uint32_t)), "a"(1)
                     : "edx", "cc");
}

static void undefined(struct abi_block *block, uint32_t first, uint32_t end)
{
    (void)block;
    (void)first;
    (void)end;
    __asm__ volatile("ud2");
}

static void processor_exceptions_are_launch_failures(void **state)
{
    struct fixture *f = *state;
    const uint32_t zero = 0;

    launch(f->stream, divide, 1, 32, &zero, 4, 0);
    fails(f->stream, KILN_E_LAUNCH, "arithmetic exception");
    fixture_teardown(state);
    fixture_setup(state);
    f = *state;
    launch(f->stream, undefined, 1, 32, NULL, 0, 0);
    fails(f->stream, KILN_E_LAUNCH, "illegal instruction");
}

/* No frame of its own is instrumented: it moves the stack pointer itself. */
static void overflow(struct abi_block *block, uint32_t first, uint32_t end)
{
    (void)block;
    (void)first;
    (void)end;
    __asm__ volatile("1: push %%rax\n jmp 1b" ::: "memory");
}

static void a_stack_overflow_is_a_launch_failure(void **state)
{
    struct fixture *f = *state;

    launch(f->stream, overflow, 1, 32, NULL, 0, 0);
    fails(f->stream, KILN_E_LAUNCH, "stack overflow");
    fixture_teardown(state);
    fixture_setup(state);
    f = *state;
    launch(f->stream, overflow, 1, 320, NULL, 0, OBJECT_KERNEL_BARRIER);
    fails(f->stream, KILN_E_LAUNCH, "stack overflow");
}

static void cross(struct abi_block *block, uint32_t warp, uint32_t end)
{
    (void)end;
    block->barrier(block, warp, warp & 1, 96, ABI_BARRIER_SYNC, 0);
}

static void a_deadlock_is_a_launch_failure(void **state)
{
    struct fixture *f = *state;

    launch(f->stream, cross, 10, 128, NULL, 0, OBJECT_KERNEL_BARRIER);
    fails(f->stream, KILN_E_LAUNCH,
          "deadlock: of 4 warps left 2 at barrier 0 (2 of 3), 2 at barrier 1");
}

struct count {
    uint32_t *blocks;
    uint32_t bad;
};

static void count_or_trap(struct abi_block *block, uint32_t warp, uint32_t end)
{
    const struct count *p = PARAMS(block, struct count);

    (void)end;
    if (block->ctaid[0] == p->bad)
        block->fault(block, warp, ABI_FAULT_TRAP, 0);
    for (volatile int i = 0; i < 1000; i++)
        continue;
    __atomic_fetch_add(p->blocks, 1, __ATOMIC_RELAXED);
}

static void after_a_fault_no_more_blocks_and_launches_run(void **state)
{
    struct fixture *f = *state;
    struct count p = {device_alloc(4), 10};
    uint32_t *other = device_alloc(4);
    struct kiln_error err;

    launch(f->stream, count_or_trap, 1000000, 32, &p, sizeof p, 0);
    /* queued behind it, most likely before the fault */
    {
        const struct exec_launch l = {.function = store,
                                      .grid = {1, 1, 1},
                                      .block = {1, 1, 1},
                                      .params = &other,
                                      .param_bytes = sizeof other};

        exec_launch(f->stream, &l, NULL);
    }
    fails(f->stream, KILN_E_LAUNCH, "block (10,0,0)");
    assert_true(*p.blocks < 500000);
    assert_int_equal(*other, 0);
    assert_int_equal(exec_context_status(f->context, &err), KILN_E_LAUNCH);
    assert_int_equal(exec_context_sync(f->context, &err), KILN_E_LAUNCH);
    {
        const struct exec_launch l = {
            .function = store, .grid = {1, 1, 1}, .block = {1, 1, 1}};

        assert_int_equal(exec_launch(f->stream, &l, &err), KILN_E_LAUNCH);
    }
    device_free(p.blocks);
    device_free(other);
}

static void another_context_goes_on(void **state)
{
    struct fixture *f = *state;
    struct fixture *g;
    void *second = NULL;
    uint32_t *p = NULL;

    fixture_setup(&second);
    g = second;
    launch(f->stream, store, 1, 32, &p, sizeof p, 0);
    p = device_alloc(4);
    launch(g->stream, store, 1, 32, &p, sizeof p, 0);
    finish(g->stream);
    assert_int_equal(*p, 1);
    fails(f->stream, KILN_E_ADDRESS, "null");
    fixture_teardown(&second);
    device_free(p);
}

/* Every block but the last waits for ever for what the last does not do. */
static void spin_or_trap(struct abi_block *block, uint32_t warp, uint32_t end)
{
    volatile uint32_t *flag = *PARAMS(block, uint32_t *);

    (void)end;
    if (block->ctaid[0] == 1)
        block->fault(block, warp, ABI_FAULT_TRAP, 0);
    while (!*flag)
        continue;
}

static void blocks_that_wait_for_a_failed_one_are_broken_off(void **state)
{
    struct fixture *f = *state;
    uint32_t *flag = device_alloc(4);

    if (exec_runners() < 2)
        skip();
    launch(f->stream, spin_or_trap, 2, 32, &flag, sizeof flag, 0);
    fails(f->stream, KILN_E_LAUNCH, "block (1,0,0)");
    device_free(flag);
}

static const volatile uintptr_t bad_address = 8;

static BAD void fault_in_one_warp(struct abi_block *block, uint32_t warp,
                                  uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);

    (void)end;
    block->barrier(block, warp, 0, 0, ABI_BARRIER_SYNC, 0);
    if (warp == 5)
        *(volatile uint32_t *)bad_address = 1;
    block->barrier(block, warp, 0, 0, ABI_BARRIER_SYNC, 0);
    out[warp] = 1;
}

static void sum(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *out = *PARAMS(block, uint32_t *);

    (void)end;
    out[warp] = block->barrier(block, warp, 0, 0, ABI_BARRIER_POPC, warp);
}

static void a_fault_between_barriers_leaves_the_fibers_usable(void **state)
{
    uint32_t *out = device_alloc(32 * 4);

    for (int i = 0; i < 20; i++) {
        struct fixture *f = *state;

        launch(f->stream, fault_in_one_warp, 4, 1024, &out, sizeof out,
               OBJECT_KERNEL_BARRIER);
        fails(f->stream, KILN_E_ADDRESS,
              "threads (160,0,0) to (191,0,0): write to 0x8: a null");
        assert_int_equal(out[5], 0);
        fixture_teardown(state);
        fixture_setup(state);
        f = *state;
        launch(f->stream, sum, 1, 1024, &out, sizeof out,
               OBJECT_KERNEL_BARRIER);
        finish(f->stream);
        for (int w = 0; w < 32; w++)
            assert_int_equal(out[w], 31 * 32 / 2);
        memset(out, 0, 32 * 4);
    }
    device_free(out);
}

static void a_copy_from_a_bad_host_pointer_fails_the_context(void **state)
{
    struct fixture *f = *state;
    char *to = device_alloc(4096);
    const struct exec_copy copy = {.to = to, .from = (void *)16, .width = 4096};

    assert_int_equal(exec_copy(f->stream, &copy, NULL), 0);
    fails(f->stream, KILN_E_ADDRESS, "memory copy: read of 0x10");
    device_free(to);
}

/* ---- signals that are not a kernel's ---- */

static volatile sig_atomic_t caught;

static void note(int sig)
{
    (void)sig;
    caught++;
}

static void other_signals_reach_the_earlier_handler(void **state)
{
    struct sigaction mine = {.sa_handler = note};
    struct sigaction before;
    pid_t child;
    int status;

    (void)state;
    exec_close();
    assert_int_equal(sigaction(SIGFPE, &mine, &before), 0);
    fixture_open(NULL);
    raise(SIGFPE);
    assert_int_equal(caught, 1);
    exec_close();
    sigaction(SIGFPE, &before, NULL);
    /* and with none, the process ends as it would have */
    child = fork();
    if (child == 0) {
        signal(SIGILL, SIG_DFL);
        if (!exec_open(NULL))
            raise(SIGILL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
    fixture_open(NULL);
}

static void nothing_works_before_the_device_is_open(void **state)
{
    struct exec_context *context;
    uint64_t at;

    (void)state;
    exec_close();
    assert_int_equal(exec_context_new(&context, NULL), KILN_E_NOT_INITIALIZED);
    assert_int_equal(exec_memory_alloc(1, NULL, &at, NULL),
                     KILN_E_NOT_INITIALIZED);
    fixture_open(NULL);
}

static void a_forked_child_is_told_so(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct kiln_error err;
        const struct exec_launch l = {
            .function = store, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        int ok = exec_launch(f->stream, &l, &err) == KILN_E_NOT_INITIALIZED &&
                 exec_stream_sync(f->stream, &err) == KILN_E_NOT_INITIALIZED &&
                 exec_open(&err) == KILN_E_NOT_INITIALIZED;

        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_null_pointer_is_an_illegal_address),
        TEST(freed_memory_is_an_illegal_address),
        TEST(the_page_after_an_allocation_is_an_illegal_address),
        TEST(an_address_that_is_not_canonical_is_illegal),
        TEST(generated_code_may_give_up),
        TEST(processor_exceptions_are_launch_failures),
        TEST(a_stack_overflow_is_a_launch_failure),
        TEST(a_deadlock_is_a_launch_failure),
        TEST(after_a_fault_no_more_blocks_and_launches_run),
        TEST(another_context_goes_on),
        TEST(blocks_that_wait_for_a_failed_one_are_broken_off),
        TEST(a_fault_between_barriers_leaves_the_fibers_usable),
        TEST(a_copy_from_a_bad_host_pointer_fails_the_context),
        cmocka_unit_test(other_signals_reach_the_earlier_handler),
        cmocka_unit_test(nothing_works_before_the_device_is_open),
        TEST(a_forked_child_is_told_so),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
