/* SPDX-License-Identifier: MIT
 *
 * Hostile cubins and PTX.
 */
#include <elf.h>
#include <string.h>

#include "hostile_kinds.h"

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
    hostile_elf_header(b, EM_CUDA, 90 << 8 | 4);
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
    hostile_elf_sections(b, (const Elf64_Shdr *)(const void *)list.bytes,
                         sections + 2, 2);
    buffer_fini(&list);
}

void hostile_cubin_symbols(struct buffer *b, size_t size)
{
    cubin(b, size, size / sizeof(Elf64_Sym), 128, 1);
}

void hostile_cubin_long_names(struct buffer *b, size_t size)
{
    cubin(b, size, size / 2 / sizeof(Elf64_Sym), size / 2, 1);
}

void hostile_cubin_sections(struct buffer *b, size_t size)
{
    cubin(b, size, 8, size / 2, size / 2 / sizeof(Elf64_Shdr));
}

/* ---- PTX ---------------------------------------------------------------- */

void hostile_ptx(struct buffer *b, size_t size, const char *each)
{
    buffer_text(b, ".version 7.0\n.target sm_70\n.address_size 64\n");
    while (b->size < size)
        buffer_text(b, each);
}

void hostile_ptx_commented(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, ".entry/**/k\n");
}

void hostile_ptx_open_lists(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, ".entry k(.param .b8 x[\n");
}

void hostile_ptx_no_lists(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, ".entry k .param ");
}

void hostile_ptx_comments(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, "/*");
}

void hostile_ptx_brackets(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, "{{{{{{{{");
}

void hostile_ptx_one_word(struct buffer *b, size_t size)
{
    hostile_ptx(b, size, "a.a.");
}
