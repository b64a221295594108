/* SPDX-License-Identifier: MIT
 *
 * The scan: blocks are searched for a container's magic number at every
 * fourth byte (in a file that is neither ELF nor archive: at every byte), and
 * a container that is found is stepped over by its entries' headers. Sections
 * only name the place: libraries keep containers where nobody would look.
 */
#include "image/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "image/object_head.h"
#include "image/ptx_header.h"
#include "image/scan_state.h"

enum { GUESS = 4096 };
/* ".version" and what tells that no longer word begins so. */
enum { VERSION_AT_MOST = 9 };

/* What would be refused of a container's header, its size aside. */
static enum kiln_status check_header(struct scan *s, uint64_t offset,
                                     uint64_t size, struct kiln_error *err)
{
    unsigned char bytes[FATBIN_HEADER] = {0};
    size_t n = size < sizeof bytes ? (size_t)size : sizeof bytes;
    enum kiln_status st = scan_read(s, offset, bytes, n, err);
    struct fatbin fatbin;

    memset(bytes + 8, 0, 8);
    return st ? st : fatbin_open(bytes, n, &fatbin, err);
}

/* Whether it is what the CPU driver compiles, keeps and loads. */
static int is_object(const struct elf_table *table)
{
    for (size_t i = 0; table->header.e_type == ET_REL && i < table->count; i++)
        if (!strcmp(elf_table_name(table, &table->sections[i]),
                    OBJECT_HEAD_SECTION) &&
            elf_table_has_bytes(table, &table->sections[i]))
            return 1;
    return 0;
}

/* To the visitor, with the member that it is said of. */
static enum kiln_status tell_lie(struct scan *s, struct kiln_error *what,
                                 struct kiln_error *err)
{
    if (*s->member)
        kiln_prefix(what, "%s", s->member);
    return s->visitor->lie(s->visitor->data, what, err);
}

/* Sections and wrappers of a host ELF file: they tell of what is found. */
static enum kiln_status read_elf(struct scan *s, uint64_t offset, uint64_t size,
                                 struct arena *arena, struct image_guess *guess,
                                 int *object, int *anywhere, uint64_t *end,
                                 struct kiln_error *err)
{
    struct elf_table table;
    char text[sizeof guess->text];
    struct elf_place *places = NULL;
    struct wrapped *wrapped = NULL;
    enum kiln_status st =
        elf_table_read(s->source, offset, size, arena, &table, err);

    *object = !st && is_object(&table);
    /* Without its sections nothing tells where odd ones begin. */
    *anywhere = !st && !table.count;
    *end = st ? offset + size : offset + elf_table_end(&table);
    if (!st && table.cut) {
        snprintf(text, sizeof text, "%s", guess->text);
        snprintf(guess->text, sizeof guess->text, "the start of %.80s", text);
    }
    if (!st && table.damage.status)
        st = tell_lie(s, &table.damage, err);
    if (!st && table.count)
        st = elf_places(&table, arena, &places, &s->place_count, err);
    if (!st && table.count)
        st = elf_wrappers(&table, arena, &wrapped, &s->wrapped_count, err);
    s->places = places;
    s->wrapped = wrapped;
    return st;
}

static enum kiln_status part(struct scan *s, uint64_t offset, uint64_t size,
                             struct image_guess *guess, struct kiln_error *err)
{
    int object = 0;
    int anywhere = 1;
    uint64_t limit = offset + size, end = limit;
    struct arena arena = {0};
    enum kiln_status st = KILN_OK;

    switch (guess->look) {
    case IMAGE_CUBIN:
    case IMAGE_PTX:
    case IMAGE_LTO_IR:
        return scan_found(s, guess->look, offset, size, err);
    case IMAGE_HOST_ELF:
        st = read_elf(s, offset, size, &arena, guess, &object, &anywhere, &end,
                      err);
        break;
    case IMAGE_FATBIN:
        st = check_header(s, offset, size, err);
        break;
    default:
        break;
    }
    if (!st && object) {
        guess->look = IMAGE_OBJECT;
        snprintf(guess->text, sizeof guess->text,
                 "a Kiln object for the CPU device");
        st = scan_found(s, IMAGE_OBJECT, offset, size, err);
    } else if (!st) {
        st = scan_search(s, offset, end, limit, anywhere, err);
        /* Installers append theirs to a program, at any byte. */
        st = st ? st : scan_search(s, end, limit, limit, 1, err);
    }
    if (!st && !object)
        st = scan_odd_places(s, offset, end, limit, &arena, err);
    s->places = NULL;
    s->place_count = 0;
    s->wrapped = NULL;
    s->wrapped_count = 0;
    arena_fini(&arena);
    return st;
}

