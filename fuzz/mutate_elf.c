/* SPDX-License-Identifier: MIT
 *
 * A 64-bit ELF file whose tables stay plausible: fields of sections, symbols,
 * relocations and segments get numbers that could be right, what grows moves
 * to the end of the file, and sections are renamed to names that mean
 * something to a reader.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate.h"
#include "image/fatbin.h"

struct field {
    uint8_t at, size;
};

static const char *const names[] = {
    ".symtab",         ".strtab",         ".shstrtab",       ".text.",
    ".nv.info",        ".nv.info.",       ".nv.shared.",     ".nv.constant0.",
    ".nv.constant3",   ".nv.global",      ".nv.global.init", ".nv.compat",
    ".note.nv.cuinfo", ".note.nv.tkinfo", ".nv_fatbin",      ".nvFatBinSegment",
    ".nv.merc.x",      ".rela.text",      ".kiln.info",      ".eh_frame",
    "__nv_relfatbin"};

static Elf64_Ehdr header_of(const struct buffer *b)
{
    Elf64_Ehdr h;

    memcpy(&h, b->bytes, sizeof h);
    return h;
}

static void put_header(struct buffer *b, const Elf64_Ehdr *h)
{
    memcpy(b->bytes, h, sizeof *h);
}

static int has_table(const struct buffer *b, const Elf64_Ehdr *h)
{
    return h->e_shnum && h->e_shoff <= b->size &&
           h->e_shnum <= (b->size - h->e_shoff) / sizeof(Elf64_Shdr);
}

static Elf64_Shdr section_of(const struct buffer *b, const Elf64_Ehdr *h,
                             uint32_t i)
{
    Elf64_Shdr s;

    memcpy(&s, b->bytes + h->e_shoff + i * sizeof s, sizeof s);
    return s;
}

static void put_section(struct buffer *b, const Elf64_Ehdr *h, uint32_t i,
                        const Elf64_Shdr *s)
{
    memcpy(b->bytes + h->e_shoff + i * sizeof *s, s, sizeof *s);
}

static int lies_inside(const struct buffer *b, const Elf64_Shdr *s)
{
    return s->sh_offset <= b->size && s->sh_size <= b->size - s->sh_offset;
}

static void set_field(struct buffer *b, uint64_t row, const struct field *f,
                      uint64_t value)
{
    memcpy(b->bytes + row + f->at, &value, f->size);
}

static void change_header(struct buffer *b, struct rng *r)
{
    static const struct field fields[] = {
        {EI_CLASS, 1}, {EI_DATA, 1}, {EI_VERSION, 1}, {EI_ABIVERSION, 1},
        {16, 2},       {18, 2},      {20, 4},         {32, 8},
        {40, 8},       {48, 1},      {49, 1},         {50, 1},
        {52, 2},       {54, 2},      {56, 2},         {58, 2},
        {60, 2},       {62, 2}};
    static const uint8_t values[] = {0,  1,  2,  3,  4,  7,   8,   9,   40,
                                     56, 62, 64, 75, 90, 100, 120, 183, 190};
    const struct field *f =
        &fields[rng_below(r, sizeof fields / sizeof *fields)];

    set_field(b, 0, f,
              rng_below(r, 4) ? values[rng_below(r, sizeof values)]
                              : rng_number(r, b->size));
}

/* A field of a section's row. */
static void change_row(struct buffer *b, const Elf64_Ehdr *h, uint32_t i,
                       struct rng *r)
{
    static const uint32_t types[] = {SHT_NULL,   SHT_PROGBITS, SHT_SYMTAB,
                                     SHT_STRTAB, SHT_RELA,     SHT_NOTE,
                                     SHT_NOBITS, SHT_REL,      0x70000000,
                                     0x70000007, 0x70000008,   0x7000000a};
    Elf64_Shdr s = section_of(b, h, i), other;

    other = section_of(b, h, rng_below(r, h->e_shnum));
    switch (rng_below(r, 11)) {
    case 0:
        s.sh_type = types[rng_below(r, sizeof types / sizeof *types)];
        break;
    case 1:
        s.sh_flags = rng_number(r, 8);
        break;
    case 2:
        s.sh_link = (uint32_t)rng_number(r, h->e_shnum);
        break;
    case 3:
        s.sh_info = rng_below(r, 3) ? (uint32_t)rng_number(r, h->e_shnum)
                                    : rng_below(r, 256) << 24;
        break;
    case 4:
        s.sh_entsize = rng_number(r, 24);
        break;
    case 5:
        s.sh_size = rng_number(r, s.sh_size);
        break;
    case 6:
        s.sh_offset = rng_number(r, b->size);
        break;
    case 7:
        s.sh_addr = rng_below(r, 2) ? s.sh_offset : rng_number(r, b->size);
        break;
    case 8: /* the whole file: sums of sizes get large */
        s.sh_offset = 0;
        s.sh_size = b->size;
        break;
    case 9:
        s.sh_offset = other.sh_offset;
        s.sh_size = other.sh_size;
        break;
    default:
        s = other;
        break;
    }
    put_section(b, h, i, &s);
}

