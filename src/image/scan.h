/* SPDX-License-Identifier: MIT
 *
 * Where device code is in a file: a bare image, fat binaries one after the
 * other, a host ELF file with containers in any of its sections, an archive
 * of such, or anything else in which a container's header stands. Bytes come
 * through a callback, in blocks; payloads are stepped over, so that a large
 * library is listed at the speed of memory and in a few hundred kilobytes.
 */
#ifndef KILN_IMAGE_SCAN_H
#define KILN_IMAGE_SCAN_H

#include "base/arena.h"
#include "image/fatbin.h"
#include "image/guess.h"

struct image_source {
    /* Exactly size bytes from offset; both lie within the source. */
    enum kiln_status (*read)(void *data, uint64_t offset, void *to, size_t size,
                             struct kiln_error *err);
    void *data;
    uint64_t size;
    /* NULL, or a faster search of a long range: *hit is the first offset of
     * [from, to) at which image_find sees a container begin, `to` for none;
     * steps count from `from`. */
    enum kiln_status (*find)(void *data, uint64_t from, uint64_t to,
                             int anywhere, uint64_t *hit,
                             struct kiln_error *err);
};

/* A container, or an image by itself. */
struct image_place {
    enum image_look look; /* IMAGE_FATBIN; CUBIN, PTX, LTO_IR, OBJECT alone */
    uint64_t offset;
    uint64_t size;
    const char *section; /* of the host ELF file; "" */
    const char *member;  /* of the archive; "" */
    /* What wrappers of the host ELF file say of it. */
    int wrapper;       /* version of its wrapper; 0: it has none */
    int64_t prelinked; /* version 2: images in the wrapper's array, or
                          IMAGE_AT_START */
    uint64_t owner;    /* offset of the container whose wrapper's array has
                          this one, or IMAGE_NO_OWNER */
};

#define IMAGE_NO_OWNER UINT64_MAX
/* The array is empty in the file: the program fills it at its start. */
#define IMAGE_AT_START ((int64_t)-1)

/* What was found, in the order of the file. Strings and entries are good
 * during the call alone. Any status but KILN_OK ends the scan. */
struct image_visitor {
    void *data;
    enum kiln_status (*place)(void *data, const struct image_place *place,
                              struct kiln_error *err);
    /* An entry of the place that was last given; its offset counts from
     * there, its payload is NULL. */
    enum kiln_status (*entry)(void *data, const struct fatbin_entry *entry,
                              uint64_t stored, struct kiln_error *err);
    /* The rest of the last place cannot be read. */
    enum kiln_status (*damage)(void *data, const struct kiln_error *what,
                               struct kiln_error *err);
    /* A host ELF file says of its own tables what cannot be: it is searched
     * for containers all the same. */
    enum kiln_status (*lie)(void *data, const struct kiln_error *what,
                            struct kiln_error *err);
};

/* guess says what the whole looks like. That nothing was found is no error
 * here. */
enum kiln_status image_scan(const struct image_source *source,
                            const struct image_visitor *visitor,
                            struct image_guess *guess, struct kiln_error *err);

#endif
