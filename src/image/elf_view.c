/* SPDX-License-Identifier: MIT */
#include "image/elf_view.h"

#include <string.h>

static Elf64_Shdr row(const struct elf_view *elf, uint32_t index)
{
    Elf64_Shdr s;

    memcpy(&s, elf->bytes + elf->header.e_shoff + (uint64_t)index * sizeof s,
           sizeof s);
    return s;
}

static int inside(const struct elf_view *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

enum kiln_status elf_view_open(const void *bytes, size_t size,
                               struct elf_view *out, struct kiln_error *err)
{
    struct elf_view elf = {.bytes = bytes, .size = size, .names = ""};
    Elf64_Shdr names;
    uint64_t count;

    if (size < sizeof elf.header || memcmp(bytes, ELFMAG, SELFMAG))
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: %zu bytes that do not begin with an ELF header",
                         size);
    memcpy(&elf.header, bytes, sizeof elf.header);
    if (elf.header.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.header.e_ident[EI_DATA] != ELFDATA2LSB)
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: class %u, byte order %u: 64-bit little-endian "
                         "expected",
                         elf.header.e_ident[EI_CLASS],
                         elf.header.e_ident[EI_DATA]);
    if (!elf.header.e_shoff) {
        *out = elf;
        return KILN_OK;
    }
    if (elf.header.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(&elf, elf.header.e_shoff, sizeof(Elf64_Shdr)))
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: section table at 0x%llx with entries of %u "
                         "bytes, file of %zu",
                         (unsigned long long)elf.header.e_shoff,
                         elf.header.e_shentsize, size);
    /* With 65,280 sections and more the count is in the first of them. */
    count = elf.header.e_shnum ? elf.header.e_shnum : row(&elf, 0).sh_size;
    if (count > (size - elf.header.e_shoff) / sizeof(Elf64_Shdr))
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: %llu sections at 0x%llx, file of %zu bytes",
                         (unsigned long long)count,
                         (unsigned long long)elf.header.e_shoff, size);
    elf.sections = (uint32_t)count;
    if (elf.header.e_shstrndx < elf.sections) {
        names = row(&elf, elf.header.e_shstrndx);
        if (names.sh_type == SHT_STRTAB &&
            inside(&elf, names.sh_offset, names.sh_size) && names.sh_size &&
            !elf.bytes[names.sh_offset + names.sh_size - 1]) {
            elf.names = (const char *)elf.bytes + names.sh_offset;
            elf.names_size = (size_t)names.sh_size;
        }
    }
    *out = elf;
    return KILN_OK;
}

/* A string of a table that is known to end in NUL, or "". */
static const char *text_at(const char *table, size_t size, uint64_t offset)
{
    return offset < size ? table + offset : "";
}

int elf_view_is_empty(uint16_t machine, uint32_t type)
{
    enum { CUDA_GLOBAL = 0x70000007, CUDA_LOCAL, CUDA_SHARED = 0x7000000a };

    return type == SHT_NOBITS || type == SHT_NULL ||
           (machine == EM_CUDA &&
            (type == CUDA_GLOBAL || type == CUDA_LOCAL || type == CUDA_SHARED));
}

enum kiln_status elf_view_section(const struct elf_view *elf, uint32_t index,
                                  struct elf_section *out,
                                  struct kiln_error *err)
{
    Elf64_Shdr s;

    if (index >= elf->sections)
        return kiln_fail(err, KILN_E_FORMAT, "ELF: section %u of %u", index,
                         elf->sections);
    s = row(elf, index);
    if (!elf_view_is_empty(elf->header.e_machine, s.sh_type) &&
        !inside(elf, s.sh_offset, s.sh_size))
        return kiln_fail(err, KILN_E_FORMAT,
                         "ELF: section %u: %llu bytes at 0x%llx, file of %zu",
                         index, (unsigned long long)s.sh_size,
                         (unsigned long long)s.sh_offset, elf->size);
    *out = (struct elf_section){
        .index = index,
        .name = text_at(elf->names, elf->names_size, s.sh_name),
        .type = s.sh_type,
        .flags = s.sh_flags,
        .link = s.sh_link,
        .info = s.sh_info,
        .entry_size = s.sh_entsize,
        .size = s.sh_size,
    };
    if (s.sh_type == SHT_NULL)
        out->size = 0;
    else if (!elf_view_is_empty(elf->header.e_machine, s.sh_type))
        out->bytes = elf->bytes + s.sh_offset;
    return KILN_OK;
}

const char *elf_view_string(const struct elf_section *table, uint64_t offset)
{
    if (!table->bytes || !table->size || table->bytes[table->size - 1])
        return "";
    return text_at((const char *)table->bytes, (size_t)table->size, offset);
}
