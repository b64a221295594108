/* SPDX-License-Identifier: MIT
 *
 * What stands behind kiln_file: the list of what a scan found, and a way to
 * read a range of the file again.
 */
#ifndef KILN_KERNEL_FILE_H
#define KILN_KERNEL_FILE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "image/scan.h"
#include "kiln/image.h"

/* An entry, or what is made up for an image that stands by itself. A hostile
 * file may consist of headers: what is kept of one is little larger. */
struct file_entry {
    uint64_t offset; /* in the file: of its header */
    uint64_t payload_size;
    uint64_t plain_size;
    uint64_t flags;
    const char *note;    /* never NULL */
    const char *options; /* never NULL */
    uint32_t header_size;
    uint32_t container;
    uint32_t index; /* in the container */
    uint32_t kind;
    uint32_t sm;
    uint16_t major;
    uint16_t minor;
    char variant;
    uint8_t packing; /* enum fatbin_packing */
    uint8_t bomb;    /* with those before it, more than a file may unpack to */
};

struct file_container {
    uint64_t offset;
    uint64_t bytes;
    uint64_t owner;      /* offset; later its index, or FILE_NONE */
    const char *section; /* never NULL, like those below */
    const char *member;
    const char *damage;
    uint32_t first; /* of its entries */
    uint32_t count;
    int32_t prelinked;
    uint8_t wrapper;
    uint8_t single;
};

#define FILE_NONE UINT64_MAX

/* Libraries have some ten thousand; a list of more is somebody's attack on
 * memory. */
enum { FILE_LIST_MAX = 1 << 18, FILE_BLOCK = 1 << 10, FILE_LIES = 16 };

struct kiln_file {
    char *name;
    int fd;            /* -1: bytes */
    const void *bytes; /* of the caller, or `own` */
    struct buffer own; /* what came through a pipe */
    struct image_source source;
    struct image_guess guess;
    struct arena arena; /* all below */
    struct file_container *containers[FILE_LIST_MAX / FILE_BLOCK];
    struct file_entry *entries[FILE_LIST_MAX / FILE_BLOCK];
    size_t container_count;
    size_t entry_count;
    size_t damages;              /* sentences kept */
    const char *lies[FILE_LIES]; /* what host ELF files in it say wrongly */
    size_t lie_count;            /* more may have been met than are kept */
    uint64_t unpacked;     /* what all packed entries would give, weighted */
    uint64_t unpacked_max; /* and may give */
};

/* Of an index that is in range. */
const struct file_container *file_container(const struct kiln_file *file,
                                            size_t index);
const struct file_entry *file_entry(const struct kiln_file *file, size_t index);
/* As the public API shows it. */
struct kiln_entry file_show(const struct kiln_file *file, size_t index);

/* Fills the list by a scan of the source. */
enum kiln_status file_list(struct kiln_file *file, struct kiln_error *err);

/* image_source.find of files that are read by their descriptor: all
 * processors go through the range, each a piece at a time. */
enum kiln_status file_find(void *file, uint64_t from, uint64_t to, int anywhere,
                           uint64_t *hit, struct kiln_error *err);

/* One of our option structs into the caller's, which may be shorter or
 * longer; the caller's size stays. */
#define FILE_GIVE(to, from) file_give((to), &(from), sizeof(from))
void file_give(void *to, const void *from, size_t size);

/* The payload of an entry, unpacked. cap: the plain size at most, 0: four
 * times the file, at least 256 MiB and at most the reader's own limit. */
enum kiln_status file_unpack(const struct kiln_file *file, size_t index,
                             uint64_t cap, struct buffer *out,
                             struct kiln_error *err);

#endif
