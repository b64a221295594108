/* SPDX-License-Identifier: MIT
 *
 * Reading cubins. The layout was read off files of CUDA 11.8 to 13.0; ABI 7
 * and ABI 8 keep the SM number in different bits, and the rest alike.
 */
#include "image/cubin.h"

#include <string.h>

#include "base/cursor.h"
#include "image/cubin_reading.h"
#include "image/guess.h"

enum {
    STO_ENTRY = 0x10,     /* st_other of a kernel's symbol */
    STT_CUDA_OBJECT = 13, /* a variable of a relocatable cubin */
    ABI7_ACCELERATED = 0x800,
    /* Compilers come to some thousands. */
    KERNELS_MAX = 1 << 16,
    VARIABLES_MAX = 1 << 20,
    ATTR_COMPAT_ARCH = 0x09 /* of .nv.compat */
};

/* A name that callers will copy. */
static enum kiln_status give_name(struct cubin_reading *r, const char *name,
                                  struct kiln_error *err)
{
    uint64_t n = strnlen(name, (size_t)r->names + 1);

    if (n > r->names)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: its names are longer than the file");
    r->names -= n;
    return KILN_OK;
}

enum kiln_status cubin_identify(const void *bytes, size_t size,
                                struct cubin *out, struct kiln_error *err)
{
    Elf64_Ehdr h;

    if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG))
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %zu bytes that do not begin with an ELF "
                         "header",
                         size);
    if (size < sizeof h)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %zu bytes, an ELF header has %zu", size,
                         sizeof h);
    memcpy(&h, bytes, sizeof h);
    if (h.e_machine != EM_CUDA)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: ELF for machine %u, expected %d", h.e_machine,
                         EM_CUDA);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 ||
        (h.e_type != ET_EXEC && h.e_type != ET_REL))
        return kiln_fail(err, KILN_E_FORMAT, "cubin: ELF class %u, type %u",
                         h.e_ident[EI_CLASS], h.e_type);
    *out = (struct cubin){.abi = h.e_ident[EI_ABIVERSION],
                          .relocatable = h.e_type == ET_REL};
    if (out->abi >= 8) {
        out->sm = h.e_flags >> 8 & 255;
    } else {
        out->sm = h.e_flags & 255;
        out->variant = h.e_flags & ABI7_ACCELERATED ? 'a' : 0;
    }
    if (!out->sm)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: ABI %u, flags 0x%x name no SM", out->abi,
                         h.e_flags);
    return KILN_OK;
}

static enum kiln_status find(const struct elf_view *elf, const char *name,
                             struct elf_section *out, int *found,
                             struct kiln_error *err)
{
    *found = 0;
    for (uint32_t i = 1; i < elf->sections; i++) {
        enum kiln_status st = elf_view_section(elf, i, out, err);

        if (st)
            return st;
        if (!strcmp(out->name, name)) {
            *found = 1;
            return KILN_OK;
        }
    }
    return KILN_OK;
}

static Elf64_Sym symbol(const struct elf_section *table, uint64_t i)
{
    Elf64_Sym s;

    memcpy(&s, table->bytes + i * sizeof s, sizeof s);
    return s;
}

static int is_kernel(const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_other & STO_ENTRY &&
           s->st_shndx != SHN_UNDEF;
}

static int is_variable(const struct cubin_reading *r, const Elf64_Sym *s,
                       struct elf_section *section)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return (type == STT_OBJECT || type == STT_CUDA_OBJECT) && s->st_shndx &&
           s->st_shndx < r->elf.sections &&
           !elf_view_section(&r->elf, s->st_shndx, section, NULL) &&
           (!strncmp(section->name, ".nv.global", 10) ||
            !strncmp(section->name, ".nv.constant3", 13));
}

/* NVIDIA's driver goes by the symbols: a section's own size counts neither
 * when it is larger, nor when a toolkit kept its lower 32 bits alone. */
static void count_global(struct cubin_reading *r,
                         const struct cubin_variable *v)
{
    if (!v->constant)
        r->globals = v->size > UINT64_MAX - r->globals ? UINT64_MAX
                                                       : r->globals + v->size;
}

/* Kernels and variables by the symbol table. */
static enum kiln_status read_symbols(struct cubin_reading *r,
                                     struct kiln_error *err)
{
    struct elf_section table = {0}, names = {0}, section;
    size_t kernels = 0, variables = 0;
    enum kiln_status st;
    uint64_t count;
    int found;

    st = find(&r->elf, ".symtab", &table, &found, err);
    if (st || !found)
        return st;
    if (table.entry_size != sizeof(Elf64_Sym) || !table.bytes)
        return kiln_fail(
            err, KILN_E_FORMAT, "cubin: symbols of %llu bytes, %zu expected",
            (unsigned long long)table.entry_size, sizeof(Elf64_Sym));
    st = elf_view_section(&r->elf, table.link, &names, err);
    if (st)
        return st;
    count = table.size / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym s = symbol(&table, i);

