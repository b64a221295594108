/* SPDX-License-Identifier: MIT
 *
 * The fat binary container (docs/format-fatbin.md): bytes in, descriptions
 * out. Nothing here opens a file, calls a driver, or allocates beyond the
 * buffer or arena it is given. src/image must not know src/walk, LLVM or
 * any driver.
 */
#ifndef KILN_IMAGE_FATBIN_H
#define KILN_IMAGE_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

#define FATBIN_MAGIC         0xBA55ED50u
#define FATBIN_WRAPPER_MAGIC 0x466243B1u

enum { FATBIN_HEADER = 16, FATBIN_ENTRY = 64, FATBIN_WRAPPER = 24 };

enum fatbin_kind {
    FATBIN_PTX = 1,
    FATBIN_ELF = 2,
    FATBIN_LTO = 8, /* LTO IR; any other number is kept as it stands */
    /* Kiln's object for the CPU device. No container holds one; the number is
     * above what an entry's 16 bits can say. */
    FATBIN_OBJECT = 0x10000
};

#define FATBIN_64BIT     0x1u
#define FATBIN_DEBUG     0x2u
#define FATBIN_LINUX     0x10u
#define FATBIN_LZ4       0x2000u
#define FATBIN_ZSTD      0x8000u
#define FATBIN_SCRAMBLED 0x10000u
#define FATBIN_ARCH      0x100000u  /* the "a" of sm_90a */
#define FATBIN_FAMILY    0x200000u  /* the "f" of sm_100f */
#define FATBIN_COMPAT    0x1000000u /* cubin with compatibility attributes */

enum fatbin_packing {
    FATBIN_PLAIN,
    FATBIN_PACKED_LZ4,
    FATBIN_PACKED_ZSTD,
    FATBIN_PACKED_UNKNOWN /* scrambled LTO IR, or flags that contradict */
};

/* One entry. All pointers borrow from the container's bytes. */
struct fatbin_entry {
    uint64_t offset; /* of its header, from the container's first byte */
    uint32_t index;
    uint32_t kind; /* enum fatbin_kind, or an unknown number */
    uint32_t sm;
    char variant;   /* 'a', 'f' or 0, from the flags */
    uint16_t major; /* PTX version; of a cubin 1, its ABI in minor */
    uint16_t minor;
    uint64_t flags;
    uint32_t header_size;
    enum fatbin_packing packing;
    const unsigned char *payload;
    uint64_t payload_size; /* stored, without padding where that is known */
    uint64_t plain_size;   /* after unpacking; plain PTX: without its NULs */
    const char *options;   /* options_size bytes; NULL: no options block */
    size_t options_size;
    const char *identifier; /* identifier_size bytes; NULL: none */
    size_t identifier_size;
};

struct fatbin {
    const unsigned char *bytes;
    uint64_t size; /* of the whole container, header included */
    uint64_t next; /* offset of the entry that fatbin_next reads */
    uint32_t index;
};

/* Check the header. size is what the caller knows to be readable; the
 * container may end before. E_FORMAT says what was found. */
enum kiln_status fatbin_open(const void *bytes, size_t size, struct fatbin *out,
                             struct kiln_error *err);
/* The next entry: *more = 1 with *entry filled, or 0 at the end. E_FORMAT
 * at damage, after which there is no next. */
enum kiln_status fatbin_next(struct fatbin *fatbin, struct fatbin_entry *entry,
                             int *more, struct kiln_error *err);
/* One entry by the `have` first bytes of it, `left` bytes of the container
 * being left from there on: for readers that do not hold the payload. The
 * caller sets offset and index. payload is NULL, plain PTX still has its
 * padding, and options and identifier are NULL where header_size is above
 * `have`. *stored is what follows the header. */
enum kiln_status fatbin_entry_header(const void *bytes, size_t have,
                                     uint64_t left, struct fatbin_entry *entry,
                                     uint64_t *stored, struct kiln_error *err);
/* All entries at once, in the arena. */
enum kiln_status fatbin_list(struct fatbin *fatbin, struct arena *arena,
                             struct fatbin_entry **entries, size_t *count,
                             struct kiln_error *err);

/* What fatbin_unpack refuses by the sizes that the entry states, before the
 * payload is read: it may be NULL here. */
enum kiln_status fatbin_may_unpack(const struct fatbin_entry *entry,
                                   uint64_t cap, struct kiln_error *err);
/* Append the payload as it was before packing to out; PTX without its
 * trailing NULs (buffers keep one NUL past the end). cap bounds the plain
 * size (0: 1 GiB); a ratio above 200:1 is refused. */
enum kiln_status fatbin_unpack(const struct fatbin_entry *entry, uint64_t cap,
                               struct buffer *out, struct kiln_error *err);

/* The first bytes of the payload as it was before packing, at most `size` of
 * them, without unpacking the rest: enough to tell what it is. *got may be
 * less where the payload is shorter. */
enum kiln_status fatbin_peek(const struct fatbin_entry *entry, void *bytes,
                             size_t size, size_t *got, struct kiln_error *err);

/* The 24 bytes that a host program keeps for each container. */
struct fatbin_wrapper {
    uint32_t version;             /* 1 or 2 */
    const void *data;             /* the container */
    const void *const *prelinked; /* version 2: NULL-terminated, or NULL */
};

/* Read a wrapper in this process's memory. The pointers are as trustworthy
 * as the program that holds them. */
enum kiln_status fatbin_wrapper_read(const void *wrapper,
                                     struct fatbin_wrapper *out,
                                     struct kiln_error *err);

/* One entry to be written. Flags for packing, variant and 64 bits are set
 * from the other members; `flags` adds more. Scalars as in fatbin_entry. */
struct fatbin_item {
    enum fatbin_kind kind;
    uint32_t sm;
    char variant;
    uint16_t major; /* PTX version; of a cubin 1, its ABI in minor */
    uint16_t minor;
    uint64_t flags;
    enum fatbin_packing packing; /* kept plain where packing gains nothing */
    const void *payload;         /* PTX without its NUL, which is added */
    size_t size;
    const char *options;    /* NULL: an empty block */
    const char *identifier; /* NULL: none */
};

/* Append a container of these entries to out. */
enum kiln_status fatbin_write(const struct fatbin_item *items, size_t count,
                              struct buffer *out, struct kiln_error *err);

const char *fatbin_kind_name(uint32_t kind); /* "PTX", "ELF", "LTO IR", "?" */

#endif
