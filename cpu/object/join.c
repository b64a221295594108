/* SPDX-License-Identifier: MIT
 *
 * Several relocatable objects as one, and the info section with them: the
 * code generator makes a module in parts, one after the other or at once.
 * Nothing is merged but names and symbols: each loaded section of each part
 * becomes a section of the whole, of the same name, with its relocations.
 * The line tables follow each other in one section. What else is not loaded
 * is left out.
 */
#include "cpu/object/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cpu/object/elf.h"

#define LINES ".debug_line"

struct part {
    struct elf elf;
    size_t *section; /* index in the whole of each section, or 0 */
    size_t *symbol;  /* and of each symbol, or 0 */
};

struct join {
    struct arena arena;
    struct part *parts;
    size_t count;
    struct buffer out, symbols, names, section_names;
    struct buffer lines, line_relocs;
    Elf64_Shdr *sections;
    size_t section_count, symbol_count;
    struct kiln_error *err;
};

static enum kiln_status no_memory(struct kiln_error *err)
{
    return kiln_fail(err, KILN_E_MEMORY, "object: no memory to join parts");
}

static int is_kept(const struct elf *elf, size_t i)
{
    const Elf64_Shdr *s = &elf->sections[i];

    return (s->sh_flags & SHF_ALLOC) && s->sh_type != SHT_NOTE &&
           s->sh_type != SHT_X86_64_UNWIND &&
           strncmp(elf->names[i], ".eh_frame", 9) != 0 &&
           strcmp(elf->names[i], OBJECT_INFO_SECTION) != 0;
}

static int is_reloc(const struct part *p, size_t i)
{
    const Elf64_Shdr *s = &p->elf.sections[i];

    return s->sh_type == SHT_RELA && s->sh_entsize == sizeof(Elf64_Rela) &&
           s->sh_info < p->elf.section_count && p->section[s->sh_info];
}

static uint32_t add_name(struct buffer *to, const char *name)
{
    const size_t at = to->size;

    buffer_add(to, name, strlen(name) + 1);
    return (uint32_t)at;
}

/* A section of the whole: `size` bytes at the end of what is written. */
static Elf64_Shdr *add_section(struct join *j, const char *name, uint32_t type,
                               uint64_t alignment, const void *bytes,
                               uint64_t size)
{
    Elf64_Shdr *s = &j->sections[j->section_count++];

    buffer_align(&j->out, alignment ? (size_t)alignment : 1);
    *s = (Elf64_Shdr){.sh_name = add_name(&j->section_names, name),
                      .sh_type = type,
                      .sh_offset = j->out.size,
                      .sh_size = size,
                      .sh_addralign = alignment};
    if (bytes)
        buffer_add(&j->out, bytes, (size_t)size);
    return s;
}

static void add_loaded(struct join *j, struct part *p)
{
    for (size_t i = 1; i < p->elf.section_count; i++) {
        const Elf64_Shdr *s = &p->elf.sections[i];
        Elf64_Shdr *made;

        if (!is_kept(&p->elf, i))
            continue;
        p->section[i] = j->section_count;
        made = add_section(j, p->elf.names[i], s->sh_type, s->sh_addralign,
                           elf_bytes(&p->elf, i), s->sh_size);
        made->sh_flags = s->sh_flags;
        made->sh_entsize = s->sh_entsize;
    }
}

/* The symbols of one binding, local ones first as ELF has it. */
static void add_symbols(struct join *j, struct part *p, int local)
{
    for (size_t i = 1; i < p->elf.symbol_count; i++) {
        Elf64_Sym s = p->elf.symbols[i];
        const int undefined = s.st_shndx == SHN_UNDEF;

        if ((ELF64_ST_BIND(s.st_info) == STB_LOCAL) != local ||
            ELF64_ST_TYPE(s.st_info) == STT_FILE)
            continue;
        if (!undefined && s.st_shndx < SHN_LORESERVE) {
            if (!p->section[s.st_shndx])
                continue;
            s.st_shndx = (Elf64_Half)p->section[s.st_shndx];
        }
        s.st_name = *p->elf.symbol_names[i]
                        ? add_name(&j->names, p->elf.symbol_names[i])
                        : 0;
        p->symbol[i] = j->symbol_count++;
        buffer_add(&j->symbols, &s, sizeof s);
    }
}

