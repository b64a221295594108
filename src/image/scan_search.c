/* SPDX-License-Identifier: MIT
 *
 * The search of a scan: blocks, in which a container's magic number may stand
 * at every fourth byte or anywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "image/find.h"
#include "image/scan_state.h"

/* A search that has gone so far without a hit, with so much before it, is left
 * to the source where that has a faster one. */
enum { NEAR = 1 << 20, FAR = 1 << 22 };

int scan_in_block(const struct scan *s, uint64_t offset, size_t size)
{
    return offset >= s->block_at && offset - s->block_at <= s->block_size &&
           size <= s->block_size - (offset - s->block_at);
}

enum kiln_status scan_window(struct scan *s, uint64_t offset, size_t size,
                             uint64_t limit, struct kiln_error *err)
{
    size_t n = limit - offset < SCAN_BLOCK_FIRST ? (size_t)(limit - offset)
                                                 : SCAN_BLOCK_FIRST;
    enum kiln_status st;

    if (scan_in_block(s, offset, size))
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

enum kiln_status scan_read(struct scan *s, uint64_t offset, void *to,
                           size_t size, struct kiln_error *err)
{
    if (!scan_in_block(s, offset, size))
        return s->source->read(s->source->data, offset, to, size, err);
    if (size)
        memcpy(to, s->block + (offset - s->block_at), size);
    return KILN_OK;
}

/* The first place of [from, to) at which a container can begin; `to` when there
 * is none. */
static enum kiln_status next_place(struct scan *s, uint64_t from, uint64_t to,
                                   int anywhere, uint64_t *hit,
                                   struct kiln_error *err)
{
    const uint64_t start = from;
    size_t room = SCAN_BLOCK_FIRST;

    while (to - from >= FATBIN_HEADER) {
        size_t n = scan_in_block(s, from, FATBIN_HEADER) ? FATBIN_HEADER : room,
               at;
        enum kiln_status st;

        if (s->source->find && from - start >= NEAR && to - from >= FAR)
            return s->source->find(s->source->data, from, to, anywhere, hit,
                                   err);
        st = scan_window(s, from, to - from < n ? (size_t)(to - from) : n, to,
                         err);
        if (st)
            return st;
        n = (size_t)(s->block_at + s->block_size - from);
        n = to - from < n ? (size_t)(to - from) : n;
        at = image_find(s->block + (from - s->block_at), n, anywhere);
        if (at < n) {
            *hit = from + at;
            return KILN_OK;
        }
        room = room < SCAN_BLOCK ? room * 2 : SCAN_BLOCK;
        /* A header may reach into the next block. */
        from += n == to - from ? n : (n - FIND_BEHIND) & ~(size_t)3;
    }
    *hit = to;
    return KILN_OK;
}

enum kiln_status scan_search(struct scan *s, uint64_t from, uint64_t to,
                             uint64_t limit, int anywhere,
                             struct kiln_error *err)
{
    while (from < to) {
        uint64_t hit = to, end = 0;
        enum kiln_status st = next_place(s, from, to, anywhere, &hit, err);

        if (st || hit >= to)
            return st;
        st = scan_container(s, hit, limit, &end, err);
        if (st)
            return st;
        from = end ? end : hit + (anywhere ? 1 : 4);
    }
    return KILN_OK;
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
        st = scan_search(s, r.from, r.to, limit, 0, err);
    }
    return st;
}

enum kiln_status scan_odd_places(struct scan *s, uint64_t base, uint64_t end,
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