/* New contents, in place or at the end of the file. */
static void replace(struct buffer *b, const Elf64_Ehdr *h, uint32_t i,
                    const struct buffer *with)
{
    Elf64_Shdr s = section_of(b, h, i);

    if (with->size > s.sh_size || !lies_inside(b, &s)) {
        buffer_align(b, 8);
        s.sh_offset = b->size;
        buffer_add(b, with->bytes, with->size);
    } else if (with->size) {
        memcpy(b->bytes + s.sh_offset, with->bytes, with->size);
    }
    s.sh_size = with->size;
    put_section(b, h, i, &s);
}

/* A row of a table: a symbol, a relocation, or a record of .nv.info. */
static void change_entry(struct buffer *b, const Elf64_Shdr *s,
                         uint32_t sections, struct rng *r)
{
    static const struct field symbol[] = {{0, 4}, {4, 1}, {5, 1},
                                          {6, 2}, {8, 8}, {16, 8}};
    static const struct field relocation[] = {{0, 8}, {8, 4}, {12, 4}, {16, 8}};
    static const struct field record[] = {{0, 1}, {1, 1},  {2, 2}, {4, 4},
                                          {8, 2}, {10, 2}, {12, 4}};
    static const uint16_t types[] = {R_X86_64_64, R_X86_64_RELATIVE,
                                     R_AARCH64_ABS64, R_AARCH64_RELATIVE};
    static const uint8_t bytes[] = {0,    1,    2,    3,    4,    5,
                                    9,    0x0a, 0x10, 0x11, 0x12, 0x17,
                                    0x19, 0x2f, 0x45, 13,   0xf1, 0xf2};
    size_t size = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_RELA ? 24
                  : s->sh_type == SHT_REL                            ? 16
                                                                     : 12;
    const struct field *f =
        s->sh_type == SHT_SYMTAB ? &symbol[rng_below(r, 6)]
        : s->sh_type == SHT_RELA ? &relocation[rng_below(r, 4)]
        : s->sh_type == SHT_REL  ? &relocation[rng_below(r, 3)]
                                 : &record[rng_below(r, 7)];
    uint64_t at, value;

    if (!lies_inside(b, s) || s->sh_size < size)
        return;
    at = size == 12 ? rng_below(r, (uint32_t)((s->sh_size - size) / 4 + 1)) * 4
                    : rng_below(r, (uint32_t)(s->sh_size / size)) * size;
    value = f->size == 1 ? bytes[rng_below(r, sizeof bytes)]
                         : rng_number(r, rng_below(r, 2) ? sections : 0x60);
    if (at + f->at + f->size > s->sh_size)
        return;
    if (f == &record[6]) /* a parameter: its size, and of what kind it is */
        value = rng_below(r, 16) << 18 | rng_below(r, 8) << 8;
    if (size == 24 && f == &relocation[1] && rng_below(r, 2))
        value = types[rng_below(r, 4)];
    set_field(b, s->sh_offset + at, f, value);
}

/* Addresses that mean something: of a section, of its bytes, or none. */
static uint64_t some_address(const struct buffer *b, const Elf64_Ehdr *h,
                             struct rng *r)
{
    Elf64_Shdr s = section_of(b, h, rng_below(r, h->e_shnum));
    uint64_t in = s.sh_size < 1 << 16 ? rng_below(r, (uint32_t)s.sh_size) : 0;

    switch (rng_below(r, 8)) {
    case 0:
        return 0;
    case 1:
        return rng_number(r, b->size);
    case 2:
    case 3:
        return s.sh_offset;
    case 4:
        return s.sh_addr + in;
    default:
        return s.sh_addr;
    }
}

/* A pointer, or the version, of one of the wrappers in a section. */
static void change_wrapper(struct buffer *b, const Elf64_Ehdr *h,
                           const Elf64_Shdr *s, struct rng *r)
{
    static const struct field fields[] = {{4, 4}, {8, 8}, {16, 8}};
    uint32_t which = rng_below(r, 3);
    uint64_t n = s->sh_size / FATBIN_WRAPPER;

    if (n < 1 << 16)
        set_field(b, s->sh_offset + rng_below(r, (uint32_t)n) * FATBIN_WRAPPER,
                  &fields[which],
                  which ? some_address(b, h, r) : 1 + rng_below(r, 2));
}

static int has_wrappers(const struct buffer *b, const Elf64_Shdr *s)
{
    static const uint32_t magic = FATBIN_WRAPPER_MAGIC;

    return lies_inside(b, s) && s->sh_size >= FATBIN_WRAPPER &&
           !memcmp(b->bytes + s->sh_offset, &magic, sizeof magic);
}

/* The names' table grows by one at its end, which the section gets; it may be
 * followed by the name of a symbol, as those of kernels' sections are. */
static void rename_section(struct buffer *b, const Elf64_Ehdr *h, uint32_t i,
                           struct rng *r)
{
    struct buffer table = {0};
    Elf64_Shdr s, names_at, symbols;

