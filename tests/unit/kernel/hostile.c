/* SPDX-License-Identifier: MIT */
#include "hostile.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "image/fatbin.h"

/* ---- containers and entries ------------------------------------------- */

static void container(struct buffer *b, uint64_t body)
{
    buffer_u32(b, FATBIN_MAGIC);
    buffer_u16(b, 1);
    buffer_u16(b, FATBIN_HEADER);
    buffer_u64(b, body);
}

static void entry(struct buffer *b, uint16_t kind, uint64_t stored,
                  uint32_t packed, uint64_t plain, uint64_t flags)
{
    buffer_u16(b, kind);
    buffer_u16(b, 0x0101);
    buffer_u32(b, FATBIN_ENTRY);
    buffer_u64(b, stored);
    buffer_u32(b, packed);
    buffer_u32(b, 0);
    buffer_u32(b, 0x00070000);
    buffer_u32(b, 90);
    buffer_u64(b, 0);
    buffer_u64(b, flags);
    buffer_u64(b, 0);
    buffer_u64(b, plain);
}

static void empty_containers(struct buffer *b, size_t size)
{
    while (b->size < size)
        container(b, 0);
}

/* So that none follows the other directly. */
static void apart_containers(struct buffer *b, size_t size)
{
    for (container(b, 0); b->size < size; container(b, 0))
        buffer_u32(b, 7);
}

static void damaged_containers(struct buffer *b, size_t size)
{
    while (b->size < size)
        container(b, UINT64_MAX / 2);
}

/* Each in the payload of the one before, all of them damaged at the end. */
static void nested_containers(struct buffer *b, size_t size)
{
    while (b->size + 200 < size) {
        uint64_t left = size - b->size;

        container(b, left);
        entry(b, FATBIN_PTX, left, 0, 0, 1);
    }
}

static void numbers(struct buffer *b, size_t size)
{
    buffer_zeros(b, 64);
    while (b->size < size)
        buffer_u32(b, FATBIN_MAGIC);
}

static void entries(struct buffer *b, size_t size)
{
    size_t n = size / FATBIN_ENTRY;

    container(b, n * FATBIN_ENTRY);
    while (n--)
        entry(b, FATBIN_PTX, 0, 0, 0, 1);
}

/* One packed entry after the other. */
static void packed(struct buffer *b, size_t size, const void *bytes, size_t n,
                   uint64_t plain, uint64_t flags)
{
    static const unsigned char zeros[8];
    uint64_t stored = (n + 7) & ~(uint64_t)7;
    uint64_t count = size / (FATBIN_ENTRY + stored);

    count = count ? count : 1;
    for (container(b, count * (FATBIN_ENTRY + stored)); count; count--) {
        entry(b, FATBIN_PTX, stored, (uint32_t)n, plain, flags);
        buffer_add(b, bytes, n);
        buffer_add(b, zeros, stored - n);
    }
}

static void small_bombs(struct buffer *b, size_t size)
{
    unsigned char zeros[1 << 16] = {0}, to[512];
    size_t n = ZSTD_compress(to, sizeof to, zeros, sizeof zeros, 3);

    packed(b, size, to, n, sizeof zeros, 1 | FATBIN_ZSTD);
}

/* A raw LZ4 block: a literal, then one match as long as its bytes of length
 * say, which is 255 for each. */
static void lz4_bomb(struct buffer *b, size_t size)
{
    struct buffer block = {0};
    size_t n = size - 256;

    buffer_text(&block, "\x1f \x01");
    buffer_u8(&block, 0);
    for (size_t i = 0; i < n; i++)
        buffer_u8(&block, 255);
    buffer_u8(&block, 0);
    buffer_text(&block, "P     ");
    packed(b, 0, block.bytes, block.size, (uint64_t)n * 255 + 25,
           1 | FATBIN_LZ4);
    buffer_fini(&block);
}

