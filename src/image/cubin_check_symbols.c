/* SPDX-License-Identifier: MIT
 *
 * Symbols of a cubin, and what counts them: relocations and the call graph.
 */
#include <string.h>

#include "image/cubin_check.h"

enum {
    STO_ENTRY = 0x10,
    FUNCTION_OTHER = STO_ENTRY | 3, /* and the visibility */
    /* Types and bindings that occur: STT_NOTYPE to STT_FILE, and NVIDIA's
     * for textures, samplers, surfaces and the like, up to 13. */
    TYPE_MAX = 13,
    RELOCATION_TYPES = 128,
    RELOCATION_LEAST = 4 /* bytes that one changes at least */
};
/* Numbers of no symbol, in the call graph. */
static const uint32_t MARKS = 0xfffffff0;
/* No object of a kernel is larger. */
static const uint64_t LARGEST = (uint64_t)1 << 48;

uint64_t cubin_symbol_count(const struct cubin_tables *t)
{
    return t->symbols.bytes ? t->symbols.size / sizeof(Elf64_Sym) : 0;
}

Elf64_Sym cubin_symbol(const struct cubin_tables *t, uint64_t index)
{
    Elf64_Sym s;

    memcpy(&s, t->symbols.bytes + index * sizeof s, sizeof s);
    return s;
}

const char *cubin_symbol_name(const struct cubin_tables *t, uint64_t index)
{
    return elf_view_string(&t->strings, cubin_symbol(t, index).st_name);
}

int cubin_is_function(const struct cubin_tables *t, uint64_t index)
{
    return index < cubin_symbol_count(t) &&
           ELF64_ST_TYPE(cubin_symbol(t, index).st_info) == STT_FUNC;
}

int cubin_is_entry(const struct cubin_tables *t, uint64_t index)
{
    return cubin_is_function(t, index) &&
           cubin_symbol(t, index).st_other & STO_ENTRY;
}

enum kiln_status cubin_spend(struct cubin_tables *t, uint64_t bytes,
                             struct kiln_error *err)
{
    if (bytes > t->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: its sections and names overlap without end");
    t->budget -= bytes;
    return KILN_OK;
}

enum kiln_status cubin_check_name(struct cubin_tables *t, const char *name,
                                  const char *what, uint64_t index,
                                  struct kiln_error *err)
{
    uint64_t n = 0;

    while (name[n] >= 0x21 && name[n] <= 0x7e && n < t->budget)
        n++;
    if (name[n] && n < t->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %s %llu: a name that is no text", what,
                         (unsigned long long)index);
    return cubin_spend(t, name[n] ? t->budget + 1 : n, err);
}

const char *cubin_after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(name, prefix, n) ? NULL : name + n;
}

/* A symbol against the section that it is in. Of data the linker states
 * places and sizes past the end of merged sections. */
static enum kiln_status check_home(const struct cubin_tables *t, uint64_t i,
                                   const Elf64_Sym *s, const char *name,
                                   struct kiln_error *err)
{
    int code = ELF64_ST_TYPE(s->st_info) == STT_FUNC;
    struct elf_section home;
    const char *of;
    enum kiln_status st = elf_view_section(&t->elf, s->st_shndx, &home, err);

    if (st)
        return st;
    if (s->st_value > LARGEST || s->st_size > LARGEST ||
        (code &&
         (s->st_value > home.size || s->st_size > home.size - s->st_value)))
        return kiln_fail(
            err, KILN_E_FORMAT,
            "cubin: symbol %llu: %llu bytes at 0x%llx of section %u, which "
            "has %llu",
            (unsigned long long)i, (unsigned long long)s->st_size,
            (unsigned long long)s->st_value, s->st_shndx,
            (unsigned long long)home.size);
    if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT &&
        (!(home.flags & SHF_ALLOC) ||
         (cubin_after(home.name, ".nv.global") &&
          (s->st_value > home.size || s->st_size > home.size - s->st_value))))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: the variable %.60s: %llu bytes at 0x%llx of "
                         "%llu",
                         name, (unsigned long long)s->st_size,
                         (unsigned long long)s->st_value,
                         (unsigned long long)home.size);
    of = cubin_after(home.name, ".text.");
    if (code && (!of || (s->st_other & STO_ENTRY && strcmp(of, name))))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbol %llu: the function %.60s in section "
                         "%.60s",
                         (unsigned long long)i, name, home.name);
    return KILN_OK;
}

static enum kiln_status check_symbol(struct cubin_tables *t, uint64_t i,
                                     struct kiln_error *err)
{
    Elf64_Sym s = cubin_symbol(t, i);
    enum kiln_status st;
    const char *name;

