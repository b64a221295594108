/* SPDX-License-Identifier: MIT
 *
 * The parts of a file that a scan goes through: sections of a host ELF file
 * by their offset, members of an archive.
 */
#ifndef KILN_IMAGE_PLACES_H
#define KILN_IMAGE_PLACES_H

#include "image/elf_table.h"

struct elf_place {
    uint64_t offset;
    uint64_t size;
    const char *name; /* in the arena */
};

/* Sections that take bytes of the file, by offset. */
enum kiln_status elf_places(const struct elf_table *table, struct arena *arena,
                            struct elf_place **places, size_t *count,
                            struct kiln_error *err);
/* The name of the section that holds the offset, or "". */
const char *elf_place_of(const struct elf_place *places, size_t count,
                         uint64_t offset);

/* One member of an `ar` archive. */
struct archive_member {
    uint64_t offset; /* of its bytes */
    uint64_t size;
    char name[256];
};

struct archive {
    const struct image_source *source;
    uint64_t next;
    uint64_t names; /* the table of long names (GNU): offset, size */
    uint64_t names_size;
    uint64_t near_at; /* of the bytes in near, near_size of them: headers of */
    size_t near_size; /* small members stand close together */
    char near[4096];
};

/* *more = 0 at the end. E_FORMAT at damage. Symbol tables are stepped over. */
void archive_open(const struct image_source *source, struct archive *out);
enum kiln_status archive_next(struct archive *archive,
                              struct archive_member *member, int *more,
                              struct kiln_error *err);

#endif
