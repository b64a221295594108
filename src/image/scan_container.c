/* SPDX-License-Identifier: MIT
 *
 * What a scan found: a container's entries are stepped over by their headers,
 * payloads are not read.
 */
#include <string.h>

#include "image/scan_state.h"

enum { HEADER_READ = 256, HEADER_MAX = 1 << 20 };

static const struct wrapped *wrapper_of(const struct scan *s, uint64_t offset)
{
    size_t low = 0, high = s->wrapped_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->wrapped[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->wrapped_count && s->wrapped[low].offset == offset
               ? &s->wrapped[low]
               : NULL;
}

enum kiln_status scan_found(struct scan *s, enum image_look look,
                            uint64_t offset, uint64_t size,
                            struct kiln_error *err)
{
    const struct wrapped *w = wrapper_of(s, offset);
    struct image_place place = {
        .look = look,
        .offset = offset,
        .size = size,
        .section = elf_place_of(s->places, s->place_count, offset),
        .member = s->member,
        .wrapper = w ? w->version : 0,
        .prelinked = w ? w->prelinked : 0,
        .owner = w ? w->owner : IMAGE_NO_OWNER};

    s->found++;
    return s->visitor->place(s->visitor->data, &place, err);
}

/* PTX that is stored plain is padded with zeros; its length is where they
 * begin. */
static enum kiln_status trim(struct scan *s, uint64_t end,
                             struct fatbin_entry *e, struct kiln_error *err)
{
    unsigned char tail[16];
    size_t n =
        e->payload_size < sizeof tail ? (size_t)e->payload_size : sizeof tail;
    enum kiln_status st = scan_read(s, end - n, tail, n, err);

    for (; !st && n && !tail[n - 1]; n--)
        e->payload_size--;
    e->plain_size = e->payload_size;
    return st;
}

/* The entry at `at`. *bad is its damage; a status means that reading itself
 * failed. */
static enum kiln_status read_entry(struct scan *s, uint64_t at, uint64_t left,
                                   struct fatbin_entry *e, uint64_t *stored,
                                   struct buffer *header,
                                   struct kiln_error *bad,
                                   struct kiln_error *err)
{
    size_t have = left < HEADER_READ ? (size_t)left : HEADER_READ;
    enum kiln_status st;

    for (;;) {
        header->size = 0;
        buffer_zeros(header, have);
        if (header->bad)
            return kiln_fail(err, KILN_E_MEMORY, "scan: out of memory");
        st = scan_read(s, at, header->bytes, have, err);
        if (st)
            return st;
        bad->status =
            fatbin_entry_header(header->bytes, have, left, e, stored, bad);
        if (bad->status || e->header_size <= have ||
            e->header_size > HEADER_MAX)
            break;
        have = e->header_size;
    }
    if (!bad->status && e->kind == FATBIN_PTX && e->packing == FATBIN_PLAIN)
        st = trim(s, at + e->header_size + *stored, e, err);
    return st;
}

/* *read is set behind the last entry that is whole. */
static enum kiln_status entries(struct scan *s, uint64_t offset, uint64_t size,
                                uint64_t *read, struct kiln_error *bad,
                                struct kiln_error *err)
{
    struct buffer header = {0};
    uint64_t at = FATBIN_HEADER;
    enum kiln_status st = KILN_OK;

    for (uint32_t i = 0; !st && at < size; i++) {
        struct fatbin_entry e = {.offset = at, .index = i};
        uint64_t stored = 0;

        st = read_entry(s, offset + at, size - at, &e, &stored, &header, bad,
                        err);
        if (st || bad->status)
            break;
        st = s->visitor->entry(s->visitor->data, &e, stored, err);
        at += e.header_size + stored;
    }
    *read = at;
    buffer_fini(&header);
    return st;
}

/* Whether the header of an entry of a known kind stands behind the entries: a
 * size that is too low hides it, from drivers too. Writers put 0x0101 behind
 * the kind. */
static enum kiln_status look_for_hidden(struct scan *s, uint64_t offset,
                                        uint64_t size, uint64_t limit,
                                        struct kiln_error *bad,
                                        struct kiln_error *err)
{
    uint64_t at = offset + size, stored;
    struct fatbin_entry e = {.offset = size};
    unsigned char bytes[FATBIN_ENTRY];
    enum kiln_status st;

    if (limit - at < sizeof bytes)
        return KILN_OK;
    st = scan_window(s, at, sizeof bytes, limit, err);
    st = st ? st : scan_read(s, at, bytes, sizeof bytes, err);
    if (st || bytes[1] || bytes[2] != 1 || bytes[3] != 1 ||
        (bytes[0] != FATBIN_PTX && bytes[0] != FATBIN_ELF &&
         bytes[0] != FATBIN_LTO) ||
        fatbin_entry_header(bytes, sizeof bytes, limit - at, &e, &stored, NULL))
        return st;
    kiln_fail(bad, KILN_E_FORMAT,
              "fat binary: entries of %llu bytes, and behind these one more, "
              "which is not listed",
              (unsigned long long)(size - FATBIN_HEADER));
    return KILN_OK;
}

enum kiln_status scan_container(struct scan *s, uint64_t offset, uint64_t limit,
                                uint64_t *end, struct kiln_error *err)
{
    const unsigned char *bytes;
    struct kiln_error bad = {0};
    uint16_t version, header;
    uint64_t body, size, read = 0;
    uint32_t magic;
    enum kiln_status st;

    if (limit - offset < FATBIN_HEADER)
        return KILN_OK;
    st = scan_window(s, offset, FATBIN_HEADER, limit, err);
    if (st)
        return st;
    bytes = s->block + (offset - s->block_at);
    memcpy(&magic, bytes, 4);
    memcpy(&version, bytes + 4, 2);
    memcpy(&header, bytes + 6, 2);
    memcpy(&body, bytes + 8, 8);
    /* A program that handles containers has the number in its code. */
    if (magic != FATBIN_MAGIC || version != 1 || header != FATBIN_HEADER)
        return KILN_OK;
    size = limit - offset;
    if (body > size - FATBIN_HEADER)
        kiln_fail(&bad, KILN_E_FORMAT,
                  "fat binary: entries of %llu bytes, %llu left",
                  (unsigned long long)body,
                  (unsigned long long)(size - FATBIN_HEADER));
    else
        size = body + FATBIN_HEADER;
    st = scan_found(s, IMAGE_FATBIN, offset, size, err);
    *end = offset + size;
    if (!st) {
        struct kiln_error deeper = {0};

        st = entries(s, offset, size, &read, &deeper, err);
        if (!bad.status)
            bad = deeper;
    }
    if (!st && !bad.status)
        st = look_for_hidden(s, offset, size, limit, &bad, err);
    if (!st && bad.status) {
        st = s->visitor->damage(s->visitor->data, &bad, err);
        /* What follows may hold others. Not from its header on: containers
         * one within the other would take time without end. */
        *end = offset + read;
    }
    return st;
}
