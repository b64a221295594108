/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/file.h"

struct buffer fixture_file(const char *path)
{
    struct buffer b = {0};
    struct kiln_error err;

    if (file_read(path, 0, &b, &err))
        fail_msg("%s", err.text);
    return b;
}

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(offset <= f->size && size <= f->size - offset);
    f->reads++;
    if (size)
        memcpy(to, f->bytes + offset, size);
    return KILN_OK;
}

static enum kiln_status place(void *data, const struct image_place *p,
                              struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(p->offset <= f->size && p->size <= f->size - p->offset);
    if (!f->places) {
        snprintf(f->section, sizeof f->section, "%s", p->section);
        snprintf(f->member, sizeof f->member, "%s", p->member);
    }
    if (f->places < FOUND_KEPT)
        f->kept[f->places] = *p;
    f->places++;
    return KILN_OK;
}

static enum kiln_status entry(void *data, const struct fatbin_entry *e,
                              uint64_t stored, struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(e->payload_size <= stored && stored <= f->size);
    f->entries++;
    return KILN_OK;
}

static enum kiln_status damage(void *data, const struct kiln_error *what,
                               struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(*what->text);
    snprintf(f->damage, sizeof f->damage, "%s", what->text);
    f->damages++;
    return KILN_OK;
}

static enum kiln_status lie(void *data, const struct kiln_error *what,
                            struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(*what->text);
    snprintf(f->lie, sizeof f->lie, "%s", what->text);
    f->lies++;
    return KILN_OK;
}

enum kiln_status fixture_scan(const void *bytes, size_t size,
                              struct found *found)
{
    const struct image_visitor visitor = {found, place, entry, damage, lie};
    const struct image_source source = {
        .read = read_at, .data = found, .size = size};
    struct image_guess guess;
    struct kiln_error err = {0};
    enum kiln_status st;

    *found = (struct found){.bytes = bytes, .size = size};
    st = image_scan(&source, &visitor, &guess, &err);
    assert_true(!st || *err.text);
    return st;
}
