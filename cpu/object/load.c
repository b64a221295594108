/* SPDX-License-Identifier: MIT
 *
 * Relocation. One anonymous mapping holds code, then read-only data with the
 * table of outside addresses (GOT), then data, so that everything reaches
 * everything with 32 bits. It is writable until all is applied, and only then
 * are the code pages made executable: never both.
 *
 * Everything that can be refused is refused in survey(), before memory is
 * mapped; the pass that applies checks only whether values fit.
 */
#include "cpu/object/object.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cpu/object/elf.h"
#include "cpu/object/lines.h"
#include "cpu/object/symbols.h"

enum region { REGION_NONE, REGION_CODE, REGION_CONST, REGION_DATA, REGIONS };

enum { STUB_SIZE = 16, NO_SLOT = -1 };
/* SHF_X86_64_LARGE, which elf.h does not have */
enum { LARGE_SECTION = 0x10000000 };

struct object_entry {
    const char *name; /* owned by object_code.names */
    uintptr_t address;
};

struct object_code {
    unsigned char *map;
    size_t map_size;
    size_t code_size;             /* whole pages at the start of map */
    struct object_entry *entries; /* functions, sorted by name */
    size_t entry_count;
    char *names;
    unsigned char *lines; /* .debug_line, relocated; or NULL */
    size_t lines_size;
};

/* What the loader knows while it works; arrays are the arena's. */
struct loader {
    struct elf elf;
    struct object_info info;
    struct arena arena;
    struct kiln_error *err;
    enum region *region;    /* of each section */
    uint64_t *place;        /* of each section, from the start of the map */
    int32_t *slot;          /* of each symbol: its GOT entry, or NO_SLOT */
    uint64_t *outside;      /* of each symbol: address by the table, or 0 */
    unsigned char *stubbed; /* of each symbol: called, so a stub is needed */
    uint64_t end[REGIONS];  /* where each region ends */
    size_t slots;
    uint64_t got, stubs;
    int low; /* must lie below 2 GiB */
    unsigned char *map;
    size_t page;
};

static const char *const reloc_names[] = {
#define X(name) [R_X86_64_##name] = "R_X86_64_" #name,
#include "cpu/object/relocs.def"
#undef X
};

static uint64_t round_up(uint64_t v, uint64_t alignment)
{
    return (v + alignment - 1) & ~(alignment - 1);
}

/* ---- survey: what is there, and is it all allowed ---- */

static int skipped(const struct elf *elf, size_t i)
{
    const char *name = elf->names[i];

    return elf->sections[i].sh_type == SHT_NOTE ||
           elf->sections[i].sh_type == SHT_X86_64_UNWIND ||
           strncmp(name, ".eh_frame", 9) == 0 ||
           strcmp(name, OBJECT_INFO_SECTION) == 0;
}

static enum kiln_status classify(struct loader *l, size_t i)
{
    const Elf64_Shdr *s = &l->elf.sections[i];
    const char *name = l->elf.names[i];
    const uint64_t known = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR | SHF_MERGE |
                           SHF_STRINGS | SHF_GROUP | SHF_INFO_LINK |
                           LARGE_SECTION;

    if (!(s->sh_flags & SHF_ALLOC) || skipped(&l->elf, i))
        return KILN_OK;
    if (s->sh_type != SHT_PROGBITS && s->sh_type != SHT_NOBITS)
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: section %s: type 0x%x cannot be loaded", name,
                         s->sh_type);
    if (s->sh_flags & ~known)
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: section %s: flags 0x%llx cannot be loaded",
                         name, (unsigned long long)s->sh_flags);
    if ((s->sh_flags & SHF_WRITE) && (s->sh_flags & SHF_EXECINSTR))
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: section %s: writable and executable", name);
    if (s->sh_flags & SHF_EXECINSTR)
        l->region[i] = REGION_CODE;
    else
        l->region[i] = s->sh_flags & SHF_WRITE ? REGION_DATA : REGION_CONST;
    return KILN_OK;
}

/* Bytes that a relocation writes, or 0 when it is not supported. */
static unsigned reloc_width(uint32_t type)
{
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64:
        return 8;
    case R_X86_64_32:
    case R_X86_64_32S:
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return 4;
    default:
        return 0;
    }
}

static int wants_got(uint32_t type)
{
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
           type == R_X86_64_REX_GOTPCRELX;
}

