/* SPDX-License-Identifier: MIT
 *
 * Pointers in an ELF file. Linkers differ in what they leave in a pointer's
 * place: GNU's writes the address there, and the relocation says it again;
 * LLVM's leaves zero, and the relocation alone tells. Reading all relocations
 * of a large library takes longer than its wrappers do, so they are read only
 * where a zero stands.
 */
#include <stdlib.h>
#include <string.h>

#include "image/wrappers.h"

struct elf_reloc {
    uint64_t at;
    uint64_t addend;
    uint32_t symbol; /* 0: none */
    uint32_t table;  /* section of the symbols */
};

enum {
    CHUNK = 1 << 10, /* relocations at a time */
    LOADS_MAX = 1 << 16,
    ABS64_X86 = R_X86_64_64,
    RELATIVE_X86 = R_X86_64_RELATIVE,
    ABS64_ARM = R_AARCH64_ABS64,
    RELATIVE_ARM = R_AARCH64_RELATIVE
};

/* Addresses of an object's sections that take no bytes of the file. */
static const uint64_t ZEROS = (uint64_t)1 << 63;

static int by_load(const void *a, const void *b)
{
    const Elf64_Phdr *x = a, *y = b;

    return (x->p_vaddr > y->p_vaddr) - (x->p_vaddr < y->p_vaddr);
}

enum kiln_status elf_memory_open(const struct elf_table *t, struct arena *arena,
                                 struct elf_memory *out, struct kiln_error *err)
{
    const Elf64_Ehdr *h = &t->header;
    struct elf_memory m = {.table = t, .arena = arena};
    enum kiln_status st;

    if (h->e_type != ET_REL && h->e_phnum &&
        h->e_phentsize == sizeof *m.loads &&
        elf_table_holds(t, h->e_phoff, h->e_phnum * sizeof *m.loads)) {
        m.loads = arena_array(arena, h->e_phnum, sizeof *m.loads);
        if (!m.loads)
            return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
        st = elf_table_bytes(t, h->e_phoff, m.loads,
                             h->e_phnum * sizeof *m.loads, err);
        if (st)
            return st;
        for (size_t i = 0; i < h->e_phnum; i++)
            if (m.loads[i].p_type == PT_LOAD)
                m.loads[m.load_count++] = m.loads[i];
        if (m.load_count)
            qsort(m.loads, m.load_count, sizeof *m.loads, by_load);
    }
    *out = m;
    return KILN_OK;
}

uint64_t elf_memory_of(const struct elf_memory *m, const Elf64_Shdr *s,
                       uint64_t at)
{
    if (m->table->header.e_type != ET_REL)
        return s->sh_addr + at;
    return s->sh_type == SHT_NOBITS ? ZEROS | at : s->sh_offset + at;
}

