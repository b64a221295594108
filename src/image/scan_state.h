/* SPDX-License-Identifier: MIT
 *
 * What the parts of a scan share: the block of the source that is at hand,
 * and what is known of the part of the file that is gone through.
 */
#ifndef KILN_IMAGE_SCAN_STATE_H
#define KILN_IMAGE_SCAN_STATE_H

#include "image/places.h"
#include "image/wrappers.h"

/* Blocks start small behind a container, since the next one is near. */
enum { SCAN_BLOCK_FIRST = 1 << 12, SCAN_BLOCK = 1 << 16 };

struct scan {
    const struct image_source *source;
    const struct image_visitor *visitor;
    unsigned char *block; /* SCAN_BLOCK bytes: the source's from block_at on */
    uint64_t block_at;
    size_t block_size;
    const struct elf_place *places;
    size_t place_count;
    const struct wrapped *wrapped; /* by offset */
    size_t wrapped_count;
    const char *member;
    size_t found; /* places so far */
};

/* Whether the block has `size` bytes from offset on. */
int scan_in_block(const struct scan *s, uint64_t offset, size_t size);
/* So that it has, and more where they lie before limit: what is near is often
 * wanted next. */
enum kiln_status scan_window(struct scan *s, uint64_t offset, size_t size,
                             uint64_t limit, struct kiln_error *err);
enum kiln_status scan_read(struct scan *s, uint64_t offset, void *to,
                           size_t size, struct kiln_error *err);

/* A container or an image by itself, to the visitor. */
enum kiln_status scan_found(struct scan *s, enum image_look look,
                            uint64_t offset, uint64_t size,
                            struct kiln_error *err);
/* A container at `offset`, no byte of it being behind `limit`: *end is set
 * past it, or left alone when there is none. */
enum kiln_status scan_container(struct scan *s, uint64_t offset, uint64_t limit,
                                uint64_t *end, struct kiln_error *err);

/* Containers that begin in [from, to), at every fourth byte or anywhere; none
 * reaches past limit. */
enum kiln_status scan_search(struct scan *s, uint64_t from, uint64_t to,
                             uint64_t limit, int anywhere,
                             struct kiln_error *err);
/* Sections that tools added without care may stand at any byte, and wrappers
 * may point to any: those that the search from base on has not seen. */
enum kiln_status scan_odd_places(struct scan *s, uint64_t base, uint64_t end,
                                 uint64_t limit, struct arena *arena,
                                 struct kiln_error *err);

#endif
