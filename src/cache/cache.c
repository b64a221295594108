/* SPDX-License-Identifier: MIT
 *
 * The cache as its users see it: the handle, the look-up, and the order of
 * things around one build. No call here fails its caller.
 */
#include "cache/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "cache/entry.h"
#include "cache/store.h"

#define DEFAULT_LIMIT ((uint64_t)1 << 30)

enum { DEFAULT_STALL_MS = 2000, DEFAULT_WAIT_MS = 60000 };

static const char *const reasons[] = {
    [CACHE_REASON_NONE] = "found",
    [CACHE_REASON_ABSENT] = "no such entry",
    [CACHE_REASON_BAD] = "the entry was damaged",
    [CACHE_REASON_EXPIRED] = "the entry was past its lifetime",
    [CACHE_REASON_DISABLED] = "the cache is off",
    [CACHE_REASON_UNUSABLE] = "the cache folder cannot be used",
    [CACHE_REASON_GAVE_UP] = "another builder stalled or failed",
    [CACHE_REASON_MEMORY] = "out of memory",
};

const char *cache_reason_text(enum cache_reason reason)
{
    return (unsigned)reason < sizeof reasons / sizeof *reasons ? reasons[reason]
                                                               : "unknown";
}

const char *cache_result_name(enum cache_result result)
{
    return result == CACHE_HIT      ? "hit"
           : result == CACHE_WAITED ? "wait"
                                    : "miss";
}

static char *join(const char *folder, const char *rest)
{
    size_t n = strlen(folder) + strlen(rest) + 1;
    char *path = kiln_alloc(n);

    if (path) {
        strcpy(path, folder);
        strcat(path, rest);
    }
    return path;
}

/* A relative name in the environment is nobody's wish (XDG: ignore it); a
 * caller's own may be relative. */
static char *choose_dir(const char *dir, int *memory)
{
    const char *folder = dir ? dir : env_get("KILN_CACHE_DIR"), *rest = "";
    char *path;

    if (!folder) {
        folder = env_get("XDG_CACHE_HOME");
        rest = "/kiln";
        if (!folder || *folder != '/') {
            folder = env_get("HOME");
            rest = "/.cache/kiln";
        }
        if (!folder || *folder != '/')
            return NULL;
    }
    path = join(folder, rest);
    if (!path) {
        *memory = 1;
        return NULL;
    }
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    return path;
}

/* What makes no sense counts as not given. */
static uint64_t limit_from_environment(void)
{
    uint64_t limit = DEFAULT_LIMIT;

    if (env_bytes("KILN_CACHE_MAX_SIZE", &limit) < 0)
        log_line(LOG_WARN,
                 "cache: KILN_CACHE_MAX_SIZE=%s: not a number of bytes; using "
                 "1G",
                 env_get("KILN_CACHE_MAX_SIZE"));
    return limit;
}

enum kiln_status cache_open(const char *dir,
                            const struct cache_options *options,
                            struct cache **out, struct kiln_error *err)
{
    struct cache_options o = {0};
    struct cache *cache;
    int memory = 0;

    if (options)
        memcpy(&o, options,
               options->size < sizeof o ? options->size : sizeof o);
    cache = kiln_zalloc(sizeof *cache);
    if (!cache)
        return kiln_fail(err, KILN_E_MEMORY, "cache: out of memory");
    cache->root = -1;
    cache->disabled =
        o.disabled || env_secure() || env_flag("KILN_CACHE_DISABLE");
    cache->durable = o.durable;
    cache->limit = o.max_size ? o.max_size : limit_from_environment();
    cache->stall_ms = o.stall_ms ? o.stall_ms : DEFAULT_STALL_MS;
    cache->wait_ms = o.wait_ms ? o.wait_ms : DEFAULT_WAIT_MS;
    cache->dir = choose_dir(dir, &memory);
    if (memory || pthread_mutex_init(&cache->lock, NULL)) {
        kiln_release(cache->dir);
        kiln_release(cache);
        return kiln_fail(err, KILN_E_MEMORY, "cache: out of memory");
    }
    *out = cache;
    return KILN_OK;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    if (cache->root >= 0)
        close(cache->root);
    pthread_mutex_destroy(&cache->lock);
    kiln_release(cache->dir);
    kiln_release(cache);
}

const char *cache_dir(const struct cache *cache)
{
    return cache && cache->dir ? cache->dir : "";
}

static int expired(const struct cache_entry *entry)
{
    uint64_t end = entry_expires(entry->bytes);

    return end && (uint64_t)time(NULL) >= end;
}

/* 1: entry is filled. 0: reason and replace tell. */
static int look(struct cache_flight *flight, struct cache_entry *entry)
{
    struct kiln_error err = {0};

    switch (
        store_read(flight->cache, &flight->name, flight->key, entry, &err)) {
    case STORE_FOUND:
        if (!expired(entry))
            return 1;
        cache_entry_fini(entry);
        flight->reason = CACHE_REASON_EXPIRED;
        flight->replace = 1;
        return 0;
    case STORE_BAD:
        flight->reason = CACHE_REASON_BAD;
        flight->replace = 1;
        return 0;
    case STORE_ABSENT:
        if (!flight->replace)
            flight->reason = CACHE_REASON_ABSENT;
        return 0;
    case STORE_FAULT:
        flight->reason = CACHE_REASON_UNUSABLE;
        log_line(LOG_INFO, "cache: %s: %s", cache_dir(flight->cache), err.text);
        return 0;
    }
    return 0;
}

