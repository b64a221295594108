/* SPDX-License-Identifier: MIT
 *
 * Reading the fat binary container (docs/format-fatbin.md). Every offset and
 * size is checked against the container, and the container against what the
 * caller can vouch for, before a byte behind it is looked at.
 */
#include "image/fatbin.h"

#include <string.h>

#include "base/cursor.h"

const char *fatbin_kind_name(uint32_t kind)
{
    switch (kind) {
    case FATBIN_PTX:
        return "PTX";
    case FATBIN_ELF:
        return "ELF";
    case FATBIN_LTO:
        return "LTO IR";
    case FATBIN_OBJECT:
        return "object";
    default:
        return "unknown";
    }
}

enum kiln_status fatbin_open(const void *bytes, size_t size, struct fatbin *out,
                             struct kiln_error *err)
{
    struct cursor c = cursor_of(bytes, size);
    uint32_t magic = cursor_u32(&c);
    uint16_t version = cursor_u16(&c);
    uint16_t header = cursor_u16(&c);
    uint64_t body = cursor_u64(&c);

    if (c.bad)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: %zu bytes, a header has %d", size,
                         FATBIN_HEADER);
    if (magic != FATBIN_MAGIC)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: magic 0x%08x, expected 0x%08x", magic,
                         FATBIN_MAGIC);
    if (version != 1 || header < FATBIN_HEADER || header > size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: version %u with a header of %u bytes, "
                         "expected version 1 with %d",
                         version, header, FATBIN_HEADER);
    if (body > size - header)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entries of %llu bytes, %zu left",
                         (unsigned long long)body, size - header);
    *out =
        (struct fatbin){.bytes = bytes, .size = header + body, .next = header};
    return KILN_OK;
}

static char variant_of(uint64_t flags)
{
    return flags & FATBIN_ARCH ? 'a' : flags & FATBIN_FAMILY ? 'f' : 0;
}

static enum fatbin_packing packing_of(uint32_t kind, uint64_t flags,
                                      uint32_t packed)
{
    int lz4 = (flags & FATBIN_LZ4) != 0, zstd = (flags & FATBIN_ZSTD) != 0;

    if (!packed && !lz4 && !zstd)
        return FATBIN_PLAIN;
    if (!packed || lz4 == zstd ||
        (kind == FATBIN_LTO && flags & FATBIN_SCRAMBLED))
        return FATBIN_PACKED_UNKNOWN;
    return lz4 ? FATBIN_PACKED_LZ4 : FATBIN_PACKED_ZSTD;
}

/* A block inside the entry's header, after its fixed part. */
static int block_ok(const struct fatbin_entry *e, uint64_t offset,
                    uint64_t size)
{
    return offset >= FATBIN_ENTRY && offset <= e->header_size &&
           size <= e->header_size - offset;
}

static enum kiln_status read_blocks(const unsigned char *at, uint32_t options,
                                    uint32_t ident, uint32_t ident_size,
                                    struct fatbin_entry *e,
                                    struct kiln_error *err)
{
    uint32_t text, length;

    if (ident) {
        if (!block_ok(e, ident, ident_size))
            return kiln_fail(err, KILN_E_FORMAT,
                             "fat binary: entry %u at 0x%llx: identifier of "
                             "%u bytes at %u, header of %u",
                             e->index, (unsigned long long)e->offset,
                             ident_size, ident, e->header_size);
        e->identifier = (const char *)at + ident;
        e->identifier_size = strnlen(e->identifier, ident_size);
    }
    if (!options)
        return KILN_OK;
    if (!block_ok(e, options, 8))
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u at 0x%llx: options block at "
                         "%u, header of %u",
                         e->index, (unsigned long long)e->offset, options,
                         e->header_size);
    memcpy(&text, at + options, 4);
    memcpy(&length, at + options + 4, 4);
    if (!length) /* older writers give no offset for an empty text */
        text = options + 8;
    if (!block_ok(e, text, length))
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u at 0x%llx: options of %u "
                         "bytes at %u, header of %u",
                         e->index, (unsigned long long)e->offset, length, text,
                         e->header_size);
    e->options = (const char *)at + text;
    e->options_size = length;
    return KILN_OK;
}

/* Sizes of the payload, stored and plain. */
static enum kiln_status read_sizes(uint64_t stored, uint32_t packed,
                                   uint64_t plain, struct fatbin_entry *e,
                                   struct kiln_error *err)
{
    e->payload_size = packed ? packed : stored;
    e->packing = packing_of(e->kind, e->flags, packed);
    if (packed > stored)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u at 0x%llx: %u bytes "
                         "compressed, %llu stored",
                         e->index, (unsigned long long)e->offset, packed,
                         (unsigned long long)stored);
    e->plain_size = e->packing == FATBIN_PLAIN ? e->payload_size : plain;
    return KILN_OK;
}

