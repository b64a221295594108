/* SPDX-License-Identifier: MIT
 *
 * Writing the fat binary container (docs/format-fatbin.md). An options block
 * is always written, an empty one at least: NVIDIA's linker and driver crash
 * on PTX that has none.
 */
#include "image/fatbin.h"

#include <limits.h>
#include <lz4hc.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"

enum { ZSTD_LEVEL = 19 };

/* The payload packed, or size 0 when that gains nothing. */
static size_t pack(const struct fatbin_item *item, const void *plain,
                   size_t size, void *to, size_t room)
{
    size_t n = 0;

    if (item->packing == FATBIN_PACKED_LZ4 && size <= LZ4_MAX_INPUT_SIZE)
        n = (size_t)LZ4_compress_HC(plain, to, (int)size,
                                    room < INT_MAX ? (int)room : INT_MAX,
                                    LZ4HC_CLEVEL_DEFAULT);
    else if (item->packing == FATBIN_PACKED_ZSTD)
        n = ZSTD_compress(to, room, plain, size, ZSTD_LEVEL);
    return ZSTD_isError(n) || n >= size ? 0 : n;
}

static uint64_t flags_of(const struct fatbin_item *item, size_t packed)
{
    uint64_t flags = item->flags | FATBIN_64BIT | FATBIN_LINUX;

    if (item->variant)
        flags |= item->variant == 'a' ? FATBIN_ARCH : FATBIN_FAMILY;
    if (packed)
        flags |= item->packing == FATBIN_PACKED_LZ4 ? FATBIN_LZ4 : FATBIN_ZSTD;
    return flags;
}

static void put(const struct fatbin_item *item, const void *bytes,
                size_t stored, size_t packed, size_t plain, struct buffer *out)
{
    const char *options = item->options ? item->options : "";
    size_t ident = item->identifier ? strlen(item->identifier) : 0;
    size_t block = FATBIN_ENTRY + (item->identifier ? (ident + 8) & ~7ul : 0);
    size_t header = (block + 8 + strlen(options) + 1 + 7) & ~7ul;

    buffer_u16(out, (uint16_t)item->kind);
    buffer_u16(out, 0x0101);
    buffer_u32(out, (uint32_t)header);
    buffer_u64(out, (stored + 7) & ~7ul);
    buffer_u32(out, (uint32_t)packed);
    buffer_u32(out, (uint32_t)block);
    buffer_u16(out, item->minor);
    buffer_u16(out, item->major);
    buffer_u32(out, item->sm);
    buffer_u32(out, item->identifier ? FATBIN_ENTRY : 0);
    buffer_u32(out, (uint32_t)ident);
    buffer_u64(out, flags_of(item, packed));
    buffer_u64(out, 0);
    buffer_u64(out, packed ? plain : 0);
    if (item->identifier) {
        buffer_text(out, item->identifier);
        buffer_zeros(out, block - FATBIN_ENTRY - ident);
    }
    buffer_u32(out, (uint32_t)block + 8);
    buffer_u32(out, (uint32_t)strlen(options));
    buffer_text(out, options);
    buffer_zeros(out, header - block - 8 - strlen(options));
    buffer_add(out, bytes, stored);
    buffer_zeros(out, -stored & 7);
}

static enum kiln_status add(const struct fatbin_item *item, struct buffer *out,
                            struct kiln_error *err)
{
    struct buffer plain = {0};
    enum kiln_status st = KILN_OK;
    unsigned char *room = NULL;
    size_t packed = 0;

    if (item->packing == FATBIN_PACKED_UNKNOWN || item->size > UINT32_MAX / 2)
        return kiln_fail(err, KILN_E_INVALID,
                         "fat binary: entry of %zu bytes cannot be written",
                         item->size);
    buffer_add(&plain, item->payload, item->size);
    if (item->kind == FATBIN_PTX)
        buffer_zeros(&plain, 1);
    if (item->packing != FATBIN_PLAIN && !plain.bad) {
        room = kiln_alloc(plain.size);
        if (room)
            packed = pack(item, plain.bytes, plain.size, room, plain.size);
        else
            plain.bad = 1;
    }
    if (!plain.bad)
        put(item, packed ? room : plain.bytes, packed ? packed : plain.size,
            packed, plain.size, out);
    if (plain.bad || out->bad)
        st = kiln_fail(err, KILN_E_MEMORY, "fat binary: out of memory");
    kiln_release(room);
    buffer_fini(&plain);
    return st;
}

enum kiln_status fatbin_write(const struct fatbin_item *items, size_t count,
                              struct buffer *out, struct kiln_error *err)
{
    size_t start = out->size;
    uint64_t body;

    buffer_u32(out, FATBIN_MAGIC);
    buffer_u16(out, 1);
    buffer_u16(out, FATBIN_HEADER);
    buffer_u64(out, 0);
    for (size_t i = 0; i < count; i++) {
        enum kiln_status st = add(&items[i], out, err);

        if (st) {
            kiln_prefix(err, "item %zu", i);
            return st;
        }
    }
    if (out->bad)
        return kiln_fail(err, KILN_E_MEMORY, "fat binary: out of memory");
    body = out->size - start - FATBIN_HEADER;
    memcpy(out->bytes + start + 8, &body, sizeof body);
    return KILN_OK;
}
