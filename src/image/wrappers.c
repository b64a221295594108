/* SPDX-License-Identifier: MIT
 *
 * Wrappers in the section that compilers keep for them. Containers are found
 * without these; what is told here alone is which belong together: a version
 * 2 wrapper has an array of pointers to images that its own was linked from.
 * nvcc's array is empty in the file, and the program fills it at its start
 * with the containers of __nv_relfatbin before it registers the wrapper.
 */
#include "image/wrappers.h"

#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"

enum {
    LIST_MAX = 1 << 18, /* as many as there may be containers */
    SECTION_MAX = 24 << 18,
    REL_MAX = 16
};

struct reading {
    struct elf_memory memory;
    struct arena *arena;
    struct wrapped *list;
    size_t count, cap;
    uint64_t budget;   /* bytes of sections that may be read */
    uint64_t pointers; /* of arrays that may be read: arrays of a hostile file
                          may all lie on the same bytes */
};

static enum kiln_status add(struct reading *r, uint64_t offset, int version,
                            int64_t prelinked, uint64_t owner,
                            struct kiln_error *err)
{
    struct wrapped *list;

    if (r->count == LIST_MAX)
        return KILN_OK;
    list = arena_grow(r->arena, r->list, r->count, &r->cap, sizeof *list);
    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    r->list = list;
    list[r->count++] = (struct wrapped){r->memory.table->base + offset, owner,
                                        version, prelinked};
    return KILN_OK;
}

/* The array at an address: *n pointers up to its NULL. */
static enum kiln_status read_array(struct reading *r, uint64_t address,
                                   uint64_t owner, int64_t *n,
                                   struct kiln_error *err)
{
    uint64_t at, left, to, room, word;
    enum elf_where where = elf_memory_at(&r->memory, address, &at, &left);
    enum kiln_status st;

    *n = where == ELF_ZEROS ? IMAGE_AT_START : 0;
    if (where != ELF_IN_FILE)
        return KILN_OK;
    for (; left >= 8 && r->count < LIST_MAX; left -= 8, at += 8, address += 8) {
        if (!r->pointers)
            return KILN_OK;
        r->pointers--;
        st = elf_table_bytes(r->memory.table, at, &word, 8, err);
        if (!st)
            st = elf_memory_pointer(&r->memory, address, word, &word, err);
        if (st || !word)
            return st;
        if (elf_memory_at(&r->memory, word, &to, &room) == ELF_IN_FILE)
            st = add(r, to, 0, 0, owner, err);
        if (st)
            return st;
        ++*n;
    }
    return KILN_OK;
}

static enum kiln_status read_wrapper(struct reading *r, const void *bytes,
                                     uint64_t address, struct kiln_error *err)
{
    struct elf_memory *m = &r->memory;
    uint64_t data, array, at, left;
    int64_t prelinked = 0;
    uint32_t version;
    enum kiln_status st;

    memcpy(&version, (const char *)bytes + 4, 4);
    memcpy(&data, (const char *)bytes + 8, 8);
    memcpy(&array, (const char *)bytes + 16, 8);
    if (version != 1 && version != 2)
        return KILN_OK;
    st = elf_memory_pointer(m, address + 8, data, &data, err);
    if (st || elf_memory_at(m, data, &at, &left) != ELF_IN_FILE)
        return st;
    if (version == 2) {
        st = elf_memory_pointer(m, address + 16, array, &array, err);
        if (!st && array)
            st = read_array(r, array, m->table->base + at, &prelinked, err);
    }
    return st ? st : add(r, at, (int)version, prelinked, IMAGE_NO_OWNER, err);
}

static enum kiln_status read_section(struct reading *r, const Elf64_Shdr *s,
                                     struct kiln_error *err)
{
    const struct elf_table *t = r->memory.table;
    size_t n = s->sh_size < SECTION_MAX ? (size_t)s->sh_size : SECTION_MAX;
    uint32_t magic = FATBIN_WRAPPER_MAGIC;
    unsigned char *bytes;
    enum kiln_status st;

    if (n > r->budget)
        return KILN_OK;
    r->budget -= n;
    bytes = arena_alloc(r->arena, n);
    if (!bytes)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    st = elf_table_bytes(t, s->sh_offset, bytes, n, err);
    for (size_t i = 0; !st && n - i >= FATBIN_WRAPPER;) {
        if (memcmp(bytes + i, &magic, sizeof magic)) {
            i += 8;
            continue;
        }
        st = read_wrapper(r, bytes + i, elf_memory_of(&r->memory, s, i), err);
        i += FATBIN_WRAPPER;
    }
    return st;
}

static int by_offset(const void *a, const void *b)
{
    const struct wrapped *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* One for each container. */
static void merge(struct reading *r)
{
    size_t n = 0;

    if (!r->count)
        return;
    qsort(r->list, r->count, sizeof *r->list, by_offset);
    for (size_t i = 1; i < r->count; i++) {
        struct wrapped *to = &r->list[n];
        const struct wrapped *from = &r->list[i];

        if (to->offset != from->offset) {
            r->list[++n] = *from;
            continue;
        }
        to->version = from->version > to->version ? from->version : to->version;
        to->prelinked = to->prelinked ? to->prelinked : from->prelinked;
        if (to->owner == IMAGE_NO_OWNER)
            to->owner = from->owner;
    }
    r->count = n + 1;
}

static int in_relocatable(const struct elf_table *t, const Elf64_Shdr *const *s,
                          size_t count, uint64_t offset)
{
    for (size_t i = 0; i < count; i++)
        if (offset - t->base - s[i]->sh_offset < s[i]->sh_size)
            return 1;
    return 0;
}

/* What the program will put into an array that it fills at its start, where
 * there is but one of those. */
static void foretell(struct reading *r)
{
    const struct elf_table *t = r->memory.table;
    const Elf64_Shdr *sections[REL_MAX];
    const struct wrapped *owner = NULL;
    size_t n = 0, owners = 0;

    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].prelinked == IMAGE_AT_START) {
            owner = &r->list[i];
            owners++;
        }
    for (size_t i = 0; owners == 1 && i < t->count && n < REL_MAX; i++)
        if (elf_table_has_bytes(t, &t->sections[i]) &&
            !strcmp(elf_table_name(t, &t->sections[i]), "__nv_relfatbin"))
            sections[n++] = &t->sections[i];
    for (size_t i = 0; n && i < r->count; i++)
        if (r->list[i].version == 1 && r->list[i].owner == IMAGE_NO_OWNER &&
            in_relocatable(t, sections, n, r->list[i].offset))
            r->list[i].owner = owner->offset;
}

enum kiln_status elf_wrappers(const struct elf_table *t, struct arena *arena,
                              struct wrapped **list, size_t *count,
                              struct kiln_error *err)
{
    struct reading r = {
        .arena = arena, .budget = t->size, .pointers = t->size / 8};
    enum kiln_status st = elf_memory_open(t, arena, &r.memory, err);

    for (size_t i = 0; !st && i < t->count; i++) {
        const Elf64_Shdr *s = &t->sections[i];

        if (elf_table_has_bytes(t, s) &&
            !strcmp(elf_table_name(t, s), ".nvFatBinSegment"))
            st = read_section(&r, s, err);
    }
    if (st)
        return st;
    merge(&r);
    foretell(&r);
    *list = r.list;
    *count = r.count;
    return KILN_OK;
}
