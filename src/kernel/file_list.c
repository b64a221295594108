/* SPDX-License-Identifier: MIT
 *
 * What a scan finds in a file, as a list. Blocks of it never move, so that
 * nothing is held twice while it grows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/log.h"
#include "image/cubin.h"
#include "image/object_head.h"
#include "image/ptx_header.h"
#include "kernel/file.h"

/* Of an image by itself this much is read to label it. */
enum { LABEL_READ = 64 << 20 };
/* More sentences of what is damaged nobody reads. */
enum { DAMAGES_MAX = 1 << 12 };
/* What all packed entries of a file may give: as much as takes a second of a
 * file of UNPACKED_SMALL bytes, and more of larger ones. PTX counts thrice:
 * going through text takes longer than through tables. So counted, libraries
 * come to 12 times their size, and one of 38 MB to 15 times. */
enum { UNPACKED_RATIO = 12, UNPACKED_MORE = 16, PTX_WEIGHT = 3 };
enum { UNPACKED_FREE = 192 << 20, UNPACKED_SMALL = 64 << 20 };

const struct file_container *file_container(const struct kiln_file *file,
                                            size_t index)
{
    return &file->containers[index / FILE_BLOCK][index % FILE_BLOCK];
}

const struct file_entry *file_entry(const struct kiln_file *file, size_t index)
{
    return &file->entries[index / FILE_BLOCK][index % FILE_BLOCK];
}

static struct file_container *last_container(struct kiln_file *f)
{
    size_t i = f->container_count - 1;

    return &f->containers[i / FILE_BLOCK][i % FILE_BLOCK];
}

struct kiln_entry file_show(const struct kiln_file *file, size_t index)
{
    static const char *const packings[] = {"none", "lz4", "zstd", "unknown"};
    const struct file_entry *e = file_entry(file, index);

    return (struct kiln_entry){.container = e->container,
                               .index = e->index,
                               .kind = e->kind,
                               .kind_name = fatbin_kind_name(e->kind),
                               .sm = e->sm,
                               .variant = e->variant,
                               .major = e->major,
                               .minor = e->minor,
                               .offset = e->offset,
                               .flags = e->flags,
                               .packing = packings[e->packing],
                               .stored = e->payload_size,
                               .plain = e->plain_size,
                               .note = e->note,
                               .options = e->options};
}

static const char *keep(struct kiln_file *f, const char *text, size_t n)
{
    char *copy;

    if (!n)
        return "";
    copy = arena_strndup(&f->arena, text, n);
    return copy ? copy : "";
}

static void keep_damage(struct kiln_file *f, const struct kiln_error *what)
{
    last_container(f)->damage = f->damages++ < DAMAGES_MAX
                                    ? keep(f, what->text, strlen(what->text))
                                    : "damaged, as many are before it";
}

/* Room for number `count` in one of the lists, in whose block it is. */
static void *room(struct kiln_file *f, void **block, size_t count, size_t size,
                  const char *what, struct kiln_error *err)
{
    if (count == FILE_LIST_MAX) {
        kiln_fail(err, KILN_E_FORMAT, "%s: more than %d %s", f->name,
                  FILE_LIST_MAX, what);
        return NULL;
    }
    if (!*block)
        *block = arena_array(&f->arena, FILE_BLOCK, size);
    if (!*block) {
        kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
        return NULL;
    }
    return (char *)*block + count % FILE_BLOCK * size;
}

static enum kiln_status add_entry(struct kiln_file *f,
                                  const struct file_entry *e,
                                  struct kiln_error *err)
{
    size_t block = f->entry_count / FILE_BLOCK;
    void *list = block < FILE_LIST_MAX / FILE_BLOCK ? f->entries[block] : NULL;
    struct file_entry *to =
        room(f, &list, f->entry_count, sizeof *to, "entries", err);

    if (!to)
        return err ? err->status : KILN_E_FORMAT;
    f->entries[block] = list;
    *to = *e;
    f->entry_count++;
    last_container(f)->count++;
    return KILN_OK;
}

