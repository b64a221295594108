/* SPDX-License-Identifier: MIT
 *
 * Order within streams and between them: events, the default stream, host
 * functions, and a great many of them at once.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static struct exec_stream *stream_of(struct fixture *f, unsigned flags)
{
    struct exec_stream *s;

    assert_int_equal(exec_stream_new(f->context, flags, 0, &s, NULL), 0);
    return s;
}

/* ---- kernels ---- */

/* Waits until *gate is not 0; host memory, set by the test. */
static void wait_gate(struct abi_block *block, uint32_t first, uint32_t end)
{
    const uint32_t *gate = *PARAMS(block, uint32_t *);

    (void)first;
    (void)end;
    while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE)) {
        const struct timespec t = {0, 100000};

        nanosleep(&t, NULL);
    }
}

struct step {
    uint32_t *cell;
    uint32_t from, to;
};

/* Not atomic: only order between launches makes it right. */
static void advance(struct abi_block *block, uint32_t first, uint32_t end)
{
    const struct step *p = PARAMS(block, struct step);

    (void)first;
    (void)end;
    if (*p->cell == p->from)
        *p->cell = p->to;
}

static void open_gate(uint32_t *gate)
{
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

/* ---- one stream ---- */

static void launches_of_a_stream_run_in_order(void **state)
{
    struct fixture *f = *state;
    uint32_t cell = 0;

    for (uint32_t i = 0; i < 2000; i++) {
        const struct step p = {&cell, i, i + 1};

        launch(f->stream, advance, 1, 1, &p, sizeof p, 0);
    }
    finish(f->stream);
    assert_int_equal(cell, 2000);
}

static void a_launch_returns_before_the_kernel_ends(void **state)
{
    struct fixture *f = *state;
    uint32_t gate = 0;
    uint32_t *p = &gate;
    struct exec_event *event;

    assert_int_equal(exec_event_new(&event, NULL), 0);
    assert_int_equal(exec_event_query(event, NULL), 0);
    launch(f->stream, wait_gate, 1, 1, &p, sizeof p, 0);
    assert_int_equal(exec_event_record(event, f->stream, NULL), 0);
    assert_int_equal(exec_stream_query(f->stream, NULL), KILN_E_NOT_READY);
    assert_int_equal(exec_event_query(event, NULL), KILN_E_NOT_READY);
    open_gate(&gate);
    finish(f->stream);
    assert_int_equal(exec_stream_query(f->stream, NULL), 0);
    assert_int_equal(exec_event_query(event, NULL), 0);
    exec_event_free(event);
}

static void note_release(void *owner)
{
    __atomic_fetch_add((int *)owner, 1, __ATOMIC_RELEASE);
}

static void every_launch_is_released_once(void **state)
{
    struct fixture *f = *state;
    int released = 0;
    struct exec_launch l = {.function = advance,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .release = note_release,
                            .owner = &released};
    uint32_t cell = 0;
    struct step p = {&cell, 0, 0};
    struct kiln_error why = {KILN_E_LAUNCH, "poisoned by the test"};

    l.params = &p;
    l.param_bytes = sizeof p;
    for (int i = 0; i < 100; i++)
        assert_int_equal(exec_launch(f->stream, &l, NULL), 0);
    l.block[0] = 0;
    assert_int_equal(exec_launch(f->stream, &l, NULL), KILN_E_INVALID);
    l.block[0] = 1;
    exec_context_poison(f->context, &why);
    for (int i = 0; i < 10; i++)
        assert_int_equal(exec_launch(f->stream, &l, NULL), KILN_E_LAUNCH);
    fails(f->stream, KILN_E_LAUNCH, "poisoned");
    for (int i = 0;
         i < 1000 && __atomic_load_n(&released, __ATOMIC_RELAXED) < 111; i++)
        pause_ms(1);
    assert_int_equal(__atomic_load_n(&released, __ATOMIC_ACQUIRE), 111);
}

/* ---- between streams ---- */

static void streams_run_at_the_same_time(void **state)
{
    struct fixture *f = *state;
    struct exec_stream *other = stream_of(f, EXEC_STREAM_NONBLOCKING);
    uint32_t gate = 0;
    uint32_t *p = &gate;
    uint32_t cell = 0;
    const struct step step = {&cell, 0, 1};

    launch(f->stream, wait_gate, 1, 1, &p, sizeof p, 0);
    /* also with one runner only: the waiting thread takes an extra slot */
    launch(other, advance, 1, 1, &step, sizeof step, 0);
    finish(other);
    assert_int_equal(cell, 1);
    assert_int_equal(exec_stream_query(f->stream, NULL), KILN_E_NOT_READY);
    open_gate(&gate);
    finish(f->stream);
    exec_stream_free(other);
}

static void an_event_orders_two_streams(void **state)
{
    struct fixture *f = *state;
    struct exec_stream *other = stream_of(f, EXEC_STREAM_NONBLOCKING);
    struct exec_event *event;
    uint32_t gate = 0;
    uint32_t *p = &gate;
    uint32_t cell = 0;
    const struct step one = {&cell, 0, 1};
    const struct step two = {&cell, 1, 2};

    assert_int_equal(exec_event_new(&event, NULL), 0);
    launch(f->stream, wait_gate, 1, 1, &p, sizeof p, 0);
    launch(f->stream, advance, 1, 1, &one, sizeof one, 0);
    assert_int_equal(exec_event_record(event, f->stream, NULL), 0);
    assert_int_equal(exec_stream_wait_event(other, event, NULL), 0);
    /* the wait is for the event as it was */
    exec_event_free(event);
    launch(other, advance, 1, 1, &two, sizeof two, 0);
    pause_ms(5);
    assert_int_equal(exec_stream_query(other, NULL), KILN_E_NOT_READY);
    open_gate(&gate);
    finish(other);
    assert_int_equal(cell, 2);
    exec_stream_free(other);
}

static void the_default_stream_waits_and_is_waited_for(void **state)
{
    struct fixture *f = *state;
    struct exec_stream *legacy = stream_of(f, EXEC_STREAM_LEGACY);
    struct exec_stream *free_one = stream_of(f, EXEC_STREAM_NONBLOCKING);
    struct exec_stream *late = stream_of(f, 0);
    uint32_t gate = 0;
    uint32_t *p = &gate;
    uint32_t cell = 0;
    const struct step one = {&cell, 0, 1};
    const struct step two = {&cell, 1, 2};
    uint32_t aside = 0;
    const struct step free_step = {&aside, 0, 1};

    launch(f->stream, wait_gate, 1, 1, &p, sizeof p, 0);
    launch(legacy, advance, 1, 1, &one, sizeof one, 0);
    launch(late, advance, 1, 1, &two, sizeof two, 0);
    launch(free_one, advance, 1, 1, &free_step, sizeof free_step, 0);
    finish(free_one);
    assert_int_equal(aside, 1);
    assert_int_equal(exec_stream_query(legacy, NULL), KILN_E_NOT_READY);
    assert_int_equal(exec_stream_query(late, NULL), KILN_E_NOT_READY);
    open_gate(&gate);
    finish(late);
    assert_int_equal(cell, 2);
    exec_stream_free(legacy);
    exec_stream_free(free_one);
    exec_stream_free(late);
}

static void a_context_waits_for_all_its_streams(void **state)
{
    struct fixture *f = *state;
    struct exec_stream *s[20];
    uint32_t cells[20] = {0};

    for (int i = 0; i < 20; i++) {
        s[i] = stream_of(f, (unsigned)i % 2);
        for (uint32_t k = 0; k < 50; k++) {
            const struct step p = {&cells[i], k, k + 1};

            launch(s[i], advance, 1, 1, &p, sizeof p, 0);
        }
    }
    /* work on a freed stream still runs */
    exec_stream_free(s[7]);
    assert_int_equal(exec_context_sync(f->context, NULL), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(cells[i], 50);
        if (i != 7)
            exec_stream_free(s[i]);
    }
}

static void events_measure_time(void **state)
{
    struct fixture *f = *state;
    struct exec_event *a;
    struct exec_event *b;
    uint32_t gate = 0;
    uint32_t *p = &gate;
    int64_t ns = 0;

    assert_int_equal(exec_event_new(&a, NULL), 0);
    assert_int_equal(exec_event_new(&b, NULL), 0);
    assert_int_equal(exec_event_elapsed(a, b, &ns, NULL), KILN_E_HANDLE);
    assert_int_equal(exec_event_record(a, f->stream, NULL), 0);
    launch(f->stream, wait_gate, 1, 1, &p, sizeof p, 0);
    assert_int_equal(exec_event_record(b, f->stream, NULL), 0);
    assert_int_equal(exec_event_elapsed(a, b, &ns, NULL), KILN_E_NOT_READY);
    pause_ms(20);
    open_gate(&gate);
    assert_int_equal(exec_event_sync(b, NULL), 0);
    assert_int_equal(exec_event_elapsed(a, b, &ns, NULL), 0);
    assert_true(ns >= 20000000 && ns < 10000000000);
    assert_int_equal(exec_event_elapsed(b, a, &ns, NULL), 0);
    assert_true(ns <= -20000000);
    exec_event_free(a);
    exec_event_free(b);
}

/* ---- host functions ---- */

struct host_call {
    uint32_t *cell;
    uint32_t from, to;
    int status;
};

static void host_advance(void *data, enum kiln_status status)
{
    struct host_call *call = data;

    call->status = (int)status;
    if (*call->cell == call->from)
        *call->cell = call->to;
}

static void host_functions_keep_the_order(void **state)
{
    struct fixture *f = *state;
    struct host_call calls[100];
    uint32_t cell = 0;

    for (uint32_t i = 0; i < 100; i++) {
        const struct step p = {&cell, i * 2, i * 2 + 1};

        launch(f->stream, advance, 1, 1, &p, sizeof p, 0);
        calls[i] = (struct host_call){&cell, i * 2 + 1, i * 2 + 2, -1};
        assert_int_equal(exec_host(f->stream, host_advance, &calls[i], 0, NULL),
                         0);
    }
    finish(f->stream);
    assert_int_equal(cell, 200);
    assert_int_equal(calls[99].status, 0);
}

static void trap(struct abi_block *block, uint32_t warp, uint32_t end)
{
    const uint32_t *gate = *PARAMS(block, uint32_t *);

    (void)end;
    while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE))
        block->yield(block, warp);
    block->fault(block, warp, ABI_FAULT_TRAP, 0);
}