/* Fill the flight; 1 when there is a store to look in. */
static int start(struct cache *cache, const struct cache_key *key,
                 struct cache_flight *flight)
{
    *flight = (struct cache_flight){
        .cache = cache, .key = key, .lock = -1, .began_ns = clock_ns()};
    if (!cache || cache->disabled)
        flight->reason = CACHE_REASON_DISABLED;
    else if (cache_key_hash(key, &flight->name))
        flight->reason = CACHE_REASON_MEMORY;
    else if (!store_ready(cache))
        flight->reason = CACHE_REASON_UNUSABLE;
    else
        return 1;
    if (cache && flight->reason != CACHE_REASON_DISABLED)
        atomic_fetch_add(&cache->misses, 1);
    return 0;
}

static enum cache_result found(struct cache_flight *flight, int waited)
{
    flight_end(flight);
    flight->reason = CACHE_REASON_NONE;
    if (waited)
        atomic_fetch_add(&flight->cache->waits, 1);
    else
        atomic_fetch_add(&flight->cache->hits, 1);
    return waited ? CACHE_WAITED : CACHE_HIT;
}

enum cache_result cache_begin(struct cache *cache, const struct cache_key *key,
                              struct cache_entry *entry,
                              struct cache_flight *flight)
{
    enum flight_join joined;
    int waited;

    if (!start(cache, key, flight))
        return CACHE_MISS;
    if (look(flight, entry))
        return found(flight, 0);
    joined = flight_join(cache, flight, &waited);
    /* Between the look and the lock another may have been through. */
    if (joined != FLIGHT_NONE && look(flight, entry))
        return found(flight, 1);
    if (joined == FLIGHT_STALLED || joined == FLIGHT_DONE)
        flight->reason = CACHE_REASON_GAVE_UP;
    atomic_fetch_add(&cache->misses, 1);
    return CACHE_MISS;
}

int cache_publish(struct cache_flight *flight,
                  const struct cache_section *sections, size_t count,
                  uint32_t lifetime)
{
    struct cache *cache = flight->cache;
    struct kiln_error err = {0};
    struct buffer bytes = {0};
    uint64_t now = (uint64_t)time(NULL);
    int error, done = 0;

    if (!cache || cache->disabled || cache->root < 0 ||
        flight->reason == CACHE_REASON_MEMORY)
        goto out;
    if (entry_write(flight->key, sections, count, lifetime ? now + lifetime : 0,
                    now, &bytes, &err)) {
        log_line(LOG_INFO, "cache: not stored: %s", err.text);
    } else if (bytes.size > cache->limit) {
        log_line(LOG_INFO,
                 "cache: not stored: %zu bytes, the limit is %llu in all",
                 bytes.size, (unsigned long long)cache->limit);
    } else {
        error = store_publish(cache, &flight->name, bytes.bytes, bytes.size,
                              flight->replace);
        done = !error;
        if (error)
            store_complain(cache, "storing an entry", error);
    }
    atomic_fetch_add(done ? &cache->builds : &cache->failures, 1);
out:
    flight_end(flight);
    buffer_fini(&bytes);
    if (done)
        store_tidy(cache);
    return done;
}

void cache_abandon(struct cache_flight *flight)
{
    flight_end(flight);
}

enum cache_result cache_get(struct cache *cache, const struct cache_key *key,
                            struct cache_entry *entry,
                            enum cache_reason *reason)
{
    struct cache_flight flight;
    enum cache_result result = CACHE_MISS;

    if (start(cache, key, &flight)) {
        if (look(&flight, entry))
            result = found(&flight, 0);
        else
            atomic_fetch_add(&cache->misses, 1);
    }
    if (reason)
        *reason = flight.reason;
    return result;
}

void cache_reject(struct cache *cache, const struct cache_key *key,
                  const char *why)
{
    struct hash name;
    char hex[HASH_HEX];

    if (!cache || cache->disabled || cache_key_hash(key, &name) ||
        !store_ready(cache))
        return;
    hash_hex(&name, hex);
    atomic_fetch_add(&cache->bad, 1);
    log_line(LOG_WARN, "cache: %s: %.16s...: %s; %s", cache->dir, hex, why,
             store_set_aside(cache, &name, 0) ? "cannot be moved"
                                              : "set aside");
}

void cache_stats(const struct cache *cache, struct cache_stats *out)
{
    *out = (struct cache_stats){0};
    if (!cache)
        return;
    out->hits = atomic_load(&cache->hits);
    out->misses = atomic_load(&cache->misses);
    out->waits = atomic_load(&cache->waits);
    out->builds = atomic_load(&cache->builds);
    out->bad = atomic_load(&cache->bad);
    out->evictions = atomic_load(&cache->evictions);
    out->failures = atomic_load(&cache->failures);
}
