/* SPDX-License-Identifier: MIT */
#include "image/elf_table.h"

#include <string.h>

/* Names of more than this are not worth their memory. */
enum { NAMES_MAX = 1 << 22, NAME_MAX = 255 };
/* Sixteen times what a file can have without the extended count; their table
 * takes 64 MiB. */
enum { SECTIONS_MAX = 1 << 20 };

int elf_table_holds(const struct elf_table *t, uint64_t offset, uint64_t n)
{
    return offset <= t->size && n <= t->size - offset;
}

int elf_table_has_bytes(const struct elf_table *t, const Elf64_Shdr *s)
{
    return s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && s->sh_size &&
           elf_table_holds(t, s->sh_offset, s->sh_size);
}

enum kiln_status elf_table_bytes(const struct elf_table *t, uint64_t offset,
                                 void *to, size_t n, struct kiln_error *err)
{
    return t->source->read(t->source->data, t->base + offset, to, n, err);
}

const char *elf_table_name(const struct elf_table *t, const Elf64_Shdr *s)
{
    const char *name =
        t->names && s->sh_name < t->names_size ? t->names + s->sh_name : "";

    return strnlen(name, NAME_MAX + 1) > NAME_MAX ? "" : name;
}

/* With 65,280 sections and more their count and the number of their names'
 * section are in the first of them. */
static enum kiln_status count_of(const struct elf_table *t, uint64_t *count,
                                 uint64_t *names, struct kiln_error *err)
{
    Elf64_Shdr first = {0};
    enum kiln_status st = KILN_OK;

    if ((!t->header.e_shnum || t->header.e_shstrndx == SHN_XINDEX) &&
        elf_table_holds(t, t->header.e_shoff, sizeof first))
        st = elf_table_bytes(t, t->header.e_shoff, &first, sizeof first, err);
    *count = t->header.e_shnum ? t->header.e_shnum : first.sh_size;
    *names = t->header.e_shstrndx == SHN_XINDEX ? first.sh_link
                                                : t->header.e_shstrndx;
    return st;
}

static enum kiln_status read_names(struct elf_table *t, const Elf64_Shdr *s,
                                   struct arena *arena, struct kiln_error *err)
{
    char *names;
    enum kiln_status st;

    if (!elf_table_has_bytes(t, s) || s->sh_size >= NAMES_MAX)
        return KILN_OK;
    names = arena_alloc(arena, (size_t)s->sh_size + 1);
    if (!names)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    st = elf_table_bytes(t, s->sh_offset, names, (size_t)s->sh_size, err);
    t->names = names;
    t->names_size = (size_t)s->sh_size;
    return st;
}

/* What the header says of the two tables, as far as it can be seen from the
 * header: KILN_OK where a table of sections may be. */
static enum kiln_status check_header(const struct elf_table *t,
                                     struct kiln_error *err)
{
    const Elf64_Ehdr *h = &t->header;
    unsigned class = h->e_ident[EI_CLASS], data = h->e_ident[EI_DATA];

    if (t->size < sizeof *h)
        return kiln_fail(err, KILN_E_FORMAT, "ELF: %llu bytes, a header has 64",
                         (unsigned long long)t->size);
    if (!class || class > ELFCLASS64 || !data || data > ELFDATA2MSB)
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: class %u and byte order %u, 1 or 2 expected",
                         class, data);
    if (class == ELFCLASS32)
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: a 32-bit file; device code is loaded from "
                         "64-bit ones alone");
    if (data != ELFDATA2LSB)
        return KILN_OK;
    if (h->e_phnum &&
        (h->e_phentsize != sizeof(Elf64_Phdr) ||
         !elf_table_holds(t, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr))))
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: %u segments of %u bytes at 0x%llx, expected 56 "
                         "bytes each within %llu",
                         h->e_phnum, h->e_phentsize,
                         (unsigned long long)h->e_phoff,
                         (unsigned long long)t->size);
    if (h->e_shoff ? h->e_shentsize != sizeof(Elf64_Shdr) : h->e_shnum)
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: %u sections of %u bytes at 0x%llx, 64 bytes "
                         "each expected",
                         h->e_shnum, h->e_shentsize,
                         (unsigned long long)h->e_shoff);
    return KILN_OK;
}

