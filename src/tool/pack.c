/* SPDX-License-Identifier: MIT
 *
 * kiln pack: a fat binary from cubins and PTX.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kiln/image.h"
#include "tool/tool.h"

const char pack_help[] =
    "usage: kiln pack -o OUT [--compress none|lz4|zstd] [--note TEXT]\n"
    "                 TARGET:FILE...\n"
    "\n"
    "Writes a fat binary, the form in which drivers, nvcc and linkers take\n"
    "several images of the same kernels.\n"
    "\n"
    "  TARGET       sm_90, sm_90a, sm_100f: FILE is a cubin.\n"
    "               compute_90: FILE is PTX whose .target is sm_90.\n"
    "  --compress   of every entry that becomes smaller by it (none)\n"
    "  --note TEXT  kept in every entry, shown by kiln inspect: compiler,\n"
    "               options, revision\n";

struct pack {
    const char *out, *note;
    enum kiln_packing packing;
    struct kiln_pack_item *items;
    size_t count;
};

static int parse_packing(const char *text, enum kiln_packing *out)
{
    static const char *const names[] = {"none", "lz4", "zstd"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(text, names[i])) {
            *out = (enum kiln_packing)i;
            return 0;
        }
    return usage("pack", "--compress %s: none, lz4 or zstd expected", text);
}

static int add_item(struct pack *p, char *text)
{
    char *colon = strchr(text, ':');

    if (!colon || colon == text || !colon[1])
        return usage("pack", "%s: TARGET:FILE expected", text);
    *colon = '\0';
    p->items[p->count++] = (struct kiln_pack_item){
        .size = sizeof *p->items, .target = text, .name = colon + 1};
    return 0;
}

static int parse(int argc, char **argv, struct pack *p)
{
    int rc = 0;

    for (int i = 1; !rc && i < argc; i++) {
        const char *v;

        if (*argv[i] != '-')
            rc = add_item(p, argv[i]);
        else if (!strcmp(argv[i], "-o") && i + 1 < argc)
            p->out = argv[++i];
        else if ((v = option_value(argc, argv, &i, "--note")))
            p->note = v;
        else if ((v = option_value(argc, argv, &i, "--compress")))
            rc = parse_packing(v, &p->packing);
        else
            rc = usage("pack", "%s: no such option, or no value", argv[i]);
    }
    if (!rc && !p->out)
        rc = usage("pack", "-o OUT expected");
    if (!rc && !p->count)
        rc = usage("pack", "TARGET:FILE expected");
    return rc;
}

/* No reader of Kiln's takes a larger image; some pipes have no end. */
static const size_t ITEM_LIMIT = (size_t)1 << 30;

/* A device has no end. NULL with errno set. */
static FILE *open_item(const char *path)
{
    FILE *from = fopen(path, "rb");
    struct stat info;
    int code = 0;

    if (from && fstat(fileno(from), &info))
        code = errno;
    else if (from && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)))
        code = ENODEV;
    else if (from && S_ISREG(info.st_mode) &&
             (uint64_t)info.st_size > ITEM_LIMIT)
        code = EFBIG;
    if (!code)
        return from;
    fclose(from);
    errno = code;
    return NULL;
}

static void complain_of_item(const char *path, int code)
{
    if (code == EFBIG)
        print_plain(stderr,
                    "kiln pack: %s: more than %zu MiB: no image is so large\n",
                    path, ITEM_LIMIT >> 20);
    else
        print_plain(stderr, "kiln pack: %s: %s\n", path,
                    code == ENODEV ? "a device, a file or a pipe expected"
                                   : strerror(code));
}

static int read_item(struct kiln_pack_item *item)
{
    FILE *from = open_item(item->name);
    size_t room = 1 << 16, n = 0, got = 0;
    char *bytes = malloc(room);

    while (from && bytes && n <= ITEM_LIMIT &&
           (got = fread(bytes + n, 1, room - n, from))) {
        n += got;
        if (n == room && n <= ITEM_LIMIT) {
            char *larger =
                realloc(bytes, room = room < ITEM_LIMIT ? room * 2 : room + 1);

            if (!larger)
                free(bytes);
            bytes = larger;
        }
    }
    item->bytes = bytes;
    item->bytes_size = n;
    if (n > ITEM_LIMIT)
        errno = EFBIG;
    if (!from || !bytes || ferror(from) || n > ITEM_LIMIT) {
        complain_of_item(item->name, errno);
        if (from)
            fclose(from);
        return EXIT_FAILED;
    }
    fclose(from);
    return EXIT_DONE;
}

/* A file that is there, perhaps one of those that are packed, is replaced when
 * all is written and not before. Into `name` with "" where that cannot be:
 * devices, pipes, links, folders that take no new file. */
static FILE *open_beside(const char *path, char *name, size_t room)
{
    struct stat info;
    FILE *to = NULL;
    int is_there = !lstat(path, &info);

    if ((!is_there || S_ISREG(info.st_mode)) &&
        (size_t)snprintf(name, room, "%s.XXXXXX", path) < room)
        to = output_new(name, is_there ? info.st_mode & 07777 : OUTPUT_MODE);
    if (to)
        return to;
    *name = '\0';
    return fopen(path, "wb");
}

static int write_out(const char *path, const void *bytes, size_t size)
{
    char name[4096];
    FILE *to = open_beside(path, name, sizeof name);
    int bad = !to || fwrite(bytes, 1, size, to) != size;

    if (to && output_close(to, *name ? name : path, bad))
        bad = 1;
    if (!bad && *name && rename(name, path)) {
        bad = errno;
        unlink(name);
        errno = bad;
    }
    if (!bad)
        return EXIT_DONE;
    print_plain(stderr, "kiln pack: %s: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

static int pack(struct pack *p)
{
    struct kiln_error err;
    void *bytes;
    size_t size;
    int rc = EXIT_DONE;

    for (size_t i = 0; !rc && i < p->count; i++) {
        p->items[i].note = p->note;
        rc = read_item(&p->items[i]);
    }
    if (rc)
        return rc;
    if (kiln_pack(p->items, p->count, p->packing, &bytes, &size, &err)) {
        print_plain(stderr, "kiln pack: %s\n", err.text);
        return EXIT_FAILED;
    }
    rc = write_out(p->out, bytes, size);
    kiln_bytes_free(bytes);
    return rc;
}

int pack_main(int argc, char **argv)
{
    struct pack p = {0};
    int rc;

    p.items = calloc((size_t)argc + 1, sizeof *p.items);
    if (!p.items)
        return EXIT_FAILED;
    rc = parse(argc, argv, &p);
    if (!rc)
        rc = pack(&p);
    for (size_t i = 0; i < p.count; i++)
        free((void *)p.items[i].bytes);
    free(p.items);
    return rc;
}
