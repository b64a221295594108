/* SPDX-License-Identifier: MIT
 *
 * The scan: blocks are searched for a container's magic number at every
 * fourth byte (in a file that is neither ELF nor archive: at every byte), and
 * a container that is found is stepped over by its entries' headers. Sections
 * only name the place: libraries keep containers where nobody would look.
 */
#include "image/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/find.h"
#include "image/object_head.h"
#include "image/places.h"
#include "image/wrappers.h"

/* Blocks start small behind a container, since the next one is near. */
enum { BLOCK_FIRST = 1 << 12, BLOCK = 1 << 16, HEADER_READ = 256 };
enum { HEADER_MAX = 1 << 20, GUESS = 4096 };
/* A search that has gone so far without a hit, with so much before it, is left
 * to the source where that has a faster one. */
enum { NEAR = 1 << 20, FAR = 1 << 22 };

struct scan {
    const struct image_source *source;
    const struct image_visitor *visitor;
    unsigned char *block; /* the source's bytes from block_at on */
    uint64_t block_at;
    size_t block_size;
    const struct elf_place *places;
    size_t place_count;
    const struct wrapped *wrapped; /* by offset */
    size_t wrapped_count;
    const char *member;
};

static int in_block(const struct scan *s, uint64_t offset, size_t size)
{
    return offset >= s->block_at && offset - s->block_at <= s->block_size &&
           size <= s->block_size - (offset - s->block_at);
}

/* So that the block has `size` bytes from offset on, more where they lie
 * before limit: what is near is often wanted next. */
static enum kiln_status window(struct scan *s, uint64_t offset, size_t size,
                               uint64_t limit, struct kiln_error *err)
{
    size_t n =
        limit - offset < BLOCK_FIRST ? (size_t)(limit - offset) : BLOCK_FIRST;
    enum kiln_status st;

    if (in_block(s, offset, size))
        return KILN_OK;
    n = n < size ? size : n;
    s->block_size = 0;
    st = s->source->read(s->source->data, offset, s->block, n, err);
    if (!st) {
        s->block_at = offset;
        s->block_size = n;
    }
    return st;
}

static enum kiln_status read_at(struct scan *s, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    if (!in_block(s, offset, size))
        return s->source->read(s->source->data, offset, to, size, err);
    if (size)
        memcpy(to, s->block + (offset - s->block_at), size);
    return KILN_OK;
}

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