    if (h->e_shstrndx >= h->e_shnum)
        return;
    names_at = section_of(b, h, h->e_shstrndx);
    symbols = section_of(b, h, rng_below(r, h->e_shnum));
    if (!lies_inside(b, &names_at) || names_at.sh_size > 4096)
        return;
    buffer_add(&table, b->bytes + names_at.sh_offset, names_at.sh_size);
    s = section_of(b, h, i);
    s.sh_name = (uint32_t)table.size;
    put_section(b, h, i, &s);
    buffer_text(&table, names[rng_below(r, sizeof names / sizeof *names)]);
    if (symbols.sh_type == SHT_STRTAB && lies_inside(b, &symbols) &&
        symbols.sh_size) {
        uint64_t at = rng_below(r, (uint32_t)symbols.sh_size);
        const unsigned char *name = b->bytes + symbols.sh_offset + at;

        buffer_add(&table, name,
                   strnlen((const char *)name, symbols.sh_size - at));
    }
    buffer_zeros(&table, 1);
    replace(b, h, h->e_shstrndx, &table);
    buffer_fini(&table);
}

/* The table of sections at the end of the file, with one row more. */
static void add_section(struct buffer *b, Elf64_Ehdr *h, struct rng *r)
{
    struct buffer table = {0};
    Elf64_Shdr s = section_of(b, h, rng_below(r, h->e_shnum));

    if (h->e_shnum > 100)
        return;
    buffer_add(&table, b->bytes + h->e_shoff, h->e_shnum * sizeof s);
    buffer_add(&table, &s, sizeof s);
    buffer_align(b, 8);
    h->e_shoff = b->size;
    h->e_shnum++;
    buffer_add(b, table.bytes, table.size);
    put_header(b, h);
    buffer_fini(&table);
}

/* A segment's field; where there are none, one is made. */
static void change_segment(struct buffer *b, Elf64_Ehdr *h, struct rng *r)
{
    static const struct field fields[] = {{0, 4},  {4, 4},  {8, 8}, {16, 8},
                                          {32, 8}, {40, 8}, {48, 8}};
    uint64_t room = h->e_phnum * sizeof(Elf64_Phdr), row;
    Elf64_Shdr s = section_of(b, h, rng_below(r, h->e_shnum));

    if (!h->e_phnum || h->e_phoff > b->size || room > b->size - h->e_phoff) {
        buffer_align(b, 8);
        h->e_phoff = b->size;
        h->e_phnum = 1;
        h->e_phentsize = sizeof(Elf64_Phdr);
        buffer_zeros(b, sizeof(Elf64_Phdr));
        put_header(b, h);
    }
    row = h->e_phoff + rng_below(r, h->e_phnum) * sizeof(Elf64_Phdr);
    if (rng_below(r, 2)) {
        set_field(b, row, &fields[rng_below(r, 7)], rng_number(r, b->size));
        return;
    }
    /* Where a section is in memory, with zeros behind it. */
    set_field(b, row, &fields[0], PT_LOAD);
    set_field(b, row, &fields[2], s.sh_offset);
    set_field(b, row, &fields[3], s.sh_addr);
    set_field(b, row, &fields[4], s.sh_size);
    set_field(b, row, &fields[5], s.sh_size + rng_below(r, 64));
}

/* The bytes of a section, as what they look like. */
static void change_contents(struct buffer *b, const Elf64_Ehdr *h, uint32_t i,
                            struct rng *r)
{
    Elf64_Shdr s = section_of(b, h, i);
    struct buffer contents = {0};

    if (lies_inside(b, &s) && s.sh_size < 1 << 16)
        buffer_add(&contents, b->bytes + s.sh_offset, s.sh_size);
    mutate_bytes(&contents, r);
    replace(b, h, i, &contents);
    buffer_fini(&contents);
}

int mutate_elf(struct buffer *b, struct rng *r)
{
    Elf64_Ehdr h;
    Elf64_Shdr s;
    uint32_t i;

    if (b->size < sizeof h || b->size > 1 << 18)
        return 0;
    h = header_of(b);
    if (!has_table(b, &h))
        return 0;
    i = rng_below(r, h.e_shnum);
    s = section_of(b, &h, i);
    switch (rng_below(r, 10)) {
    case 0:
        change_header(b, r);
        break;
    case 1:
    case 2:
        change_row(b, &h, i, r);
        break;
    case 3:
    case 4:
    case 5:
        if (has_wrappers(b, &s) && rng_below(r, 4))
            change_wrapper(b, &h, &s, r);
        else
            change_entry(b, &s, h.e_shnum, r);
        break;
    case 6:
        rename_section(b, &h, i, r);
        break;
    case 7:
        if (rng_below(r, 4))
            change_segment(b, &h, r);
        else
            add_section(b, &h, r);
        break;
    default:
        change_contents(b, &h, i, r);
        break;
    }
    if (b->bad)
        abort();
    return 1;
}
