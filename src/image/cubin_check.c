/* SPDX-License-Identifier: MIT
 *
 * Whether a cubin may be handed to a driver that trusts its tables: NVIDIA's
 * follows section, symbol and relocation numbers without a look at their
 * range, and reads past the end of what is cut short. Reading for a listing
 * needs none of this; loading does.
 */
#include <string.h>

#include "image/cubin.h"
#include "image/cubin_check.h"
#include "image/guess.h"

enum {
    /* The low byte of e_flags in ABI 8: SM < 100, and SM >= 100. */
    FLAGS_LOW_OLD = 0x04,
    FLAGS_LOW_NEW = 0x02,
    OSABI_7 = 0x33,
    OSABI_8 = 0x41,
    SEGMENT_FLAGS = PF_R | PF_W | PF_X,
    BANK_MOST = 65536, /* bytes of a bank of constants */
    ALIGNMENT_MOST = 65536
};
/* No space of a kernel is larger. */
static const uint64_t LARGEST = (uint64_t)1 << 48;

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
    if (h->e_ident[EI_OSABI] != (cubin->abi == 8 ? OSABI_8 : OSABI_7) ||
        h->e_entry || (h->e_type == ET_REL && h->e_phnum))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: ABI %u of 0x%02x, type %u with %u segments",
                         cubin->abi, h->e_ident[EI_OSABI], h->e_type,
                         h->e_phnum);
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
            end > elf->size || p.p_filesz > p.p_memsz || p.p_memsz > LARGEST ||
            (p.p_type != PT_LOAD && p.p_type != PT_PHDR) || p.p_vaddr ||
            p.p_paddr || p.p_flags & ~(uint32_t)SEGMENT_FLAGS ||
            p.p_align & (p.p_align - 1) || p.p_align > ALIGNMENT_MOST)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: segment %u: %llu bytes at 0x%llx, file "
                             "of %zu",
                             i, (unsigned long long)p.p_filesz,
                             (unsigned long long)p.p_offset, elf->size);
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

/* Sections by the beginning of their names: their type, and flags that they
 * have. Shared memory comes with four types. */
static const struct known {
    const char *name;
    uint32_t type; /* SHT_NULL: any */
    uint64_t flags;
} known[] = {
    {".text.", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
    {".nv.info", 0x70000000, 0},
    {".nv.callgraph", 0x70000001, 0},
    {".nv.prototype", 0x70000002, 0},
    {".nv.rel.action", 0x7000000b, 0},
    {".nv.compat", 0x70000086, 0},
    {".nv.shared.", SHT_NULL, SHF_ALLOC},
    {".nv.global", SHT_NULL, SHF_ALLOC},
    {".nv.constant", SHT_NULL, SHF_ALLOC},
    {".rela.", SHT_RELA, 0},
    {".rel.", SHT_REL, 0},
    {".symtab", SHT_SYMTAB, 0},
    {".strtab", SHT_STRTAB, 0},
    {".shstrtab", SHT_STRTAB, 0},
    {".note.", SHT_NOTE, 0},
};

/* Whether a type is NVIDIA's and has a name in the table, which the section
 * then should have. */
static int wants_name(uint32_t type)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type && type >= SHT_LOPROC)
            return 1;
    return 0;
}

/* A name and a type that go together, sizes and alignment that a device has. */
static enum kiln_status check_kind(struct cubin_tables *t,
                                   const struct elf_section *s,
                                   struct kiln_error *err)
{
    enum kiln_status st =
        cubin_check_name(t, s->name, "section", s->index, err);
    Elf64_Shdr h;
    size_t i;

    if (st)
        return st;
    memcpy(&h, t->elf.bytes + t->elf.header.e_shoff + s->index * sizeof h,
           sizeof h);
    for (i = 0; i < sizeof known / sizeof *known; i++)
        if (cubin_after(s->name, known[i].name)) {
            if ((known[i].type && s->type != known[i].type) ||
                (s->flags & known[i].flags) != known[i].flags)
                return kiln_fail(
                    err, KILN_E_FORMAT, "cubin: %.60s: type 0x%x, flags 0x%llx",
                    s->name, s->type, (unsigned long long)s->flags);
            break;
        }
    if (i == sizeof known / sizeof *known && wants_name(s->type))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: a name that does not go with type 0x%x",
                         s->name, s->type);
    if (h.sh_addr || h.sh_addralign & (h.sh_addralign - 1) ||
        h.sh_addralign > ALIGNMENT_MOST || s->size > LARGEST ||
        (cubin_after(s->name, ".nv.constant") && s->size > BANK_MOST))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: %llu bytes, aligned to %llu", s->name,
                         (unsigned long long)s->size,
                         (unsigned long long)h.sh_addralign);
    return KILN_OK;
}

/* The kernel that a section is of, by its name, or NULL. */
static const char *kernel_of(const char *name)
{
    static const char *const of[] = {".nv.info.", ".nv.shared.", ".nv.local.",
                                     ".nv.constant"};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *rest = cubin_after(name, of[i]);

        if (rest && i == 3)
            rest = *rest && rest[1] == '.' ? rest + 2 : NULL;
        if (rest && *rest)
            return rest;
    }
    return NULL;
}

/* What .nv sections belong to: a section, by number and by name; code to its
 * symbol. In the .nv.merc and .nv.capmerc sections the number counts other
 * things. */
static enum kiln_status check_owner(struct cubin_tables *t,
                                    const struct elf_section *s,
                                    struct elf_section *text,
                                    struct kiln_error *err)
{
    const char *of = kernel_of(s->name), *code = cubin_after(s->name, ".text.");
    uint32_t symbol = s->info & 0xffffff;
    const char *other;
    enum kiln_status st;

