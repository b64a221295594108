/* SPDX-License-Identifier: MIT */
#include "cpu/exec/slab.h"

#include <string.h>

#include "base/alloc.h"

struct piece {
    uint32_t size; /* as asked; 0: free */
    uint8_t dirty; /* was used before: must be cleared */
    void *tag;
};

struct slab {
    uint64_t base;
    uint32_t unit;
    uint32_t count;
    uint32_t taken;
    uint32_t hint; /* no free piece before it */
    struct piece pieces[];
};

static uint32_t unit_for(uint64_t size)
{
    uint32_t unit = SLAB_LEAST;

    while (unit < size)
        unit *= 2;
    return unit;
}

struct slab *slab_new(uint64_t base, uint64_t size)
{
    const uint32_t unit = unit_for(size);
    const uint32_t count = SLAB_BYTES / unit;
    struct slab *slab =
        kiln_zalloc(sizeof *slab + count * sizeof slab->pieces[0]);

    if (!slab)
        return NULL;
    slab->base = base;
    slab->unit = unit;
    slab->count = count;
    return slab;
}

void slab_free(struct slab *slab)
{
    kiln_release(slab);
}

int slab_fits(const struct slab *slab, uint64_t size)
{
    return slab->unit == unit_for(size) && slab->taken < slab->count;
}

uint64_t slab_take(struct slab *slab, uint64_t size, void *tag)
{
    uint32_t i = slab->hint;
    uint64_t address;

    while (slab->pieces[i].size)
        i++;
    address = slab->base + (uint64_t)i * slab->unit;
    if (slab->pieces[i].dirty)
        memset((void *)(uintptr_t)address, 0, slab->unit);
    slab->pieces[i] = (struct piece){(uint32_t)size, 1, tag};
    slab->hint = i + 1;
    slab->taken++;
    return address;
}

static const struct piece *piece_of(const struct slab *slab, uint64_t address)
{
    const struct piece *p = &slab->pieces[(address - slab->base) / slab->unit];
    const uint64_t within = (address - slab->base) % slab->unit;

    return within < p->size ? p : NULL;
}

int slab_give(struct slab *slab, uint64_t base)
{
    const uint32_t i = (uint32_t)((base - slab->base) / slab->unit);

    if ((base - slab->base) % slab->unit || !slab->pieces[i].size)
        return 0;
    slab->pieces[i].size = 0;
    slab->taken--;
    if (i < slab->hint)
        slab->hint = i;
    return 1;
}

int slab_is_empty(const struct slab *slab)
{
    return slab->taken == 0;
}

int slab_find(const struct slab *slab, uint64_t address, struct exec_range *out)
{
    const struct piece *p = piece_of(slab, address);

    if (!p)
        return 0;
    out->base = slab->base + (address - slab->base) / slab->unit * slab->unit;
    out->size = p->size;
    out->tag = p->tag;
    return 1;
}