        kernels += (size_t)is_kernel(&s);
        variables += (size_t)is_variable(r, &s, &section);
    }
    if (kernels > KERNELS_MAX || variables > VARIABLES_MAX)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: %zu kernels and %zu variables, at most %d "
                         "and %d expected",
                         kernels, variables, KERNELS_MAX, VARIABLES_MAX);
    r->kernels = arena_array(r->arena, kernels, sizeof *r->kernels);
    r->symbols = arena_array(r->arena, kernels, sizeof *r->symbols);
    r->variables = arena_array(r->arena, variables, sizeof *r->variables);
    if (!r->kernels || !r->symbols || !r->variables)
        return kiln_fail(err, KILN_E_MEMORY,
                         "cubin: out of memory for %zu kernels", kernels);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym s = symbol(&table, i);

        if (is_kernel(&s)) {
            r->symbols[r->count] = (uint32_t)i;
            r->kernels[r->count] = (struct cubin_kernel){
                .name = elf_view_string(&names, s.st_name), .registers = -1};
            st = give_name(r, r->kernels[r->count++].name, err);
        } else if (is_variable(r, &s, &section)) {
            r->variables[r->variable_count] = (struct cubin_variable){
                .name = elf_view_string(&names, s.st_name),
                .size = s.st_size,
                .constant = !strncmp(section.name, ".nv.constant3", 13)};
            count_global(r, &r->variables[r->variable_count]);
            st = give_name(r, r->variables[r->variable_count++].name, err);
        }
        if (st)
            return st;
    }
    return KILN_OK;
}

/* ABI 8 tells the "a" in .nv.compat: attribute 9, value 1. Its records are
 * those of .nv.info. */
static char variant_of(const struct elf_view *elf, uint32_t abi)
{
    struct elf_section s;
    struct cursor c;
    int found;

    if (abi < 8 || find(elf, ".nv.compat", &s, &found, NULL) || !found)
        return 0;
    c = cursor_of(s.bytes, (size_t)s.size);
    while (cursor_left(&c) >= 4) {
        unsigned form = cursor_u8(&c), attribute = cursor_u8(&c);
        unsigned value = cursor_u16(&c);

        if (attribute == ATTR_COMPAT_ARCH && form == 2)
            return (value & 255) == 1 ? 'a' : 0;
        if (form == CUBIN_FORM_SIZED)
            cursor_bytes(&c, (value + 3u) & ~3u);
    }
    return 0;
}

/* The toolkit, from the note of ABI 8 or from e_version of ABI 7. */
static uint32_t toolkit_of(const struct elf_view *elf, uint32_t abi)
{
    struct elf_section s;
    uint32_t name_size, size, type;
    struct cursor c;
    int found;

    if (abi < 8)
        return elf->header.e_version;
    if (find(elf, ".note.nv.cuinfo", &s, &found, NULL) || !found)
        return 0;
    c = cursor_of(s.bytes, (size_t)s.size);
    name_size = cursor_u32(&c);
    size = cursor_u32(&c);
    type = cursor_u32(&c);
    cursor_bytes(&c, ((uint64_t)name_size + 3) & ~(uint64_t)3);
    cursor_u16(&c);
    cursor_u16(&c);
    name_size = cursor_u32(&c);
    return c.bad || size < 8 || type != 1000 || name_size > 0xffff ? 0
                                                                   : name_size;
}

enum kiln_status cubin_read(const void *bytes, size_t size, struct arena *arena,
                            struct cubin *out, struct kiln_error *err)
{
    struct cubin_reading r = {.arena = arena};
    struct cubin cubin;
    size_t extent;
    enum kiln_status st = cubin_identify(bytes, size, &cubin, err);

    if (!st) /* program headers too: NVIDIA's driver trusts them */
        st = elf_extent(bytes, size, &extent, err);
    if (!st)
        st = elf_view_open(bytes, size, &r.elf, err);
    if (st)
        return st;
    r.sm = cubin.sm;
    r.abi = cubin.abi;
    r.budget = (uint64_t)size * 2;
    r.names = size;
    st = read_symbols(&r, err);
    if (!st)
        st = cubin_read_sections(&r, err);
    if (st)
        return st;
    if (!cubin.variant)
        cubin.variant = variant_of(&r.elf, cubin.abi);
    cubin.toolkit = toolkit_of(&r.elf, cubin.abi);
    cubin.kernels = r.kernels;
    cubin.kernel_count = r.count;
    cubin.variables = r.variables;
    cubin.variable_count = r.variable_count;
    cubin.global_bytes = r.globals;
    *out = cubin;
    return KILN_OK;
}

const struct cubin_kernel *cubin_kernel_find(const struct cubin *cubin,
                                             const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (!strcmp(cubin->kernels[i].name, name))
            return &cubin->kernels[i];
    return NULL;
}
