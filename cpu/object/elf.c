/* SPDX-License-Identifier: MIT
 *
 * The sanity pass over an ELF object: nothing here relies on the input's
 * alignment or on any field before it was compared with the size.
 */
#include "cpu/object/elf.h"

#include <string.h>

#include "cpu/object/object.h"

enum { ALIGN_MAX = 4096 };
#define ALLOC_MAX ((uint64_t)1 << 30)

int elf_is(const unsigned char *bytes, size_t size)
{
    Elf64_Ehdr header;

    if (!bytes || size < sizeof header)
        return 0;
    memcpy(&header, bytes, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_REL &&
           header.e_machine == EM_X86_64;
}

static int inside(const struct elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

static enum kiln_status check_section(const struct elf *elf, size_t i,
                                      uint64_t *total, struct kiln_error *err)
{
    const Elf64_Shdr *s = &elf->sections[i];

    if (s->sh_type != SHT_NOBITS && !inside(elf, s->sh_offset, s->sh_size))
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: section %zu: %llu bytes at 0x%llx in a file "
                         "of %zu",
                         i, (unsigned long long)s->sh_size,
                         (unsigned long long)s->sh_offset, elf->size);
    if (!(s->sh_flags & SHF_ALLOC))
        return KILN_OK;
    if (s->sh_addralign > ALIGN_MAX ||
        (s->sh_addralign & (s->sh_addralign - 1)))
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: section %zu: alignment %llu, a power of two "
                         "up to %d expected",
                         i, (unsigned long long)s->sh_addralign, ALIGN_MAX);
    if (s->sh_size > ALLOC_MAX || *total + s->sh_size > ALLOC_MAX)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: section %zu: more than 1 GiB to load", i);
    *total += s->sh_size;
    return KILN_OK;
}

/* A string table ends in NUL, so every offset below its size is a string. */
static const char *strings(const struct elf *elf, size_t i)
{
    const Elf64_Shdr *s = &elf->sections[i];
    const char *text;

    /* Of other types the offset may be wild. */
    if (s->sh_type != SHT_STRTAB || !s->sh_size)
        return NULL;
    text = (const char *)elf->bytes + s->sh_offset;
    return text[s->sh_size - 1] ? NULL : text;
}

static enum kiln_status read_sections(struct elf *elf, struct arena *arena,
                                      struct kiln_error *err)
{
    Elf64_Ehdr header;
    uint64_t total = 0;
    const char *names;

    memcpy(&header, elf->bytes, sizeof header);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum < 2 ||
        header.e_shstrndx >= header.e_shnum ||
        !inside(elf, header.e_shoff,
                (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: %u section headers of %u bytes at 0x%llx in "
                         "a file of %zu",
                         header.e_shnum, header.e_shentsize,
                         (unsigned long long)header.e_shoff, elf->size);
    elf->section_count = header.e_shnum;
    elf->sections = arena_array(arena, header.e_shnum, sizeof *elf->sections);
    elf->names = arena_array(arena, header.e_shnum, sizeof *elf->names);
    if (!elf->sections || !elf->names)
        return kiln_fail(err, KILN_E_MEMORY, "object: no memory for sections");
    memcpy(elf->sections, elf->bytes + header.e_shoff,
           header.e_shnum * sizeof *elf->sections);
    for (size_t i = 0; i < elf->section_count; i++) {
        enum kiln_status st = check_section(elf, i, &total, err);

        if (st)
            return st;
    }
    names = strings(elf, header.e_shstrndx);
    for (size_t i = 0; names && i < elf->section_count; i++) {
        if (elf->sections[i].sh_name >=
            elf->sections[header.e_shstrndx].sh_size)
            names = NULL;
        else
            elf->names[i] = names + elf->sections[i].sh_name;
    }
    if (!names)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: section names are not whole");
    return KILN_OK;
}

static enum kiln_status check_symbol(const struct elf *elf, size_t i,
                                     uint64_t names_size,
                                     struct kiln_error *err)
{
    const Elf64_Sym *s = &elf->symbols[i];
    const int reserved = s->st_shndx >= SHN_LORESERVE;

    if (s->st_name >= names_size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: symbol %zu: name at %u in a table of %llu", i,
                         s->st_name, (unsigned long long)names_size);
    if (reserved ? s->st_shndx != SHN_ABS : s->st_shndx >= elf->section_count)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: symbol %zu: section 0x%x of %zu", i,
                         s->st_shndx, elf->section_count);
    if (!reserved && s->st_shndx != SHN_UNDEF &&
        s->st_value > elf->sections[s->st_shndx].sh_size)
        return kiln_fail(
            err, KILN_E_FORMAT,
            "object: symbol %zu: at 0x%llx in section %u of %llu "
            "bytes",
            i, (unsigned long long)s->st_value, s->st_shndx,
            (unsigned long long)elf->sections[s->st_shndx].sh_size);
    return KILN_OK;
}

