/* SPDX-License-Identifier: MIT
 *
 * Reading cubins. The layout was read off files of CUDA 11.8 to 13.0; ABI 7
 * and ABI 8 keep the SM number in different bits, and the rest alike.
 */
#include "image/cubin.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "image/elf_view.h"
#include "image/guess.h"

enum {
    STO_ENTRY = 0x10,     /* st_other of a kernel's symbol */
    STT_CUDA_OBJECT = 13, /* a variable of a relocatable cubin */
    ABI7_ACCELERATED = 0x800,
    SHARED_KEPT = 1024, /* by the system, on SM 90 and above */
    PARAMS_MAX = 4096,
    /* Compilers come to some thousands. */
    KERNELS_MAX = 1 << 16,
    VARIABLES_MAX = 1 << 20,
    /* attributes of .nv.info */
    ATTR_MAX_THREADS = 0x05,
    ATTR_PARAM_CBANK = 0x0a,
    ATTR_REQNTID = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_KPARAM = 0x17,
    ATTR_CBANK_SIZE = 0x19,
    ATTR_REGCOUNT = 0x2f,
    ATTR_KPARAM_V2 = 0x45,
    ATTR_COMPAT_ARCH = 0x09, /* of .nv.compat */
    FORM_SIZED = 4
};

struct reading {
    struct elf_view elf;
    struct arena *arena;
    struct cubin_kernel *kernels;
    uint32_t *symbols; /* of each kernel */
    size_t count;
    struct cubin_variable *variables;
    size_t variable_count;
    uint32_t sm;
    uint32_t abi;
    uint64_t globals; /* bytes of the global variables */
    uint64_t budget;  /* bytes that may still be gone through */
    uint64_t names;   /* bytes of names that may still be handed out */
};

/* Sections and names of a hostile file may all lie on the same bytes: the
 * work is bounded by the size of the file. */
static enum kiln_status spend(struct reading *r, uint64_t bytes,
                              struct kiln_error *err)
{
    if (bytes > r->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: its sections and names overlap without end");
    r->budget -= bytes;
    return KILN_OK;
}

static enum kiln_status spend_name(struct reading *r, const char *name,
                                   struct kiln_error *err)
{
    return spend(r, strnlen(name, (size_t)r->budget + 1), err);
}

/* A name that callers will copy. */
static enum kiln_status give_name(struct reading *r, const char *name,
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

static int is_variable(const struct reading *r, const Elf64_Sym *s,
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
static void count_global(struct reading *r, const struct cubin_variable *v)
{
    if (!v->constant)
        r->globals = v->size > UINT64_MAX - r->globals ? UINT64_MAX
                                                       : r->globals + v->size;
}

/* Kernels and variables by the symbol table. */
static enum kiln_status read_symbols(struct reading *r, struct kiln_error *err)
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

/* One record of .nv.info: 1, or 0 at the end or at damage. */
struct record {
    uint8_t form;
    uint8_t attribute;
    struct cursor value;
};

static int next_record(struct cursor *c, struct record *out)
{
    const unsigned char *value;
    uint16_t size;

    if (cursor_left(c) < 4)
        return 0;
    out->form = cursor_u8(c);
    out->attribute = cursor_u8(c);
    size = cursor_u16(c);
    if (out->form != FORM_SIZED) {
        out->value = cursor_of(c->at - 2, 2);
        return 1;
    }
    value = cursor_bytes(c, size);
    if (!value)
        return 0;
    out->value = cursor_of(value, size);
    /* Sized values end at a multiple of 4. */
    cursor_bytes(c, -(unsigned)size & 3);
    c->bad = 0;
    return 1;
}

/* A kernel's own records: sizes and limits, and its parameters' count. */
static uint32_t count_params(struct cursor c, struct cubin_kernel *k)
{
    struct record rec;
    uint32_t params = 0;

    while (next_record(&c, &rec)) {
        struct cursor *v = &rec.value;

        switch (rec.attribute) {
        case ATTR_KPARAM:
        case ATTR_KPARAM_V2:
            params++;
            break;
        case ATTR_CBANK_SIZE:
            k->param_bytes = cursor_u16(v);
            break;
        case ATTR_PARAM_CBANK:
            cursor_u32(v);
            cursor_u16(v);
            if (!k->param_bytes)
                k->param_bytes = cursor_u16(v);
            break;
        case ATTR_MAX_THREADS:
            k->max_threads = 1;
            for (int i = 0; i < 3; i++) {
                uint32_t n = cursor_u32(v);

                if (__builtin_mul_overflow(k->max_threads, n ? n : 1,
                                           &k->max_threads))
                    k->max_threads = UINT32_MAX;
            }
            break;
        case ATTR_REQNTID:
            for (int i = 0; i < 3; i++)
                k->reqntid[i] = cursor_u32(v);
            break;
        default:
            break;
        }
    }
    return params < PARAMS_MAX ? params : PARAMS_MAX;
}

static enum kiln_status read_param(const struct record *rec, uint32_t sm,
                                   struct cubin_param *params, uint32_t count,
                                   const char *kernel, struct kiln_error *err)
{
    struct cursor v = rec->value;
    uint32_t ordinal, kind = 0, word;
    struct cubin_param p = {0};

    cursor_u32(&v);
    ordinal = cursor_u16(&v);
    p.offset = cursor_u16(&v);
    if (rec->attribute == ATTR_KPARAM) {
        word = cursor_u32(&v);
        p.size = word >> 18;
        kind = word >> 8 & 15;
    } else {
        p.size = cursor_u16(&v);
        cursor_u16(&v);
    }
    if (v.bad || ordinal >= count)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: kernel %.80s: parameter %u of %u", kernel,
                         ordinal, count);
    p.pointer = rec->attribute == ATTR_KPARAM_V2 || sm < 100
                    ? CUBIN_UNKNOWN
                    : (kind == 5 ? CUBIN_YES : CUBIN_UNKNOWN);
    /* Without .ptr in the PTX an 8-byte integer may still be an address. */
    if (p.size != 8)
        p.pointer = CUBIN_NO;
    params[ordinal] = p;
    return KILN_OK;
}

static enum kiln_status read_kernel_info(struct reading *r,
                                         const struct elf_section *section,
                                         struct cubin_kernel *k,
                                         struct kiln_error *err)
{
    struct cursor c = cursor_of(section->bytes, (size_t)section->size);
    uint32_t count = count_params(c, k);
    struct cubin_param *params;
    struct record rec;

    params = arena_array(r->arena, count, sizeof *params);
    if (!params)
        return kiln_fail(err, KILN_E_MEMORY,
                         "cubin: out of memory for %u parameters", count);
    while (next_record(&c, &rec)) {
        enum kiln_status st = KILN_OK;

        if (rec.attribute == ATTR_KPARAM || rec.attribute == ATTR_KPARAM_V2)
            st = read_param(&rec, r->sm, params, count, k->name, err);
        if (st)
            return st;
    }
    k->params = params;
    k->param_count = count;
    return KILN_OK;
}

static struct cubin_kernel *by_symbol(struct reading *r, uint32_t symbol_index)
{
    size_t low = 0, high = r->count; /* symbols[] ascends */

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->symbols[mid] < symbol_index)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->count && r->symbols[low] == symbol_index ? &r->kernels[low]
                                                             : NULL;
}

/* The records of all kernels: registers and frame sizes. */
static void read_common_info(struct reading *r, const struct elf_section *s)
{
    struct cursor c = cursor_of(s->bytes, (size_t)s->size);
    struct record rec;

    while (next_record(&c, &rec)) {
        struct cubin_kernel *k;
        uint32_t value;

        if (rec.attribute != ATTR_REGCOUNT && rec.attribute != ATTR_FRAME_SIZE)
            continue;
        k = by_symbol(r, cursor_u32(&rec.value));
        value = cursor_u32(&rec.value);
        if (!k || rec.value.bad)
            continue;
        if (rec.attribute == ATTR_REGCOUNT)
            k->registers = (int32_t)(value & 0xffff);
        else
            k->local_bytes = value;
    }
}

/* The rest of a name after the prefix, or NULL. */
static const char *after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(name, prefix, n) ? NULL : name + n;
}