static enum kiln_status take_entry(void *data, const struct fatbin_entry *e,
                                   uint64_t stored, struct kiln_error *err)
{
    struct kiln_file *f = data;
    size_t text = strnlen(e->options ? e->options : "", e->options_size);
    struct file_entry out = {.offset = last_container(f)->offset + e->offset,
                             .payload_size = e->payload_size,
                             .plain_size = e->plain_size,
                             .flags = e->flags,
                             .note = keep(f, e->identifier, e->identifier_size),
                             .options = keep(f, e->options, text),
                             .header_size = e->header_size,
                             .container = (uint32_t)f->container_count - 1,
                             .index = e->index,
                             .kind = e->kind,
                             .sm = e->sm,
                             .major = e->major,
                             .minor = e->minor,
                             .variant = e->variant,
                             .packing = (uint8_t)e->packing};

    (void)stored;
    if (e->packing != FATBIN_PLAIN) {
        uint64_t weight = e->kind == FATBIN_PTX ? PTX_WEIGHT : 1;

        if (__builtin_mul_overflow(e->plain_size, weight, &weight) ||
            __builtin_add_overflow(f->unpacked, weight, &f->unpacked))
            f->unpacked = UINT64_MAX;
        out.bomb = f->unpacked > f->unpacked_max;
    }
    return add_entry(f, &out, err);
}

/* What an image by itself says of itself, in place of an entry's header. The
 * sentence of what is wrong with it is no error of the file's. */
static enum kiln_status label_ptx(const void *bytes, size_t size,
                                  struct file_entry *e, struct kiln_error *what)
{
    struct ptx_header ptx;
    enum kiln_status st = ptx_header_read(bytes, size, &ptx, what);

    if (st)
        return st;
    e->sm = ptx.sm;
    e->variant = ptx.variant;
    e->major = ptx.major;
    e->minor = ptx.minor;
    /* A NUL ends PTX text, as for drivers. */
    return size < e->payload_size
               ? KILN_OK
               : ptx_text_check(bytes, strnlen(bytes, size), what);
}

static enum kiln_status label_cubin(const void *bytes, size_t size,
                                    struct arena *arena, struct file_entry *e,
                                    struct kiln_error *what)
{
    struct cubin cubin;
    enum kiln_status st = cubin_check(bytes, size, arena, &cubin, what);

    if (st && cubin_identify(bytes, size, &cubin, NULL))
        return st;
    e->sm = cubin.sm;
    e->variant = cubin.variant;
    e->major = 1;
    e->minor = (uint16_t)cubin.abi;
    return size < e->payload_size ? KILN_OK : st;
}

static enum kiln_status label_object(struct kiln_file *f, const void *bytes,
                                     size_t size, struct arena *arena,
                                     struct file_entry *e,
                                     struct kiln_error *what)
{
    struct object_head head;
    char text[252];
    enum kiln_status st = object_head_read(bytes, size, arena, &head, what);

    if (st)
        return st;
    e->sm = head.target;
    e->major = (uint16_t)(head.ptx_version / 10);
    e->minor = (uint16_t)(head.ptx_version % 10);
    snprintf(text, sizeof text, "build %.64s, %.64s, %.64s", head.build,
             head.codegen, head.cpu);
    e->note = keep(f, text, strlen(text));
    e->options = keep(f, head.features, strlen(head.features));
    return KILN_OK;
}

static void read_label(struct kiln_file *f, const void *bytes, size_t size,
                       enum image_look look, struct file_entry *e)
{
    struct arena arena = {0};
    struct kiln_error what = {0};
    enum kiln_status st = KILN_OK;

    if (look == IMAGE_PTX)
        st = label_ptx(bytes, size, e, &what);
    else if (look == IMAGE_CUBIN)
        st = label_cubin(bytes, size, &arena, e, &what);
    else if (look == IMAGE_OBJECT)
        st = label_object(f, bytes, size, &arena, e, &what);
    if (st)
        keep_damage(f, &what);
    arena_fini(&arena);
}

static enum kiln_status take_image(struct kiln_file *f,
                                   const struct image_place *place,
                                   struct kiln_error *err)
{
    struct file_entry e = {.offset = place->offset,
                           .payload_size = place->size,
                           .plain_size = place->size,
                           .note = "",
                           .options = "",
                           .container = (uint32_t)f->container_count - 1,
                           .kind = place->look == IMAGE_PTX      ? FATBIN_PTX
                                   : place->look == IMAGE_CUBIN  ? FATBIN_ELF
                                   : place->look == IMAGE_OBJECT ? FATBIN_OBJECT
                                                                 : FATBIN_LTO};
    size_t n = place->size < LABEL_READ ? (size_t)place->size : LABEL_READ;
    void *bytes = kiln_alloc(n + 1);
    enum kiln_status st;

    if (!bytes)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    st = f->source.read(f->source.data, place->offset, bytes, n, err);
    if (!st)
        read_label(f, bytes, n, place->look, &e);
    kiln_release(bytes);
    return st ? st : add_entry(f, &e, err);
}

