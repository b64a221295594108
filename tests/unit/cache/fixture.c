/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static void keep(void *data, enum log_level level, const char *text)
{
    struct fixture *f = data;

    if (level <= LOG_WARN) {
        f->warnings++;
        snprintf(f->last, sizeof f->last, "%s", text);
    }
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    snprintf(f->root, sizeof f->root, "/tmp/kiln-cache-XXXXXX");
    if (!mkdtemp(f->root))
        return -1;
    snprintf(f->dir, sizeof f->dir, "%s/cache", f->root);
    log_set_handler(keep, f);
    unsetenv("KILN_CACHE_DISABLE");
    unsetenv("KILN_CACHE_MAX_SIZE");
    *state = f;
    return 0;
}

static int drop(const char *path, const struct stat *info, int type,
                struct FTW *at)
{
    (void)info;
    (void)at;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    log_set_handler(NULL, NULL);
    chmod(f->dir, 0700);
    nftw(f->root, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

struct cache *open_store(const struct fixture *f, uint64_t max_size)
{
    struct cache_options options = {.size = sizeof options,
                                    .max_size = max_size};
    struct cache *cache = NULL;

    assert_int_equal(cache_open(f->dir, &options, &cache, NULL), KILN_OK);
    return cache;
}

struct cache_key key_of(const char *name)
{
    struct cache_key key;

    cache_key_init(&key, "test");
    cache_key_text(&key, "name", name);
    return key;
}

enum cache_result use(struct cache *cache, const char *name, const char *value)
{
    struct cache_section section = {"value", value, strlen(value)};
    struct cache_key key = key_of(name);
    struct cache_entry entry = {0};
    struct cache_flight flight;
    enum cache_result result = cache_begin(cache, &key, &entry, &flight);

    if (result == CACHE_MISS)
        cache_publish(&flight, &section, 1, 0);
    else
        assert_string_equal(cache_entry_section(&entry, "value", NULL), value);
    cache_entry_fini(&entry);
    cache_key_fini(&key);
    return result;
}

int has(struct cache *cache, const char *name, const char *value)
{
    struct cache_key key = key_of(name);
    struct cache_entry entry = {0};
    int hit = cache_get(cache, &key, &entry, NULL) == CACHE_HIT;

    if (hit)
        assert_string_equal(cache_entry_section(&entry, "value", NULL), value);
    cache_entry_fini(&entry);
    cache_key_fini(&key);
    return hit;
}

void entry_path(const struct fixture *f, const char *name, char path[256])
{
    struct cache_key key = key_of(name);
    struct hash hash;
    char hex[HASH_HEX];

    assert_int_equal(cache_key_hash(&key, &hash), 0);
    hash_hex(&hash, hex);
    snprintf(path, 256, "%s/v1/%.2s/%s", f->dir, hex, hex);
    cache_key_fini(&key);
}

static int counted_files;
static uint64_t counted_bytes;

static int count(const char *path, const struct stat *info, int type,
                 struct FTW *at)
{
    (void)path;
    (void)at;
    if (type == FTW_F) {
        counted_files++;
        counted_bytes += (uint64_t)info->st_size;
    }
    return 0;
}

void count_files(const char *path, int *files, uint64_t *bytes)
{
    counted_files = 0;
    counted_bytes = 0;
    nftw(path, count, 16, FTW_PHYS);
    *files = counted_files;
    if (bytes)
        *bytes = counted_bytes;
}
