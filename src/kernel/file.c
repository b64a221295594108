/* SPDX-License-Identifier: MIT
 *
 * Files with device code: opened, asked, and their payloads read again.
 */
#include "kernel/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

void file_give(void *to, const void *from, size_t size)
{
    size_t room;

    memcpy(&room, to, sizeof room);
    if (room > sizeof room)
        memcpy((char *)to + sizeof room, (const char *)from + sizeof room,
               (room < size ? room : size) - sizeof room);
}

/* What comes through a pipe is held in memory; some pipes have no end. */
static const uint64_t PIPE_LIMIT = (uint64_t)1 << 30;
/* Bounds of what one entry may unpack to, four times the file between them. */
static const uint64_t CAP_LEAST = 1 << 28, CAP_MOST = 1 << 30;

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

static enum kiln_status scan(struct kiln_file *f, struct kiln_error *err)
{
    enum kiln_status st = file_list(f, err);

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
                         ? "%s: %s without device code%s%s"
                         : "%s: no device code in it; it looks like %s%s%s",
                     f->name, f->guess.text, f->lie_count ? "; " : "",
                     f->lie_count ? f->lies[0] : "");
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
    /* Files of /proc say that they are empty: only reading tells. */
    if (S_ISREG(info.st_mode) && info.st_size) {
        f->source.read = read_fd;
        f->source.find = file_find;
        f->source.size = (uint64_t)info.st_size;
        return KILN_OK;
    }
    /* Some have no end, and some answer reading with deeds. */
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
        return kiln_fail(err, KILN_E_FILE,
                         "%s: a device, a file or a pipe expected", path);
    st = file_read_fd(f->fd, path, PIPE_LIMIT, &f->own, err);
    if (st == KILN_E_FORMAT)
        kiln_fail(err, st,
                  "%s: more than %llu MiB through a pipe: give it as a file, "
                  "which is not held in memory",
                  path, (unsigned long long)PIPE_LIMIT >> 20);
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

size_t kiln_file_note_count(const struct kiln_file *file)
{
    return file->lie_count < FILE_LIES ? file->lie_count : FILE_LIES;
}

const char *kiln_file_note(const struct kiln_file *file, size_t index)
{
    return index < kiln_file_note_count(file) ? file->lies[index] : "";
}

size_t kiln_file_container_count(const struct kiln_file *file)
{
    return file->container_count;
}

enum kiln_status kiln_file_container(const struct kiln_file *file, size_t index,
                                     struct kiln_container *container,
                                     struct kiln_error *err)
{
    const struct file_container *c;
    struct kiln_container shown;

    if (index >= file->container_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: container %zu of %zu",
                         file->name, index, file->container_count);
    c = file_container(file, index);
    shown = (struct kiln_container){
        .offset = c->offset,
        .bytes = c->bytes,
        .single = c->single,
        .section = c->section,
        .member = c->member,
        .damage = c->damage,
        .first = c->first,
        .count = c->count,
        .wrapper = c->wrapper,
        .prelinked = c->prelinked,
        .prelinked_of = c->owner == FILE_NONE ? -1 : (long)c->owner};
    FILE_GIVE(container, shown);
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
    struct kiln_entry shown;

    if (index >= file->entry_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: entry %zu of %zu",
                         file->name, index, file->entry_count);
    shown = file_show(file, index);
    FILE_GIVE(entry, shown);
    return KILN_OK;
}

enum kiln_status file_unpack(const struct kiln_file *file, size_t index,
                             uint64_t cap, struct buffer *out,
                             struct kiln_error *err)
{
    const struct file_entry *e = file_entry(file, index);
    struct fatbin_entry entry = {.index = e->index,
                                 .kind = e->kind,
                                 .flags = e->flags,
                                 .packing = e->packing,
                                 .payload_size = e->payload_size,
                                 .plain_size = e->plain_size};
    uint64_t at = e->offset + e->header_size;
    size_t size = (size_t)entry.payload_size;
    uint64_t most = file->source.size < CAP_LEAST / 4  ? CAP_LEAST
                    : file->source.size < CAP_MOST / 4 ? file->source.size * 4
                                                       : CAP_MOST;
    void *copy = NULL;
    enum kiln_status st = KILN_OK;

    if (e->bomb)
        return kiln_fail(err, KILN_E_FORMAT,
                         "%s: entry %u: %llu bytes from %llu, and with what is "
                         "before it over %llu MiB (PTX counted thrice): more "
                         "than such a file should unpack to; KILN_UNPACK_MAX "
                         "sets the limit",
                         file->name, e->index,
                         (unsigned long long)e->plain_size,
                         (unsigned long long)e->payload_size,
                         (unsigned long long)file->unpacked_max >> 20);
    if (!cap)
        cap = most;
    st = fatbin_may_unpack(&entry, cap, err);
    if (st)
        return st;
    if (file->bytes) {
        entry.payload = (const unsigned char *)file->bytes + at;
    } else {
        copy = kiln_alloc(size + 1);
        if (!copy)
            return kiln_fail(err, KILN_E_MEMORY,
                             "%s: out of memory for %zu bytes", file->name,
                             size);
        st = file->source.read(file->source.data, at, copy, size, err);
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
