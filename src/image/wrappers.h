/* SPDX-License-Identifier: MIT
 *
 * What the wrappers of a host ELF file (docs/format-fatbin.md) say of the
 * containers in it: which of them it registers, and which belong together.
 */
#ifndef KILN_IMAGE_WRAPPERS_H
#define KILN_IMAGE_WRAPPERS_H

#include "image/elf_table.h"

struct wrapped {
    uint64_t offset;   /* of the container, in the source */
    uint64_t owner;    /* container whose wrapper's array names this one, or
                          IMAGE_NO_OWNER */
    int version;       /* of its own wrapper; 0: it has none */
    int64_t prelinked; /* see struct image_place */
};

/* One for each container, by offset. Wrappers that lead nowhere are left out.
 */
enum kiln_status elf_wrappers(const struct elf_table *table,
                              struct arena *arena, struct wrapped **list,
                              size_t *count, struct kiln_error *err);

/* ---- pointers, as they are when the program has been loaded ------------ */

/* A place in memory: of a linked file its virtual address; of an object,
 * whose sections have none yet, the offset in the file. */
struct elf_memory {
    const struct elf_table *table;
    struct arena *arena;
    Elf64_Phdr *loads; /* by address */
    size_t load_count;
    struct elf_reloc *relocs; /* by address; read when they are needed */
    size_t reloc_count;
    int has_relocs;
};

enum elf_where {
    ELF_NOWHERE,
    ELF_IN_FILE,
    ELF_ZEROS /* memory without bytes of the file: .bss */
};

enum kiln_status elf_memory_open(const struct elf_table *table,
                                 struct arena *arena, struct elf_memory *out,
                                 struct kiln_error *err);
/* The address of a section's byte. */
uint64_t elf_memory_of(const struct elf_memory *memory, const Elf64_Shdr *s,
                       uint64_t at);
/* Where an address is; *offset in the ELF file for ELF_IN_FILE, with *left
 * bytes from there on. */
enum elf_where elf_memory_at(const struct elf_memory *memory, uint64_t address,
                             uint64_t *offset, uint64_t *left);
/* The pointer at this address, in whose place the file has `stored`. */
enum kiln_status elf_memory_pointer(struct elf_memory *memory, uint64_t address,
                                    uint64_t stored, uint64_t *out,
                                    struct kiln_error *err);

#endif