/* The first section whose bytes are not all in the file. */
static enum kiln_status check_sections(const struct elf_table *t,
                                       struct kiln_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const Elf64_Shdr *s = &t->sections[i];

        if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL &&
            !elf_table_holds(t, s->sh_offset, s->sh_size))
            return kiln_fail(err, KILN_E_FORMAT,
                             "ELF: section %zu: %llu bytes at 0x%llx, the file "
                             "has %llu",
                             i, (unsigned long long)s->sh_size,
                             (unsigned long long)s->sh_offset,
                             (unsigned long long)t->size);
    }
    return KILN_OK;
}

/* `count` rows, as the header says, with their names in section `names`. */
static enum kiln_status read_sections(struct elf_table *t, uint64_t count,
                                      uint64_t names, struct arena *arena,
                                      struct kiln_error *err)
{
    Elf64_Shdr *sections;
    enum kiln_status st;

    if (!count || count > t->size / sizeof *sections ||
        !elf_table_holds(t, t->header.e_shoff, count * sizeof *sections)) {
        kiln_fail(&t->damage, KILN_E_FORMAT,
                  "ELF: a table of %llu sections at 0x%llx, the file has %llu "
                  "bytes",
                  (unsigned long long)count,
                  (unsigned long long)t->header.e_shoff,
                  (unsigned long long)t->size);
        t->cut = 1;
        return KILN_OK;
    }
    if (count > SECTIONS_MAX) {
        kiln_fail(&t->damage, KILN_E_FORMAT,
                  "ELF: a table of %llu sections, at most %d are read",
                  (unsigned long long)count, SECTIONS_MAX);
        return KILN_OK;
    }
    sections = arena_array(arena, (size_t)count, sizeof *sections);
    if (!sections)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    st = elf_table_bytes(t, t->header.e_shoff, sections,
                         (size_t)count * sizeof *sections, err);
    t->sections = sections;
    t->count = (size_t)count;
    if (st)
        return st;
    if (names < count)
        st = read_names(t, &sections[names], arena, err);
    if (!check_sections(t, &t->damage) && names >= count)
        kiln_fail(&t->damage, KILN_E_FORMAT,
                  "ELF: names of sections in section %llu of %llu",
                  (unsigned long long)names, (unsigned long long)count);
    return st;
}

enum kiln_status elf_table_read(const struct image_source *source,
                                uint64_t base, uint64_t size,
                                struct arena *arena, struct elf_table *out,
                                struct kiln_error *err)
{
    struct elf_table t = {.source = source, .base = base, .size = size};
    const Elf64_Ehdr *h = &t.header;
    uint64_t count = 0, names = 0;
    enum kiln_status st = KILN_OK;

    if (size >= sizeof t.header)
        st = elf_table_bytes(&t, 0, &t.header, sizeof t.header, err);
    if (st)
        return st;
    t.damage.status = check_header(&t, &t.damage);
    if (h->e_ident[EI_CLASS] == ELFCLASS64 &&
        h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_shoff &&
        h->e_shentsize == sizeof(Elf64_Shdr)) {
        st = count_of(&t, &count, &names, err);
        if (!st)
            st = read_sections(&t, count, names, arena, err);
    }
    if (!st)
        *out = t;
    return st;
}

uint64_t elf_table_end(const struct elf_table *t)
{
    const Elf64_Ehdr *h = &t->header;
    uint64_t end = h->e_shoff + t->count * sizeof *t->sections;
    uint64_t segments = (uint64_t)h->e_phnum * h->e_phentsize;

    if (!t->count)
        return t->size;
    if (elf_table_holds(t, h->e_phoff, segments) && h->e_phoff + segments > end)
        end = h->e_phoff + segments;
    for (size_t i = 0; i < t->count; i++) {
        const Elf64_Shdr *s = &t->sections[i];

        if (elf_table_has_bytes(t, s) && s->sh_offset + s->sh_size > end)
            end = s->sh_offset + s->sh_size;
    }
    return end;
}