static void after_an_error_only_stream_callbacks_are_called(void **state)
{
    struct fixture *f = *state;
    uint32_t cell = 0;
    uint32_t gate = 0;
    uint32_t *p = &gate;
    struct host_call skipped = {&cell, 0, 1, -1};
    struct host_call called = {&cell, 0, 2, -1};

    launch(f->stream, trap, 1, 1, &p, sizeof p, 0);
    assert_int_equal(exec_host(f->stream, host_advance, &skipped, 0, NULL), 0);
    assert_int_equal(exec_host(f->stream, host_advance, &called, 1, NULL), 0);
    open_gate(&gate);
    fails(f->stream, KILN_E_LAUNCH, "trap");
    assert_int_equal(skipped.status, -1);
    assert_int_equal(called.status, KILN_E_LAUNCH);
    assert_int_equal(cell, 2);
}

/* ---- many at once ---- */

enum { THREADS = 4, STREAMS = 6, STEPS = 400 };

struct chain {
    struct fixture *f;
    struct exec_stream *s[STREAMS];
    uint32_t *mine; /* handed from stream to stream by events */
};

/* A thread sends one cell round its streams, each step on another one,
 * ordered by events alone; kernels, copies and host functions alternate. */
static void *chase(void *data)
{
    struct chain *c = data;
    struct host_call *calls = calloc(STEPS, sizeof *calls);
    struct exec_event *event;
    uint32_t seed = (uint32_t)(uintptr_t)c / 64;

    if (exec_event_new(&event, NULL))
        abort();
    for (uint32_t i = 0; i < STEPS; i++) {
        struct exec_stream *s;
        const struct step p = {c->mine, i, i + 1};

        seed = seed * 1664525 + 1013904223;
        s = c->s[(seed >> 16) % STREAMS];
        if (exec_stream_wait_event(s, event, NULL))
            abort();
        if (i % 5 == 4) {
            calls[i] = (struct host_call){c->mine, i, i + 1, 0};
            if (exec_host(s, host_advance, &calls[i], 0, NULL))
                abort();
        } else {
            launch(s, advance, 1, 1, &p, sizeof p,
                   i % 2 ? OBJECT_KERNEL_BARRIER : 0);
        }
        if (exec_event_record(event, s, NULL))
            abort();
        if (i % 50 == 49 && exec_event_sync(event, NULL))
            abort();
    }
    if (exec_event_sync(event, NULL))
        abort();
    exec_event_free(event);
    free(calls);
    return NULL;
}

