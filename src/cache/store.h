/* SPDX-License-Identifier: MIT
 *
 * The cache's own parts, shared by its files and by nobody else: the handle,
 * the folder, the accounts of its size, the locks.
 */
#ifndef KILN_CACHE_STORE_H
#define KILN_CACHE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "cache/cache.h"

enum store_state { STORE_UNSEEN, STORE_READY, STORE_OFF };

enum { STORE_PATH = 80 }; /* "flight/" and 64 digits fit */

struct cache {
    pthread_mutex_t lock; /* the change from UNSEEN, nothing else */
    _Atomic int state;    /* enum store_state */
    int root;             /* descriptor of v1/; -1 until READY */
    char *dir;            /* NULL: none could be named */
    int disabled;
    int durable;
    uint64_t limit;
    uint32_t stall_ms;
    uint32_t wait_ms;
    _Atomic int swept; /* leftovers were looked for by this handle */
    _Atomic uint64_t hits, misses, waits, builds, bad, evictions, failures;
};

/* store.c ---------------------------------------------------------------- */

/* "ab/abcd...", "flight/abcd...". */
void store_path(const struct hash *name, char path[STORE_PATH]);
/* Open the folder at the first call. 1 when it can be used. */
int store_ready(struct cache *cache);
/* mkdirat for one of the folders below v1; 0 or -1 with errno. */
int store_make(struct cache *cache, const char *folder);
/* What went wrong with a file of the cache; warns once a process. */
void store_complain(const struct cache *cache, const char *what, int error);

enum store_found { STORE_FOUND, STORE_ABSENT, STORE_BAD, STORE_FAULT };

/* Read and check one entry; on STORE_BAD err says what is wrong with it and
 * it has been set aside where that could be done. */
enum store_found store_read(struct cache *cache, const struct hash *name,
                            const struct cache_key *key,
                            struct cache_entry *out, struct kiln_error *err);
/* Move an entry to bad/. inode 0: whatever stands there. */
int store_set_aside(struct cache *cache, const struct hash *name,
                    uint64_t inode);
/* 0: in the store (ours, or another's that was there first); else errno. */
int store_publish(struct cache *cache, const struct hash *name,
                  const void *bytes, size_t size, int replace);

/* flight.c --------------------------------------------------------------- */

enum flight_join {
    FLIGHT_LEADER,  /* the lock is ours: flight->lock */
    FLIGHT_DONE,    /* the other builder is through: look again */
    FLIGHT_STALLED, /* it makes no progress, or takes too long */
    FLIGHT_NONE     /* no locks here: everybody builds */
};

/* Take the lock of the flight's name, or wait for its holder. *waited tells
 * whether there was one. */
enum flight_join flight_join(struct cache *cache, struct cache_flight *flight,
                             int *waited);
void flight_end(struct cache_flight *flight);

/* evict.c ---------------------------------------------------------------- */

/* Bytes that a file of this size is charged with. */
uint64_t usage_charge(uint64_t size);
/* Add to (or take from) the account of the name's folder. */
void usage_add(struct cache *cache, const struct hash *name, int64_t bytes,
               int files);
/* Delete what was used longest ago when the accounts are above the limit,
 * and leftovers at a handle's first call. Bounded work. */
void store_tidy(struct cache *cache);

#endif