static enum kiln_status survey_symbol(struct loader *l, size_t symbol,
                                      uint32_t type)
{
    const Elf64_Sym *s = &l->elf.symbols[symbol];
    const char *name = l->elf.symbol_names[symbol];
    const int is_outside = s->st_shndx == SHN_UNDEF && symbol != 0;

    if (is_outside && !l->outside[symbol]) {
        l->outside[symbol] = symbols_find(name);
        if (!l->outside[symbol])
            return kiln_fail(l->err, KILN_E_SYMBOL,
                             "object: undefined symbol %s", name);
    }
    if (!is_outside && symbol != 0 && s->st_shndx != SHN_ABS &&
        l->region[s->st_shndx] == REGION_NONE)
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: symbol %s lies in section %s, which is not "
                         "loaded",
                         name, l->elf.names[s->st_shndx]);
    if (is_outside && (type == R_X86_64_PC32 || type == R_X86_64_PLT32))
        l->stubbed[symbol] = 1;
    if ((l->stubbed[symbol] || wants_got(type)) && l->slot[symbol] == NO_SLOT)
        l->slot[symbol] = (int32_t)l->slots++;
    return KILN_OK;
}

static enum kiln_status survey_relocs(struct loader *l, size_t section)
{
    const Elf64_Shdr *s = &l->elf.sections[section];
    const size_t target = s->sh_info;
    const size_t count = elf_rela_count(&l->elf, section);

    if (target >= l->elf.section_count || l->region[target] == REGION_NONE)
        return KILN_OK;
    if (s->sh_type == SHT_REL || s->sh_entsize != sizeof(Elf64_Rela) ||
        l->elf.sections[target].sh_type == SHT_NOBITS)
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: section %s: relocations of a kind that "
                         "x86-64 does not use",
                         l->elf.names[section]);
    for (size_t i = 0; i < count; i++) {
        const Elf64_Rela rela = elf_rela(&l->elf, section, i);
        const uint32_t type = ELF64_R_TYPE(rela.r_info);
        const size_t symbol = ELF64_R_SYM(rela.r_info);
        const unsigned width = reloc_width(type);
        const uint64_t size = l->elf.sections[target].sh_size;
        enum kiln_status st;

        if (type == R_X86_64_NONE)
            continue;
        if (!width) {
            const char *name = type < sizeof reloc_names / sizeof reloc_names[0]
                                   ? reloc_names[type]
                                   : NULL;
            return kiln_fail(l->err, KILN_E_FORMAT,
                             "object: section %s: relocation %zu of type %u "
                             "(%s) is not supported",
                             l->elf.names[target], i, type,
                             name ? name : "unknown");
        }
        if (rela.r_offset > size || width > size - rela.r_offset ||
            symbol >= l->elf.symbol_count)
            return kiln_fail(l->err, KILN_E_FORMAT,
                             "object: section %s: relocation %zu at 0x%llx "
                             "of symbol %zu: %llu bytes, %zu symbols",
                             l->elf.names[target], i,
                             (unsigned long long)rela.r_offset, symbol,
                             (unsigned long long)size, l->elf.symbol_count);
        if (type == R_X86_64_32 || type == R_X86_64_32S)
            l->low = 1;
        st = survey_symbol(l, symbol, type);
        if (st)
            return st;
    }
    return KILN_OK;
}

static enum kiln_status survey(struct loader *l)
{
    const size_t sections = l->elf.section_count;
    const size_t symbols = l->elf.symbol_count ? l->elf.symbol_count : 1;
    enum kiln_status st = KILN_OK;

    l->region = arena_array(&l->arena, sections, sizeof *l->region);
    l->place = arena_array(&l->arena, sections, sizeof *l->place);
    l->slot = arena_array(&l->arena, symbols, sizeof *l->slot);
    l->outside = arena_array(&l->arena, symbols, sizeof *l->outside);
    l->stubbed = arena_array(&l->arena, symbols, 1);
    if (!l->region || !l->place || !l->slot || !l->outside || !l->stubbed)
        return kiln_fail(l->err, KILN_E_MEMORY, "object: no memory to load");
    for (size_t i = 0; i < symbols; i++)
        l->slot[i] = NO_SLOT;
    for (size_t i = 1; i < sections && !st; i++)
        st = classify(l, i);
    for (size_t i = 1; i < sections && !st; i++)
        if (l->elf.sections[i].sh_type == SHT_RELA ||
            l->elf.sections[i].sh_type == SHT_REL)
            st = survey_relocs(l, i);
    return st;
}