static void many_threads_chain_many_streams(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[THREADS];
    struct chain chains[THREADS];
    struct exec_stream *legacy = stream_of(f, EXEC_STREAM_LEGACY);
    uint32_t *cells = device_alloc(THREADS * 64);

    for (int t = 0; t < THREADS; t++) {
        chains[t] = (struct chain){.f = f, .mine = cells + t * 16};
        for (int i = 0; i < STREAMS; i++)
            chains[t].s[i] =
                stream_of(f, i % 3 == 0 ? 0 : EXEC_STREAM_NONBLOCKING);
        assert_int_equal(pthread_create(&threads[t], NULL, chase, &chains[t]),
                         0);
    }
    for (int i = 0; i < 50; i++) {
        uint32_t dummy = 0;
        const struct step p = {&dummy, 0, 1};

        launch(legacy, advance, 1, 1, &p, sizeof p, 0);
        finish(legacy);
        assert_int_equal(dummy, 1);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(*chains[t].mine, STEPS);
        for (int i = 0; i < STREAMS; i++)
            exec_stream_free(chains[t].s[i]);
    }
    exec_stream_free(legacy);
    device_free(cells);
}

static void grow(struct abi_block *block, uint32_t warp, uint32_t end)
{
    uint32_t *cell = *PARAMS(block, uint32_t *);
    const uint32_t all = block->barrier(block, warp, 0, 0, ABI_BARRIER_POPC, 1);

    (void)end;
    __atomic_fetch_add(cell, all, __ATOMIC_RELAXED);
}

