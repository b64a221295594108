/* SPDX-License-Identifier: MIT
 *
 * Whether a cubin may be handed to a driver that trusts its tables: NVIDIA's
 * follows section, symbol and relocation numbers without a look at their
 * range, and reads past the end of what is cut short. Reading for a listing
 * needs none of this; loading does.
 */
#include <string.h>

#include "base/cursor.h"
#include "image/cubin.h"
#include "image/elf_view.h"
#include "image/guess.h"

enum {
    /* The low byte of e_flags in ABI 8: SM < 100, and SM >= 100. */
    FLAGS_LOW_OLD = 0x04,
    FLAGS_LOW_NEW = 0x02,
    TOOLKIT_NOTE = 2000
};

static enum kiln_status check_header(const struct elf_view *elf,
                                     const struct cubin *cubin,
                                     struct kiln_error *err)
{
    const Elf64_Ehdr *h = &elf->header;
    unsigned low = h->e_flags & 255;

    if (h->e_ident[EI_VERSION] != EV_CURRENT || h->e_ehsize != sizeof *h ||
        (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr)) ||
        h->e_shentsize != sizeof(Elf64_Shdr))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: header of %u bytes, tables of %u and %u",
                         h->e_ehsize, h->e_phentsize, h->e_shentsize);
    if (!elf->sections || h->e_shstrndx >= elf->sections || !elf->names_size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %u sections, their names in number %u",
                         elf->sections, h->e_shstrndx);
    if (cubin->abi != 7 && cubin->abi != 8)
        return kiln_fail(err, KILN_E_FORMAT, "cubin: ABI %u, 7 or 8 expected",
                         cubin->abi);
    if (cubin->abi == 8 && h->e_version != EV_CURRENT)
        return kiln_fail(err, KILN_E_FORMAT, "cubin: version %u, 1 expected",
                         h->e_version);
    if (cubin->abi == 8 &&
        low != (cubin->sm < 100 ? FLAGS_LOW_OLD : FLAGS_LOW_NEW))
        return kiln_fail(err, KILN_E_FORMAT, "cubin: flags 0x%x for sm_%u",
                         h->e_flags, cubin->sm);
    return KILN_OK;
}

static enum kiln_status check_segments(const struct elf_view *elf,
                                       struct kiln_error *err)
{
    const Elf64_Ehdr *h = &elf->header;

    for (unsigned i = 0; i < h->e_phnum; i++) {
        uint64_t at = h->e_phoff + i * sizeof(Elf64_Phdr), end;
        Elf64_Phdr p;

        if (at > elf->size || elf->size - at < sizeof p)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: segment %u is past the end", i);
        memcpy(&p, elf->bytes + at, sizeof p);
        if (__builtin_add_overflow(p.p_offset, p.p_filesz, &end) ||
            end > elf->size || p.p_filesz > p.p_memsz)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: segment %u: %llu bytes at 0x%llx, file "
                             "of %zu",
                             i, (unsigned long long)p.p_filesz,
                             (unsigned long long)p.p_offset, elf->size);
    }
    return KILN_OK;
}

/* Sections and names of a hostile file may all lie on the same bytes: the work
 * is bounded by the size of the file. */
struct checking {
    struct elf_view elf;
    uint64_t budget; /* bytes that may still be gone through */
};

static enum kiln_status spend(struct checking *c, uint64_t bytes,
                              struct kiln_error *err)
{
    if (bytes > c->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: its sections and names overlap without end");
    c->budget -= bytes;
    return KILN_OK;
}

static enum kiln_status check_name(struct checking *c, const char *name,
                                   const char *what, uint64_t index,
                                   struct kiln_error *err)
{
    uint64_t n = 0;

