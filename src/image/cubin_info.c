/* SPDX-License-Identifier: MIT
 *
 * What a cubin's sections say of its kernels: the records of .nv.info, and
 * sizes of sections that are named for a kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "image/cubin_reading.h"

enum {
    SHARED_KEPT = 1024, /* by the system, on SM 90 and above */
    PARAMS_MAX = 4096,
    /* attributes of .nv.info */
    ATTR_MAX_THREADS = 0x05,
    ATTR_PARAM_CBANK = 0x0a,
    ATTR_REQNTID = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_KPARAM = 0x17,
    ATTR_CBANK_SIZE = 0x19,
    ATTR_REGCOUNT = 0x2f,
    ATTR_KPARAM_V2 = 0x45
};

/* Sections and names of a hostile file may all lie on the same bytes: the
 * work is bounded by the size of the file. */
static enum kiln_status spend(struct cubin_reading *r, uint64_t bytes,
                              struct kiln_error *err)
{
    if (bytes > r->budget)
        return kiln_fail(err, KILN_E_FORMAT,
                         "cubin: its sections and names overlap without end");
    r->budget -= bytes;
    return KILN_OK;
}

static enum kiln_status spend_name(struct cubin_reading *r, const char *name,
                                   struct kiln_error *err)
{
    return spend(r, strnlen(name, (size_t)r->budget + 1), err);
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
    if (out->form != CUBIN_FORM_SIZED) {
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

static enum kiln_status read_kernel_info(struct cubin_reading *r,
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

static struct cubin_kernel *by_symbol(struct cubin_reading *r,
                                      uint32_t symbol_index)
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
static void read_common_info(struct cubin_reading *r,
                             const struct elf_section *s)
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

static uint32_t shared_of(uint64_t size, const struct cubin_reading *r)
{
    /* The linker adds what the system keeps. */
    if (r->sm >= 90 && r->elf.header.e_type != ET_REL)
        size = size > SHARED_KEPT ? size - SHARED_KEPT : 0;
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

enum kiln_status cubin_read_sections(struct cubin_reading *r,
                                     struct kiln_error *err)
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
