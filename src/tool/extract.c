/* SPDX-License-Identifier: MIT
 *
 * Entries into files of their own.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tool/inspect.h"
#include "tool/tool.h"

/* The kernel takes no longer path, its end counted. */
enum { PATH_ROOM = 4096 };

static const char *suffix(const struct kiln_entry *e)
{
    switch (e->kind) {
    case KILN_ENTRY_PTX:
        return "ptx";
    case KILN_ENTRY_CUBIN:
        return "cubin";
    case KILN_ENTRY_LTO:
        return "ltoir";
    case KILN_ENTRY_OBJECT:
        return "o";
    default:
        return "bin";
    }
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : slash ? "file" : path;
}

/* What stands there is replaced when all is written: a link by a file, and
 * what it names stays as it was. */
static int write_entry(const char *folder, const char *path, const void *bytes,
                       size_t size)
{
    char name[PATH_ROOM];
    FILE *to;
    int bad;

    snprintf(name, sizeof name, "%s/.XXXXXX", folder);
    to = output_new(name, OUTPUT_MODE);
    bad = !to || fwrite(bytes, 1, size, to) != size;
    if (to && output_close(to, name, bad))
        bad = 1;
    if (!bad && rename(name, path)) {
        bad = errno;
        unlink(name);
        errno = bad;
    }
    if (bad)
        print_plain(stderr, "kiln inspect: %s: %s\n", path, strerror(errno));
    return bad;
}

int extract_file(const struct kiln_file *file, const char *folder)
{
    int failed = 0;

    for (size_t i = 0; i < kiln_file_entry_count(file); i++) {
        struct kiln_entry e = {.size = sizeof e};
        struct kiln_error err;
        char path[PATH_ROOM], target[32];
        void *bytes;
        int length;
        size_t size;

        kiln_file_entry(file, i, &e, NULL);
        entry_target(&e, target, sizeof target);
        length = snprintf(path, sizeof path, "%s/%s.%zu.%u.%s.%s", folder,
                          base_name(kiln_file_name(file)), e.container, e.index,
                          target, suffix(&e));
        if (length < 0 || length >= PATH_ROOM) {
            print_plain(stderr,
                        "kiln inspect: %s: container %zu: entry %u: a path of "
                        "%d bytes, at most %d are possible: give a shorter "
                        "FOLDER\n",
                        kiln_file_name(file), e.container, e.index, length,
                        PATH_ROOM - 1);
            return -1;
        }
        if (kiln_file_unpack(file, i, &bytes, &size, &err)) {
            print_plain(stderr, "kiln inspect: %s: container %zu: %s\n",
                        kiln_file_name(file), e.container, err.text);
            failed++;
            continue;
        }
        if (write_entry(folder, path, bytes, size)) {
            kiln_bytes_free(bytes);
            return -1;
        }
        kiln_bytes_free(bytes);
    }
    return failed;
}
