/* SPDX-License-Identifier: MIT */
#include "cubin_parts.h"

Elf64_Ehdr *part_header(struct buffer *b)
{
    return (Elf64_Ehdr *)(void *)b->bytes;
}

Elf64_Shdr *part_row(struct buffer *b, uint32_t i)
{
    return (Elf64_Shdr *)(void *)(b->bytes + part_header(b)->e_shoff) + i;
}

Elf64_Shdr *part_section(struct buffer *b, const char *name)
{
    const char *names = (const char *)b->bytes +
                        part_row(b, part_header(b)->e_shstrndx)->sh_offset;

    for (uint32_t i = 1; i < part_header(b)->e_shnum; i++)
        if (!strcmp(names + part_row(b, i)->sh_name, name))
            return part_row(b, i);
    fail_msg("no section %s", name);
    return NULL;
}

/* The symbols' table begins at a multiple of 8 in these files. */
Elf64_Sym *part_symbol(struct buffer *b, const char *name)
{
    const Elf64_Shdr *table = part_section(b, ".symtab");
    const char *names =
        (const char *)b->bytes + part_section(b, ".strtab")->sh_offset;
    Elf64_Sym *s = (Elf64_Sym *)(void *)(b->bytes + table->sh_offset);

    for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++)
        if (!strcmp(names + s[i].st_name, name))
            return &s[i];
    fail_msg("no symbol %s", name);
    return NULL;
}

unsigned char *part_record(struct buffer *b, const char *name, int attribute)
{
    const Elf64_Shdr *s = part_section(b, name);
    unsigned char *at = b->bytes + s->sh_offset, *end = at + s->sh_size;

    while (at < end) {
        uint16_t size;

        memcpy(&size, at + 2, sizeof size);
        if (at[1] == attribute)
            return at;
        at += 4 + (at[0] == 4 ? (size + 3) & ~3 : 0);
    }
    fail_msg("no attribute 0x%x in %s", attribute, name);
    return NULL;
}
