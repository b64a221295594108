/* SPDX-License-Identifier: MIT
 *
 * Host ELF files for the scan, written field by field: what a compiler makes
 * of wrappers that it does not make on every machine, and tables that lie. A
 * mutator would get at most of them, in hours.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "fuzz/seed.h"
#include "image/fatbin.h"

enum { ROWS = 24, BASE = 0x1000 };

/* One file while it is made: bytes first, the table of sections last. Bytes
 * at an offset are at the address BASE + offset. */
struct elf {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Shdr rows[ROWS];
    struct buffer bytes, names;
};

static void begin(struct elf *e, uint16_t type, uint16_t machine)
{
    *e = (struct elf){.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT},
                                 .e_type = type,
                                 .e_machine = machine,
                                 .e_version = EV_CURRENT,
                                 .e_phoff = sizeof(Elf64_Ehdr),
                                 .e_ehsize = sizeof(Elf64_Ehdr),
                                 .e_phentsize = sizeof(Elf64_Phdr),
                                 .e_phnum = type == ET_REL ? 0 : 1,
                                 .e_shentsize = sizeof(Elf64_Shdr),
                                 .e_shnum = 1},
                      .segment = {.p_type = PT_LOAD, .p_vaddr = BASE}};
    buffer_zeros(&e->bytes, sizeof e->header + sizeof e->segment);
    buffer_zeros(&e->names, 1);
}

/* A row for what was added from `at` on. */
static Elf64_Shdr *section(struct elf *e, const char *name, uint32_t type,
                           size_t at)
{
    Elf64_Shdr *s = &e->rows[e->header.e_shnum++];

    *s = (Elf64_Shdr){.sh_name = (uint32_t)e->names.size,
                      .sh_type = type,
                      .sh_addr = BASE + at,
                      .sh_offset = at,
                      .sh_size = e->bytes.size - at};
    buffer_text(&e->names, name);
    buffer_zeros(&e->names, 1);
    return s;
}

/* An empty container, at an offset that is odd by so much. */
static size_t container(struct elf *e, size_t odd)
{
    size_t at;

    buffer_align(&e->bytes, 8);
    buffer_zeros(&e->bytes, odd);
    at = e->bytes.size;
    buffer_u32(&e->bytes, FATBIN_MAGIC);
    buffer_u32(&e->bytes, 1 | FATBIN_HEADER << 16);
    buffer_u64(&e->bytes, 0);
    return at;
}

static void wrapper(struct elf *e, uint32_t version, uint64_t data,
                    uint64_t array)
{
    buffer_u32(&e->bytes, FATBIN_WRAPPER_MAGIC);
    buffer_u32(&e->bytes, version);
    buffer_u64(&e->bytes, data);
    buffer_u64(&e->bytes, array);
}

/* Tables and header put in their places; the file has all of its bytes. */
static void finish(struct elf *e)
{
    size_t at = e->bytes.size;

    buffer_add(&e->bytes, e->names.bytes, e->names.size);
    e->header.e_shstrndx = e->header.e_shnum;
    section(e, "", SHT_STRTAB, at);
    buffer_align(&e->bytes, 8);
    e->header.e_shoff = e->bytes.size;
    buffer_add(&e->bytes, e->rows, e->header.e_shnum * sizeof *e->rows);
    if (!e->segment.p_filesz)
        e->segment.p_filesz = e->bytes.size;
    if (!e->segment.p_memsz)
        e->segment.p_memsz = e->segment.p_filesz + 4096;
    if (e->bytes.bad)
        abort();
    memcpy(e->bytes.bytes, &e->header, sizeof e->header);
    if (e->header.e_type != ET_REL)
        memcpy(e->bytes.bytes + sizeof e->header, &e->segment,
               sizeof e->segment);
}

static void put(struct elf *e, const char *folder, const char *name)
{
    seed_put(folder, "scan", name, &e->bytes);
    buffer_fini(&e->bytes);
    buffer_fini(&e->names);
}

static void end(struct elf *e, const char *folder, const char *name)
{
    finish(e);
    put(e, folder, name);
}

/* A link whose array the program fills; parts of it in `parts` sections, one
 * of which another link names too. */
