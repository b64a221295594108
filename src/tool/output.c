/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tool.h"

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