/* Containers that follow each other mostly stand in the same section. */
static const char *again(struct kiln_file *f, const char *before,
                         const char *text)
{
    return before && !strcmp(before, text) ? before
                                           : keep(f, text, strlen(text));
}

static enum kiln_status take_place(void *data, const struct image_place *place,
                                   struct kiln_error *err)
{
    struct kiln_file *f = data;
    const struct file_container *before =
        f->container_count ? last_container(f) : NULL;
    size_t block = f->container_count / FILE_BLOCK;
    void *list =
        block < FILE_LIST_MAX / FILE_BLOCK ? f->containers[block] : NULL;
    struct file_container *to =
        room(f, &list, f->container_count, sizeof *to, "containers", err);

    if (!to)
        return err ? err->status : KILN_E_FORMAT;
    f->containers[block] = list;
    *to = (struct file_container){
        .offset = place->offset,
        .bytes = place->size,
        .owner = place->owner,
        .section = again(f, before ? before->section : NULL, place->section),
        .member = again(f, before ? before->member : NULL, place->member),
        .damage = "",
        .first = (uint32_t)f->entry_count,
        .prelinked = place->prelinked < INT32_MAX ? (int32_t)place->prelinked
                                                  : INT32_MAX,
        .wrapper = (uint8_t)place->wrapper,
        .single = place->look != IMAGE_FATBIN};
    f->container_count++;
    return to->single ? take_image(f, place, err) : KILN_OK;
}

static enum kiln_status take_damage(void *data, const struct kiln_error *what,
                                    struct kiln_error *err)
{
    (void)err;
    keep_damage(data, what);
    return KILN_OK;
}

static enum kiln_status take_lie(void *data, const struct kiln_error *what,
                                 struct kiln_error *err)
{
    struct kiln_file *f = data;

    (void)err;
    if (f->lie_count < FILE_LIES)
        f->lies[f->lie_count] = keep(f, what->text, strlen(what->text));
    f->lie_count++;
    return KILN_OK;
}

/* ---- containers that belong together ----------------------------------- */

struct by_place {
    uint64_t offset;
    size_t index;
};

static int compare(const void *a, const void *b)
{
    const struct by_place *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Offsets of owners become their indices. */
static enum kiln_status find_owners(struct kiln_file *f, struct kiln_error *err)
{
    struct by_place *list, *to, key;
    size_t owned = 0;

    for (size_t i = 0; i < f->container_count; i++)
        owned += file_container(f, i)->owner != FILE_NONE;
    if (!owned)
        return KILN_OK;
    list = kiln_array(NULL, f->container_count, sizeof *list);
    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    for (size_t i = 0; i < f->container_count; i++)
        list[i] = (struct by_place){file_container(f, i)->offset, i};
    qsort(list, f->container_count, sizeof *list, compare);
    for (size_t i = 0; i < f->container_count; i++) {
        struct file_container *c =
            &f->containers[i / FILE_BLOCK][i % FILE_BLOCK];

        if (c->owner == FILE_NONE)
            continue;
        key.offset = c->owner;
        to = bsearch(&key, list, f->container_count, sizeof *list, compare);
        c->owner = to ? to->index : FILE_NONE;
    }
    kiln_release(list);
    return KILN_OK;
}

static uint64_t may_unpack(uint64_t size)
{
    uint64_t small = size < UNPACKED_SMALL ? size : UNPACKED_SMALL, limit;
    int set = env_bytes("KILN_UNPACK_MAX", &limit);

    if (set > 0)
        return limit;
    if (set)
        log_line(LOG_WARN, "KILN_UNPACK_MAX=%s: not a number of bytes",
                 env_get("KILN_UNPACK_MAX"));
    if (size > UINT64_MAX / UNPACKED_MORE / 2)
        return UINT64_MAX;
    return UNPACKED_FREE + UNPACKED_RATIO * small +
           UNPACKED_MORE * (size - small);
}

enum kiln_status file_list(struct kiln_file *f, struct kiln_error *err)
{
    const struct image_visitor visitor = {.data = f,
                                          .place = take_place,
                                          .entry = take_entry,
                                          .damage = take_damage,
                                          .lie = take_lie};
    struct kiln_error bad = {0};

    _Static_assert(FILE_NONE == IMAGE_NO_OWNER, "one value for no owner");
    f->unpacked_max = may_unpack(f->source.size);
    /* The visitor's statuses go through this error. */
    bad.status = image_scan(&f->source, &visitor, &f->guess, &bad);
    if (!bad.status)
        bad.status = find_owners(f, &bad);
    if (bad.status && err)
        *err = bad;
    return bad.status;
}
