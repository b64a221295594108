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

/* An image that stands by itself has no entry; one is made up for it. */
struct file_entry {
    struct kiln_entry shown;
    struct fatbin_entry entry; /* payload NULL */
    uint64_t payload;          /* where it is, in the file */
};

struct kiln_file {
    char *name;
    int fd;            /* -1: bytes */
    const void *bytes; /* of the caller, or `own` */
    struct buffer own; /* what came through a pipe */
    struct image_source source;
    struct image_guess guess;
    struct arena arena; /* all below */
    struct kiln_container *containers;
    size_t container_count, container_cap;
    struct file_entry *entries;
    size_t entry_count, entry_cap;
};

/* image_source.find of files that are read by their descriptor: all
 * processors go through the range, each a piece at a time. */
enum kiln_status file_find(void *file, uint64_t from, uint64_t to, int anywhere,
                           uint64_t *hit, struct kiln_error *err);

/* One of our option structs into the caller's, which may be shorter or
 * longer; the caller's size stays. */
#define FILE_GIVE(to, from) file_give((to), &(from), sizeof(from))
void file_give(void *to, const void *from, size_t size);

/* The payload of an entry, unpacked. cap: the plain size at most, 0: the
 * reader's own limit. */
enum kiln_status file_unpack(const struct kiln_file *file, size_t index,
                             uint64_t cap, struct buffer *out,
                             struct kiln_error *err);

#endif
