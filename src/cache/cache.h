/* SPDX-License-Identifier: MIT
 *
 * The persistent cache: one store for everything that is built, in one file
 * an entry (docs/format-cache.md). It knows only base/, and nothing of what
 * the entries mean.
 *
 * The one thing to know: no call here fails the caller's job. Whatever goes
 * wrong is a miss with a reason, a log line, and at most one warning a
 * process.
 *
 *     struct cache_key key;
 *     cache_key_init(&key, "ptx-object");
 *     cache_key_bytes(&key, "ptx", text, size);
 *     cache_key_text(&key, "target", "x86-64-v3");
 *     switch (cache_begin(cache, &key, &entry, &flight)) {
 *     case CACHE_HIT: case CACHE_WAITED:
 *         object = cache_entry_section(&entry, "object", &size);
 *         ...; cache_entry_fini(&entry); break;
 *     case CACHE_MISS:
 *         build; on success cache_publish(&flight, sections, n, 0);
 *         on failure cache_abandon(&flight); break;
 *     }
 *     cache_key_fini(&key);
 */
#ifndef KILN_CACHE_CACHE_H
#define KILN_CACHE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/status.h"

/* ---- the key ---------------------------------------------------------- */

/* Labelled fields in the order they were added; their serialised form is
 * what is hashed and what an entry stores. A label may occur several times.
 * Values longer than CACHE_CLEAR bytes are kept as their SHA-256. Running
 * out of memory is remembered in fields.bad and makes every use a miss. */
struct cache_key {
    struct buffer fields;
};

enum { CACHE_CLEAR = 1024, CACHE_LABEL_MAX = 255 };

enum cache_field_type {
    CACHE_FIELD_TEXT = 1,
    CACHE_FIELD_BYTES = 2,
    CACHE_FIELD_U64 = 3,
    CACHE_FIELD_DIGEST = 4 /* value is a digest of `size` bytes */
};

/* kind: what is built, "image" or "ptx-object": two users with the same
 * fields never share an entry. */
void cache_key_init(struct cache_key *key, const char *kind);
/* NULL text is a value of its own, unlike "". */
void cache_key_text(struct cache_key *key, const char *label, const char *text);
void cache_key_bytes(struct cache_key *key, const char *label,
                     const void *bytes, size_t size);
void cache_key_u64(struct cache_key *key, const char *label, uint64_t value);
/* A digest that the caller has already, of `size` bytes (0: not told). */
void cache_key_digest(struct cache_key *key, const char *label,
                      const struct hash *digest, uint64_t size);
/* The SHA-256 that names the entry. 0, or -1 when the key is bad. */
int cache_key_hash(const struct cache_key *key, struct hash *out);
void cache_key_fini(struct cache_key *key);

/* One field in its serialised form; borrows from the cursor's bytes. */
struct cache_field {
    const char *label; /* label_size bytes, not NUL-terminated */
    size_t label_size;
    enum cache_field_type type;
    const unsigned char *value; /* NULL for a NULL text */
    size_t value_size;
    uint64_t full_size; /* of the value before it became a digest */
};

/* The next field: 1, or 0 at the end or at damage (fields->bad). Start with
 * cursor_of(key.fields.bytes, key.fields.size), or an entry's. */
int cache_field_next(struct cursor *fields, struct cache_field *out);

/* ---- an entry --------------------------------------------------------- */

/* A verified entry in private memory. */
struct cache_entry {
    unsigned char *bytes; /* the whole file, owned */
    size_t size;
};

/* The section's bytes, aligned to 16 and followed by a NUL, borrowed from
 * the entry; NULL when there is none of that name. size may be NULL. */
const void *cache_entry_section(const struct cache_entry *entry,
                                const char *name, size_t *size);
/* The key fields as stored. */
struct cursor cache_entry_fields(const struct cache_entry *entry);
/* Frees the bytes; accepts a zeroed entry. */
void cache_entry_fini(struct cache_entry *entry);

/* What goes into an entry: a name of up to 15 bytes and any bytes. */
struct cache_section {
    const char *name;
    const void *bytes;
    size_t size;
};

/* ---- the store -------------------------------------------------------- */

struct cache;