/* ---- layout ---- */

/* Regions follow each other on pages of their own; the stubs end the code,
 * the GOT ends the constants. */
static uint64_t lay_out(struct loader *l)
{
    uint64_t at = 0;

    for (int region = REGION_CODE; region < REGIONS; region++) {
        for (size_t i = 1; i < l->elf.section_count; i++) {
            const Elf64_Shdr *s = &l->elf.sections[i];

            if (l->region[i] != (enum region)region)
                continue;
            at = round_up(at, s->sh_addralign ? s->sh_addralign : 1);
            l->place[i] = at;
            at += s->sh_size;
        }
        if (region == REGION_CODE) {
            at = l->stubs = round_up(at, STUB_SIZE);
            at += (uint64_t)l->slots * STUB_SIZE;
        } else if (region == REGION_CONST) {
            at = l->got = round_up(at, 8);
            at += (uint64_t)l->slots * 8;
        }
        at = round_up(at, l->page);
        l->end[region] = at;
    }
    return at;
}

static uint64_t symbol_address(const struct loader *l, size_t symbol)
{
    const Elf64_Sym *s;

    if (symbol == 0)
        return 0;
    s = &l->elf.symbols[symbol];
    if (s->st_shndx == SHN_UNDEF)
        return l->outside[symbol];
    if (s->st_shndx == SHN_ABS)
        return s->st_value;
    return (uint64_t)(uintptr_t)l->map + l->place[s->st_shndx] + s->st_value;
}

/* jmp *slot(%rip), behind a landing pad for indirect branches */
static void write_stub(const struct loader *l, size_t slot)
{
    static const unsigned char code[STUB_SIZE] = {
        0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0,    0,
        0,    0,    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
    unsigned char *stub = l->map + l->stubs + slot * STUB_SIZE;
    const int64_t reach = (int64_t)(l->got + slot * 8) -
                          (int64_t)(l->stubs + slot * STUB_SIZE + 10);
    const int32_t reach32 = (int32_t)reach; /* at most 1 GiB */

    memcpy(stub, code, sizeof code);
    memcpy(stub + 6, &reach32, sizeof reach32);
}

static void fill(const struct loader *l)
{
    for (size_t i = 1; i < l->elf.section_count; i++)
        if (l->region[i] != REGION_NONE && elf_bytes(&l->elf, i) &&
            l->elf.sections[i].sh_size)
            memcpy(l->map + l->place[i], elf_bytes(&l->elf, i),
                   (size_t)l->elf.sections[i].sh_size);
    for (size_t i = 0; i < l->elf.symbol_count; i++) {
        const uint64_t address = symbol_address(l, i);

        if (l->slot[i] == NO_SLOT)
            continue;
        memcpy(l->map + l->got + (size_t)l->slot[i] * 8, &address, 8);
        write_stub(l, (size_t)l->slot[i]);
    }
}

/* ---- relocation ---- */

static enum kiln_status apply(const struct loader *l, size_t target,
                              const Elf64_Rela *rela)
{
    const uint32_t type = ELF64_R_TYPE(rela->r_info);
    const size_t symbol = ELF64_R_SYM(rela->r_info);
    unsigned char *at = l->map + l->place[target] + rela->r_offset;
    const uint64_t here = (uint64_t)(uintptr_t)at;
    uint64_t value = symbol_address(l, symbol);
    int fits = 1;

    if (wants_got(type))
        value = (uint64_t)(uintptr_t)l->map + l->got +
                (uint64_t)l->slot[symbol] * 8;
    else if (l->stubbed[symbol] &&
             (type == R_X86_64_PC32 || type == R_X86_64_PLT32))
        value = (uint64_t)(uintptr_t)l->map + l->stubs +
                (uint64_t)l->slot[symbol] * STUB_SIZE;
    value += (uint64_t)rela->r_addend;
    if (type != R_X86_64_64 && type != R_X86_64_32 && type != R_X86_64_32S)
        value -= here;
    if (type == R_X86_64_32)
        fits = value <= UINT32_MAX;
    else if (reloc_width(type) == 4)
        fits = (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
    if (!fits)
        return kiln_fail(l->err, KILN_E_FORMAT,
                         "object: section %s: %s at 0x%llx: value 0x%llx does "
                         "not fit in 32 bits",
                         l->elf.names[target], reloc_names[type],
                         (unsigned long long)rela->r_offset,
                         (unsigned long long)value);
    memcpy(at, &value, reloc_width(type));
    return KILN_OK;
}

static enum kiln_status relocate(const struct loader *l)
{
    for (size_t i = 1; i < l->elf.section_count; i++) {
        const Elf64_Shdr *s = &l->elf.sections[i];

        if (s->sh_type != SHT_RELA || s->sh_info >= l->elf.section_count ||
            l->region[s->sh_info] == REGION_NONE)
            continue;
        for (size_t k = 0; k < elf_rela_count(&l->elf, i); k++) {
            const Elf64_Rela rela = elf_rela(&l->elf, i, k);
            enum kiln_status st = KILN_OK;

            if (ELF64_R_TYPE(rela.r_info) != R_X86_64_NONE)
                st = apply(l, s->sh_info, &rela);
            if (st)
                return st;
        }
    }
    return KILN_OK;
}

static enum kiln_status protect(const struct loader *l)
{
    const struct {
        uint64_t from, to;
        int access;
    } parts[] = {
        {0, l->end[REGION_CODE], PROT_READ | PROT_EXEC},
        {l->end[REGION_CODE], l->end[REGION_CONST], PROT_READ},
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].from == parts[i].to)
            continue;
        if (mprotect(l->map + parts[i].from,
                     (size_t)(parts[i].to - parts[i].from), parts[i].access))
            return kiln_fail(l->err, KILN_E_OS,
                             "object: mprotect of %llu bytes of code: %m",
                             (unsigned long long)(parts[i].to - parts[i].from));
    }
    return KILN_OK;
}