static void *flood(void *data)
{
    struct chain *c = data;

    for (int i = 0; i < 60; i++) {
        struct exec_stream *s = c->s[i % STREAMS];
        uint32_t *p = c->mine;

        launch(s, grow, 1 + (uint32_t)i, 32 + 32 * (uint32_t)(i % 8), &p,
               sizeof p, OBJECT_KERNEL_BARRIER);
        if (i % 7 == 0)
            finish(s);
    }
    for (int i = 0; i < STREAMS; i++)
        finish(c->s[i]);
    return NULL;
}

static void many_streams_share_the_cores(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[THREADS];
    struct chain chains[THREADS];
    uint32_t *cells = device_alloc(THREADS * 64);
    uint32_t expected = 0;

    for (uint32_t i = 0; i < 60; i++)
        expected += (1 + i) * (1 + i % 8) * (1 + i % 8);
    for (int t = 0; t < THREADS; t++) {
        chains[t] = (struct chain){.f = f, .mine = cells + t * 16};
        for (int i = 0; i < STREAMS; i++)
            assert_int_equal(
                exec_stream_new(f->context, 1, -(i % 3), &chains[t].s[i], NULL),
                0);
        assert_int_equal(pthread_create(&threads[t], NULL, flood, &chains[t]),
                         0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(*chains[t].mine, expected);
        for (int i = 0; i < STREAMS; i++)
            exec_stream_free(chains[t].s[i]);
    }
    device_free(cells);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_of_a_stream_run_in_order),
        TEST(a_launch_returns_before_the_kernel_ends),
        TEST(every_launch_is_released_once),
        TEST(streams_run_at_the_same_time),
        TEST(an_event_orders_two_streams),
        TEST(the_default_stream_waits_and_is_waited_for),
        TEST(a_context_waits_for_all_its_streams),
        TEST(events_measure_time),
        TEST(host_functions_keep_the_order),
        TEST(after_an_error_only_stream_callbacks_are_called),
        TEST(many_threads_chain_many_streams),
        TEST(many_streams_share_the_cores),
    };

    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