static enum kiln_status found(struct scan *s, enum image_look look,
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
    enum kiln_status st = read_at(s, end - n, tail, n, err);

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
        st = read_at(s, at, header->bytes, have, err);
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

/* A container at `offset`, no byte of it being behind `limit`: *end is set
 * past it, or left alone when there is none. */
static enum kiln_status container(struct scan *s, uint64_t offset,
                                  uint64_t limit, uint64_t *end,
                                  struct kiln_error *err)
{
    const unsigned char *bytes;
    struct kiln_error bad = {0};
    uint16_t version, header;
    uint64_t body, size, read = 0;
    uint32_t magic;
    enum kiln_status st;

    if (limit - offset < FATBIN_HEADER)
        return KILN_OK;
    st = window(s, offset, FATBIN_HEADER, limit, err);
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
    st = found(s, IMAGE_FATBIN, offset, size, err);
    *end = offset + size;
    if (!st) {
        struct kiln_error deeper = {0};

        st = entries(s, offset, size, &read, &deeper, err);
        if (!bad.status)
            bad = deeper;
    }
    if (!st && bad.status) {
        st = s->visitor->damage(s->visitor->data, &bad, err);
        /* What follows may hold others. Not from its header on: containers
         * one within the other would take time without end. */
        *end = offset + read;
    }
    return st;
}

/* The first place of [from, to) at which a container can begin; `to` when there
 * is none. */
static enum kiln_status next_place(struct scan *s, uint64_t from, uint64_t to,
                                   int anywhere, uint64_t *hit,
                                   struct kiln_error *err)
{
    const uint64_t start = from;
    size_t room = BLOCK_FIRST;

    while (to - from >= FATBIN_HEADER) {
        size_t n = in_block(s, from, FATBIN_HEADER) ? FATBIN_HEADER : room, at;
        enum kiln_status st;

        if (s->source->find && from - start >= NEAR && to - from >= FAR)
            return s->source->find(s->source->data, from, to, anywhere, hit,
                                   err);
        st = window(s, from, to - from < n ? (size_t)(to - from) : n, to, err);
        if (st)
            return st;
        n = (size_t)(s->block_at + s->block_size - from);
        n = to - from < n ? (size_t)(to - from) : n;
        at = image_find(s->block + (from - s->block_at), n, anywhere);
        if (at < n) {
            *hit = from + at;
            return KILN_OK;
        }
        room = room < BLOCK ? room * 2 : BLOCK;
        /* A header may reach into the next block. */
        from += n == to - from ? n : (n - FIND_BEHIND) & ~(size_t)3;
    }
    *hit = to;
    return KILN_OK;
}

/* Containers that begin in [from, to); none reaches past limit. */
static enum kiln_status search(struct scan *s, uint64_t from, uint64_t to,
                               uint64_t limit, int anywhere,
                               struct kiln_error *err)
{
    while (from < to) {
        uint64_t hit = to, end = 0;
        enum kiln_status st = next_place(s, from, to, anywhere, &hit, err);

        if (st || hit >= to)
            return st;
        st = container(s, hit, limit, &end, err);
        if (st)
            return st;
        from = end ? end : hit + (anywhere ? 1 : 4);
    }
    return KILN_OK;
}

/* What would be refused of a container's header, its size aside. */
static enum kiln_status check_header(struct scan *s, uint64_t offset,
                                     uint64_t size, struct kiln_error *err)
{
    unsigned char bytes[FATBIN_HEADER] = {0};
    size_t n = size < sizeof bytes ? (size_t)size : sizeof bytes;
    enum kiln_status st = read_at(s, offset, bytes, n, err);
    struct fatbin fatbin;

    memset(bytes + 8, 0, 8);
    return st ? st : fatbin_open(bytes, n, &fatbin, err);
}

struct range {
    uint64_t from, to;
};

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Ranges by their start; those that overlap are gone through once. */
static enum kiln_status search_ranges(struct scan *s, struct range *list,
                                      size_t count, uint64_t limit,
                                      struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;

    if (count)
        qsort(list, count, sizeof *list, by_start);
    for (size_t i = 0; !st && i < count;) {
        struct range r = list[i++];

        for (; i < count && list[i].from <= r.to; i++)
            r.to = list[i].to > r.to ? list[i].to : r.to;
        st = search(s, r.from, r.to, limit, 0, err);
    }
    return st;
}

/* Sections that tools added without care may stand at any byte, and wrappers
 * may point to any. */
static enum kiln_status odd_places(struct scan *s, uint64_t base, uint64_t end,
                                   uint64_t limit, struct arena *arena,
                                   struct kiln_error *err)
{
    struct range *list =
        arena_array(arena, s->place_count + s->wrapped_count, sizeof *list);
    enum kiln_status st = KILN_OK;

    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "scan: out of memory");
    for (unsigned odd = 1; !st && odd < 4; odd++) {
        size_t n = 0;

        for (size_t i = 0; i < s->place_count; i++)
            if ((s->places[i].offset - base) % 4 == odd)
                list[n++] =
                    (struct range){s->places[i].offset,
                                   s->places[i].offset + s->places[i].size};
        for (size_t i = 0; i < s->wrapped_count; i++)
            if ((s->wrapped[i].offset - base) % 4 == odd &&
                s->wrapped[i].offset < end &&
                limit - s->wrapped[i].offset >= FATBIN_HEADER)
                list[n++] = (struct range){
                    s->wrapped[i].offset, s->wrapped[i].offset + FATBIN_HEADER};
        st = search_ranges(s, list, n, limit, err);
    }
    return st;
}

/* Whether it is what the CPU driver compiles, keeps and loads. */
static int is_object(const struct elf_table *table)
{
    for (size_t i = 0; table->header.e_type == ET_REL && i < table->count; i++)
        if (!strcmp(elf_table_name(table, &table->sections[i]),
                    OBJECT_HEAD_SECTION) &&
            elf_table_has_bytes(table, &table->sections[i]))
            return 1;
    return 0;
}

/* Sections and wrappers of a host ELF file: they tell of what is found. */
static enum kiln_status read_elf(struct scan *s, uint64_t offset, uint64_t size,
                                 struct arena *arena, struct image_guess *guess,
                                 int *object, int *anywhere, uint64_t *end,
                                 struct kiln_error *err)
{
    struct elf_table table;
    char text[sizeof guess->text];
    struct elf_place *places = NULL;
    struct wrapped *wrapped = NULL;
    enum kiln_status st =
        elf_table_read(s->source, offset, size, arena, &table, err);