/* ---- lines ---- */

/* Addresses of code in the line table; what is odd there is left alone, since
 * it only ever helps to tell a fault. */
static void relocate_lines(const struct loader *l, size_t section,
                           struct object_code *code)
{
    const Elf64_Shdr *s = &l->elf.sections[section];

    if (s->sh_type != SHT_RELA || s->sh_entsize != sizeof(Elf64_Rela))
        return;
    for (size_t k = 0; k < elf_rela_count(&l->elf, section); k++) {
        const Elf64_Rela rela = elf_rela(&l->elf, section, k);
        const size_t symbol = ELF64_R_SYM(rela.r_info);
        const Elf64_Sym *to;
        uint64_t value;

        if (ELF64_R_TYPE(rela.r_info) != R_X86_64_64 || !symbol ||
            symbol >= l->elf.symbol_count || code->lines_size < 8 ||
            rela.r_offset > code->lines_size - 8)
            continue;
        to = &l->elf.symbols[symbol];
        if (to->st_shndx >= l->elf.section_count ||
            l->region[to->st_shndx] != REGION_CODE)
            continue;
        value = symbol_address(l, symbol) + (uint64_t)rela.r_addend;
        memcpy(code->lines + rela.r_offset, &value, sizeof value);
    }
}

static enum kiln_status keep_lines(const struct loader *l,
                                   struct object_code *code)
{
    const size_t section = elf_section(&l->elf, ".debug_line");
    const unsigned char *bytes = section ? elf_bytes(&l->elf, section) : NULL;

    if (!bytes || !l->elf.sections[section].sh_size)
        return KILN_OK;
    code->lines_size = (size_t)l->elf.sections[section].sh_size;
    code->lines = kiln_alloc(code->lines_size);
    if (!code->lines)
        return kiln_fail(l->err, KILN_E_MEMORY, "object: no memory for lines");
    memcpy(code->lines, bytes, code->lines_size);
    for (size_t i = 1; i < l->elf.section_count; i++)
        if (l->elf.sections[i].sh_info == section)
            relocate_lines(l, i, code);
    return KILN_OK;
}

/* ---- the finished object ---- */

static int by_name(const void *a, const void *b)
{
    const struct object_entry *x = a;
    const struct object_entry *y = b;

    return strcmp(x->name, y->name);
}

static int is_function(const struct loader *l, size_t i)
{
    const Elf64_Sym *s = &l->elf.symbols[i];
    const unsigned type = ELF64_ST_TYPE(s->st_info);

    return s->st_shndx != SHN_UNDEF && s->st_shndx < l->elf.section_count &&
           l->region[s->st_shndx] == REGION_CODE && l->elf.symbol_names[i][0] &&
           (type == STT_FUNC || type == STT_NOTYPE) &&
           s->st_value < l->elf.sections[s->st_shndx].sh_size;
}

