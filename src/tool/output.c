/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tool.h"

FILE *output_new(char *name, mode_t mode)
{
    int fd = mkostemp(name, O_CLOEXEC), code;
    mode_t mask = umask(0);
    FILE *to = NULL;

    umask(mask);
    if (fd < 0)
        return NULL;
    if (!fchmod(fd, mode == OUTPUT_MODE ? 0666 & ~mask : mode))
        to = fdopen(fd, "wb");
    if (!to) {
        code = errno;
        unlink(name);
        close(fd);
        errno = code;
    }
    return to;
}

int output_close(FILE *to, const char *path, int bad)
{
    struct stat opened, named;
    int code = errno;
    int is_own = !fstat(fileno(to), &opened) && !lstat(path, &named) &&
                 S_ISREG(named.st_mode) && named.st_dev == opened.st_dev &&
                 named.st_ino == opened.st_ino;

    if (fclose(to) && !bad) {
        code = errno;
        bad = 1;
    }
    if (bad && is_own)
        unlink(path);
    errno = code;
    return bad ? -1 : 0;
}
