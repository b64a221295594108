/* SPDX-License-Identifier: MIT
 *
 * One entry as bytes. The digest at the end covers everything before it; the
 * checks after it guard against a wrong writer, not against damage, and make
 * the section look-up safe for any bytes.
 */
#include "cache/entry.h"

#include <string.h>

#include "base/alloc.h"

static const unsigned char magic[8] = {0x89, 'K',  'I',  'L',
                                       'N',  0x0d, 0x0a, 0x1a};

enum { NAME_SIZE = 16 };

struct row {
    char name[NAME_SIZE];
    uint64_t offset;
    uint64_t size;
};
_Static_assert(sizeof(struct row) == ENTRY_ROW, "as the format says");

static uint32_t u32_at(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t u64_at(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t up16(uint64_t n)
{
    return (n + 15) & ~(uint64_t)15;
}

/* Where the sections lie; the size of the file, or 0 when it is too large. */
static uint64_t plan(uint64_t at, const struct cache_section *sections,
                     size_t count, struct row *rows)
{
    for (size_t i = 0; i < count; i++) {
        if (sections[i].size > ENTRY_LARGEST)
            return 0;
        rows[i] = (struct row){.offset = at, .size = sections[i].size};
        memcpy(rows[i].name, sections[i].name, strlen(sections[i].name));
        at = up16(at + sections[i].size + 1);
        if (at > ENTRY_LARGEST)
            return 0;
    }
    return at + HASH_SIZE;
}

enum kiln_status entry_write(const struct cache_key *key,
                             const struct cache_section *sections, size_t count,
                             uint64_t expires, uint64_t published,
                             struct buffer *out, struct kiln_error *err)
{
    struct row rows[ENTRY_SECTIONS_MAX];
    size_t start = out->size;
    uint64_t size = 0;
    struct hash digest;

    if (key->fields.bad || key->fields.size > UINT32_MAX)
        return kiln_fail(err, KILN_E_MEMORY, "cache entry: the key is lost");
    if (count > ENTRY_SECTIONS_MAX)
        return kiln_fail(err, KILN_E_INVALID,
                         "cache entry: %zu sections, at most %d", count,
                         ENTRY_SECTIONS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!*sections[i].name || strlen(sections[i].name) >= NAME_SIZE)
            return kiln_fail(err, KILN_E_INVALID,
                             "cache entry: section name \"%s\": 1 to %d bytes "
                             "expected",
                             sections[i].name, NAME_SIZE - 1);
    size = plan(up16(ENTRY_HEADER + key->fields.size) +
                    (uint64_t)count * ENTRY_ROW,
                sections, count, rows);
    if (!size || size > ENTRY_LARGEST)
        return kiln_fail(err, KILN_E_INVALID,
                         "cache entry: larger than %llu bytes",
                         (unsigned long long)ENTRY_LARGEST);
    buffer_add(out, magic, sizeof magic);
    buffer_u32(out, 1);
    buffer_u32(out, (uint32_t)count);
    buffer_u64(out, size);
    buffer_u32(out, (uint32_t)key->fields.size);
    buffer_u32(out, 0);
    buffer_u64(out, expires);
    buffer_u64(out, published);
    buffer_add(out, key->fields.bytes, key->fields.size);
    buffer_zeros(out, (size_t)(up16(key->fields.size) - key->fields.size));
    buffer_add(out, rows, count * ENTRY_ROW);
    for (size_t i = 0; i < count; i++) {
        buffer_add(out, sections[i].bytes, sections[i].size);
        buffer_zeros(out,
                     (size_t)(up16(sections[i].size + 1) - sections[i].size));
    }
    if (out->bad || hash_bytes(out->bytes + start, out->size - start, &digest))
        return kiln_fail(err, KILN_E_MEMORY, "cache entry: out of memory");
    buffer_add(out, digest.bytes, sizeof digest.bytes);
    return out->bad
               ? kiln_fail(err, KILN_E_MEMORY, "cache entry: out of memory")
               : KILN_OK;
}

static enum kiln_status check_rows(const unsigned char *bytes, size_t size,
                                   uint64_t at, uint32_t count,
                                   struct kiln_error *err)
{
    uint64_t end = size - HASH_SIZE;
    uint64_t first = at + (uint64_t)count * ENTRY_ROW;

    for (uint32_t i = 0; i < count; i++) {
        struct row row;

        memcpy(&row, bytes + at + (uint64_t)i * ENTRY_ROW, sizeof row);
        if (!row.name[0] || row.name[NAME_SIZE - 1] || row.offset % 16 ||
            row.offset < first || row.offset >= end ||
            row.size >= end - row.offset || bytes[row.offset + row.size])
            return kiln_fail(err, KILN_E_FORMAT,
                             "section %u: %llu bytes at %llu do not lie in "
                             "the entry",
                             i, (unsigned long long)row.size,
                             (unsigned long long)row.offset);
    }
    return KILN_OK;
}

enum kiln_status entry_check(const unsigned char *bytes, size_t size,
                             struct kiln_error *err)
{
    uint64_t fields, table;
    struct hash digest;
    uint32_t count;

    if (size < ENTRY_HEADER + HASH_SIZE)
        return kiln_fail(err, KILN_E_FORMAT, "%zu bytes, at least %d expected",
                         size, ENTRY_HEADER + HASH_SIZE);
    if (memcmp(bytes, magic, sizeof magic))
        return kiln_fail(err, KILN_E_FORMAT,
                         "does not begin as a cache entry does");
    if (u32_at(bytes + 8) != 1)
        return kiln_fail(err, KILN_E_FORMAT, "schema %u, 1 expected",
                         u32_at(bytes + 8));
    if (u64_at(bytes + 16) != size)
        return kiln_fail(err, KILN_E_FORMAT, "%zu bytes, its header says %llu",
                         size, (unsigned long long)u64_at(bytes + 16));
    if (hash_bytes(bytes, size - HASH_SIZE, &digest))
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    if (memcmp(digest.bytes, bytes + size - HASH_SIZE, HASH_SIZE))
        return kiln_fail(err, KILN_E_FORMAT, "its digest does not match");
    count = u32_at(bytes + 12);
    fields = u32_at(bytes + 24);
    table = up16(ENTRY_HEADER + fields);
    if (count > ENTRY_SECTIONS_MAX || table > size ||
        (uint64_t)count * ENTRY_ROW + HASH_SIZE > size - table)
        return kiln_fail(err, KILN_E_FORMAT,
                         "%u sections after %llu bytes of key do not fit",
                         count, (unsigned long long)fields);
    return check_rows(bytes, size, table, count, err);
}

uint64_t entry_expires(const unsigned char *bytes)
{
    return u64_at(bytes + 32);
}

struct cursor cache_entry_fields(const struct cache_entry *entry)
{
    if (!entry->bytes)
        return cursor_of(NULL, 0);
    return cursor_of(entry->bytes + ENTRY_HEADER, u32_at(entry->bytes + 24));
}

const void *cache_entry_section(const struct cache_entry *entry,
                                const char *name, size_t *size)
{
    const unsigned char *rows;
    uint32_t count;

    if (!entry->bytes || strlen(name) >= NAME_SIZE)
        return NULL;
    count = u32_at(entry->bytes + 12);
    rows = entry->bytes + up16(ENTRY_HEADER + u32_at(entry->bytes + 24));
    for (uint32_t i = 0; i < count; i++) {
        struct row row;

        memcpy(&row, rows + (size_t)i * ENTRY_ROW, sizeof row);
        if (!strcmp(row.name, name)) {
            if (size)
                *size = (size_t)row.size;
            return entry->bytes + row.offset;
        }
    }
    return NULL;
}

void cache_entry_fini(struct cache_entry *entry)
{
    kiln_release(entry->bytes);
    *entry = (struct cache_entry){0};
}
