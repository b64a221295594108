/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kiln_status file_read_fd(int fd, const char *path, uint64_t limit,
                              struct buffer *out, struct kiln_error *err)
{
    size_t start = out->size;
    unsigned char chunk[65536];
    ssize_t n;

    while (!out->bad && (n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kiln_fail(err, KILN_E_FILE, "%s: reading: %s", path,
                             strerror(errno));
        if (limit && out->size - start + (size_t)n > limit)
            return kiln_fail(err, KILN_E_FORMAT,
                             "%s: larger than the limit of %llu bytes", path,
                             (unsigned long long)limit);
        buffer_add(out, chunk, (size_t)n);
    }
    if (out->bad)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory reading it",
                         path);
    return KILN_OK;
}

enum kiln_status file_read(const char *path, uint64_t limit, struct buffer *out,
                           struct kiln_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum kiln_status st;
    struct stat info;

    if (fd < 0)
        return kiln_fail(err, KILN_E_FILE, "%s: %s", path, strerror(errno));
    if (!fstat(fd, &info) && S_ISDIR(info.st_mode))
        st = kiln_fail(err, KILN_E_FILE, "%s: is a folder, not a file", path);
    else
        st = file_read_fd(fd, path, limit, out, err);
    close(fd);
    return st;
}

enum kiln_status file_write(const char *path, const void *bytes, size_t size,
                            struct kiln_error *err)
{
    const unsigned char *p = bytes;
    enum kiln_status st = KILN_OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        return kiln_fail(err, KILN_E_FILE, "%s: %s", path, strerror(errno));
    while (size) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            st = kiln_fail(err, KILN_E_FILE, "%s: writing: %s", path,
                           strerror(errno));
            break;
        }
        p += n;
        size -= (size_t)n;
    }
    if (close(fd) && !st)
        st = kiln_fail(err, KILN_E_FILE, "%s: closing: %s", path,
                       strerror(errno));
    return st;
}
