/* SPDX-License-Identifier: MIT
 *
 * The section table of a host ELF file, read through a scan's source. A table
 * that makes no sense is an empty one: containers are found without it, and
 * what is wrong is told.
 */
#ifndef KILN_IMAGE_ELF_TABLE_H
#define KILN_IMAGE_ELF_TABLE_H

#include <elf.h>

#include "image/scan.h"

struct elf_table {
    const struct image_source *source;
    uint64_t base; /* of the ELF file in the source */
    uint64_t size;
    Elf64_Ehdr header;
    const Elf64_Shdr *sections; /* in the arena */
    size_t count;               /* 0: no table */
    int cut;                    /* the table is not within the file */
    const char *names;          /* names_size bytes and a NUL; NULL: none */
    size_t names_size;
    /* Where the tables lead out of the file or are no tables; the status of
     * KILN_OK: nowhere. A file that has none is sound. */
    struct kiln_error damage;
};

enum kiln_status elf_table_read(const struct image_source *source,
                                uint64_t base, uint64_t size,
                                struct arena *arena, struct elf_table *out,
                                struct kiln_error *err);
/* Where the file ends by its tables: what stands behind was put there later.
 * Its size where there is no table. */
uint64_t elf_table_end(const struct elf_table *table);
/* "" where there is none, or none that a person would read. */
const char *elf_table_name(const struct elf_table *table, const Elf64_Shdr *s);
/* Whether n bytes at this offset of the ELF file are in it. */
int elf_table_holds(const struct elf_table *table, uint64_t offset, uint64_t n);
/* Whether the section takes bytes of the file, all of which are there. */
int elf_table_has_bytes(const struct elf_table *table, const Elf64_Shdr *s);
/* Bytes at an offset of the ELF file; the caller has seen that it holds them.
 */
enum kiln_status elf_table_bytes(const struct elf_table *table, uint64_t offset,
                                 void *to, size_t n, struct kiln_error *err);

#endif