    while (name[n] >= 0x21 && name[n] <= 0x7e && n < c->budget)
        n++;
    if (name[n] && n < c->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %s %llu: a name that is no text", what,
                         (unsigned long long)index);
    return spend(c, name[n] ? c->budget + 1 : n, err);
}

static enum kiln_status check_symbols(struct checking *c,
                                      const struct elf_section *s,
                                      struct kiln_error *err)
{
    const struct elf_view *elf = &c->elf;
    uint64_t count = s->size / sizeof(Elf64_Sym);
    struct elf_section names;
    enum kiln_status st = elf_view_section(elf, s->link, &names, err);

    if (st)
        return st;
    if (s->entry_size != sizeof(Elf64_Sym) || s->size % sizeof(Elf64_Sym) ||
        names.type != SHT_STRTAB || !names.bytes || !names.size ||
        names.bytes[names.size - 1])
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbols of %llu bytes, names in section %u",
                         (unsigned long long)s->entry_size, s->link);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        struct elf_section home = {0};

        memcpy(&symbol, s->bytes + i * sizeof symbol, sizeof symbol);
        if (symbol.st_name >= names.size)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: symbol %llu: name at %u of %llu bytes",
                             (unsigned long long)i, symbol.st_name,
                             (unsigned long long)names.size);
        st = check_name(c, (const char *)names.bytes + symbol.st_name, "symbol",
                        i, err);
        if (st)
            return st;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
            symbol.st_shndx == SHN_COMMON)
            continue;
        st = elf_view_section(elf, symbol.st_shndx, &home, err);
        if (st)
            return st;
        /* Of data the linker states sizes past the end of merged sections. */
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            (symbol.st_value > home.size ||
             symbol.st_size > home.size - symbol.st_value))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: symbol %llu: %llu bytes at 0x%llx of "
                             "section %u, which has %llu",
                             (unsigned long long)i,
                             (unsigned long long)symbol.st_size,
                             (unsigned long long)symbol.st_value,
                             symbol.st_shndx, (unsigned long long)home.size);
    }
    return KILN_OK;
}

/* Each relocation within its section, its symbol within its table. */
static enum kiln_status check_relocations(const struct elf_view *elf,
                                          const struct elf_section *s,
                                          struct kiln_error *err)
{
    size_t row = s->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    struct elf_section symbols, home;
    enum kiln_status st = elf_view_section(elf, s->link, &symbols, err);

    if (!st)
        st = elf_view_section(elf, s->info, &home, err);
    if (st)
        return st;
    if (s->entry_size != row || s->size % row || symbols.type != SHT_SYMTAB)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u: relocations of %llu bytes",
                         s->index, (unsigned long long)s->entry_size);
    for (uint64_t i = 0; i < s->size / row; i++) {
        Elf64_Rel rel;

        memcpy(&rel, s->bytes + i * row, sizeof rel);
        if (rel.r_offset >= home.size ||
            ELF64_R_SYM(rel.r_info) >= symbols.size / sizeof(Elf64_Sym))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: section %u: relocation %llu: at 0x%llx, "
                             "symbol %llu",
                             s->index, (unsigned long long)i,
                             (unsigned long long)rel.r_offset,
                             (unsigned long long)ELF64_R_SYM(rel.r_info));
    }
    return KILN_OK;
}

/* .nv.info: records to the very end, none cut short. */
static enum kiln_status check_records(const struct elf_section *s,
                                      struct kiln_error *err)
{
    const unsigned char *at = s->bytes;
    uint64_t left = s->size;

    while (left) {
        uint64_t n = 4;
        uint16_t size;

        if (left >= 4 && at[0] == 4) {
            memcpy(&size, at + 2, sizeof size);
            n += (size + 3u) & ~3u;
        }
        if (left < n || at[0] < 1 || at[0] > 4)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: a record of form %u with %llu "
                             "bytes left",
                             s->name, at[0], (unsigned long long)left);
        at += n;
        left -= n;
    }
    return KILN_OK;
}

/* Section 0 is none: all zeros. */
static enum kiln_status check_none(const struct elf_view *elf,
                                   struct kiln_error *err)
{
    static const Elf64_Shdr zeros;