    if (strstr(s->name, "merc."))
        return KILN_OK;
    if (code && (!cubin_is_function(t, symbol) ||
                 strcmp(cubin_symbol_name(t, symbol), code)))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: of symbol %u, which is another",
                         s->name, symbol);
    if (strncmp(s->name, ".nv.", 4))
        return KILN_OK;
    if (s->info >= t->elf.sections)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: of section %u, there are %u", s->name,
                         s->info, t->elf.sections);
    if (!of || !s->info)
        return KILN_OK;
    st = elf_view_section(&t->elf, s->info, text, err);
    if (st)
        return st;
    other = cubin_after(text->name, ".text.");
    if (!other || strcmp(other, of))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: of section %u, which is %.60s", s->name,
                         s->info, text->name);
    if (cubin_is_entry(t, text->info & 0xffffff)) {
        t->info_count += cubin_after(s->name, ".nv.info.") != NULL;
        t->bank_count += cubin_after(s->name, ".nv.constant0.") != NULL;
    }
    return KILN_OK;
}

static int is_gone_through(const struct elf_section *s)
{
    return s->type == SHT_SYMTAB || s->type == SHT_REL || s->type == SHT_RELA ||
           s->type == SHT_NOTE || cubin_after(s->name, ".nv.info") ||
           !strcmp(s->name, ".nv.callgraph") || !strcmp(s->name, ".nv.compat");
}

static int links_to_symbols(const struct elf_section *s)
{
    return cubin_after(s->name, ".nv.info") || cubin_after(s->name, ".rel") ||
           !strcmp(s->name, ".nv.callgraph");
}

static enum kiln_status check_section(struct cubin_tables *t, uint32_t i,
                                      struct kiln_error *err)
{
    struct elf_section s, text = {0};
    enum kiln_status st = elf_view_section(&t->elf, i, &s, err);

    if (st)
        return st;
    if (i && (!*s.name || s.type == SHT_NULL))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u has no name or no type", i);
    st = check_kind(t, &s, err);
    if (!st)
        st = check_owner(t, &s, &text, err);
    if (st)
        return st;
    if (s.link >= t->elf.sections)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u is linked to %u of %u", i, s.link,
                         t->elf.sections);
    /* ABI 7 leaves it at 0 in .nv.info. */
    if (links_to_symbols(&s) && s.link != t->symbols.index &&
        (s.link || cubin_after(s.name, ".rel")))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: linked to section %u, the symbols are "
                         "in %u",
                         s.name, s.link, t->symbols.index);
    if (s.type == SHT_SYMTAB && i != t->symbols.index)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: a second table of symbols, section %u", i);
    st = cubin_spend(t, s.bytes && is_gone_through(&s) ? s.size : 0, err);
    if (st)
        return st;
    if (s.type == SHT_REL || s.type == SHT_RELA)
        return cubin_check_relocations(t, &s, err);
    if (!s.bytes)
        return KILN_OK;
    if (s.type == SHT_NOTE)
        return cubin_check_notes(&s, err);
    if (!strcmp(s.name, ".nv.callgraph"))
        return cubin_check_calls(t, &s, err);
    if (cubin_after(s.name, ".nv.info") || !strcmp(s.name, ".nv.compat"))
        return cubin_check_records(t, &s, text.index ? &text : NULL, err);
    return KILN_OK;
}

/* What each kernel of a linked cubin has: its attributes, its bank of
 * parameters, its number of registers. */
static enum kiln_status check_kernels(const struct cubin_tables *t,
                                      const struct cubin *cubin,
                                      struct kiln_error *err)
{
    if (t->elf.header.e_type == ET_REL)
        return KILN_OK;
    if (t->info_count != cubin->kernel_count ||
        t->bank_count != cubin->kernel_count)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %zu kernels, attributes of %zu, parameters "
                         "of %zu",
                         cubin->kernel_count, t->info_count, t->bank_count);
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (cubin->kernels[i].registers < 0)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: its registers are not told",
                             cubin->kernels[i].name);
    return KILN_OK;
}

/* The table of symbols and their names; a cubin without code has none. */
static enum kiln_status find_symbols(struct cubin_tables *t,
                                     struct kiln_error *err)
{
    for (uint32_t i = 1; i < t->elf.sections; i++) {
        enum kiln_status st = elf_view_section(&t->elf, i, &t->symbols, err);

        if (!st && t->symbols.type != SHT_SYMTAB)
            continue;
        if (!st)
            st = elf_view_section(&t->elf, t->symbols.link, &t->strings, err);
        return st ? st : cubin_check_symbols(t, err);
    }
    t->symbols = (struct elf_section){0};
    return KILN_OK;
}

enum kiln_status cubin_check(const void *bytes, size_t size,
                             struct arena *arena, struct cubin *out,
                             struct kiln_error *err)
{
    struct cubin_tables t = {.budget = (uint64_t)size * 2};
    struct cubin cubin;
    enum kiln_status st = cubin_read(bytes, size, arena, &cubin, err);

    if (!st)
        st = elf_view_open(bytes, size, &t.elf, err);
    if (!st)
        st = check_header(&t.elf, &cubin, err);
    if (!st)
        st = check_segments(&t.elf, err);
    if (!st)
        st = check_none(&t.elf, err);
    if (!st)
        st = find_symbols(&t, err);
    for (uint32_t i = 0; !st && i < t.elf.sections; i++)
        st = check_section(&t, i, err);
    if (!st)
        st = check_kernels(&t, &cubin, err);
    if (!st)
        *out = cubin;
    return st;
}
