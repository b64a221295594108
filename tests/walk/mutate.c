/* SPDX-License-Identifier: MIT
 *
 * Damaged copies of images, of every kind that a loader could fall over:
 * bytes anywhere, fields of the container, packed data cut or changed, and
 * one image changed from inside, so that it gets past the container.
 */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"

enum { ENTRIES_MAX = 16, TEXT_GROWS = 16384, HEADER_FIELDS = 13 };

uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void mutate_field(unsigned char *at, size_t width, uint64_t *state)
{
    uint64_t old = 0, value = random_next(state);

    memcpy(&old, at, width);
    switch (random_next(state) % 10) {
    case 0:
        value = 0;
        break;
    case 1:
        value = UINT64_MAX;
        break;
    case 2:
        value = UINT64_MAX >> 1 >> (64 - width * 8);
        break;
    case 3:
        value = (uint64_t)1 << (width * 8 - 1);
        break;
    case 4:
        value = old + 1;
        break;
    case 5:
        value = old - 1;
        break;
    case 6:
        value = old ^ (uint64_t)1 << (value % (width * 8));
        break;
    case 7:
        value %= 64;
        break;
    case 8:
        value = old * 2;
        break;
    default:
        break;
    }
    memcpy(at, &value, width);
}

/* Bytes anywhere; headers and tables are where it hurts. */
static size_t anywhere(unsigned char *bytes, size_t size, uint64_t *state)
{
    unsigned edits = 1 + (unsigned)(random_next(state) % 6);

    for (unsigned i = 0; i < edits && size; i++) {
        size_t at = (size_t)(random_next(state) % size);

        if (random_next(state) & 1 && size > 512)
            at %= 512;
        mutate_field(bytes + at,
                     size - at >= 4 && random_next(state) & 1 ? 4 : 1, state);
    }
    return random_next(state) % 8 ? size
                                  : (size_t)(random_next(state) % (size + 1));
}

/* Where entries of a container start; their number. */
static size_t entries_of(const unsigned char *bytes, size_t size,
                         struct fatbin_entry *entries)
{
    struct fatbin fatbin;
    size_t count = 0;
    int more = 1;

    if (fatbin_open(bytes, size, &fatbin, NULL))
        return 0;
    while (count < ENTRIES_MAX &&
           !fatbin_next(&fatbin, &entries[count], &more, NULL) && more)
        count++;
    return count;
}

/* A field of the container's header or of an entry's; sometimes two of them
 * change places. */
static void container_field(unsigned char *bytes, size_t size,
                            const struct fatbin_entry *entries, size_t count,
                            uint64_t *state)
{
    static const struct {
        unsigned char at, width;
    } outer[] = {{0, 4}, {4, 2}, {6, 2}, {8, 8}},
      inner[HEADER_FIELDS] = {{0, 2},  {2, 2},  {4, 4},  {8, 8},  {16, 4},
                              {20, 4}, {24, 2}, {26, 2}, {28, 4}, {32, 4},
                              {36, 4}, {40, 8}, {56, 8}};
    uint64_t n = random_next(state);
    size_t at;

    if (!count || n % 5 == 0) {
        n = random_next(state) % 4;
        mutate_field(bytes + outer[n].at, outer[n].width, state);
        return;
    }
    at = (size_t)entries[random_next(state) % count].offset;
    if (size - at < FATBIN_ENTRY)
        return;
    n = random_next(state) % HEADER_FIELDS;
    if (random_next(state) % 8 == 0) {
        unsigned char copy[8];
        size_t other = (size_t)(random_next(state) % HEADER_FIELDS);
        size_t width = inner[n].width < inner[other].width ? inner[n].width
                                                           : inner[other].width;

        memcpy(copy, bytes + at + inner[n].at, width);
        memcpy(bytes + at + inner[n].at, bytes + at + inner[other].at, width);
        memcpy(bytes + at + inner[other].at, copy, width);
        return;
    }
    mutate_field(bytes + at + inner[n].at, inner[n].width, state);
}

