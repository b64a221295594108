/* SPDX-License-Identifier: MIT
 *
 * The folder: which one, when it is refused, how it stays within its limit.
 * Whatever is wrong with it, the job goes on.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static enum cache_reason reason_of(struct cache *cache)
{
    enum cache_reason reason;
    struct cache_entry entry = {0};
    struct cache_key key = key_of("k");

    assert_int_equal(cache_get(cache, &key, &entry, &reason), CACHE_MISS);
    cache_key_fini(&key);
    return reason;
}

static void opening_touches_no_disk(void **state)
{
    struct fixture *f = *state;
    struct cache *cache = open_store(f, 0);

    assert_int_equal(access(f->dir, F_OK), -1);
    assert_int_equal(reason_of(cache), CACHE_REASON_ABSENT);
    assert_int_equal(access(f->dir, F_OK), 0);
    cache_close(cache);
}

static void the_folder_is_private_and_its_parents_are_made(void **state)
{
    struct fixture *f = *state;
    struct stat info;

    snprintf(f->dir, sizeof f->dir, "%s/a/b/c", f->root);
    struct cache *cache = open_store(f, 0);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    assert_int_equal(use(cache, "k", "v"), CACHE_HIT);
    assert_int_equal(stat(f->dir, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    cache_close(cache);
}

static void refused(struct fixture *f)
{
    struct cache *cache = open_store(f, 0);

    assert_int_equal(reason_of(cache), CACHE_REASON_UNUSABLE);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    cache_close(cache);
}

static void a_symbolic_link_is_refused(void **state)
{
    struct fixture *f = *state;
    char real[128];
    int files;

    snprintf(real, sizeof real, "%s/real", f->root);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(real, f->dir), 0);
    refused(f);
    count_files(real, &files, NULL);
    assert_int_equal(files, 0);
}

static void a_folder_that_others_can_write_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkdir(f->dir, 0700), 0);
    assert_int_equal(chmod(f->dir, 0770), 0);
    refused(f);
    assert_int_equal(chmod(f->dir, 01777), 0);
    refused(f);
}

static void a_folder_of_another_user_is_refused(void **state)
{
    struct fixture *f = *state;

    if (geteuid())
        skip();
    assert_int_equal(mkdir(f->dir, 0700), 0);
    assert_int_equal(chown(f->dir, 12345, 12345), 0);
    refused(f);
}

static void a_plain_file_in_its_place_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(file_write(f->dir, "x", 1, NULL), KILN_OK);
    refused(f);
    assert_int_equal(unlink(f->dir), 0);
    snprintf(f->dir, sizeof f->dir, "/proc/nothing/here");
    refused(f);
}

/* Modes mean nothing to root: these run as another user. */
static void as_a_user(struct fixture *f, void (*job)(struct fixture *))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (!child) {
        if (!geteuid() && (setgid(12345) || setuid(12345)))
            _exit(99);
        job(f);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void must(int ok)
{
    if (!ok)
        _exit(1);
}

static void read_only_job(struct fixture *f)
{
    struct cache *cache = open_store(f, 0);
    struct cache_stats stats;

    must(use(cache, "k", "v") == CACHE_HIT);
    must(use(cache, "cold", "v") == CACHE_MISS);
    must(use(cache, "cold", "v") == CACHE_MISS);
    cache_stats(cache, &stats);
    must(stats.failures == 2 && stats.builds == 0);
    must(f->warnings == 1);
    must(strstr(f->last, f->dir) && strstr(f->last, "Permission denied") &&
         strstr(f->last, "KILN_CACHE_DIR"));
    cache_close(cache);
}

static void warm_and_lock(struct fixture *f)
{
    char path[256];
    struct cache *cache = open_store(f, 0);

    must(use(cache, "k", "v") == CACHE_MISS);
    cache_close(cache);
    for (int i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "%s/v1/%02x", f->dir, (unsigned)i);
        chmod(path, 0500);
    }
    snprintf(path, sizeof path, "%s/v1", f->dir);
    must(!chmod(path, 0500) && !chmod(f->dir, 0500));
}

