/* SPDX-License-Identifier: MIT
 *
 * A 64-bit ELF file as a bounded view: its sections, their bytes and names.
 * Shared by the readers of this folder.
 */
#ifndef KILN_IMAGE_ELF_VIEW_H
#define KILN_IMAGE_ELF_VIEW_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct elf_view {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    uint32_t sections; /* count, 0: no table */
    const char *names; /* of sections, names_size bytes */
    size_t names_size;
};

/* Whether a section of this type takes no bytes of the file: in a
 * relocatable cubin the spaces have types of their own. */
int elf_view_is_empty(uint16_t machine, uint32_t type);

struct elf_section {
    uint32_t index;
    const char *name; /* NUL-terminated inside the file; "" when it is not */
    uint32_t type;
    uint64_t flags;
    uint32_t link;
    uint32_t info;
    uint64_t entry_size;
    const unsigned char *bytes; /* NULL for SHT_NOBITS */
    uint64_t size;
};

/* Class, byte order and the section table are checked; e_machine is not. */
enum kiln_status elf_view_open(const void *bytes, size_t size,
                               struct elf_view *out, struct kiln_error *err);
/* E_FORMAT when the section does not lie in the file. */
enum kiln_status elf_view_section(const struct elf_view *elf, uint32_t index,
                                  struct elf_section *out,
                                  struct kiln_error *err);
/* A string of a string table section; "" when it lies outside. */
const char *elf_view_string(const struct elf_section *table, uint64_t offset);

#endif
