/* SPDX-License-Identifier: MIT
 *
 * Sections by offset and archive members, read through the scan's callback.
 */
#include "image/places.h"

#include <stdlib.h>
#include <string.h>

static int by_offset(const void *a, const void *b)
{
    uint64_t x = ((const struct elf_place *)a)->offset;
    uint64_t y = ((const struct elf_place *)b)->offset;

    return (x > y) - (x < y);
}

enum kiln_status elf_places(const struct elf_table *table, struct arena *arena,
                            struct elf_place **places, size_t *count,
                            struct kiln_error *err)
{
    struct elf_place *list = arena_array(arena, table->count, sizeof *list);
    size_t n = 0;

    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "ELF: out of memory");
    for (size_t i = 0; i < table->count; i++) {
        const Elf64_Shdr *s = &table->sections[i];

        if (elf_table_has_bytes(table, s))
            list[n++] =
                (struct elf_place){table->base + s->sh_offset, s->sh_size,
                                   elf_table_name(table, s)};
    }
    if (n)
        qsort(list, n, sizeof *list, by_offset);
    *places = list;
    *count = n;
    return KILN_OK;
}

const char *elf_place_of(const struct elf_place *places, size_t count,
                         uint64_t offset)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (places[mid].offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low && offset - places[low - 1].offset < places[low - 1].size
               ? places[low - 1].name
               : "";
}

enum { AR_MAGIC = 8, AR_HEADER = 60, AR_NAME = 16, AR_SIZE = 48 };

void archive_open(const struct image_source *source, struct archive *out)
{
    *out = (struct archive){.source = source, .next = AR_MAGIC};
}

/* The AR_HEADER bytes at a->next, which lie in the file. */
static enum kiln_status read_header(struct archive *a, const char **header,
                                    struct kiln_error *err)
{
    uint64_t left = a->source->size - a->next;
    enum kiln_status st = KILN_OK;

    if (a->near_size < AR_HEADER ||
        a->next - a->near_at > a->near_size - AR_HEADER) {
        a->near_at = a->next;
        a->near_size = left < sizeof a->near ? (size_t)left : sizeof a->near;
        st = a->source->read(a->source->data, a->near_at, a->near, a->near_size,
                             err);
    }
    *header = a->near + (a->next - a->near_at);
    return st;
}

/* n is 15 at most. */
static int decimal(const char *text, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;

    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(text[i] - '0');
    *out = v;
    return i > 0;
}

/* A name in the table of long names ("/123"), after the header (BSD,
 * "#1/20"), or in the header itself, ended by a slash or blanks. */
static enum kiln_status member_name(struct archive *a, const char *field,
                                    struct archive_member *m,
                                    struct kiln_error *err)
{
    uint64_t at, n;
    size_t length = 0;
    enum kiln_status st;

    if (field[0] == '/' && decimal(field + 1, AR_NAME - 1, &at)) {
        n = at < a->names_size ? a->names_size - at : 0;
        at += a->names;
    } else if (!memcmp(field, "#1/", 3) &&
               decimal(field + 3, AR_NAME - 3, &n) && n <= m->size) {
        at = m->offset;
        m->offset += n;
        m->size -= n;
    } else {
        memcpy(m->name, field, AR_NAME);
        n = 0;
        length = AR_NAME;
    }
    if (n) {
        length = n < sizeof m->name - 1 ? (size_t)n : sizeof m->name - 1;
        st = a->source->read(a->source->data, at, m->name, length, err);
        if (st)
            return st;
    }
    m->name[length] = '\0';
    m->name[strcspn(m->name, "/\n")] = '\0';
    for (n = strlen(m->name); n && m->name[n - 1] == ' '; n--)
        m->name[n - 1] = '\0';
    return KILN_OK;
}

enum kiln_status archive_next(struct archive *a, struct archive_member *member,
                              int *more, struct kiln_error *err)
{
    const char *header;

    for (;;) {
        struct archive_member m = {.offset = a->next + AR_HEADER};
        enum kiln_status st;

        *more = 0;
        if (a->next >= a->source->size)
            return KILN_OK;
        if (a->source->size - a->next < AR_HEADER)
            return kiln_fail(err, KILN_E_FORMAT,
                             "archive: %llu bytes at 0x%llx, a member's "
                             "header has %d",
                             (unsigned long long)(a->source->size - a->next),
                             (unsigned long long)a->next, AR_HEADER);
        st = read_header(a, &header, err);
        if (st)
            return st;
        if (memcmp(header + 58, "`\n", 2) ||
            !decimal(header + AR_SIZE, 10, &m.size) ||
            m.size > a->source->size - m.offset)
            return kiln_fail(err, KILN_E_FORMAT,
                             "archive: no member's header at 0x%llx, or one "
                             "whose size is past the end",
                             (unsigned long long)a->next);
        a->next = m.offset + m.size + (m.size & 1);
        if (!memcmp(header, "// ", 3)) {
            a->names = m.offset;
            a->names_size = m.size;
        } else if (memcmp(header, "/ ", 2) && memcmp(header, "/SYM64/", 7)) {
            st = member_name(a, header, &m, err);
            *member = m;
            *more = !st;
            return st;
        }
    }
}