    if (s.st_name >= t->strings.size)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbol %llu: name at %u of %llu bytes",
                         (unsigned long long)i, s.st_name,
                         (unsigned long long)t->strings.size);
    name = (const char *)t->strings.bytes + s.st_name;
    st = cubin_check_name(t, name, "symbol", i, err);
    if (st)
        return st;
    if (ELF64_ST_TYPE(s.st_info) > TYPE_MAX ||
        ELF64_ST_BIND(s.st_info) > STB_WEAK ||
        (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_other & ~FUNCTION_OTHER))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbol %llu: type and binding 0x%02x",
                         (unsigned long long)i, s.st_info);
    if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS ||
        s.st_shndx == SHN_COMMON)
        return KILN_OK;
    return check_home(t, i, &s, name, err);
}

enum kiln_status cubin_check_symbols(struct cubin_tables *t,
                                     struct kiln_error *err)
{
    static const Elf64_Sym none;
    const struct elf_section *s = &t->symbols;
    uint64_t count = cubin_symbol_count(t);
    Elf64_Sym first;

    if (!s->bytes || s->entry_size != sizeof none || s->size % sizeof none ||
        t->strings.type != SHT_STRTAB || !t->strings.bytes ||
        !t->strings.size || t->strings.bytes[t->strings.size - 1])
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbols of %llu bytes, names in section %u",
                         (unsigned long long)s->entry_size, s->link);
    if (!count || s->info > count)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %llu symbols, of them %u local",
                         (unsigned long long)count, s->info);
    first = cubin_symbol(t, 0);
    if (memcmp(&first, &none, sizeof none))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: symbol 0 is not empty, as it has to be");
    for (uint64_t i = 1; i < count; i++) {
        enum kiln_status st = check_symbol(t, i, err);

        if (st)
            return st;
    }
    return KILN_OK;
}

/* What loaded code or data may point to: something that is loaded as well,
 * or is found by its name. Some types need no symbol, which is number 0. */
static int is_loaded(const struct cubin_tables *t, uint64_t symbol)
{
    struct elf_section home;
    Elf64_Sym s;

    if (symbol >= cubin_symbol_count(t))
        return 0;
    s = cubin_symbol(t, symbol);
    if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE)
        return 1;
    return !elf_view_section(&t->elf, s.st_shndx, &home, NULL) &&
           home.flags & SHF_ALLOC;
}

/* Each relocation within its section, its symbol within its table. Those of
 * .nv.merc sections have tables of their own. */
enum kiln_status cubin_check_relocations(const struct cubin_tables *t,
                                         const struct elf_section *s,
                                         struct kiln_error *err)
{
    size_t row = s->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    struct elf_section symbols, home;
    /* The spaces of a relocatable cubin take no bytes. */
    enum kiln_status st = elf_view_section(&t->elf, s->link, &symbols, err);

    if (!st)
        st = elf_view_section(&t->elf, s->info, &home, err);
    if (st)
        return st;
    if (!s->bytes || s->entry_size != row || s->size % row ||
        symbols.type != SHT_SYMTAB || !s->info ||
        (!home.bytes && t->elf.header.e_type != ET_REL))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: section %u: relocations of %llu bytes for "
                         "section %u",
                         s->index, (unsigned long long)s->entry_size, s->info);
    for (uint64_t i = 0; i < s->size / row; i++) {
        Elf64_Rel rel;

        memcpy(&rel, s->bytes + i * row, sizeof rel);
        if (home.size < RELOCATION_LEAST ||
            rel.r_offset > home.size - RELOCATION_LEAST ||
            ELF64_R_SYM(rel.r_info) >= symbols.size / sizeof(Elf64_Sym) ||
            ELF64_R_TYPE(rel.r_info) >= RELOCATION_TYPES ||
            (home.flags & SHF_ALLOC && s->link == t->symbols.index &&
             !is_loaded(t, ELF64_R_SYM(rel.r_info))))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: section %u: relocation %llu: type %llu "
                             "at 0x%llx, symbol %llu",
                             s->index, (unsigned long long)i,
                             (unsigned long long)ELF64_R_TYPE(rel.r_info),
                             (unsigned long long)rel.r_offset,
                             (unsigned long long)ELF64_R_SYM(rel.r_info));
    }
    return KILN_OK;
}

enum kiln_status cubin_check_calls(const struct cubin_tables *t,
                                   const struct elf_section *s,
                                   struct kiln_error *err)
{
    uint64_t count = cubin_symbol_count(t);

    for (uint64_t at = 0; at + 4 <= s->size; at += 4) {
        uint32_t symbol;

        memcpy(&symbol, s->bytes + at, sizeof symbol);
        if (symbol < MARKS && symbol >= count)
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: symbol %u of %llu at 0x%llx",
                             s->name, symbol, (unsigned long long)count,
                             (unsigned long long)at);
    }
    if (s->size % 8)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %.60s: %llu bytes are no pairs", s->name,
                         (unsigned long long)s->size);
    return KILN_OK;
}