static void link_of_parts(const char *folder, const char *name, int parts)
{
    struct elf e;
    size_t at, array, link, other, part[ROWS] = {0};

    begin(&e, ET_EXEC, EM_X86_64);
    link = container(&e, 0);
    other = container(&e, 0);
    for (int i = 0; i < parts; i++) {
        part[i] = container(&e, 0);
        section(&e, "__nv_relfatbin", SHT_PROGBITS, part[i]);
    }
    array = e.bytes.size;
    buffer_u64(&e.bytes, BASE + part[0]);
    buffer_u64(&e.bytes, 0);
    at = e.bytes.size;
    /* Beyond the file and within memory: zeros that something will fill. */
    wrapper(&e, 2, BASE + link, BASE + 8192 - 16);
    wrapper(&e, 2, BASE + other, BASE + array);
    for (int i = 0; i < parts; i++)
        wrapper(&e, 1, BASE + part[i], 0);
    section(&e, ".nvFatBinSegment", SHT_PROGBITS, at);
    e.segment.p_memsz = 16384;
    end(&e, folder, name);
}

/* Pointers that relocations alone tell. */
static void relocated(const char *folder, const char *name, uint16_t machine,
                      uint32_t relative, uint32_t absolute, int overlap)
{
    struct elf e;
    size_t at, relocs, symbols, data;

    begin(&e, ET_DYN, machine);
    data = container(&e, 1);
    buffer_align(&e.bytes, 8);
    at = e.bytes.size;
    wrapper(&e, 2, 0, 0);
    wrapper(&e, 1, 0, 0);
    section(&e, ".nvFatBinSegment", SHT_PROGBITS, at);
    symbols = e.bytes.size;
    buffer_zeros(&e.bytes, sizeof(Elf64_Sym));
    buffer_u64(&e.bytes, (uint64_t)1 << 48); /* st_name .. st_shndx */
    buffer_u64(&e.bytes, BASE + data);
    buffer_u64(&e.bytes, 16);
    section(&e, ".dynsym", SHT_DYNSYM, symbols)->sh_entsize = sizeof(Elf64_Sym);
    relocs = e.bytes.size;
    buffer_u64(&e.bytes, BASE + at + 8);
    buffer_u64(&e.bytes, relative);
    buffer_u64(&e.bytes, BASE + data);
    buffer_u64(&e.bytes, BASE + at + FATBIN_WRAPPER + 8);
    buffer_u64(&e.bytes, (uint64_t)1 << 32 | absolute);
    buffer_u64(&e.bytes, 0);
    section(&e, ".rela.dyn", SHT_RELA, relocs)->sh_link = 2;
    for (int i = 0; i < overlap; i++) {
        Elf64_Shdr *s = section(&e, ".rela.x", SHT_RELA, 0);

        s->sh_link = 2;
        s->sh_size = e.bytes.size;
    }
    end(&e, folder, name);
}

/* Sections of wrappers, and arrays, that lie on the same bytes. */
static void shared_bytes(const char *folder)
{
    struct elf e;
    size_t at, data;

    begin(&e, ET_EXEC, EM_X86_64);
    data = container(&e, 0);
    at = e.bytes.size;
    for (int i = 0; i < 8; i++)
        wrapper(&e, 2, BASE + data, BASE + data);
    for (int i = 0; i < 12; i++)
        section(&e, ".nvFatBinSegment", SHT_PROGBITS, at);
    at = e.bytes.size;
    end(&e, folder, "same-wrappers");

    begin(&e, ET_EXEC, EM_X86_64);
    data = container(&e, 0);
    at = e.bytes.size;
    for (int i = 0; i < 40; i++)
        wrapper(&e, 2, BASE + data, BASE + at);
    section(&e, ".nvFatBinSegment", SHT_PROGBITS, at);
    end(&e, folder, "same-arrays");
}

/* Wrappers to a container behind the end of the ELF file, and to the last
 * bytes of it all. */
static void behind_the_end(const char *folder)
{
    enum { AT = 1025, SIZE = 1100 };
    struct elf e;
    size_t at;

    begin(&e, ET_EXEC, EM_X86_64);
    at = e.bytes.size;
    wrapper(&e, 1, BASE + AT, 0);
    wrapper(&e, 1, BASE + SIZE - 7, 0);
    section(&e, ".nvFatBinSegment", SHT_PROGBITS, at);
    e.segment.p_filesz = SIZE;
    finish(&e);
    buffer_zeros(&e.bytes, AT - 1 - e.bytes.size);
    container(&e, 1);
    buffer_zeros(&e.bytes, SIZE - e.bytes.size);
    put(&e, folder, "behind");
}

