/* SPDX-License-Identifier: MIT */
#include "compile/identity.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"

enum { HEADERS_MAX = 64, NOTES_MAX = 4096, CHUNK = 1 << 16 };

static int read_at(int fd, void *to, size_t n, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, n, (off_t)offset) == (ssize_t)n;
}

/* The build id inside one PT_NOTE segment. */
static size_t note_build_id(const unsigned char *bytes, size_t size,
                            uint8_t id[64])
{
    struct cursor c = cursor_of(bytes, size);

    while (cursor_left(&c) >= sizeof(Elf64_Nhdr)) {
        uint32_t name_size = cursor_u32(&c);
        uint32_t text_size = cursor_u32(&c);
        uint32_t type = cursor_u32(&c);
        const unsigned char *name =
            cursor_bytes(&c, ((uint64_t)name_size + 3) & ~(uint64_t)3);
        const unsigned char *text =
            cursor_bytes(&c, ((uint64_t)text_size + 3) & ~(uint64_t)3);

        if (c.bad)
            return 0;
        if (type == NT_GNU_BUILD_ID && name_size == 4 &&
            !memcmp(name, "GNU", 4) && text_size && text_size <= 64) {
            memcpy(id, text, text_size);
            return text_size;
        }
    }
    return 0;
}

static size_t build_id(int fd, uint8_t id[64])
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[HEADERS_MAX];
    unsigned char notes[NOTES_MAX];

    if (!read_at(fd, &header, sizeof header, 0) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof *segments ||
        header.e_phnum > HEADERS_MAX ||
        !read_at(fd, segments, header.e_phnum * sizeof *segments,
                 header.e_phoff))
        return 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        size_t n;

        if (segments[i].p_type != PT_NOTE ||
            segments[i].p_filesz > sizeof notes ||
            !read_at(fd, notes, segments[i].p_filesz, segments[i].p_offset))
            continue;
        n = note_build_id(notes, segments[i].p_filesz, id);
        if (n)
            return n;
    }
    return 0;
}

static int add_content(struct hasher *h, int fd)
{
    unsigned char chunk[CHUNK];
    ssize_t n;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        hasher_add(h, chunk, (size_t)n);
    return n < 0 ? -1 : 0;
}

enum kiln_status identity_add(struct hasher *h, const char *path,
                              struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;
    uint8_t id[64];
    struct stat info;
    uint64_t size;
    size_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &info)) {
        st = kiln_fail(err, KILN_E_FILE, "%s: %s", path, strerror(errno));
        goto out;
    }
    size = (uint64_t)info.st_size;
    hasher_add(h, &size, sizeof size);
    n = build_id(fd, id);
    if (n)
        hasher_add(h, id, n);
    else if (add_content(h, fd))
        st = kiln_fail(err, KILN_E_FILE, "%s: %s", path, strerror(errno));
out:
    if (fd >= 0)
        close(fd);
    return st;
}