    if (!memcmp(elf->bytes + elf->header.e_shoff, &zeros, sizeof zeros))
        return KILN_OK;
    return kiln_fail(err, KILN_E_FORMAT,
                     "cubin: section 0 is not empty, as it has to be");
}

/* What .nv sections belong to: a section, by number and by name. */
static enum kiln_status check_owner(struct checking *c,
                                    const struct elf_section *s,
                                    struct kiln_error *err)
{
    enum kiln_status st = check_name(c, s->name, "section", s->index, err);

    if (st)
        return st;
    /* In the .nv.merc and .nv.capmerc sections it counts other things. */
    if (!strncmp(s->name, ".nv.", 4) && !strstr(s->name, "merc.") &&
        s->info >= c->elf.sections)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: of section %u, there are %u", s->name,
                         s->info, c->elf.sections);
    return KILN_OK;
}

/* The text of a toolkit's note: a version, five offsets, then the strings
 * that they point into. */
static int is_toolkit_text(const unsigned char *text, uint64_t size)
{
    enum { WORDS = 6 };
    uint32_t word[WORDS];

    if (size < sizeof word)
        return 0;
    memcpy(word, text, sizeof word);
    for (int i = 1; i < WORDS; i++)
        if (word[i] >= size - sizeof word)
            return 0;
    return 1;
}

static enum kiln_status check_notes(const struct elf_section *s,
                                    struct kiln_error *err)
{
    struct cursor in = cursor_of(s->bytes, s->size);

    while (cursor_left(&in)) {
        uint32_t name = cursor_u32(&in), text = cursor_u32(&in);
        uint32_t type = cursor_u32(&in);
        const unsigned char *body;

        cursor_bytes(&in, ((uint64_t)name + 3) & ~3u);
        body = cursor_bytes(&in, ((uint64_t)text + 3) & ~3u);
        if (in.bad || (type == TOOLKIT_NOTE && !is_toolkit_text(body, text)))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: a note cut short", s->name);
    }
    return KILN_OK;
}

static enum kiln_status check_section(struct checking *c, uint32_t i,
                                      struct kiln_error *err)
{
    const struct elf_view *elf = &c->elf;
    struct elf_section s;
    enum kiln_status st = elf_view_section(elf, i, &s, err);

    if (st)
        return st;
    if (i && (!*s.name || s.type == SHT_NULL))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u has no name or no type", i);
    st = check_owner(c, &s, err);
    if (st)
        return st;
    if (s.link >= elf->sections)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u is linked to %u of %u", i, s.link,
                         elf->sections);
    if (s.type == SHT_SYMTAB || s.type == SHT_REL || s.type == SHT_RELA ||
        s.type == SHT_NOTE || !strncmp(s.name, ".nv.info", 8))
        st = spend(c, s.bytes ? s.size : 0, err);
    if (st)
        return st;
    if (s.type == SHT_SYMTAB)
        return check_symbols(c, &s, err);
    if (s.type == SHT_REL || s.type == SHT_RELA)
        return check_relocations(elf, &s, err);
    if (s.bytes && s.type == SHT_NOTE)
        return check_notes(&s, err);
    if (s.bytes && !strncmp(s.name, ".nv.info", 8))
        return check_records(&s, err);
    return KILN_OK;
}

enum kiln_status cubin_check(const void *bytes, size_t size,
                             struct arena *arena, struct cubin *out,
                             struct kiln_error *err)
{
    struct checking c = {.budget = (uint64_t)size * 2};
    struct cubin cubin;
    enum kiln_status st = cubin_read(bytes, size, arena, &cubin, err);

    if (!st)
        st = elf_view_open(bytes, size, &c.elf, err);
    if (!st)
        st = check_header(&c.elf, &cubin, err);
    if (!st)
        st = check_segments(&c.elf, err);
    if (!st)
        st = check_none(&c.elf, err);
    for (uint32_t i = 0; !st && i < c.elf.sections; i++)
        st = check_section(&c, i, err);
    if (!st)
        *out = cubin;
    return st;
}