enum elf_where elf_memory_at(const struct elf_memory *m, uint64_t address,
                             uint64_t *offset, uint64_t *left)
{
    size_t low = 0, high = m->load_count;
    const Elf64_Phdr *p;
    uint64_t in;

    if (m->table->header.e_type == ET_REL) {
        *offset = address;
        *left = address < m->table->size ? m->table->size - address : 0;
        return address & ZEROS ? ELF_ZEROS : *left ? ELF_IN_FILE : ELF_NOWHERE;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (m->loads[mid].p_vaddr <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return ELF_NOWHERE;
    p = &m->loads[low - 1];
    in = address - p->p_vaddr;
    if (in >= p->p_filesz)
        return in < p->p_memsz ? ELF_ZEROS : ELF_NOWHERE;
    if (!elf_table_holds(m->table, p->p_offset, p->p_filesz))
        return ELF_NOWHERE;
    *offset = p->p_offset + in;
    *left = p->p_filesz - in;
    return ELF_IN_FILE;
}

static int by_address(const void *a, const void *b)
{
    const struct elf_reloc *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Relocations of 64-bit pointers; others are of code. */
static int is_pointer(const struct elf_table *t, uint64_t type)
{
    return t->header.e_machine == EM_AARCH64
               ? type == ABS64_ARM || type == RELATIVE_ARM
               : type == ABS64_X86 || type == RELATIVE_X86;
}

static enum kiln_status read_section(struct elf_memory *m, const Elf64_Shdr *s,
                                     struct kiln_error *err)
{
    const struct elf_table *t = m->table;
    int object = t->header.e_type == ET_REL;
    const Elf64_Shdr *of =
        object && s->sh_info < t->count ? &t->sections[s->sh_info] : NULL;
    Elf64_Rela chunk[CHUNK];
    uint64_t left = s->sh_size / sizeof *chunk, at = s->sh_offset;

    while (left) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        enum kiln_status st =
            elf_table_bytes(t, at, chunk, n * sizeof *chunk, err);

        if (st)
            return st;
        for (size_t i = 0; i < n; i++) {
            const Elf64_Rela *r = &chunk[i];

            if (!is_pointer(t, ELF64_R_TYPE(r->r_info)) || (object && !of))
                continue;
            m->relocs[m->reloc_count++] = (struct elf_reloc){
                .at = object ? elf_memory_of(m, of, r->r_offset) : r->r_offset,
                .addend = (uint64_t)r->r_addend,
                .symbol = (uint32_t)ELF64_R_SYM(r->r_info),
                .table = s->sh_link};
        }
        left -= n;
        at += n * sizeof *chunk;
    }
    return KILN_OK;
}

static int is_relocs(const struct elf_table *t, const Elf64_Shdr *s)
{
    return s->sh_type == SHT_RELA && elf_table_has_bytes(t, s);
}

/* All relocations, once. Sections of a hostile file may all lie on the same
 * bytes: no more of them than the file is long. */
static enum kiln_status read_relocs(struct elf_memory *m,
                                    struct kiln_error *err)
{
    const struct elf_table *t = m->table;
    uint64_t bytes = 0;
    size_t sections = 0;

    m->has_relocs = 1;
    for (; sections < t->count; sections++) {
        const Elf64_Shdr *s = &t->sections[sections];

        if (is_relocs(t, s) && s->sh_size > t->size - bytes)
            break;
        bytes += is_relocs(t, s) ? s->sh_size : 0;
    }
    m->relocs = arena_array(m->arena, (size_t)(bytes / sizeof(Elf64_Rela)),
                            sizeof *m->relocs);
    if (!m->relocs)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    for (size_t i = 0; i < sections; i++)
        if (is_relocs(t, &t->sections[i])) {
            enum kiln_status st = read_section(m, &t->sections[i], err);

            if (st)
                return st;
        }
    if (m->reloc_count)
        qsort(m->relocs, m->reloc_count, sizeof *m->relocs, by_address);
    return KILN_OK;
}

/* The address of a symbol; 0 where it is not in this file. */
static enum kiln_status symbol_address(const struct elf_memory *m,
                                       const struct elf_reloc *r, uint64_t *out,
                                       struct kiln_error *err)
{
    const struct elf_table *t = m->table;
    const Elf64_Shdr *s;
    Elf64_Sym symbol;
    enum kiln_status st;

    *out = 0;
    if (r->table >= t->count)
        return KILN_OK;
    s = &t->sections[r->table];
    if (!elf_table_has_bytes(t, s) || s->sh_entsize != sizeof symbol ||
        r->symbol >= s->sh_size / sizeof symbol)
        return KILN_OK;
    st = elf_table_bytes(t, s->sh_offset + r->symbol * sizeof symbol, &symbol,
                         sizeof symbol, err);
    if (st || !symbol.st_shndx || symbol.st_shndx >= t->count)
        return st;
    *out =
        t->header.e_type == ET_REL
            ? elf_memory_of(m, &t->sections[symbol.st_shndx], symbol.st_value)
            : symbol.st_value;
    return KILN_OK;
}

enum kiln_status elf_memory_pointer(struct elf_memory *m, uint64_t address,
                                    uint64_t stored, uint64_t *out,
                                    struct kiln_error *err)
{
    struct elf_reloc key = {.at = address}, *r;
    uint64_t symbol = 0;
    enum kiln_status st = KILN_OK;

    if (stored) {
        *out = stored;
        return KILN_OK;
    }
    if (!m->has_relocs)
        st = read_relocs(m, err);
    if (st)
        return st;
    r = m->reloc_count ? bsearch(&key, m->relocs, m->reloc_count,
                                 sizeof *m->relocs, by_address)
                       : NULL;
    if (r && r->symbol)
        st = symbol_address(m, r, &symbol, err);
    if (st)
        return st;
    *out = !r || (r->symbol && !symbol) ? 0 : symbol + r->addend;
    return KILN_OK;
}