static void a_read_only_warm_cache_still_hits(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(chmod(f->root, 0777), 0);
    as_a_user(f, warm_and_lock);
    as_a_user(f, read_only_job);
}

static void unwritable_job(struct fixture *f)
{
    struct cache *cache = open_store(f, 0);

    must(use(cache, "k", "v") == CACHE_MISS);
    must(use(cache, "k", "v") == CACHE_MISS);
    must(f->warnings == 1 && strstr(f->last, "KILN_CACHE_DIR"));
    cache_close(cache);
}

static void an_unwritable_place_gives_one_warning(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(chmod(f->root, 0555), 0);
    as_a_user(f, unwritable_job);
    assert_int_equal(chmod(f->root, 0700), 0);
}

static void switched_off_it_touches_nothing(void **state)
{
    struct cache_options off = {.size = sizeof off, .disabled = 1};
    struct fixture *f = *state;
    struct cache *cache;

    setenv("KILN_CACHE_DISABLE", "1", 1);
    cache = open_store(f, 0);
    assert_int_equal(reason_of(cache), CACHE_REASON_DISABLED);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    cache_close(cache);
    unsetenv("KILN_CACHE_DISABLE");
    assert_int_equal(cache_open(f->dir, &off, &cache, NULL), KILN_OK);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    assert_int_equal(use(cache, "k", "v"), CACHE_MISS);
    cache_close(cache);
    assert_int_equal(access(f->dir, F_OK), -1);
    assert_int_equal(use(NULL, "k", "v"), CACHE_MISS);
    assert_int_equal(f->warnings, 0);
}

static void named(const char *kiln, const char *xdg, const char *home,
                  const char *expected)
{
    struct cache *cache;

    kiln ? setenv("KILN_CACHE_DIR", kiln, 1) : unsetenv("KILN_CACHE_DIR");
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    assert_int_equal(cache_open(NULL, NULL, &cache, NULL), KILN_OK);
    assert_string_equal(cache_dir(cache), expected);
    if (!*expected)
        assert_int_equal(reason_of(cache), CACHE_REASON_UNUSABLE);
    cache_close(cache);
}

static void the_environment_names_the_folder(void **state)
{
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");

    (void)state;
    named("/k/", "/x", "/h", "/k");
    named(NULL, "/x", "/h", "/x/kiln");
    named(NULL, NULL, "/h", "/h/.cache/kiln");
    named("", "relative", "/h", "/h/.cache/kiln");
    named(NULL, NULL, NULL, "");
    setenv("HOME", home, 1);
    free(home);
}

static void fill(struct cache *cache, int from, int to, size_t size)
{
    char *value = malloc(size + 1), name[32];

    memset(value, 'v', size);
    value[size] = 0;
    for (int i = from; i < to; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(use(cache, name, value), CACHE_MISS);
    }
    free(value);
}

static void eviction_keeps_to_the_limit(void **state)
{
    enum { LIMIT = 1 << 20, SIZE = 20000 };
    struct fixture *f = *state;
    struct cache *cache = open_store(f, LIMIT);
    char value[SIZE + 1];
    struct cache_stats stats;
    uint64_t bytes;
    int files;

    fill(cache, 0, 300, SIZE);
    count_files(f->dir, &files, &bytes);
    assert_in_range(bytes, LIMIT / 2, LIMIT + 8192);
    cache_stats(cache, &stats);
    assert_int_equal(stats.builds, 300);
    assert_int_equal(stats.evictions + (uint64_t)files - 1, 300);
    /* What was stored last is there, what was stored first is not. */
    memset(value, 'v', SIZE);
    value[SIZE] = 0;
    assert_true(has(cache, "k299", value));
    assert_false(has(cache, "k0", value));
    cache_close(cache);
}