/* The stored bytes of an entry: changed, or cut with a header that says so. */
static void frame(unsigned char *bytes, size_t size,
                  const struct fatbin_entry *entries, size_t count,
                  uint64_t *state)
{
    const struct fatbin_entry *e = &entries[random_next(state) % count];
    size_t at = (size_t)(e->payload - bytes);
    uint64_t stored = e->payload_size;
    uint32_t cut;

    if (!stored || at >= size || stored > size - at)
        return;
    cut = (uint32_t)(random_next(state) % stored);
    if (random_next(state) & 1) {
        mutate_field(bytes + at + cut, 1, state);
        mutate_field(bytes + at + random_next(state) % stored, 1, state);
    } else if (e->packing == FATBIN_PLAIN) {
        memset(bytes + at + cut, 0, (size_t)stored - cut);
    } else {
        memcpy(bytes + e->offset + 16, &cut, sizeof cut);
    }
}

/* One image from inside, in *bytes (of malloc, with room behind it). */
static size_t inside(unsigned char *bytes, size_t size, size_t room,
                     uint64_t *state)
{
    unsigned edits = random_next(state) % 4 ? 1 : 2;

    for (unsigned i = 0; i < edits; i++)
        if (size >= 4 && !memcmp(bytes,
                                 "\x7f"
                                 "ELF",
                                 4))
            size = mutate_cubin(bytes, size, state);
        else
            size = mutate_text((char *)bytes, size, room, state);
    return size;
}

static unsigned char *copy_of(const void *bytes, size_t size, size_t room)
{
    unsigned char *copy = calloc(1, size + room + 1);

    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

/* The container again, with one image in it changed; or that one alone. */
static unsigned char *from_inside(const struct fatbin_entry *entries,
                                  size_t count, uint64_t *state,
                                  size_t *out_size)
{
    struct buffer plain[ENTRIES_MAX] = {{0}}, whole = {0};
    struct fatbin_item items[ENTRIES_MAX] = {{0}};
    size_t changed = (size_t)(random_next(state) % count), size = 0;
    unsigned char *image = NULL, *out = NULL;
    int bad = 0;

    for (size_t i = 0; i < count; i++) {
        const struct fatbin_entry *e = &entries[i];

        bad |= fatbin_unpack(e, 0, &plain[i], NULL) != 0;
        items[i] = (struct fatbin_item){.kind = (enum fatbin_kind)e->kind,
                                        .major = e->major,
                                        .minor = e->minor,
                                        .sm = e->sm,
                                        .variant = e->variant,
                                        .flags = e->flags & FATBIN_COMPAT,
                                        .packing = e->packing,
                                        .payload = plain[i].bytes,
                                        .size = plain[i].size};
    }
    if (!bad && plain[changed].size)
        image = copy_of(plain[changed].bytes, plain[changed].size, TEXT_GROWS);
    if (image) {
        size = inside(image, plain[changed].size,
                      plain[changed].size + TEXT_GROWS, state);
        items[changed].payload = image;
        items[changed].size = size;
    }
    if (image && random_next(state) % 5 < 3) {
        out = image;
        image = NULL;
        *out_size = size;
    } else if (image && !fatbin_write(items, count, &whole, NULL)) {
        out = copy_of(whole.bytes, whole.size, 0);
        *out_size = whole.size;
    }
    for (size_t i = 0; i < count; i++)
        buffer_fini(&plain[i]);
    buffer_fini(&whole);
    free(image);
    return out;
}

unsigned char *mutate(const unsigned char *image, size_t size, uint64_t *state,
                      size_t *out_size)
{
    struct fatbin_entry entries[ENTRIES_MAX];
    unsigned char *out = copy_of(image, size, TEXT_GROWS);
    size_t count;

    if (!out)
        return NULL;
    *out_size = size;
    count = entries_of(out, size, entries);
    switch (random_next(state) % 8) {
    case 0:
        *out_size = anywhere(out, size, state);
        return out;
    case 1:
        if (count) {
            container_field(out, size, entries, count, state);
            return out;
        }
        break;
    case 2:
        if (count) {
            frame(out, size, entries, count, state);
            return out;
        }
        break;
    default:
        break;
    }
    if (count) {
        unsigned char *other = from_inside(entries, count, state, out_size);

        if (!other) {
            *out_size = anywhere(out, size, state);
            return out;
        }
        free(out);
        return other;
    }
    *out_size = inside(out, size, size + TEXT_GROWS, state);
    return out;
}