static enum kiln_status map_symbol(struct join *j, const struct part *p,
                                   size_t section, Elf64_Rela *rela)
{
    const size_t symbol = ELF64_R_SYM(rela->r_info);

    if (symbol >= p->elf.symbol_count || (symbol && !p->symbol[symbol]))
        return kiln_fail(j->err, KILN_E_FORMAT,
                         "object: section %s: a relocation of symbol %zu, "
                         "which is not loaded",
                         p->elf.names[section], symbol);
    rela->r_info = ELF64_R_INFO((uint64_t)(symbol ? p->symbol[symbol] : 0),
                                ELF64_R_TYPE(rela->r_info));
    return KILN_OK;
}

/* The part's line table, behind those before it. */
static enum kiln_status add_lines(struct join *j, struct part *p)
{
    const size_t section = elf_section(&p->elf, LINES);
    const size_t base = j->lines.size;

    if (!section || !elf_bytes(&p->elf, section))
        return KILN_OK;
    buffer_add(&j->lines, elf_bytes(&p->elf, section),
               (size_t)p->elf.sections[section].sh_size);
    for (size_t i = 1; i < p->elf.section_count; i++) {
        const Elf64_Shdr *s = &p->elf.sections[i];

        if (s->sh_type != SHT_RELA || s->sh_info != section ||
            s->sh_entsize != sizeof(Elf64_Rela))
            continue;
        for (size_t r = 0; r < elf_rela_count(&p->elf, i); r++) {
            Elf64_Rela rela = elf_rela(&p->elf, i, r);
            enum kiln_status st = map_symbol(j, p, i, &rela);

            if (st)
                return st;
            rela.r_offset += base;
            buffer_add(&j->line_relocs, &rela, sizeof rela);
        }
    }
    return KILN_OK;
}

static void add_line_sections(struct join *j, size_t table)
{
    const size_t section = j->section_count;
    Elf64_Shdr *s;

    if (!j->lines.size)
        return;
    add_section(j, LINES, SHT_PROGBITS, 1, j->lines.bytes, j->lines.size);
    s = add_section(j, ".rela" LINES, SHT_RELA, 8, j->line_relocs.bytes,
                    j->line_relocs.size);
    s->sh_flags = SHF_INFO_LINK;
    s->sh_entsize = sizeof(Elf64_Rela);
    s->sh_link = (uint32_t)table;
    s->sh_info = (uint32_t)section;
}

static enum kiln_status add_relocs(struct join *j, struct part *p, size_t i,
                                   size_t table)
{
    const size_t count = elf_rela_count(&p->elf, i);
    Elf64_Shdr *s =
        add_section(j, p->elf.names[i], SHT_RELA, 8, NULL, count * 24);

    s->sh_flags = SHF_INFO_LINK;
    s->sh_entsize = sizeof(Elf64_Rela);
    s->sh_link = (uint32_t)table;
    s->sh_info = (uint32_t)p->section[p->elf.sections[i].sh_info];
    for (size_t r = 0; r < count; r++) {
        Elf64_Rela rela = elf_rela(&p->elf, i, r);
        enum kiln_status st = map_symbol(j, p, i, &rela);

        if (st)
            return st;
        buffer_add(&j->out, &rela, sizeof rela);
    }
    return KILN_OK;
}

/* The number of sections that the whole will have. */
static size_t count_sections(struct join *j)
{
    size_t n = 7; /* none, info, symbols, two of names, two of lines */

    for (size_t k = 0; k < j->count; k++) {
        struct part *p = &j->parts[k];

        for (size_t i = 1; i < p->elf.section_count; i++)
            n += (size_t)(is_kept(&p->elf, i) ||
                          p->elf.sections[i].sh_type == SHT_RELA);
    }
    return n;
}

static enum kiln_status open_parts(struct join *j,
                                   const struct object_part *parts)
{
    j->parts = arena_array(&j->arena, j->count, sizeof *j->parts);
    if (j->count && !j->parts)
        return no_memory(j->err);
    for (size_t k = 0; k < j->count; k++) {
        struct part *p = &j->parts[k];
        enum kiln_status st =
            elf_open(parts[k].bytes, parts[k].size, &j->arena, &p->elf, j->err);

        if (st)
            return st;
        p->section =
            arena_array(&j->arena, p->elf.section_count, sizeof *p->section);
        p->symbol =
            arena_array(&j->arena, p->elf.symbol_count + 1, sizeof *p->symbol);
        if (!p->section || !p->symbol)
            return no_memory(j->err);
    }
    return KILN_OK;
}