/* Fields of the header that say what cannot be. */
static void lies(const char *folder)
{
    static const struct {
        uint8_t at, size;
        uint64_t value;
    } fields[] = {{EI_CLASS, 1, 0}, {EI_CLASS, 1, 1},    {EI_CLASS, 1, 3},
                  {EI_DATA, 1, 0},  {EI_DATA, 1, 2},     {EI_DATA, 1, 3},
                  {16, 2, ET_CORE}, {32, 8, 1 << 20},    {40, 8, 0},
                  {40, 8, 1 << 20}, {40, 8, UINT64_MAX}, {54, 2, 32},
                  {56, 2, 0xffff},  {58, 2, 63},         {60, 2, 0},
                  {60, 2, 0xffff},  {62, 2, 7},          {62, 2, SHN_XINDEX},
                  {16, 2, ET_REL},  {18, 2, EM_AARCH64}};
    char name[32];

    for (size_t i = 0; i <= sizeof fields / sizeof *fields; i++) {
        struct elf e;
        size_t at;

        begin(&e, ET_DYN, EM_X86_64);
        at = container(&e, 0);
        section(&e, ".nv_fatbin", SHT_PROGBITS, at);
        if (i == sizeof fields / sizeof *fields)
            section(&e, ".far", SHT_PROGBITS, 0)->sh_size = 1 << 20;
        finish(&e);
        if (i < sizeof fields / sizeof *fields)
            memcpy(e.bytes.bytes + fields[i].at, &fields[i].value,
                   fields[i].size);
        snprintf(name, sizeof name, "lie-%zu", i);
        put(&e, folder, name);
    }
}

static void objects(const char *folder)
{
    struct elf e;

    for (unsigned bare = 0; bare < 2; bare++) {
        begin(&e, ET_REL, EM_X86_64);
        buffer_text(&e.bytes, "KILNINFO");
        section(&e, ".kiln.info", bare ? SHT_NOBITS : SHT_PROGBITS,
                e.bytes.size - 8);
        end(&e, folder, bare ? "no-object" : "object");
    }
}

/* A member of four bytes, whose name and size are written with so many digits.
 */
static void member(struct buffer *b, const char *name, int digits, int number,
                   int size_digits)
{
    char field[32];

    snprintf(field, sizeof field, "%s%0*d", name, digits, number);
    buffer_printf(b, "%-16.16s%-32s", field, "");
    snprintf(field, sizeof field, "%0*d", size_digits, 4);
    buffer_printf(b, "%-10s`\nabcd", field);
}

/* Numbers of every length that a field holds. */
static void archives(const char *folder)
{
    struct buffer b = {0};

    buffer_text(&b, "!<arch>\n");
    for (int n = 1; n <= 10; n++)
        member(&b, "a", 1, 0, n);
    seed_put(folder, "scan", "sizes", &b);
    b.size = 0;
    buffer_text(&b, "!<arch>\n");
    buffer_printf(&b, "%-48s%-10d`\na.o/", "//", 4);
    for (int n = 1; n <= 15; n++)
        member(&b, "/", n, 1, 1);
    for (int n = 1; n <= 13; n++)
        member(&b, "#1/", n, 2, 1);
    seed_put(folder, "scan", "names", &b);
    buffer_fini(&b);
}

/* What is no ELF file at all. */
static void others(const char *folder)
{
    struct buffer b = {0};

    buffer_text(&b, "\xef\xbb\xbf.version 8.0\n.target sm_90\n");
    seed_put(folder, "scan", "bom", &b);
    b.size = 0;
    buffer_zeros(&b, 8192);
    if (b.bad)
        abort();
    seed_put(folder, "scan", "zeros", &b);
    /* Of a header that the first block cuts, only the number is seen there. */
    memcpy(b.bytes + 4090, "\x50\xed\x55\xba\1\0\x41", 7);
    seed_put(folder, "scan", "cut-header", &b);
    memcpy(b.bytes + 4090, "\x50\xed\x55\xba\2\0\x40", 7);
    seed_put(folder, "scan", "cut-version", &b);
    buffer_fini(&b);
}

void seed_scans(const char *folder)
{
    link_of_parts(folder, "link", 1);
    link_of_parts(folder, "link-of-many", 18);
    relocated(folder, "arm", EM_AARCH64, R_AARCH64_RELATIVE, R_AARCH64_ABS64,
              0);
    relocated(folder, "x86", EM_X86_64, R_X86_64_RELATIVE, R_X86_64_64, 0);
    relocated(folder, "same-relocations", EM_X86_64, R_X86_64_RELATIVE,
              R_X86_64_64, 8);
    shared_bytes(folder);
    behind_the_end(folder);
    lies(folder);
    objects(folder);
    archives(folder);
    others(folder);
}