/* PTX may begin with a licence of any length: past what n bytes at the start
 * are, when these are nothing else. */
static enum kiln_status look_behind_comments(struct scan *s, uint64_t offset,
                                             uint64_t size, const char *first,
                                             size_t n,
                                             struct image_guess *guess,
                                             struct kiln_error *err)
{
    const uint64_t end = offset + size;
    enum ptx_blank state = PTX_BLANK;
    size_t blank = ptx_skip_blank(first, n, &state);
    uint64_t at = offset + blank;
    unsigned char word[VERSION_AT_MOST];
    enum kiln_status st = KILN_OK;

    if (n - blank >= sizeof word)
        return KILN_OK;
    while (!st && blank == n && at < end) {
        n = end - at < SCAN_BLOCK ? (size_t)(end - at) : SCAN_BLOCK;
        st = s->source->read(s->source->data, at, s->block, n, err);
        s->block_at = at;
        s->block_size = st ? 0 : n;
        blank = st ? 0 : ptx_skip_blank((char *)s->block, n, &state);
        at += blank;
    }
    n = end - at < sizeof word ? (size_t)(end - at) : sizeof word;
    if (!st)
        st = scan_read(s, at, word, n, err);
    if (!st && state != PTX_SLASH && ptx_looks(word, n))
        image_guess(word, n, guess);
    return st;
}

static enum kiln_status look(struct scan *s, uint64_t offset, uint64_t size,
                             struct image_guess *guess, struct kiln_error *err)
{
    unsigned char first[GUESS];
    size_t n = size < sizeof first ? (size_t)size : sizeof first;
    enum kiln_status st = scan_read(s, offset, first, n, err);

    if (!st)
        image_guess(first, n, guess);
    if (!st && n < size &&
        (guess->look == IMAGE_TEXT || guess->look == IMAGE_CUDA_SOURCE ||
         guess->look == IMAGE_UNKNOWN))
        st =
            look_behind_comments(s, offset, size, (char *)first, n, guess, err);
    return st;
}

/* Members of an archive within an archive are not listed by their names. */
static enum kiln_status nested(struct scan *s, const struct image_guess *guess,
                               struct kiln_error *err)
{
    struct kiln_error what;

    if (guess->look != IMAGE_ARCHIVE)
        return KILN_OK;
    kiln_fail(&what, KILN_E_FORMAT,
              "%s within an archive, which is not opened: fat binaries "
              "alone are found in it",
              guess->text);
    return tell_lie(s, &what, err);
}

/* What stands behind a header that is none is searched, too. */
static enum kiln_status after_damage(struct scan *s, uint64_t from,
                                     struct kiln_error *what,
                                     struct kiln_error *err)
{
    uint64_t end = s->source->size;
    enum kiln_status st = scan_search(s, from, end, end, 1, err);

    if (st)
        return st;
    if (s->found)
        return tell_lie(s, what, err);
    if (err)
        *err = *what;
    return what->status;
}

static enum kiln_status members(struct scan *s, struct kiln_error *err)
{
    struct archive archive;
    struct archive_member m;
    struct image_guess guess;
    int more = 1;

    archive_open(s->source, &archive);
    for (;;) {
        struct kiln_error what = {0};
        enum kiln_status st = archive_next(&archive, &m, &more, &what);

        if (st == KILN_E_FORMAT)
            return after_damage(s, archive.next, &what, err);
        if (st && err)
            *err = what;
        if (st || !more)
            return st;
        st = look(s, m.offset, m.size, &guess, err);
        s->member = m.name;
        if (!st)
            st = nested(s, &guess, err);
        if (!st)
            st = part(s, m.offset, m.size, &guess, err);
        s->member = "";
        if (st)
            return st;
    }
}

enum kiln_status image_scan(const struct image_source *source,
                            const struct image_visitor *visitor,
                            struct image_guess *guess, struct kiln_error *err)
{
    struct scan s = {.source = source, .visitor = visitor, .member = ""};
    enum kiln_status st;

    s.block = kiln_alloc(SCAN_BLOCK);
    if (!s.block)
        return kiln_fail(err, KILN_E_MEMORY, "scan: out of memory");
    st = look(&s, 0, source->size, guess, err);
    if (st)
        goto out;
    if (guess->look == IMAGE_ARCHIVE && !strcmp(guess->text, "a thin archive"))
        st = kiln_fail(err, KILN_E_IMAGE,
                       "a thin archive: it names its objects and does not "
                       "hold them; give those");
    else if (guess->look == IMAGE_ARCHIVE)
        st = members(&s, err);
    else
        st = part(&s, 0, source->size, guess, err);
out:
    kiln_release(s.block);
    return st;
}
