/* SPDX-License-Identifier: MIT
 *
 * Damage where a loader of cubins looks: headers, sections, symbols,
 * relocations, attribute records, notes, names.
 */
#include <elf.h>
#include <string.h>

#include "mutate.h"

struct cubin {
    unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    uint64_t *state;
};

static uint64_t below(struct cubin *c, uint64_t bound)
{
    return bound ? random_next(c->state) % bound : 0;
}

static int section(const struct cubin *c, unsigned index, Elf64_Shdr *out)
{
    uint64_t at = c->header.e_shoff + (uint64_t)index * sizeof *out;

    if (index >= c->header.e_shnum || at > c->size ||
        c->size - at < sizeof *out)
        return 0;
    memcpy(out, c->bytes + at, sizeof *out);
    return 1;
}

static int has_bytes(const struct cubin *c, const Elf64_Shdr *s)
{
    return s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS && s->sh_size &&
           s->sh_offset < c->size && s->sh_size <= c->size - s->sh_offset;
}

/* One of the sections of a type at random (0: any with bytes). */
static int pick(struct cubin *c, uint32_t type, Elf64_Shdr *out)
{
    unsigned from = (unsigned)below(c, c->header.e_shnum);

    for (unsigned i = 0; i < c->header.e_shnum; i++) {
        unsigned index = (from + i) % c->header.e_shnum;

        if (section(c, index, out) && has_bytes(c, out) &&
            (!type || out->sh_type == type))
            return 1;
    }
    return 0;
}

struct field {
    unsigned char at, width;
};

static const struct field header_fields[] = {
    {4, 1},  {5, 1},  {6, 1},  {7, 1},  {8, 1},  {9, 1},  {16, 2},
    {18, 2}, {20, 4}, {24, 8}, {32, 8}, {40, 8}, {48, 4}, {52, 2},
    {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2}};
static const struct field section_fields[] = {
    {0, 4},  {4, 4},  {8, 8},  {16, 8}, {24, 8},
    {32, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}};
static const struct field symbol_fields[] = {{0, 4}, {4, 1}, {5, 1},
                                             {6, 2}, {8, 8}, {16, 8}};
static const struct field relocation_fields[] = {
    {0, 8}, {8, 4}, {12, 4}, {16, 8}};
