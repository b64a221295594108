/* SPDX-License-Identifier: MIT
 *
 * One builder a key: across processes, across threads, and when the builder
 * dies or hangs.
 */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { MANY = 16 };

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* A child that starts when the pipe closes and exits with its result. */
static pid_t racer(const struct fixture *f, int gate[2], const char *name)
{
    pid_t child = fork();
    struct cache_section section = {"value", "v", 1};
    struct cache_flight flight;
    struct cache_entry entry = {0};
    struct cache_key key;
    struct cache *cache;
    enum cache_result result;
    char c;

    assert_true(child >= 0);
    if (child)
        return child;
    close(gate[1]);
    if (read(gate[0], &c, 1))
        _exit(99);
    cache = open_store(f, 0);
    key = key_of(name);
    result = cache_begin(cache, &key, &entry, &flight);
    if (result == CACHE_MISS) {
        nap(100); /* the build */
        cache_publish(&flight, &section, 1, 0);
    }
    _exit((int)result);
}

static void sixteen_processes_build_a_key_once(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 5; round++) {
        int gate[2], counts[3] = {0}, status, files;
        char name[16];
        pid_t pids[MANY];

        snprintf(name, sizeof name, "r%d", round);
        assert_int_equal(pipe(gate), 0);
        for (int i = 0; i < MANY; i++)
            pids[i] = racer(f, gate, name);
        close(gate[1]);
        close(gate[0]);
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_true(WIFEXITED(status));
            assert_in_range(WEXITSTATUS(status), 0, 2);
            counts[WEXITSTATUS(status)]++;
        }
        assert_int_equal(counts[CACHE_MISS], 1);
        assert_int_equal(counts[CACHE_WAITED] + counts[CACHE_HIT], MANY - 1);
        snprintf(f->last, sizeof f->last, "%s/v1/flight", f->dir);
        count_files(f->last, &files, NULL);
        assert_int_equal(files, 0);
    }
}

/* A child that takes the flight, tells so, and then sleeps. */
static pid_t holder(const struct fixture *f, int keeps_busy)
{
    int told[2];
    pid_t child;
    char c;

    assert_int_equal(pipe(told), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct cache_flight flight;
        struct cache_entry entry = {0};
        struct cache_key key = key_of("k");
        struct cache *cache = open_store(f, 0);
        volatile unsigned n = 0;

        if (cache_begin(cache, &key, &entry, &flight) != CACHE_MISS ||
            write(told[1], "x", 1) != 1)
            _exit(1);
        while (keeps_busy)
            n++;
        nap(60000);
        _exit(0);
    }
    close(told[1]);
    assert_int_equal(read(told[0], &c, 1), 1);
    close(told[0]);
    return child;
}

struct killer {
    pid_t child;
    long after_ms;
};

static void *kill_later(void *data)
{
    struct killer *k = data;

    nap(k->after_ms);
    kill(k->child, SIGKILL);
    waitpid(k->child, NULL, 0);
    return NULL;
}

static void a_killed_builder_is_succeeded(void **state)
{
    struct fixture *f = *state;
    struct killer k = {holder(f, 0), 200};
    struct cache *cache = open_store(f, 0);
    struct cache_flight flight;
    struct cache_entry entry = {0};
    struct cache_key key = key_of("k");
    struct cache_section section = {"value", "v", 1};
    uint64_t start = clock_ns(), took;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, kill_later, &k), 0);
    assert_int_equal(cache_begin(cache, &key, &entry, &flight), CACHE_MISS);
    took = (clock_ns() - start) / 1000000;
    pthread_join(thread, NULL);
    assert_in_range(took, 100, 15000);
    assert_int_equal(flight.reason, CACHE_REASON_ABSENT);
    assert_true(flight.lock >= 0);
    assert_int_equal(cache_publish(&flight, &section, 1, 0), 1);
    assert_true(has(cache, "k", "v"));
    cache_key_fini(&key);
    cache_close(cache);
}

static void a_builder_that_makes_no_progress_is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    struct cache_options options = {.size = sizeof options, .stall_ms = 300};
    pid_t child = holder(f, 0);
    struct cache_flight flight;
    struct cache_entry entry = {0};
    struct cache_key key = key_of("k");
    struct cache *cache;
    uint64_t start, took;

    assert_int_equal(cache_open(f->dir, &options, &cache, NULL), KILN_OK);
    start = clock_ns();
    assert_int_equal(cache_begin(cache, &key, &entry, &flight), CACHE_MISS);
    took = (clock_ns() - start) / 1000000;
    assert_int_equal(flight.reason, CACHE_REASON_GAVE_UP);
    assert_in_range(took, 250, 15000);
    cache_abandon(&flight);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cache_key_fini(&key);
    cache_close(cache);
}

static void a_busy_builder_is_waited_for(void **state)
{
    struct fixture *f = *state;
    struct cache_options options = {
        .size = sizeof options, .stall_ms = 400, .wait_ms = 1500};
    pid_t child = holder(f, 1);
    struct cache_flight flight;
    struct cache_entry entry = {0};
    struct cache_key key = key_of("k");
    struct cache *cache;
    uint64_t start, took;

    assert_int_equal(cache_open(f->dir, &options, &cache, NULL), KILN_OK);
    start = clock_ns();
    assert_int_equal(cache_begin(cache, &key, &entry, &flight), CACHE_MISS);
    took = (clock_ns() - start) / 1000000;
    assert_in_range(took, 1400, 20000);
    cache_abandon(&flight);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cache_key_fini(&key);
    cache_close(cache);
}

struct worker {
    struct cache *cache;
    _Atomic int *builds;
    int bad;
};

static void *work(void *data)
{
    struct worker *w = data;
    struct cache_section section = {"value", "v", 1};

    for (int i = 0; i < 20; i++) {
        struct cache_flight flight;
        struct cache_entry entry = {0};
        struct cache_key key;
        char name[16];

        snprintf(name, sizeof name, "t%d", i);
        key = key_of(name);
        if (cache_begin(w->cache, &key, &entry, &flight) == CACHE_MISS) {
            (*w->builds)++;
            nap(2);
            cache_publish(&flight, &section, 1, 0);
        } else if (strcmp(cache_entry_section(&entry, "value", NULL), "v")) {
            w->bad = 1;
        }
        cache_entry_fini(&entry);
        cache_key_fini(&key);
    }
    return NULL;
}

static void threads_of_one_handle_build_a_key_once(void **state)
{
    struct cache *cache = open_store(*state, 0);
    struct worker workers[8];
    pthread_t threads[8];
    _Atomic int builds = 0;

    for (int i = 0; i < 8; i++) {
        workers[i] = (struct worker){cache, &builds, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].bad);
    }
    assert_int_equal(builds, 20);
    cache_close(cache);
}

static void an_abandoned_build_lets_the_others_build(void **state)
{
    struct cache *cache = open_store(*state, 0);
    struct cache_flight flight;
    struct cache_entry entry = {0};
    struct cache_key key = key_of("k");

    for (int i = 0; i < 3; i++) {
        assert_int_equal(cache_begin(cache, &key, &entry, &flight), CACHE_MISS);
        assert_true(flight.lock >= 0);
        cache_abandon(&flight);
    }
    cache_key_fini(&key);
    cache_close(cache);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sixteen_processes_build_a_key_once),
        CASE(a_killed_builder_is_succeeded),
        CASE(a_builder_that_makes_no_progress_is_not_waited_for),
        CASE(a_busy_builder_is_waited_for),
        CASE(threads_of_one_handle_build_a_key_once),
        CASE(an_abandoned_build_lets_the_others_build),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