enum kiln_status fatbin_entry_header(const void *bytes, size_t have,
                                     uint64_t left, struct fatbin_entry *entry,
                                     uint64_t *stored, struct kiln_error *err)
{
    struct fatbin_entry e = {.offset = entry->offset, .index = entry->index};
    struct cursor c = cursor_of(bytes, have);
    uint32_t packed, options, ident, ident_size;
    enum kiln_status st;
    uint64_t plain;

    e.kind = cursor_u16(&c);
    cursor_u16(&c);
    e.header_size = cursor_u32(&c);
    *stored = cursor_u64(&c);
    packed = cursor_u32(&c);
    options = cursor_u32(&c);
    e.minor = cursor_u16(&c);
    e.major = cursor_u16(&c);
    e.sm = cursor_u32(&c);
    ident = cursor_u32(&c);
    ident_size = cursor_u32(&c);
    e.flags = cursor_u64(&c);
    cursor_u64(&c);
    plain = cursor_u64(&c);
    if (c.bad)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u at 0x%llx: %llu bytes left, "
                         "an entry has at least %d",
                         e.index, (unsigned long long)e.offset,
                         (unsigned long long)left, FATBIN_ENTRY);
    if (e.header_size < FATBIN_ENTRY || e.header_size > left ||
        *stored > left - e.header_size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u at 0x%llx: header of %u and "
                         "payload of %llu bytes, %llu left",
                         e.index, (unsigned long long)e.offset, e.header_size,
                         (unsigned long long)*stored, (unsigned long long)left);
    e.variant = variant_of(e.flags);
    st = read_sizes(*stored, packed, plain, &e, err);
    if (!st && e.header_size <= have)
        st = read_blocks(bytes, options, ident, ident_size, &e, err);
    if (st)
        return st;
    *entry = e;
    return KILN_OK;
}

enum kiln_status fatbin_next(struct fatbin *fatbin, struct fatbin_entry *entry,
                             int *more, struct kiln_error *err)
{
    const unsigned char *at = fatbin->bytes + fatbin->next;
    uint64_t left = fatbin->size - fatbin->next, stored;
    struct fatbin_entry e = {.offset = fatbin->next, .index = fatbin->index};
    enum kiln_status st;

    if (!left) {
        *more = 0;
        return KILN_OK;
    }
    fatbin->next = fatbin->size; /* after damage there is no next */
    st = fatbin_entry_header(at, (size_t)left, left, &e, &stored, err);
    if (st)
        return st;
    e.payload = at + e.header_size;
    if (e.packing == FATBIN_PLAIN && e.kind == FATBIN_PTX) {
        while (e.payload_size && !e.payload[e.payload_size - 1])
            e.payload_size--;
        e.plain_size = e.payload_size;
    }
    fatbin->next = e.offset + e.header_size + stored;
    fatbin->index++;
    *entry = e;
    *more = 1;
    return KILN_OK;
}

enum kiln_status fatbin_list(struct fatbin *fatbin, struct arena *arena,
                             struct fatbin_entry **entries, size_t *count,
                             struct kiln_error *err)
{
    struct fatbin_entry *list = NULL, entry;
    size_t n = 0, cap = 0;

    for (;;) {
        enum kiln_status st;
        int more;

        st = fatbin_next(fatbin, &entry, &more, err);
        if (st)
            return st;
        if (!more)
            break;
        list = arena_grow(arena, list, n, &cap, sizeof *list);
        if (!list)
            return kiln_fail(err, KILN_E_MEMORY,
                             "fat binary: out of memory for %zu entries",
                             n + 1);
        list[n++] = entry;
    }
    *entries = list;
    *count = n;
    return KILN_OK;
}

enum kiln_status fatbin_wrapper_read(const void *wrapper,
                                     struct fatbin_wrapper *out,
                                     struct kiln_error *err)
{
    struct cursor c = cursor_of(wrapper, FATBIN_WRAPPER);
    uint32_t magic = cursor_u32(&c);
    uint32_t version = cursor_u32(&c);
    const void *data, *third;

    cursor_load(&c, &data, sizeof data);
    cursor_load(&c, &third, sizeof third);
    if (magic != FATBIN_WRAPPER_MAGIC)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary wrapper: magic 0x%08x, expected 0x%08x",
                         magic, FATBIN_WRAPPER_MAGIC);
    if (version != 1 && version != 2)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary wrapper: version %u, expected 1 or 2",
                         version);
    if (!data)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary wrapper: no data behind it");
    *out = (struct fatbin_wrapper){.version = version,
                                   .data = data,
                                   .prelinked = version == 2 ? third : NULL};
    return KILN_OK;
}
