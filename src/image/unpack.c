/* SPDX-License-Identifier: MIT
 *
 * Payloads of fat binary entries, as they were before packing. What an entry
 * says of its plain size is checked before memory is taken for it, and after
 * unpacking it must be exactly true.
 */
#include "image/fatbin.h"

#include <limits.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

/* A real payload of zeros may well compress better than 200:1; below this
 * size it cannot hurt. */
enum { RATIO = 200, RATIO_FROM = 1 << 20 };

/* Blocks of a zstd frame: so many, and one for so many bytes that come out. In
 * the toolkit's libraries each gives 17 KiB and more on the average. */
enum { BLOCKS_FREE = 16, BLOCK_LEAST = 1 << 12 };

static const uint64_t DEFAULT_CAP = (uint64_t)1 << 30;

enum kiln_status fatbin_may_unpack(const struct fatbin_entry *e, uint64_t cap,
                                   struct kiln_error *err)
{
    /* Packing makes nothing larger, but for a few bytes in a thousand. */
    uint64_t larger =
        e->plain_size > e->payload_size ? e->plain_size : e->payload_size;

    cap = cap ? cap : DEFAULT_CAP;
    if (e->packing == FATBIN_PACKED_UNKNOWN)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u: %s payload packed in an "
                         "unknown way (flags 0x%llx)",
                         e->index, fatbin_kind_name(e->kind),
                         (unsigned long long)e->flags);
    if (larger > cap)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u: %llu bytes, the limit is %llu",
                         e->index, (unsigned long long)larger,
                         (unsigned long long)cap);
    if (e->packing != FATBIN_PLAIN && e->plain_size > RATIO_FROM &&
        e->plain_size / RATIO > e->payload_size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u: %llu bytes from %llu, more "
                         "than %d to 1",
                         e->index, (unsigned long long)e->plain_size,
                         (unsigned long long)e->payload_size, RATIO);
    return KILN_OK;
}

/* A frame's header: its length, 0 when it is none. *tail: bytes behind its
 * last block. (RFC 8878, 3.1.1.1) */
static size_t frame_header(const unsigned char *at, size_t size, size_t *tail)
{
    static const unsigned char content[4] = {0, 2, 4, 8};
    static const unsigned char dictionary[4] = {0, 1, 2, 4};
    uint32_t magic;
    unsigned flags;
    size_t n;

    if (size < 5)
        return 0;
    memcpy(&magic, at, sizeof magic);
    flags = at[4];
    n = (size_t)5 + content[flags >> 6] + dictionary[flags & 3];
    /* With one segment the window is left out, and a size of 0 takes a byte. */
    n += flags & 0x20 ? !(flags >> 6) : 1;
    *tail = flags & 4 ? 4 : 0;
    return magic == ZSTD_MAGICNUMBER && n <= size ? n : 0;
}

/* Whether the payload is one frame whose blocks are about as large as a
 * compressor makes them: each may take microseconds whatever it gives, and
 * frames of one block each even more. */
static int is_frame(const struct fatbin_entry *e)
{
    size_t size = (size_t)e->payload_size, tail = 0;
    size_t at = frame_header(e->payload, size, &tail);
    uint64_t blocks = 0, most = BLOCKS_FREE + e->plain_size / BLOCK_LEAST;
    unsigned last = 0;

    while (at && !last && size - at >= 3 && blocks++ < most) {
        const unsigned char *p = e->payload + at;
        uint32_t header = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        size_t n = (header >> 1 & 3) == 1 ? 1 : header >> 3; /* 1: a run */

        at += 3;
        if (n > size - at)
            return 0;
        at += n;
        last = header & 1;
    }
    return last && size - at == tail;
}

/* Unpack to exactly plain_size bytes; the number that came, or -1. */
static int64_t decode(const struct fatbin_entry *e, unsigned char *to)
{
    size_t n;

    if (e->packing == FATBIN_PACKED_LZ4) {
        if (e->payload_size > INT_MAX || e->plain_size > INT_MAX)
            return -1;
        return LZ4_decompress_safe((const char *)e->payload, (char *)to,
                                   (int)e->payload_size, (int)e->plain_size);
    }
    if (!is_frame(e))
        return -1;
    n = ZSTD_decompress(to, (size_t)e->plain_size, e->payload,
                        (size_t)e->payload_size);
    return ZSTD_isError(n) ? -1 : (int64_t)n;
}

enum kiln_status fatbin_unpack(const struct fatbin_entry *e, uint64_t cap,
                               struct buffer *out, struct kiln_error *err)
{
    size_t start = out->size;
    enum kiln_status st = fatbin_may_unpack(e, cap, err);
    int64_t got;

    if (st)
        return st;
    if (e->packing == FATBIN_PLAIN) {
        buffer_add(out, e->payload, (size_t)e->payload_size);
        got = (int64_t)e->plain_size;
    } else {
        unsigned char *to = buffer_room(out, (size_t)e->plain_size);

        got = to ? decode(e, to) : 0;
    }
    if (out->bad)
        return kiln_fail(err, KILN_E_MEMORY,
                         "fat binary: entry %u: out of memory for %llu bytes",
                         e->index, (unsigned long long)e->plain_size);
    if (got != (int64_t)e->plain_size) {
        out->size = start;
        out->bytes[start] = 0;
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u: %s payload of %llu bytes does "
                         "not unpack to the %llu that it states",
                         e->index,
                         e->packing == FATBIN_PACKED_LZ4 ? "LZ4" : "zstd",
                         (unsigned long long)e->payload_size,
                         (unsigned long long)e->plain_size);
    }
    if (e->kind == FATBIN_PTX)
        while (out->size > start && !out->bytes[out->size - 1])
            out->size--;
    return KILN_OK;
}

/* The first bytes of a zstd frame: -1 when it is none. */
static int64_t peek_zstd(const struct fatbin_entry *e, void *bytes, size_t size)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {e->payload, (size_t)e->payload_size, 0};
    ZSTD_outBuffer out = {bytes, size, 0};
    int64_t n = -1;

    while (stream && out.pos < out.size) {
        size_t before = in.pos + out.pos;
        size_t left = ZSTD_decompressStream(stream, &out, &in);

        if (ZSTD_isError(left))
            break;
        if (!left || in.pos + out.pos == before) {
            n = (int64_t)out.pos;
            break;
        }
    }
    if (stream && out.pos == out.size)
        n = (int64_t)out.pos;
    ZSTD_freeDStream(stream);
    return n;
}

enum kiln_status fatbin_peek(const struct fatbin_entry *e, void *bytes,
                             size_t size, size_t *got, struct kiln_error *err)
{
    enum kiln_status st = fatbin_may_unpack(e, 0, err);
    int64_t n;

    if (st)
        return st;
    if (size > e->plain_size)
        size = (size_t)e->plain_size;
    if (e->packing == FATBIN_PLAIN) {
        if (size)
            memcpy(bytes, e->payload, size);
        n = (int64_t)size;
    } else if (e->packing == FATBIN_PACKED_ZSTD) {
        n = peek_zstd(e, bytes, size);
    } else if (e->payload_size > INT_MAX || size > INT_MAX) {
        n = -1;
    } else {
        n = LZ4_decompress_safe_partial((const char *)e->payload, bytes,
                                        (int)e->payload_size, (int)size,
                                        (int)size);
    }
    if (n < 0)
        return kiln_fail(err, KILN_E_FORMAT,
                         "fat binary: entry %u: payload of %llu bytes does "
                         "not unpack",
                         e->index, (unsigned long long)e->payload_size);
    *got = (size_t)n;
    return KILN_OK;
}
