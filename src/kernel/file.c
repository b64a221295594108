/* SPDX-License-Identifier: MIT
 *
 * Files with device code: what a scan finds is kept as a list.
 */
#include "kernel/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/cubin.h"
#include "image/ptx_header.h"

void file_give(void *to, const void *from, size_t size)
{
    size_t room;

    memcpy(&room, to, sizeof room);
    if (room > sizeof room)
        memcpy((char *)to + sizeof room, (const char *)from + sizeof room,
               (room < size ? room : size) - sizeof room);
}

/* Of an image by itself this much is read to label it. */
enum { LABEL_READ = 64 << 20 };
/* Libraries have some ten thousand; a list of more is somebody's attack on
 * memory. */
enum { LIST_MAX = 1 << 18 };
static const uint64_t PIPE_LIMIT = (uint64_t)4 << 30;

static enum kiln_status read_fd(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    const struct kiln_file *f = data;
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(f->fd, (char *)to + done, size - done,
                          (off_t)(offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return kiln_fail(err, KILN_E_FILE,
                             "%s: %zu bytes at 0x%llx cannot be read: %s",
                             f->name, size, (unsigned long long)offset,
                             n ? strerror(errno) : "the file became shorter");
        done += (size_t)n;
    }
    return KILN_OK;
}

static enum kiln_status read_bytes(void *data, uint64_t offset, void *to,
                                   size_t size, struct kiln_error *err)
{
    const struct kiln_file *f = data;

    (void)err;
    if (size)
        memcpy(to, (const char *)f->bytes + offset, size);
    return KILN_OK;
}

static const char *keep(struct kiln_file *f, const char *text, size_t n)
{
    char *copy;

    if (!n)
        return "";
    copy = arena_strndup(&f->arena, text, n);
    return copy ? copy : "";
}

static enum kiln_status add_entry(struct kiln_file *f,
                                  const struct file_entry *e,
                                  struct kiln_error *err)
{
    struct file_entry *list = arena_grow(&f->arena, f->entries, f->entry_count,
                                         &f->entry_cap, sizeof *list);

    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    if (f->entry_count == LIST_MAX)
        return kiln_fail(err, KILN_E_FORMAT, "%s: more than %d entries",
                         f->name, LIST_MAX);
    f->entries = list;
    list[f->entry_count++] = *e;
    f->containers[f->container_count - 1].count++;
    return KILN_OK;
}

static const char *packing_name(enum fatbin_packing packing)
{
    static const char *const names[] = {"none", "lz4", "zstd", "unknown"};

    return names[packing];
}

static enum kiln_status take_entry(void *data, const struct fatbin_entry *e,
                                   uint64_t stored, struct kiln_error *err)
{
    struct kiln_file *f = data;
    struct kiln_container *c = &f->containers[f->container_count - 1];
    struct file_entry out = {.entry = *e};
    size_t text = strnlen(e->options ? e->options : "", e->options_size);

    (void)stored;
    out.payload = c->offset + e->offset + e->header_size;
    out.shown = (struct kiln_entry){
        .size = sizeof out.shown,
        .container = f->container_count - 1,
        .index = e->index,
        .kind = e->kind,
        .kind_name = fatbin_kind_name(e->kind),
        .sm = e->sm,
        .variant = e->variant,
        .major = e->major,
        .minor = e->minor,
        .offset = c->offset + e->offset,
        .flags = e->flags,
        .packing = packing_name(e->packing),
        .stored = e->payload_size,
        .plain = e->plain_size,
        .note = keep(f, e->identifier, e->identifier_size),
        .options = keep(f, e->options, text),
    };
    out.entry.options = NULL;
    out.entry.identifier = NULL;
    return add_entry(f, &out, err);
}

/* What an image by itself says of itself, in place of an entry's header. */
static void read_label(const void *bytes, size_t size, enum image_look look,
                       struct fatbin_entry *e)
{
    struct arena arena = {0};
    struct ptx_header ptx;
    struct cubin cubin;

    if (look == IMAGE_PTX && !ptx_header_read(bytes, size, &ptx, NULL)) {
        e->sm = ptx.sm;
        e->variant = ptx.variant;
        e->major = ptx.major;
        e->minor = ptx.minor;
    } else if (look == IMAGE_CUBIN &&
               (!cubin_read(bytes, size, &arena, &cubin, NULL) ||
                !cubin_identify(bytes, size, &cubin, NULL))) {
        e->sm = cubin.sm;
        e->variant = cubin.variant;
        e->major = 1;
        e->minor = (uint16_t)cubin.abi;
    }
    arena_fini(&arena);
}

static enum kiln_status take_image(struct kiln_file *f,
                                   const struct image_place *place,
                                   struct kiln_error *err)
{
    struct file_entry e = {.payload = place->offset};
    size_t n = place->size < LABEL_READ ? (size_t)place->size : LABEL_READ;
    void *bytes = kiln_alloc(n + 1);
    enum kiln_status st;

    if (!bytes)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    e.entry.kind = place->look == IMAGE_PTX     ? FATBIN_PTX
                   : place->look == IMAGE_CUBIN ? FATBIN_ELF
                                                : FATBIN_LTO;
    st = f->source.read(f->source.data, place->offset, bytes, n, err);
    if (!st)
        read_label(bytes, n, place->look, &e.entry);
    kiln_release(bytes);
    if (st)
        return st;
    e.entry.payload_size = e.entry.plain_size = place->size;
    e.shown = (struct kiln_entry){.size = sizeof e.shown,
                                  .container = f->container_count - 1,
                                  .kind = e.entry.kind,
                                  .kind_name = fatbin_kind_name(e.entry.kind),
                                  .sm = e.entry.sm,
                                  .variant = e.entry.variant,
                                  .major = e.entry.major,
                                  .minor = e.entry.minor,
                                  .offset = place->offset,
                                  .packing = "none",
                                  .stored = place->size,
                                  .plain = place->size,
                                  .note = "",
                                  .options = ""};
    return add_entry(f, &e, err);
}

static enum kiln_status take_place(void *data, const struct image_place *place,
                                   struct kiln_error *err)
{
    struct kiln_file *f = data;
    struct kiln_container *list =
        arena_grow(&f->arena, f->containers, f->container_count,
                   &f->container_cap, sizeof *list);

    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    if (f->container_count == LIST_MAX)
        return kiln_fail(err, KILN_E_FORMAT, "%s: more than %d containers",
                         f->name, LIST_MAX);
    f->containers = list;
    list[f->container_count++] = (struct kiln_container){
        .size = sizeof *list,
        .offset = place->offset,
        .bytes = place->size,
        .single = place->look != IMAGE_FATBIN,
        .section = keep(f, place->section, strlen(place->section)),
        .member = keep(f, place->member, strlen(place->member)),
        .damage = "",
        .first = f->entry_count};
    return place->look == IMAGE_FATBIN ? KILN_OK : take_image(f, place, err);
}

static enum kiln_status take_damage(void *data, const struct kiln_error *what,
                                    struct kiln_error *err)
{
    struct kiln_file *f = data;

    (void)err;
    f->containers[f->container_count - 1].damage =
        keep(f, what->text, strlen(what->text));
    return KILN_OK;
}

static enum kiln_status scan(struct kiln_file *f, struct kiln_error *err)
{
    const struct image_visitor visitor = {.data = f,
                                          .place = take_place,
                                          .entry = take_entry,
                                          .damage = take_damage};
    enum kiln_status st = image_scan(&f->source, &visitor, &f->guess, err);

    if (st) {
        if (err && strncmp(err->text, f->name, strlen(f->name)))
            kiln_prefix(err, "%s", f->name);
        return st;
    }
    if (f->container_count)
        return KILN_OK;
    if (f->guess.look == IMAGE_EMPTY)
        return kiln_fail(err, KILN_E_IMAGE, "%s: an empty file", f->name);
    return kiln_fail(err, KILN_E_IMAGE,
                     f->guess.look == IMAGE_HOST_ELF
                         ? "%s: %s without device code"
                         : "%s: no device code in it; it looks like %s",
                     f->name, f->guess.text);
}

static struct kiln_file *file_new(const char *name, struct kiln_error *err)
{
    struct kiln_file *f = kiln_zalloc(sizeof *f);

    if (f) {
        f->fd = -1;
        f->source.data = f;
        f->name = kiln_strdup(name);
    }
    if (f && f->name)
        return f;
    kiln_file_close(f);
    kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", name);
    return NULL;
}

enum kiln_status kiln_file_open_bytes(const char *name, const void *bytes,
                                      size_t size, struct kiln_file **out,
                                      struct kiln_error *err)
{
    struct kiln_file *f = file_new(name ? name : "bytes", err);
    enum kiln_status st;

    if (!f)
        return KILN_E_MEMORY;
    f->bytes = bytes;
    f->source.read = read_bytes;
    f->source.size = size;
    st = scan(f, err);
    if (st) {
        kiln_file_close(f);
        return st;
    }
    *out = f;
    return KILN_OK;
}

static enum kiln_status open_path(struct kiln_file *f, const char *path,
                                  struct kiln_error *err)
{
    struct stat info;
    enum kiln_status st;

    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (f->fd < 0 || fstat(f->fd, &info))
        return kiln_fail(err, KILN_E_FILE, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return kiln_fail(err, KILN_E_FILE, "%s: a folder, a file expected",
                         path);
    if (S_ISREG(info.st_mode)) {
        f->source.read = read_fd;
        f->source.find = file_find;
        f->source.size = (uint64_t)info.st_size;
        return KILN_OK;
    }
    st = file_read(path, PIPE_LIMIT, &f->own, err);
    f->bytes = f->own.bytes;
    f->source.read = read_bytes;
    f->source.size = f->own.size;
    return st;
}

enum kiln_status kiln_file_open(const char *path, struct kiln_file **out,
                                struct kiln_error *err)
{
    struct kiln_file *f = file_new(path, err);
    enum kiln_status st;

    if (!f)
        return KILN_E_MEMORY;
    st = open_path(f, path, err);
    if (!st)
        st = scan(f, err);
    if (st) {
        kiln_file_close(f);
        return st;
    }
    *out = f;
    return KILN_OK;
}

void kiln_file_close(struct kiln_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    buffer_fini(&f->own);
    arena_fini(&f->arena);
    kiln_release(f->name);
    kiln_release(f);
}

const char *kiln_file_name(const struct kiln_file *file)
{
    return file->name;
}

const char *kiln_file_looks(const struct kiln_file *file)
{
    return file->guess.text;
}

uint64_t kiln_file_size(const struct kiln_file *file)
{
    return file->source.size;
}

size_t kiln_file_container_count(const struct kiln_file *file)
{
    return file->container_count;
}

enum kiln_status kiln_file_container(const struct kiln_file *file, size_t index,
                                     struct kiln_container *container,
                                     struct kiln_error *err)
{
    if (index >= file->container_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: container %zu of %zu",
                         file->name, index, file->container_count);
    FILE_GIVE(container, file->containers[index]);
    return KILN_OK;
}

size_t kiln_file_entry_count(const struct kiln_file *file)
{
    return file->entry_count;
}

enum kiln_status kiln_file_entry(const struct kiln_file *file, size_t index,
                                 struct kiln_entry *entry,
                                 struct kiln_error *err)
{
    if (index >= file->entry_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: entry %zu of %zu",
                         file->name, index, file->entry_count);
    FILE_GIVE(entry, file->entries[index].shown);
    return KILN_OK;
}

enum kiln_status file_unpack(const struct kiln_file *file, size_t index,
                             uint64_t cap, struct buffer *out,
                             struct kiln_error *err)
{
    const struct file_entry *e = &file->entries[index];
    struct fatbin_entry entry = e->entry;
    size_t size = (size_t)entry.payload_size;
    void *copy = NULL;
    enum kiln_status st = KILN_OK;

    if (file->bytes) {
        entry.payload = (const unsigned char *)file->bytes + e->payload;
    } else {
        copy = kiln_alloc(size + 1);
        if (!copy)
            return kiln_fail(err, KILN_E_MEMORY,
                             "%s: out of memory for %zu bytes", file->name,
                             size);
        st = file->source.read(file->source.data, e->payload, copy, size, err);
        entry.payload = copy;
    }
    if (!st)
        st = fatbin_unpack(&entry, cap, out, err);
    kiln_release(copy);
    return st;
}

enum kiln_status kiln_file_unpack(const struct kiln_file *file, size_t index,
                                  void **bytes, size_t *size,
                                  struct kiln_error *err)
{
    struct buffer out = {0};
    enum kiln_status st;

    if (index >= file->entry_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: entry %zu of %zu",
                         file->name, index, file->entry_count);
    st = file_unpack(file, index, 0, &out, err);
    if (!st && !out.bytes)
        buffer_zeros(&out, 0);
    if (st) {
        buffer_fini(&out);
        return st;
    }
    *bytes = out.bytes;
    *size = out.size;
    return KILN_OK;
}

void kiln_bytes_free(void *bytes)
{
    kiln_release(bytes);
}