struct cache_options {
    size_t size;       /* sizeof(struct cache_options) */
    int disabled;      /* never touch the disk, every look-up a miss */
    int durable;       /* fsync what is published */
    uint64_t max_size; /* bytes; 0: KILN_CACHE_MAX_SIZE, else 1 GiB */
    uint32_t stall_ms; /* give up on a builder that makes no progress;
                          0: 2 s */
    uint32_t wait_ms;  /* give up on any builder; 0: 60 s */
};

/* Opens no file: the folder is looked at by the first look-up. dir NULL:
 * KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else $HOME/.cache/kiln.
 * options may be NULL. KILN_CACHE_DISABLE and a set-uid program turn the
 * cache off. Fails only for lack of memory. The handle may be used by all
 * threads; cache_close accepts NULL and ends after the last flight. */
enum kiln_status cache_open(const char *dir,
                            const struct cache_options *options,
                            struct cache **out, struct kiln_error *err);
void cache_close(struct cache *cache);
/* The folder in use or intended, for messages; "" when there is none. */
const char *cache_dir(const struct cache *cache);

enum cache_result {
    CACHE_HIT,    /* *entry is filled */
    CACHE_WAITED, /* the same, after another process or thread built it */
    CACHE_MISS    /* build it, then cache_publish or cache_abandon */
};

enum cache_reason {
    CACHE_REASON_NONE,     /* no miss */
    CACHE_REASON_ABSENT,   /* no such entry */
    CACHE_REASON_BAD,      /* there was one, damaged; set aside */
    CACHE_REASON_EXPIRED,  /* there was one, past its lifetime */
    CACHE_REASON_DISABLED, /* the cache is switched off */
    CACHE_REASON_UNUSABLE, /* the folder cannot be used */
    CACHE_REASON_GAVE_UP,  /* another builder stalled or failed */
    CACHE_REASON_MEMORY    /* the key could not be made */
};

const char *cache_result_name(enum cache_result result); /* hit wait miss */
const char *cache_reason_text(enum cache_reason reason);

/* The right to build one key; caller's storage, filled by cache_begin. */
struct cache_flight {
    struct cache *cache;
    const struct cache_key *key; /* borrowed until publish or abandon */
    struct hash name;
    enum cache_reason reason; /* why it is a miss */
    int lock;                 /* descriptor of the lock file, or -1 */
    int replace;              /* a damaged file may still be in the way */
    uint64_t began_ns;
};

/* Look up, and on a miss become the builder or wait for the one there is.
 * cache may be NULL (disabled). On a miss flight must be given to exactly
 * one of the two calls below; on HIT and WAITED it holds nothing. */
enum cache_result cache_begin(struct cache *cache, const struct cache_key *key,
                              struct cache_entry *entry,
                              struct cache_flight *flight);
/* Store what was built and let the waiting ones go. The caller keeps using
 * its own bytes. lifetime in seconds, 0: no end. Returns 1 when the entry
 * is in the store now (ours or one published meanwhile), 0 when not. */
int cache_publish(struct cache_flight *flight,
                  const struct cache_section *sections, size_t count,
                  uint32_t lifetime);
void cache_abandon(struct cache_flight *flight);

/* Look up only: HIT or MISS, no lock. reason may be NULL. */
enum cache_result cache_get(struct cache *cache, const struct cache_key *key,
                            struct cache_entry *entry,
                            enum cache_reason *reason);
/* The bytes were right but nobody accepts them (a driver refused to load
 * them): set the entry aside, so that the next look-up is a miss. */
void cache_reject(struct cache *cache, const struct cache_key *key,
                  const char *why);

/* Counts of this handle since it was opened. */
struct cache_stats {
    uint64_t hits;
    uint64_t misses;
    uint64_t waits;
    uint64_t builds;    /* entries published */
    uint64_t bad;       /* entries set aside */
    uint64_t evictions; /* entries deleted to stay within max_size */
    uint64_t failures;  /* publications that did not come about */
};

/* Whether the one warning of an unusable cache was given. The CPU driver has
 * a copy of this code in the same process: each tells the other. */
int cache_warned(int by_another);

void cache_stats(const struct cache *cache, struct cache_stats *out);

#endif
