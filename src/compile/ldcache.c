/* SPDX-License-Identifier: MIT
 *
 * The format that glibc has written since 2.2: "glibc-ld.so.cache1.1", a
 * count, entries of 24 bytes, strings by offset from the start. Older files
 * put that behind a table of another format, which starts "ld.so-1.7.0".
 */
#include "compile/ldcache.h"

#include <string.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/file.h"

static const char magic[] = "glibc-ld.so.cache1.1";
enum { HEADER = 48, ENTRY = 24 };
#ifdef __aarch64__
enum { FLAGS = 0x0a03 };
#else
enum { FLAGS = 0x0303 }; /* ELF of libc6, x86-64 */
#endif
enum { LIMIT = 64 << 20 };

/* Where the new format begins. */
static const unsigned char *start(const struct buffer *b, size_t *size)
{
    static const char old[] = "ld.so-1.7.0";
    size_t at = 0;

    if (b->size >= 16 && !memcmp(b->bytes, old, sizeof old - 1)) {
        uint32_t count;

        memcpy(&count, b->bytes + 12, 4);
        at = 16 + (size_t)count * 12;
        at = (at + 7) & ~(size_t)7;
    }
    if (at > b->size || b->size - at < HEADER ||
        memcmp(b->bytes + at, magic, sizeof magic - 1))
        return NULL;
    *size = b->size - at;
    return b->bytes + at;
}

static const char *string_at(const unsigned char *base, size_t size,
                             uint32_t offset)
{
    if (offset >= size || !memchr(base + offset, 0, size - offset))
        return NULL;
    return (const char *)base + offset;
}

int ldcache_each(const char *file, const char *prefix,
                 int (*visit)(void *data, const char *name, const char *path),
                 void *data)
{
    struct buffer b = {0};
    const unsigned char *base;
    size_t size = 0, length = strlen(prefix);
    uint32_t count;
    int found = 0;

    if (file_read(file, LIMIT, &b, NULL) || !(base = start(&b, &size)))
        goto out;
    memcpy(&count, base + 20, 4);
    if (count > (size - HEADER) / ENTRY)
        goto out;
    for (uint32_t i = 0; i < count && !found; i++) {
        uint32_t fields[3]; /* flags, name, path */
        const char *name, *path;

        memcpy(fields, base + HEADER + (size_t)i * ENTRY, sizeof fields);
        if (fields[0] != FLAGS)
            continue;
        name = string_at(base, size, fields[1]);
        path = string_at(base, size, fields[2]);
        if (name && path && !strncmp(name, prefix, length))
            found = visit(data, name, path);
    }
out:
    buffer_fini(&b);
    return found;
}