struct by_name {
    const char *name;
    struct cubin_kernel *kernel;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct by_name *)a)->name,
                  ((const struct by_name *)b)->name);
}

static struct by_name *look_up(struct by_name *sorted, size_t count,
                               const char *name)
{
    struct by_name key = {.name = name};

    return count ? bsearch(&key, sorted, count, sizeof *sorted, compare_names)
                 : NULL;
}

static uint32_t shared_of(uint64_t size, const struct reading *r)
{
    /* The linker adds what the system keeps. */
    if (r->sm >= 90 && r->elf.header.e_type != ET_REL)
        size = size > SHARED_KEPT ? size - SHARED_KEPT : 0;
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* One pass over the sections that belong to a kernel by their name. */
static enum kiln_status read_sections(struct reading *r, struct kiln_error *err)
{
    struct by_name *sorted = arena_array(r->arena, r->count, sizeof *sorted);

    if (!sorted)
        return kiln_fail(err, KILN_E_MEMORY, "cubin: out of memory");
    for (size_t i = 0; i < r->count; i++)
        sorted[i] = (struct by_name){r->kernels[i].name, &r->kernels[i]};
    if (r->count)
        qsort(sorted, r->count, sizeof *sorted, compare_names);
    for (uint32_t i = 1; i < r->elf.sections; i++) {
        struct elf_section s;
        enum kiln_status st = elf_view_section(&r->elf, i, &s, err);
        struct by_name *k;
        const char *name;

        if (!st && (after(s.name, ".nv.") || after(s.name, ".text."))) {
            st = spend_name(r, s.name, err);
            if (!st && s.bytes && after(s.name, ".nv.info"))
                st = spend(r, s.size, err);
        }
        if (st)
            return st;
        if (!strcmp(s.name, ".nv.info")) {
            read_common_info(r, &s);
        } else if ((name = after(s.name, ".nv.info."))) {
            k = look_up(sorted, r->count, name);
            st = k ? read_kernel_info(r, &s, k->kernel, err) : KILN_OK;
        } else if ((name = after(s.name, ".nv.shared."))) {
            k = look_up(sorted, r->count, name);
            if (k)
                k->kernel->static_shared = shared_of(s.size, r);
        } else if (r->abi < 8 && s.info >> 24 &&
                   (name = after(s.name, ".text."))) {
            /* Where ABI 7 keeps the registers; ABI 8 has 0 there. */
            k = look_up(sorted, r->count, name);
            if (k && k->kernel->registers < 0)
                k->kernel->registers = (int32_t)(s.info >> 24);
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
        if (form == FORM_SIZED)
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
    struct reading r = {.arena = arena};
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
        st = read_sections(&r, err);
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