/* A frame of runs of one byte each. */
static void zstd_blocks(struct buffer *b, size_t size)
{
    struct buffer frame = {0};
    size_t n = size / 4;

    buffer_u32(&frame, ZSTD_MAGICNUMBER);
    buffer_u8(&frame, 0xa0);
    buffer_u32(&frame, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        buffer_u32(&frame,
                   (uint32_t)' ' << 24 | 1 << 3 | 1 << 1 | (i + 1 == n));
    packed(b, 0, frame.bytes, frame.size, n, 1 | FATBIN_ZSTD);
    buffer_fini(&frame);
}

static void zstd_frames(struct buffer *b, size_t size)
{
    static const unsigned char one[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20,
                                        1,    9,    0,    0,    ' '};
    struct buffer frames = {0};
    size_t n = size / sizeof one;

    for (size_t i = 0; i < n; i++)
        buffer_add(&frames, one, sizeof one);
    packed(b, 0, frames.bytes, frames.size, n, 1 | FATBIN_ZSTD);
    buffer_fini(&frames);
}

/* ---- host ELF files ----------------------------------------------------- */

static void elf_header(struct buffer *b, uint16_t machine, uint32_t flags)
{
    Elf64_Ehdr h = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = machine,
        .e_version = EV_CURRENT,
        .e_flags = flags,
        .e_ehsize = sizeof h,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr)};

    if (machine == EM_CUDA)
        h.e_ident[EI_ABIVERSION] = 8;
    buffer_add(b, &h, sizeof h);
}

/* The table goes to the end; more sections than fit into the header's field
 * are counted by the first of them. */
static void elf_sections(struct buffer *b, const Elf64_Shdr *list, size_t count,
                         size_t names)
{
    Elf64_Ehdr h;
    Elf64_Shdr none = {.sh_size = count + 1, .sh_link = (uint32_t)names};

    memcpy(&h, b->bytes, sizeof h);
    h.e_shoff = b->size;
    h.e_shnum = 0;
    h.e_shstrndx = SHN_XINDEX;
    memcpy(b->bytes, &h, sizeof h);
    buffer_add(b, &none, sizeof none);
    buffer_add(b, list, count * sizeof *list);
}

/* Sections at odd places, all of them over the whole file. */
static void overlapping_sections(struct buffer *b, size_t size)
{
    struct buffer list = {0};
    size_t n = size / 2 / sizeof(Elf64_Shdr);

    elf_header(b, EM_X86_64, 0);
    buffer_zeros(b, size / 2);
    for (size_t i = 0; i < n; i++) {
        Elf64_Shdr s = {.sh_type = SHT_PROGBITS,
                        .sh_offset = 65 + i % 64,
                        .sh_size = size / 2 - 128};

        buffer_add(&list, &s, sizeof s);
    }
    elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes, n, 0);
    buffer_fini(&list);
}

/* Empty sections where containers are, whose names are long. */
static void empty_sections(struct buffer *b, size_t size)
{
    struct buffer list = {0};
    size_t n = size / 2 / sizeof(Elf64_Shdr), at, text = 1 << 20;

    elf_header(b, EM_X86_64, 0);
    buffer_zeros(b, text);
    memset(b->bytes + b->size - text, 'n', text - 1);
    at = b->size;
    while (b->size < size / 2 + 64)
        container(b, 0);
    for (size_t i = 0; i < n; i++) {
        Elf64_Shdr s = {.sh_type = SHT_PROGBITS, .sh_offset = at};

        s.sh_size = i + 1 == n ? b->size - at : 0;
        if (i == 0) {
            s.sh_offset = sizeof(Elf64_Ehdr);
            s.sh_size = text;
        }
        buffer_add(&list, &s, sizeof s);
    }
    elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes, n, 1);
    buffer_fini(&list);
}