static enum kiln_status read_symbols(struct elf *elf, struct arena *arena,
                                     struct kiln_error *err)
{
    const Elf64_Shdr *table = NULL;
    const char *names;
    size_t count;

    for (size_t i = 1; i < elf->section_count; i++) {
        if (elf->sections[i].sh_type != SHT_SYMTAB)
            continue;
        if (table)
            return kiln_fail(err, KILN_E_FORMAT, "object: two symbol tables");
        table = &elf->sections[i];
    }
    if (!table)
        return KILN_OK;
    if (table->sh_entsize != sizeof(Elf64_Sym) ||
        table->sh_link >= elf->section_count)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: symbols of %llu bytes, names in section %u "
                         "of %zu",
                         (unsigned long long)table->sh_entsize, table->sh_link,
                         elf->section_count);
    names = strings(elf, table->sh_link);
    if (!names)
        return kiln_fail(err, KILN_E_FORMAT,
                         "object: symbol names are not whole");
    count = (size_t)(table->sh_size / sizeof(Elf64_Sym));
    elf->symbols = arena_array(arena, count, sizeof *elf->symbols);
    elf->symbol_names = arena_array(arena, count, sizeof *elf->symbol_names);
    if (!elf->symbols || !elf->symbol_names)
        return kiln_fail(err, KILN_E_MEMORY, "object: no memory for symbols");
    if (count)
        memcpy(elf->symbols, elf->bytes + table->sh_offset,
               count * sizeof *elf->symbols);
    elf->symbol_count = count;
    for (size_t i = 0; i < count; i++) {
        enum kiln_status st =
            check_symbol(elf, i, elf->sections[table->sh_link].sh_size, err);

        if (st)
            return st;
        elf->symbol_names[i] = names + elf->symbols[i].st_name;
    }
    return KILN_OK;
}

enum kiln_status elf_open(const void *bytes, size_t size, struct arena *arena,
                          struct elf *out, struct kiln_error *err)
{
    struct elf elf = {.bytes = bytes, .size = size};
    enum kiln_status st;

    if (!elf_is(bytes, size))
        return kiln_fail(err, KILN_E_IMAGE,
                         "object: not an x86-64 relocatable ELF64 (%zu bytes)",
                         size);
    st = read_sections(&elf, arena, err);
    if (!st)
        st = read_symbols(&elf, arena, err);
    if (!st)
        *out = elf;
    return st;
}

size_t elf_section(const struct elf *elf, const char *name)
{
    for (size_t i = 1; i < elf->section_count; i++)
        if (strcmp(elf->names[i], name) == 0)
            return i;
    return 0;
}

const unsigned char *elf_bytes(const struct elf *elf, size_t section)
{
    const Elf64_Shdr *s = &elf->sections[section];

    return s->sh_type == SHT_NOBITS ? NULL : elf->bytes + s->sh_offset;
}

size_t elf_rela_count(const struct elf *elf, size_t section)
{
    return (size_t)(elf->sections[section].sh_size / sizeof(Elf64_Rela));
}

Elf64_Rela elf_rela(const struct elf *elf, size_t section, size_t index)
{
    Elf64_Rela rela;

    memcpy(&rela, elf_bytes(elf, section) + index * sizeof rela, sizeof rela);
    return rela;
}

int object_is(const void *bytes, size_t size)
{
    struct arena arena = {0};
    struct elf elf;
    int yes = elf_is(bytes, size) &&
              elf_open(bytes, size, &arena, &elf, NULL) == KILN_OK &&
              elf_section(&elf, OBJECT_INFO_SECTION) != 0;

    arena_fini(&arena);
    return yes;
}

enum kiln_status object_read(const void *bytes, size_t size,
                             struct arena *arena, struct object_info *out,
                             struct kiln_error *err)
{
    struct elf elf;
    size_t section;
    enum kiln_status st = elf_open(bytes, size, arena, &elf, err);

    if (st)
        return st;
    section = elf_section(&elf, OBJECT_INFO_SECTION);
    if (!section || !elf_bytes(&elf, section))
        return kiln_fail(err, KILN_E_IMAGE,
                         "object: no %s section: not made by this driver",
                         OBJECT_INFO_SECTION);
    return object_info_read(elf_bytes(&elf, section),
                            (size_t)elf.sections[section].sh_size, arena, out,
                            err);
}
