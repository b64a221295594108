/* SPDX-License-Identifier: MIT
 *
 * A relocatable object's headers, checked once: after elf_open every section
 * lies inside the bytes, the symbol table and its names are whole, and every
 * symbol's section exists. Inside cpu/object only.
 */
#ifndef KILN_CPU_OBJECT_ELF_H
#define KILN_CPU_OBJECT_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct elf {
    const unsigned char *bytes;
    size_t size;
    Elf64_Shdr *sections; /* copies, the input need not be aligned */
    const char **names;   /* NUL-terminated, borrowed */
    size_t section_count;
    Elf64_Sym *symbols;
    const char **symbol_names;
    size_t symbol_count;
};

/* Whether these are the first bytes of an x86-64 ET_REL ELF. */
int elf_is(const unsigned char *bytes, size_t size);
/* Arrays live in arena, contents borrow bytes. */
enum kiln_status elf_open(const void *bytes, size_t size, struct arena *arena,
                          struct elf *out, struct kiln_error *err);
/* Index of the first section of that name, or 0. */
size_t elf_section(const struct elf *elf, const char *name);
/* Its contents; NULL for SHT_NOBITS. */
const unsigned char *elf_bytes(const struct elf *elf, size_t section);
/* One relocation of an SHT_RELA section. */
Elf64_Rela elf_rela(const struct elf *elf, size_t section, size_t index);
size_t elf_rela_count(const struct elf *elf, size_t section);

#endif