static void what_is_used_outlives_what_is_not(void **state)
{
    enum { LIMIT = 1 << 20, SIZE = 20000 };
    struct fixture *f = *state;
    struct cache *cache = open_store(f, LIMIT);
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    char value[SIZE + 1], name[32], path[256];

    memset(value, 'v', SIZE);
    value[SIZE] = 0;
    fill(cache, 0, 40, SIZE);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "k%d", i);
        entry_path(f, name, path);
        assert_int_equal(utimensat(-1, path, old, 0), 0);
    }
    assert_true(has(cache, "k7", value)); /* renews its time */
    fill(cache, 40, 60, SIZE);
    assert_true(has(cache, "k7", value));
    assert_false(has(cache, "k6", value));
    assert_true(has(cache, "k59", value));
    cache_close(cache);
}

static void lost_accounts_come_right_again(void **state)
{
    enum { LIMIT = 1 << 20, SIZE = 20000 };
    struct fixture *f = *state;
    struct cache *cache = open_store(f, 0);
    char path[128];
    uint64_t bytes;
    int files;

    fill(cache, 0, 100, SIZE); /* about 2 MB */
    cache_close(cache);
    snprintf(path, sizeof path, "%s/v1/usage", f->dir);
    assert_int_equal(file_write(path, "garbage", 7, NULL), KILN_OK);
    cache = open_store(f, LIMIT);
    fill(cache, 100, 120, SIZE);
    count_files(f->dir, &files, &bytes);
    assert_in_range(bytes, LIMIT / 2, LIMIT + 8192);
    cache_close(cache);
}

static void nothing_larger_than_the_limit_is_stored(void **state)
{
    struct fixture *f = *state;
    struct cache *cache = open_store(f, 10000);

    fill(cache, 0, 1, 20000);
    fill(cache, 0, 1, 20000);
    fill(cache, 1, 2, 2000);
    assert_int_equal(f->warnings, 0);
    cache_close(cache);
    setenv("KILN_CACHE_MAX_SIZE", "1K", 1);
    cache = open_store(f, 0);
    fill(cache, 2, 3, 1000);
    fill(cache, 2, 3, 1000);
    cache_close(cache);
    setenv("KILN_CACHE_MAX_SIZE", "many", 1);
    cache = open_store(f, 0);
    assert_int_equal(f->warnings, 1);
    cache_close(cache);
}

static void leftovers_are_swept(void **state)
{
    struct fixture *f = *state;
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    struct cache *cache = open_store(f, 0);
    char path[2][160];

    assert_int_equal(use(cache, "a", "v"), CACHE_MISS);
    cache_close(cache);
    snprintf(path[0], sizeof path[0], "%s/v1/tmp/1.2.3", f->dir);
    snprintf(path[1], sizeof path[1], "%s/v1/flight/00ff", f->dir);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file_write(path[i], "x", 1, NULL), KILN_OK);
        assert_int_equal(utimensat(-1, path[i], old, 0), 0);
    }
    cache = open_store(f, 0);
    assert_int_equal(use(cache, "b", "v"), CACHE_MISS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(access(path[i], F_OK), -1);
    cache_close(cache);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_unwritable_place_gives_one_warning), /* before others warn */
        CASE(a_read_only_warm_cache_still_hits),
        CASE(opening_touches_no_disk),
        CASE(the_folder_is_private_and_its_parents_are_made),
        CASE(a_symbolic_link_is_refused),
        CASE(a_folder_that_others_can_write_is_refused),
        CASE(a_folder_of_another_user_is_refused),
        CASE(a_plain_file_in_its_place_is_refused),
        CASE(switched_off_it_touches_nothing),
        CASE(the_environment_names_the_folder),
        CASE(eviction_keeps_to_the_limit),
        CASE(what_is_used_outlives_what_is_not),
        CASE(lost_accounts_come_right_again),
        CASE(nothing_larger_than_the_limit_is_stored),
        CASE(leftovers_are_swept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