static const struct field segment_fields[] = {
    {0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void one_field(struct cubin *c, uint64_t row, const struct field *fields,
                      size_t count)
{
    const struct field *f = &fields[below(c, count)];

    if (row <= c->size && c->size - row >= (size_t)f->at + f->width)
        mutate_field(c->bytes + row + f->at, f->width, c->state);
}

/* A row of a table: one field, or swapped with another row. */
static void table_row(struct cubin *c, const Elf64_Shdr *s, size_t width,
                      const struct field *fields, size_t count)
{
    uint64_t rows = s->sh_size / width;
    uint64_t a = s->sh_offset + below(c, rows) * width;
    uint64_t b = s->sh_offset + below(c, rows) * width;

    if (!rows)
        return;
    if (below(c, 6)) {
        one_field(c, a, fields, count);
        return;
    }
    for (size_t i = 0; i < width; i++) {
        unsigned char byte = c->bytes[a + i];

        c->bytes[a + i] = c->bytes[b + i];
        c->bytes[b + i] = byte;
    }
}

/* A record of .nv.info, .nv.info.KERNEL or .nv.compat. */
static void record(struct cubin *c)
{
    static const uint32_t types[] = {0x70000000, 0x70000000, 0x70000086};
    unsigned char *at;
    uint64_t left, skip;
    Elf64_Shdr s;

    if (!pick(c, types[below(c, 3)], &s))
        return;
    at = c->bytes + s.sh_offset;
    left = s.sh_size;
    for (skip = below(c, 24); left > 4; skip--) {
        uint16_t size;
        uint64_t n = 4;

        memcpy(&size, at + 2, sizeof size);
        if (at[0] == 4)
            n += (size + 3u) & ~3u;
        if (!skip || n >= left) {
            uint64_t what = below(c, 8);

            if (what < 3)
                mutate_field(at + what, what == 2 ? 2 : 1, c->state);
            else if (n > 4 && n <= left)
                mutate_field(at + 4 + below(c, (n - 4) / 4) * 4, 4, c->state);
            return;
        }
        at += n;
        left -= n;
    }
}

/* A word of a section of any kind, its code too. */
static void word(struct cubin *c, uint32_t type)
{
    Elf64_Shdr s;

    if (pick(c, type, &s) && s.sh_size >= 4)
        mutate_field(c->bytes + s.sh_offset + below(c, s.sh_size / 4) * 4, 4,
                     c->state);
}

static void string(struct cubin *c)
{
    Elf64_Shdr s;

    if (pick(c, SHT_STRTAB, &s))
        mutate_field(c->bytes + s.sh_offset + below(c, s.sh_size), 1, c->state);
}

static void two_sections(struct cubin *c)
{
    uint64_t a = below(c, c->header.e_shnum), b = below(c, c->header.e_shnum);
    Elf64_Shdr first, second;

    if (!section(c, (unsigned)a, &first) || !section(c, (unsigned)b, &second))
        return;
    memcpy(c->bytes + c->header.e_shoff + a * sizeof first, &second,
           sizeof second);
    if (below(c, 2))
        memcpy(c->bytes + c->header.e_shoff + b * sizeof first, &first,
               sizeof first);
}

static void relocation(struct cubin *c)
{
    Elf64_Shdr s;
    uint32_t type = below(c, 2) ? SHT_REL : SHT_RELA;

    if (!pick(c, type, &s) && !pick(c, type = SHT_REL + SHT_RELA - type, &s))
        return;
    table_row(c, &s, type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel),
              relocation_fields,
              type == SHT_RELA ? COUNT(relocation_fields)
                               : COUNT(relocation_fields) - 1);
}

size_t mutate_cubin(unsigned char *bytes, size_t size, uint64_t *state)
{
    struct cubin c = {.bytes = bytes, .size = size, .state = state};
    Elf64_Shdr s;

    if (size < sizeof c.header)
        return size;
    memcpy(&c.header, bytes, sizeof c.header);
    if (!c.header.e_shnum || c.header.e_shnum > 4096)
        return size;
    switch (below(&c, 16)) {
    case 0:
        one_field(&c, 0, header_fields, COUNT(header_fields));
        break;
    case 1:
    case 2:
    case 3:
        one_field(&c,
                  c.header.e_shoff +
                      below(&c, c.header.e_shnum) * sizeof(Elf64_Shdr),
                  section_fields, COUNT(section_fields));
        break;
    case 4:
    case 5:
        if (pick(&c, SHT_SYMTAB, &s))
            table_row(&c, &s, sizeof(Elf64_Sym), symbol_fields,
                      COUNT(symbol_fields));
        break;
    case 6:
    case 7:
        relocation(&c);
        break;
    case 8:
    case 9:
    case 10:
        record(&c);
        break;
    case 11:
        word(&c, SHT_NOTE);
        break;
    case 12:
        one_field(&c,
                  c.header.e_phoff +
                      below(&c, c.header.e_phnum) * sizeof(Elf64_Phdr),
                  segment_fields, COUNT(segment_fields));
        break;
    case 13:
        string(&c);
        break;
    case 14:
        two_sections(&c);
        break;
    default:
        word(&c, below(&c, 2) ? 0x70000001 : 0);
        break;
    }
    /* And cut, now and then: at a section, or anywhere. */
    if (below(&c, 24) == 0)
        return below(&c, 2) && pick(&c, 0, &s) ? (size_t)s.sh_offset
                                               : (size_t)below(&c, size);
    return size;
}