/* Wrappers that all lead to one array, with relocations in no order. */
static void wrappers(struct buffer *b, size_t size)
{
    static const char names[] = "\0.nvFatBinSegment";
    enum { ADDRESS = 0x1000 };
    size_t third = size / 3 & ~(size_t)63, segment, array, relocs;
    Elf64_Phdr load = {.p_type = PT_LOAD, .p_vaddr = ADDRESS};
    Elf64_Shdr list[3] = {0};
    Elf64_Ehdr h;

    elf_header(b, EM_X86_64, 0);
    load.p_filesz = load.p_memsz = size;
    buffer_add(b, &load, sizeof load);
    buffer_add(b, names, sizeof names);
    buffer_align(b, 8);
    segment = b->size;
    array = segment + third;
    relocs = array + third;
    while (b->size + FATBIN_WRAPPER <= array) {
        buffer_u32(b, FATBIN_WRAPPER_MAGIC);
        buffer_u32(b, 2);
        buffer_u64(b, 0);
        buffer_u64(b, ADDRESS + array);
    }
    buffer_zeros(b, array - b->size);
    while (b->size < relocs)
        buffer_u64(b, ADDRESS + array + (b->size & 0xffff));
    for (size_t i = 0; i < third / sizeof(Elf64_Rela); i++) {
        uint64_t slot = i * 2654435761u % (third / FATBIN_WRAPPER);
        Elf64_Rela r = {.r_offset =
                            ADDRESS + segment + slot * FATBIN_WRAPPER + 8,
                        .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
                        .r_addend = (int64_t)(ADDRESS + array + i * 8)};

        buffer_add(b, &r, sizeof r);
    }
    list[0] = (Elf64_Shdr){.sh_name = 1,
                           .sh_type = SHT_PROGBITS,
                           .sh_addr = ADDRESS + segment,
                           .sh_offset = segment,
                           .sh_size = third};
    list[1] = (Elf64_Shdr){
        .sh_type = SHT_RELA, .sh_offset = relocs, .sh_size = b->size - relocs};
    list[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                           .sh_offset = sizeof h + sizeof load,
                           .sh_size = sizeof names};
    memcpy(&h, b->bytes, sizeof h);
    h.e_phoff = sizeof h;
    h.e_phnum = 1;
    memcpy(b->bytes, &h, sizeof h);
    elf_sections(b, list, 3, 3);
}

/* ---- archives ----------------------------------------------------------- */

static void member(struct buffer *b, const void *bytes, size_t size)
{
    buffer_printf(b, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", "a.o/", "0", "0", "0",
                  "644", size);
    buffer_add(b, bytes, size);
    if (size & 1)
        buffer_u8(b, '\n');
}

static void empty_members(struct buffer *b, size_t size)
{
    buffer_text(b, "!<arch>\n");
    while (b->size < size)
        member(b, "", 0);
}

static void elf_members(struct buffer *b, size_t size)
{
    struct buffer one = {0};
    Elf64_Shdr none = {0};

    elf_header(&one, EM_X86_64, 0);
    elf_sections(&one, &none, 1, 0);
    buffer_text(b, "!<arch>\n");
    while (b->size < size)
        member(b, one.bytes, one.size);
    buffer_fini(&one);
}

/* An archive that is the member of an archive, and so on. */
static void nested_archives(struct buffer *b, size_t size)
{
    enum { STEP = 8 + 60 };

    while (b->size + 2 * STEP < size) {
        buffer_text(b, "!<arch>\n");
        buffer_printf(b, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", "a.a/", "0", "0",
                      "0", "644", size - b->size - 60);
    }
    buffer_zeros(b, size - b->size);
}

/* ---- cubins ---------------------------------------------------------------
 */

static const char cubin_names[] = "\0.symtab\0.nv.info";

/* Symbols that are kernels, with one long name (shared), and then sections of
 * records that all lie on the same bytes. */