    *object = !st && is_object(&table);
    /* Without its sections nothing tells where odd ones begin. */
    *anywhere = !st && !table.count;
    *end = st ? offset + size : offset + elf_table_end(&table);
    if (!st && !table.count && table.header.e_shoff) {
        snprintf(text, sizeof text, "%s", guess->text);
        snprintf(guess->text, sizeof guess->text, "the start of %.80s", text);
    }
    if (!st && table.count)
        st = elf_places(&table, arena, &places, &s->place_count, err);
    if (!st && table.count)
        st = elf_wrappers(&table, arena, &wrapped, &s->wrapped_count, err);
    s->places = places;
    s->wrapped = wrapped;
    return st;
}

static enum kiln_status part(struct scan *s, uint64_t offset, uint64_t size,
                             struct image_guess *guess, struct kiln_error *err)
{
    int object = 0;
    int anywhere = 1;
    uint64_t limit = offset + size, end = limit;
    struct arena arena = {0};
    enum kiln_status st = KILN_OK;

    switch (guess->look) {
    case IMAGE_CUBIN:
    case IMAGE_PTX:
    case IMAGE_LTO_IR:
        return found(s, guess->look, offset, size, err);
    case IMAGE_HOST_ELF:
        st = read_elf(s, offset, size, &arena, guess, &object, &anywhere, &end,
                      err);
        break;
    case IMAGE_FATBIN:
        st = check_header(s, offset, size, err);
        break;
    default:
        break;
    }
    if (!st && object) {
        guess->look = IMAGE_OBJECT;
        snprintf(guess->text, sizeof guess->text,
                 "a Kiln object for the CPU device");
        st = found(s, IMAGE_OBJECT, offset, size, err);
    } else if (!st) {
        st = search(s, offset, end, limit, anywhere, err);
        /* Installers append theirs to a program, at any byte. */
        st = st ? st : search(s, end, limit, limit, 1, err);
    }
    if (!st && !object)
        st = odd_places(s, offset, end, limit, &arena, err);
    s->places = NULL;
    s->place_count = 0;
    s->wrapped = NULL;
    s->wrapped_count = 0;
    arena_fini(&arena);
    return st;
}

static enum kiln_status look(struct scan *s, uint64_t offset, uint64_t size,
                             struct image_guess *guess, struct kiln_error *err)
{
    unsigned char first[GUESS];
    size_t n = size < sizeof first ? (size_t)size : sizeof first;
    enum kiln_status st = read_at(s, offset, first, n, err);

    if (!st)
        image_guess(first, n, guess);
    return st;
}

static enum kiln_status members(struct scan *s, struct kiln_error *err)
{
    struct archive archive;
    struct archive_member m;
    struct image_guess guess;
    int more = 1;

    archive_open(s->source, &archive);
    for (;;) {
        enum kiln_status st = archive_next(&archive, &m, &more, err);

        if (st || !more)
            return st;
        st = look(s, m.offset, m.size, &guess, err);
        s->member = m.name;
        if (!st)
            st = part(s, m.offset, m.size, &guess, err);
        s->member = "";
        if (st)
            return st;
    }
}

enum kiln_status image_scan(const struct image_source *source,
                            const struct image_visitor *visitor,
                            struct image_guess *guess, struct kiln_error *err)
{
    struct scan s = {.source = source, .visitor = visitor, .member = ""};
    enum kiln_status st;

    s.block = kiln_alloc(BLOCK);
    if (!s.block)
        return kiln_fail(err, KILN_E_MEMORY, "scan: out of memory");
    st = look(&s, 0, source->size, guess, err);
    if (st)
        goto out;
    if (guess->look == IMAGE_ARCHIVE && !strcmp(guess->text, "a thin archive"))
        st = kiln_fail(err, KILN_E_IMAGE,
                       "a thin archive: it names its objects and does not "
                       "hold them; give those");
    else if (guess->look == IMAGE_ARCHIVE)
        st = members(&s, err);
    else
        st = part(&s, 0, source->size, guess, err);
out:
    kiln_release(s.block);
    return st;
}
