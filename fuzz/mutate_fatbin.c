/* SPDX-License-Identifier: MIT
 *
 * A container: an entry's payload is unpacked, changed and packed again, or
 * its header is changed, or entries come and go; then sizes are made right.
 */
#include <string.h>

#include "fuzz/mutate.h"
#include "image/fatbin.h"

enum { ITEMS = 16, ROOM = 1 << 16 };
/* Fields of an entry's header. */
enum { AT_STORED = 8, AT_PACKED = 16, AT_FLAGS = 40, AT_PLAIN = 56 };

struct item {
    struct fatbin_entry entry;
    size_t at, size; /* header and payload, in the container */
};

static size_t list(const struct buffer *b, struct item items[ITEMS])
{
    struct fatbin fatbin;
    size_t n = 0;
    int more = 1;

    if (fatbin_open(b->bytes, b->size, &fatbin, NULL))
        return 0;
    while (n < ITEMS && !fatbin_next(&fatbin, &items[n].entry, &more, NULL) &&
           more) {
        items[n].at = (size_t)items[n].entry.offset;
        items[n].size = (size_t)fatbin.next - items[n].at;
        n++;
    }
    return n;
}

static void set(struct buffer *entry, size_t at, uint64_t value, size_t size)
{
    memcpy(entry->bytes + at, &value, size);
}

/* The payload of the entry exchanged for `stored`. */
static void fill(struct buffer *entry, const struct fatbin_entry *e,
                 const struct buffer *stored, int packed, uint64_t plain)
{
    entry->size = e->header_size;
    buffer_add(entry, stored->bytes, stored->size);
    buffer_align(entry, 8);
    set(entry, AT_STORED, entry->size - e->header_size, 8);
    set(entry, AT_PACKED, packed ? stored->size : 0, 4);
    set(entry, AT_PLAIN, packed ? plain : 0, 8);
}

static void change_payload(struct buffer *entry, const struct fatbin_entry *e,
                           struct rng *r)
{
    static const uint64_t packings[] = {0, FATBIN_LZ4, FATBIN_ZSTD};
    uint64_t packing = e->flags & (FATBIN_LZ4 | FATBIN_ZSTD);
    struct buffer plain = {0}, packed = {0};

    if (fatbin_unpack(e, ROOM, &plain, NULL)) {
        buffer_add(&plain, e->payload, (size_t)e->payload_size);
        mutate_blindly(&plain, plain.size + 16);
        fill(entry, e, &plain, 1, e->plain_size);
    } else {
        if (rng_below(r, 4))
            mutate_bytes(&plain, r);
        else
            packing = packings[rng_below(r, 3)];
        set(entry, AT_FLAGS,
            (e->flags & ~(uint64_t)(FATBIN_LZ4 | FATBIN_ZSTD)) | packing, 8);
        if (packing)
            mutate_pack(&plain, packing == FATBIN_LZ4, &packed);
        fill(entry, e, packing ? &packed : &plain, packing != 0, plain.size);
    }
    buffer_fini(&plain);
    buffer_fini(&packed);
}

/* One field of the header, or of the blocks behind its fixed part. */
static void change_header(struct buffer *entry, const struct fatbin_entry *e,
                          struct rng *r)
{
    static const struct {
        uint8_t at, size;
    } fields[] = {{0, 2},  {4, 4},  {8, 8},  {16, 4}, {20, 4}, {24, 2}, {26, 2},
                  {28, 4}, {32, 4}, {36, 4}, {40, 8}, {48, 8}, {56, 8}};
    uint32_t which = rng_below(r, sizeof fields / sizeof *fields + 4), bit;

    if (which < sizeof fields / sizeof *fields) {
        set(entry, fields[which].at, rng_number(r, e->header_size),
            fields[which].size);
    } else if (which % 2) {
        bit = rng_below(r, 64);
        set(entry, AT_FLAGS, e->flags ^ (uint64_t)1 << bit, 8);
    } else if (e->header_size >= FATBIN_ENTRY + 8) {
        set(entry, FATBIN_ENTRY + 4 * rng_below(r, 2),
            rng_number(r, e->header_size), 4);
    }
}

int mutate_fatbin(struct buffer *b, struct rng *r)
{
    struct item items[ITEMS], *it;
    struct buffer entry = {0};
    size_t n = list(b, items);
    uint64_t body;

    if (!n)
        return 0;
    it = &items[rng_below(r, (uint32_t)n)];
    buffer_add(&entry, b->bytes + it->at, it->size);
    switch (rng_below(r, 8)) {
    case 0:
        entry.size = 0;
        break;
    case 1:
        buffer_add(&entry, b->bytes + it->at, it->size);
        break;
    case 2:
    case 3:
        change_header(&entry, &it->entry, r);
        break;
    default:
        change_payload(&entry, &it->entry, r);
        break;
    }
    mutate_splice(b, it->at, it->size, &entry);
    body = b->size - FATBIN_HEADER;
    if (rng_below(r, 8))
        memcpy(b->bytes + 8, &body, sizeof body);
    buffer_fini(&entry);
    return 1;
}