static void cubin(struct buffer *b, size_t size, size_t symbols, size_t text,
                  size_t sections)
{
    struct buffer list = {0};
    size_t names, at;
    Elf64_Shdr s = {0};

    (void)size;
    elf_header(b, EM_CUDA, 90 << 8 | 4);
    names = b->size;
    buffer_add(b, cubin_names, sizeof cubin_names);
    buffer_zeros(b, text);
    memset(b->bytes + b->size - text, 'k', text - 1);
    buffer_align(b, 8);
    at = b->size;
    for (size_t i = 0; i < symbols; i++) {
        Elf64_Sym symbol = {.st_name = (uint32_t)(sizeof cubin_names + i % 64),
                            .st_info = STT_FUNC,
                            .st_other = 0x10,
                            .st_shndx = 1};

        buffer_add(b, &symbol, sizeof symbol);
    }
    s = (Elf64_Shdr){.sh_name = 1,
                     .sh_type = SHT_SYMTAB,
                     .sh_offset = at,
                     .sh_size = b->size - at,
                     .sh_link = 2,
                     .sh_entsize = sizeof(Elf64_Sym)};
    buffer_add(&list, &s, sizeof s);
    s = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                     .sh_name = 1,
                     .sh_offset = names,
                     .sh_size = sizeof cubin_names + text};
    buffer_add(&list, &s, sizeof s);
    for (size_t i = 0; i < sections; i++) {
        s = (Elf64_Shdr){.sh_name = 9,
                         .sh_type = SHT_PROGBITS,
                         .sh_offset = names,
                         .sh_size = sizeof cubin_names + text,
                         .sh_link = 1};
        buffer_add(&list, &s, sizeof s);
    }
    elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes, sections + 2,
                 2);
    buffer_fini(&list);
}

static void cubin_symbols(struct buffer *b, size_t size)
{
    cubin(b, size, size / sizeof(Elf64_Sym), 128, 1);
}

static void cubin_long_names(struct buffer *b, size_t size)
{
    cubin(b, size, size / 2 / sizeof(Elf64_Sym), size / 2, 1);
}

static void cubin_sections(struct buffer *b, size_t size)
{
    cubin(b, size, 8, size / 2, size / 2 / sizeof(Elf64_Shdr));
}

/* ---- PTX ---------------------------------------------------------------- */

static void ptx(struct buffer *b, size_t size, const char *each)
{
    buffer_text(b, ".version 7.0\n.target sm_70\n.address_size 64\n");
    while (b->size < size)
        buffer_text(b, each);
}

static void ptx_commented(struct buffer *b, size_t size)
{
    ptx(b, size, ".entry/**/k\n");
}

static void ptx_open_lists(struct buffer *b, size_t size)
{
    ptx(b, size, ".entry k(.param .b8 x[\n");
}

static void ptx_no_lists(struct buffer *b, size_t size)
{
    ptx(b, size, ".entry k .param ");
}

static void ptx_comments(struct buffer *b, size_t size)
{
    ptx(b, size, "/*");
}

static void ptx_brackets(struct buffer *b, size_t size)
{
    ptx(b, size, "{{{{{{{{");
}

static void ptx_one_word(struct buffer *b, size_t size)
{
    ptx(b, size, "a.a.");
}

static void text(struct buffer *b, size_t size)
{
    while (b->size < size)
        buffer_text(b, "\x50\xed\x55 text that is nearly a container \xba\n");
}

static const struct {
    const char *name;
    void (*make)(struct buffer *b, size_t size);
} kinds[] = {
    {"empty-containers", empty_containers},
    {"apart-containers", apart_containers},
    {"damaged-containers", damaged_containers},
    {"nested-containers", nested_containers},
    {"numbers", numbers},
    {"entries", entries},
    {"small-bombs", small_bombs},
    {"lz4-bomb", lz4_bomb},
    {"zstd-blocks", zstd_blocks},
    {"zstd-frames", zstd_frames},
    {"overlapping-sections", overlapping_sections},
    {"empty-sections", empty_sections},
    {"wrappers", wrappers},
    {"empty-members", empty_members},
    {"elf-members", elf_members},
    {"nested-archives", nested_archives},
    {"cubin-symbols", cubin_symbols},
    {"cubin-long-names", cubin_long_names},
    {"cubin-sections", cubin_sections},
    {"ptx-commented", ptx_commented},
    {"ptx-open-lists", ptx_open_lists},
    {"ptx-no-lists", ptx_no_lists},
    {"ptx-comments", ptx_comments},
    {"ptx-brackets", ptx_brackets},
    {"ptx-one-word", ptx_one_word},
    {"text", text},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct buffer hostile_make(const char *kind, size_t size)
{
    struct buffer b = {0};

    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, kind))
            kinds[i].make(&b, size);
    return b;
}

const char *hostile_kind(size_t index)
{
    return index < KINDS ? kinds[index].name : NULL;
}
