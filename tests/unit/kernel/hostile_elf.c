/* SPDX-License-Identifier: MIT
 *
 * Hostile host ELF files and archives.
 */
#include <elf.h>
#include <string.h>

#include "hostile_kinds.h"
#include "image/fatbin.h"

void hostile_elf_header(struct buffer *b, uint16_t machine, uint32_t flags)
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
void hostile_elf_sections(struct buffer *b, const Elf64_Shdr *list,
                          size_t count, size_t names)
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
void hostile_overlapping_sections(struct buffer *b, size_t size)
{
    struct buffer list = {0};
    size_t n = size / 2 / sizeof(Elf64_Shdr);

    hostile_elf_header(b, EM_X86_64, 0);
    buffer_zeros(b, size / 2);
    for (size_t i = 0; i < n; i++) {
        Elf64_Shdr s = {.sh_type = SHT_PROGBITS,
                        .sh_offset = 65 + i % 64,
                        .sh_size = size / 2 - 128};

        buffer_add(&list, &s, sizeof s);
    }
    hostile_elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes, n, 0);
    buffer_fini(&list);
}

/* Empty sections where containers are, whose names are long. */
void hostile_empty_sections(struct buffer *b, size_t size)
{
    struct buffer list = {0};
    size_t n = size / 2 / sizeof(Elf64_Shdr), at, text = 1 << 20;

    hostile_elf_header(b, EM_X86_64, 0);
    buffer_zeros(b, text);
    memset(b->bytes + b->size - text, 'n', text - 1);
    at = b->size;
    while (b->size < size / 2 + 64)
        hostile_container(b, 0);
    for (size_t i = 0; i < n; i++) {
        Elf64_Shdr s = {.sh_type = SHT_PROGBITS, .sh_offset = at};

        s.sh_size = i + 1 == n ? b->size - at : 0;
        if (i == 0) {
            s.sh_offset = sizeof(Elf64_Ehdr);
            s.sh_size = text;
        }
        buffer_add(&list, &s, sizeof s);
    }
    hostile_elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes, n, 1);
    buffer_fini(&list);
}

/* Wrappers that all lead to one array, with relocations in no order. */
void hostile_wrappers(struct buffer *b, size_t size)
{
    static const char names[] = "\0.nvFatBinSegment";
    enum { ADDRESS = 0x1000 };
    size_t third = size / 3 & ~(size_t)63, segment, array, relocs;
    Elf64_Phdr load = {.p_type = PT_LOAD, .p_vaddr = ADDRESS};
    Elf64_Shdr list[3] = {0};
    Elf64_Ehdr h;

    hostile_elf_header(b, EM_X86_64, 0);
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
    hostile_elf_sections(b, list, 3, 3);
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

void hostile_empty_members(struct buffer *b, size_t size)
{
    buffer_text(b, "!<arch>\n");
    while (b->size < size)
        member(b, "", 0);
}

void hostile_elf_members(struct buffer *b, size_t size)
{
    struct buffer one = {0};
    Elf64_Shdr none = {0};

    hostile_elf_header(&one, EM_X86_64, 0);
    hostile_elf_sections(&one, &none, 1, 0);
    buffer_text(b, "!<arch>\n");
    while (b->size < size)
        member(b, one.bytes, one.size);
    buffer_fini(&one);
}

/* An archive that is the member of an archive, and so on. */
void hostile_nested_archives(struct buffer *b, size_t size)
{
    enum { STEP = 8 + 60 };

    while (b->size + 2 * STEP < size) {
        buffer_text(b, "!<arch>\n");
        buffer_printf(b, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", "a.a/", "0", "0",
                      "0", "644", size - b->size - 60);
    }
    buffer_zeros(b, size - b->size);
}
