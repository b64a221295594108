/* SPDX-License-Identifier: MIT
 *
 * Hostile containers: of nothing, of headers alone, of what unpacks to much.
 */
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "hostile_kinds.h"
#include "image/fatbin.h"

void hostile_container(struct buffer *b, uint64_t body)
{
    buffer_u32(b, FATBIN_MAGIC);
    buffer_u16(b, 1);
    buffer_u16(b, FATBIN_HEADER);
    buffer_u64(b, body);
}

static void entry(struct buffer *b, uint16_t kind, uint64_t stored,
                  uint32_t packed, uint64_t plain, uint64_t flags)
{
    buffer_u16(b, kind);
    buffer_u16(b, 0x0101);
    buffer_u32(b, FATBIN_ENTRY);
    buffer_u64(b, stored);
    buffer_u32(b, packed);
    buffer_u32(b, 0);
    buffer_u32(b, 0x00070000);
    buffer_u32(b, 90);
    buffer_u64(b, 0);
    buffer_u64(b, flags);
    buffer_u64(b, 0);
    buffer_u64(b, plain);
}

void hostile_empty_containers(struct buffer *b, size_t size)
{
    while (b->size < size)
        hostile_container(b, 0);
}

/* So that none follows the other directly. */
void hostile_apart_containers(struct buffer *b, size_t size)
{
    for (hostile_container(b, 0); b->size < size; hostile_container(b, 0))
        buffer_u32(b, 7);
}

void hostile_damaged_containers(struct buffer *b, size_t size)
{
    while (b->size < size)
        hostile_container(b, UINT64_MAX / 2);
}

/* Each in the payload of the one before, all of them damaged at the end. */
void hostile_nested_containers(struct buffer *b, size_t size)
{
    while (b->size + 200 < size) {
        uint64_t left = size - b->size;

        hostile_container(b, left);
        entry(b, FATBIN_PTX, left, 0, 0, 1);
    }
}

void hostile_numbers(struct buffer *b, size_t size)
{
    buffer_zeros(b, 64);
    while (b->size < size)
        buffer_u32(b, FATBIN_MAGIC);
}

void hostile_entries(struct buffer *b, size_t size)
{
    size_t n = size / FATBIN_ENTRY;

    hostile_container(b, n * FATBIN_ENTRY);
    while (n--)
        entry(b, FATBIN_PTX, 0, 0, 0, 1);
}

/* One packed entry after the other. */
static void packed(struct buffer *b, size_t size, const void *bytes, size_t n,
                   uint64_t plain, uint64_t flags)
{
    static const unsigned char zeros[8];
    uint64_t stored = (n + 7) & ~(uint64_t)7;
    uint64_t count = size / (FATBIN_ENTRY + stored);

    count = count ? count : 1;
    for (hostile_container(b, count * (FATBIN_ENTRY + stored)); count;
         count--) {
        entry(b, FATBIN_PTX, stored, (uint32_t)n, plain, flags);
        buffer_add(b, bytes, n);
        buffer_add(b, zeros, stored - n);
    }
}

void hostile_small_bombs(struct buffer *b, size_t size)
{
    unsigned char zeros[1 << 16] = {0}, to[512];
    size_t n = ZSTD_compress(to, sizeof to, zeros, sizeof zeros, 3);

    packed(b, size, to, n, sizeof zeros, 1 | FATBIN_ZSTD);
}

/* PTX that packs well and has a kernel in every line. */
void hostile_packed_kernels(struct buffer *b, size_t size)
{
    struct buffer text = {0}, to = {0};
    size_t n;

    hostile_ptx(&text, 1 << 16, ".entry k;\n");
    buffer_zeros(&to, 1 << 10);
    n = ZSTD_compress(to.bytes, to.size, text.bytes, text.size, 3);
    packed(b, size, to.bytes, n, text.size, 1 | FATBIN_ZSTD);
    buffer_fini(&text);
    buffer_fini(&to);
}

/* Cubins likewise, with zeros behind their tables. */
void hostile_packed_cubins(struct buffer *b, size_t size)
{
    struct buffer plain = {0}, to = {0};
    size_t n;

    hostile_cubin_symbols(&plain, 1 << 10);
    buffer_zeros(&plain, (1 << 16) - plain.size);
    buffer_zeros(&to, 1 << 12);
    n = ZSTD_compress(to.bytes, to.size, plain.bytes, plain.size, 3);
    packed(b, size, to.bytes, n, plain.size, 1 | FATBIN_ZSTD);
    for (size_t at = FATBIN_HEADER; at < b->size;
         at += FATBIN_ENTRY + ((n + 7) & ~(size_t)7))
        b->bytes[at] = FATBIN_ELF;
    buffer_fini(&plain);
    buffer_fini(&to);
}

/* PTX that is not packed, in images as large as are read. */
void hostile_plain_kernels(struct buffer *b, size_t size)
{
    struct buffer text = {0};
    size_t n;

    hostile_ptx(&text, 1 << 16, ".entry k;\n");
    buffer_align(&text, 8);
    n = size / text.size;
    for (hostile_container(b, n * (FATBIN_ENTRY + text.size)); n; n--) {
        entry(b, FATBIN_PTX, text.size, 0, 0, 1);
        buffer_add(b, text.bytes, text.size);
    }
    buffer_fini(&text);
}

/* A raw LZ4 block: a literal, then one match as long as its bytes of length
 * say, which is 255 for each. */
void hostile_lz4_bomb(struct buffer *b, size_t size)
{
    struct buffer block = {0};
    size_t n = size - 256;

    buffer_text(&block, "\x1f \x01");
    buffer_u8(&block, 0);
    for (size_t i = 0; i < n; i++)
        buffer_u8(&block, 255);
    buffer_u8(&block, 0);
    buffer_text(&block, "P     ");
    packed(b, 0, block.bytes, block.size, (uint64_t)n * 255 + 25,
           1 | FATBIN_LZ4);
    buffer_fini(&block);
}

/* A frame of runs of one byte each. */
void hostile_zstd_blocks(struct buffer *b, size_t size)
{
    struct buffer frame = {0};
    size_t n = size / 4;

    buffer_u32(&frame, ZSTD_MAGICNUMBER);
    buffer_u8(&frame, 0xa0);
    buffer_u32(&frame, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        buffer_u32(&frame,
                   (uint32_t)' ' << 24 | 1 << 3 | 1 << 1 | (i + 1 == n));
    packed(b, 0, frame.bytes, frame.size, n, 1 | FATBIN_ZSTD);
    buffer_fini(&frame);
}

void hostile_zstd_frames(struct buffer *b, size_t size)
{
    static const unsigned char one[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20,
                                        1,    9,    0,    0,    ' '};
    struct buffer frames = {0};
    size_t n = size / sizeof one;

    for (size_t i = 0; i < n; i++)
        buffer_add(&frames, one, sizeof one);
    packed(b, 0, frames.bytes, frames.size, n, 1 | FATBIN_ZSTD);
    buffer_fini(&frames);
}