static enum kiln_status collect(const struct loader *l,
                                struct object_code *code)
{
    size_t bytes = 1;
    size_t count = 0;
    char *at;

    for (size_t i = 1; i < l->elf.symbol_count; i++)
        if (is_function(l, i)) {
            bytes += strlen(l->elf.symbol_names[i]) + 1;
            count++;
        }
    code->entries = kiln_array(NULL, count ? count : 1, sizeof *code->entries);
    code->names = at = kiln_alloc(bytes);
    if (!code->entries || !code->names)
        return kiln_fail(l->err, KILN_E_MEMORY, "object: no memory for names");
    for (size_t i = 1; i < l->elf.symbol_count; i++) {
        const char *name = l->elf.symbol_names[i];

        if (!is_function(l, i))
            continue;
        memcpy(at, name, strlen(name) + 1);
        code->entries[code->entry_count].name = at;
        code->entries[code->entry_count++].address =
            (uintptr_t)symbol_address(l, i);
        at += strlen(name) + 1;
    }
    qsort(code->entries, code->entry_count, sizeof *code->entries, by_name);
    for (uint32_t k = 0; k < l->info.kernel_count; k++) {
        const struct object_kernel *kernel = &l->info.kernels[k];

        for (uint32_t v = 0; v < kernel->variant_count; v++)
            if (!object_symbol(code, kernel->variants[v].symbol))
                return kiln_fail(l->err, KILN_E_SYMBOL,
                                 "object: kernel %s: no function %s",
                                 kernel->name, kernel->variants[v].symbol);
    }
    return KILN_OK;
}

static enum kiln_status map_and_relocate(struct loader *l,
                                         struct object_code *code)
{
    const uint64_t size = lay_out(l);
    enum kiln_status st;

    /* Only variables, which live in the data segment, or nothing at all. */
    if (!size)
        return KILN_OK;
    l->map =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (l->low ? MAP_32BIT : 0), -1, 0);
    if (l->map == MAP_FAILED)
        return kiln_fail(l->err, KILN_E_MEMORY,
                         "object: no room for %llu bytes of code%s: %m",
                         (unsigned long long)size,
                         l->low ? " below 2 GiB" : "");
    code->map = l->map;
    code->map_size = (size_t)size;
    code->code_size = (size_t)l->end[REGION_CODE];
    fill(l);
    st = relocate(l);
    if (!st)
        st = protect(l);
    return st;
}

enum kiln_status object_load(const void *bytes, size_t size,
                             struct object_code **out, struct kiln_error *err)
{
    struct loader l = {.err = err, .page = (size_t)sysconf(_SC_PAGESIZE)};
    struct object_code *code = NULL;
    enum kiln_status st = object_read(bytes, size, &l.arena, &l.info, err);

    if (!st)
        st = elf_open(bytes, size, &l.arena, &l.elf, err);
    if (!st)
        st = survey(&l);
    if (st)
        goto out;
    code = kiln_zalloc(sizeof *code);
    if (!code) {
        st = kiln_fail(err, KILN_E_MEMORY, "object: no memory to load");
        goto out;
    }
    st = map_and_relocate(&l, code);
    if (!st)
        st = collect(&l, code);
    if (!st)
        st = keep_lines(&l, code);
    if (st)
        goto out;
    *out = code;
    code = NULL;
out:
    object_unload(code);
    arena_fini(&l.arena);
    return st;
}

void object_unload(struct object_code *code)
{
    if (!code)
        return;
    if (code->map)
        munmap(code->map, code->map_size);
    kiln_release(code->entries);
    kiln_release(code->names);
    kiln_release(code->lines);
    kiln_release(code);
}

void *object_symbol(const struct object_code *code, const char *name)
{
    const struct object_entry key = {name, 0};
    const struct object_entry *found =
        bsearch(&key, code->entries, code->entry_count, sizeof key, by_name);

    return found ? (void *)found->address : NULL;
}

unsigned object_line(const struct object_code *code, uintptr_t address)
{
    const uintptr_t from = (uintptr_t)code->map;

    return address - from < code->code_size
               ? lines_find(code->lines, code->lines_size, address)
               : 0;
}

void object_code_range(const struct object_code *code, uintptr_t *begin,
                       uintptr_t *end)
{
    *begin = (uintptr_t)code->map;
    *end = *begin + code->code_size;
}
