/* SPDX-License-Identifier: MIT
 *
 * Containers on which NVIDIA's driver crashes or does not return (driver 580;
 * tests/walk has what it does with those that it can read). Kiln never hands
 * over a container, but one image of it that was read before (file_load.c).
 */
#include <stdio.h>
#include <string.h>

#include "kernel/file_walk.h"

/* docs/format-fatbin.md */
enum { HEADER = 16, ENTRY = 64, OPTIONS_AT = 20, STORED_AT = 8, SIZE_AT = 4 };
enum { KIND_CRASHING = 16 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

/* Zeros where the file cannot be read. */
static uint64_t number_at(const struct kiln_file *f, uint64_t offset,
                          size_t size)
{
    uint64_t value = 0;
    struct kiln_error ignored;

    if (f->source.read(f->source.data, offset, &value, size, &ignored))
        return 0;
    return value;
}

/* It follows a size that is too large: to the end of what is mapped, or over
 * a header of no size without end. A payload that ends behind the container
 * it takes. */
static int follows_too_far(const struct kiln_file *f,
                           const struct file_container *c)
{
    uint64_t at = c->offset + HEADER, end = c->offset + c->bytes;

    if (number_at(f, c->offset + STORED_AT, 8) > c->bytes - HEADER)
        return 1;
    if (c->count) {
        const struct file_entry *e = file_entry(f, c->first + c->count - 1);

        at =
            e->offset + e->header_size + number_at(f, e->offset + STORED_AT, 8);
    }
    return at < end &&
           (end - at < ENTRY || number_at(f, at + SIZE_AT, 4) < ENTRY);
}

static int has(const struct kiln_file *f, const struct file_container *c,
               unsigned kind)
{
    for (size_t i = c->first; i < c->first + c->count; i++)
        if (file_entry(f, i)->kind == kind)
            return 1;
    return 0;
}

const char *file_hazard(const struct kiln_file *f,
                        const struct file_container *c, long chosen)
{
    const struct file_entry *e =
        chosen < 0 ? NULL : file_entry(f, (size_t)chosen);

    if (c->single)
        return "";
    if (follows_too_far(f, c))
        return "its size is larger than its entries";
    if (has(f, c, KIND_CRASHING) && has(f, c, KILN_ENTRY_PTX))
        return "an entry of kind 16 stands beside PTX";
    if (!e || e->kind != KILN_ENTRY_PTX)
        return "";
    if (!number_at(f, e->offset + OPTIONS_AT, 4))
        return "its PTX entry has no options block";
    if ((e->flags & FLAG_LZ4) && (e->flags & FLAG_ZSTD))
        return "its PTX entry is flagged for both compressions";
    return "";
}