/* Symbols, names and the headers, behind all that is loaded. */
static void finish(struct join *j, size_t table, size_t locals)
{
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                     ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_REL,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr)};
    Elf64_Shdr *s = &j->sections[table];

    buffer_align(&j->out, 8);
    s->sh_offset = j->out.size;
    s->sh_size = j->symbols.size;
    s->sh_info = (uint32_t)locals;
    s->sh_link = (uint32_t)j->section_count;
    buffer_add(&j->out, j->symbols.bytes, j->symbols.size);
    add_section(j, ".strtab", SHT_STRTAB, 1, j->names.bytes, j->names.size);
    header.e_shstrndx = (Elf64_Half)j->section_count;
    s = add_section(j, ".shstrtab", SHT_STRTAB, 1, NULL, 0);
    s->sh_size = j->section_names.size;
    buffer_add(&j->out, j->section_names.bytes, j->section_names.size);
    buffer_align(&j->out, 8);
    header.e_shoff = j->out.size;
    header.e_shnum = (Elf64_Half)j->section_count;
    buffer_add(&j->out, j->sections, j->section_count * sizeof *j->sections);
    if (!j->out.bad)
        memcpy(j->out.bytes, &header, sizeof header);
}

static enum kiln_status write_whole(struct join *j, const void *info,
                                    size_t info_size)
{
    const size_t most = count_sections(j);
    size_t table, locals;
    Elf64_Shdr *s;

    if (most >= SHN_LORESERVE)
        return kiln_fail(j->err, KILN_E_NOT_SUPPORTED,
                         "object: %zu sections, %u at most", most,
                         SHN_LORESERVE - 1);
    j->sections = arena_array(&j->arena, most, sizeof *j->sections);
    if (!j->sections)
        return no_memory(j->err);
    buffer_zeros(&j->out, sizeof(Elf64_Ehdr));
    buffer_u8(&j->names, 0);
    buffer_u8(&j->section_names, 0);
    buffer_zeros(&j->symbols, sizeof(Elf64_Sym));
    j->section_count = j->symbol_count = 1;
    for (size_t k = 0; k < j->count; k++)
        add_loaded(j, &j->parts[k]);
    s = add_section(j, OBJECT_INFO_SECTION, SHT_PROGBITS, 8, info, info_size);
    s->sh_flags = SHF_ALLOC;
    for (size_t k = 0; k < j->count; k++)
        add_symbols(j, &j->parts[k], 1);
    locals = j->symbol_count;
    for (size_t k = 0; k < j->count; k++)
        add_symbols(j, &j->parts[k], 0);
    table = j->section_count;
    s = add_section(j, ".symtab", SHT_SYMTAB, 8, NULL, 0);
    s->sh_entsize = sizeof(Elf64_Sym);
    for (size_t k = 0; k < j->count; k++)
        for (size_t i = 1; i < j->parts[k].elf.section_count; i++) {
            enum kiln_status st = KILN_OK;

            if (is_reloc(&j->parts[k], i))
                st = add_relocs(j, &j->parts[k], i, table);
            if (st)
                return st;
        }
    for (size_t k = 0; k < j->count; k++) {
        enum kiln_status st = add_lines(j, &j->parts[k]);

        if (st)
            return st;
    }
    add_line_sections(j, table);
    finish(j, table, locals);
    return KILN_OK;
}

enum kiln_status object_join(const struct object_part *parts, size_t count,
                             const void *info, size_t info_size,
                             struct buffer *out, struct kiln_error *err)
{
    struct join j = {.count = count, .err = err};
    enum kiln_status st = open_parts(&j, parts);

    if (!st)
        st = write_whole(&j, info, info_size);
    if (!st &&
        (j.out.bad || j.symbols.bad || j.names.bad || j.section_names.bad))
        st = no_memory(err);
    buffer_fini(&j.symbols);
    buffer_fini(&j.names);
    buffer_fini(&j.section_names);
    buffer_fini(&j.lines);
    buffer_fini(&j.line_relocs);
    arena_fini(&j.arena);
    if (st)
        buffer_fini(&j.out);
    else
        *out = j.out;
    return st;
}
