/* SPDX-License-Identifier: MIT
 *
 * Keys: labelled, length-prefixed fields (docs/format-cache.md, "The key").
 * What is hashed is exactly what an entry stores, so that a hit can compare
 * the fields themselves and a miss can be explained.
 */
#include "cache/cache.h"

#include <string.h>

enum { ABSENT = 1 };

static void add(struct cache_key *key, const char *label,
                enum cache_field_type type, uint16_t absent, const void *value,
                size_t size, uint64_t full_size)
{
    size_t n = strlen(label);
    struct buffer *b = &key->fields;

    if (n == 0 || n > CACHE_LABEL_MAX || size > UINT32_MAX) {
        b->bad = 1;
        return;
    }
    buffer_u8(b, (uint8_t)n);
    buffer_u8(b, (uint8_t)type);
    buffer_u16(b, absent);
    buffer_u32(b, (uint32_t)size);
    buffer_u64(b, full_size);
    buffer_add(b, label, n);
    buffer_add(b, value, size);
}

static void add_value(struct cache_key *key, const char *label,
                      enum cache_field_type type, const void *value,
                      size_t size)
{
    struct hash digest;

    if (size <= CACHE_CLEAR) {
        add(key, label, type, 0, value, size, size);
    } else if (hash_bytes(value, size, &digest)) {
        key->fields.bad = 1;
    } else {
        add(key, label, CACHE_FIELD_DIGEST, 0, digest.bytes,
            sizeof digest.bytes, size);
    }
}

void cache_key_init(struct cache_key *key, const char *kind)
{
    *key = (struct cache_key){0};
    cache_key_text(key, "kind", kind);
}

void cache_key_text(struct cache_key *key, const char *label, const char *text)
{
    if (text)
        add_value(key, label, CACHE_FIELD_TEXT, text, strlen(text));
    else
        add(key, label, CACHE_FIELD_TEXT, ABSENT, NULL, 0, 0);
}

void cache_key_bytes(struct cache_key *key, const char *label,
                     const void *bytes, size_t size)
{
    add_value(key, label, CACHE_FIELD_BYTES, bytes, size);
}

void cache_key_u64(struct cache_key *key, const char *label, uint64_t value)
{
    add(key, label, CACHE_FIELD_U64, 0, &value, sizeof value, sizeof value);
}

void cache_key_digest(struct cache_key *key, const char *label,
                      const struct hash *digest, uint64_t size)
{
    add(key, label, CACHE_FIELD_DIGEST, 0, digest->bytes, sizeof digest->bytes,
        size);
}

int cache_key_hash(const struct cache_key *key, struct hash *out)
{
    if (key->fields.bad || !key->fields.size || key->fields.size > UINT32_MAX)
        return -1;
    return hash_bytes(key->fields.bytes, key->fields.size, out);
}

void cache_key_fini(struct cache_key *key)
{
    buffer_fini(&key->fields);
}

static int shape_ok(const struct cache_field *f, uint16_t absent)
{
    switch (f->type) {
    case CACHE_FIELD_TEXT:
        return absent ? absent == ABSENT && !f->value_size && !f->full_size
                      : f->full_size == f->value_size;
    case CACHE_FIELD_BYTES:
        return !absent && f->full_size == f->value_size;
    case CACHE_FIELD_U64:
        return !absent && f->value_size == 8 && f->full_size == 8;
    case CACHE_FIELD_DIGEST:
        return !absent && f->value_size == HASH_SIZE;
    }
    return 0;
}

int cache_field_next(struct cursor *fields, struct cache_field *out)
{
    struct cache_field f;
    uint16_t absent;

    if (!cursor_left(fields))
        return 0;
    f.label_size = cursor_u8(fields);
    f.type = (enum cache_field_type)cursor_u8(fields);
    absent = cursor_u16(fields);
    f.value_size = cursor_u32(fields);
    f.full_size = cursor_u64(fields);
    f.label = (const char *)cursor_bytes(fields, f.label_size);
    f.value = cursor_bytes(fields, f.value_size);
    if (!fields->bad && (!f.label_size || !shape_ok(&f, absent)))
        fields->bad = 1;
    if (fields->bad)
        return 0;
    if (absent)
        f.value = NULL;
    *out = f;
    return 1;
}
