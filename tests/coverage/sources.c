/* SPDX-License-Identifier: MIT
 *
 * Every PTX text in files and folders, each once.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "coverage.h"

static void *grown(void *items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 64;
    items = realloc(items, *cap * size);
    if (!items) {
        fputs("ptx_coverage: out of memory\n", stderr);
        exit(1);
    }
    return items;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void add_entry(struct sources *s, struct kiln_file *file, size_t index,
                      const struct kiln_entry *e)
{
    char name[512];
    struct kiln_error err;
    struct hash digest;
    void *bytes;
    size_t size;

    if (kiln_file_unpack(file, index, &bytes, &size, &err)) {
        fprintf(stderr, "ptx_coverage: %s: %s\n", kiln_file_name(file),
                err.text);
        return;
    }
    s->entries++;
    s->bytes += size;
    if (hash_bytes(bytes, size, &digest) || !seen_add(&s->texts, &digest, 1)) {
        kiln_bytes_free(bytes);
        return;
    }
    kiln_bytes_free(bytes);
    snprintf(name, sizeof name, "%s %zu.%u", base_name(kiln_file_name(file)),
             e->container, e->index);
    s->items = grown(s->items, s->count, &s->cap, sizeof *s->items);
    s->items[s->count++] = (struct source){
        file, s->file_count, index, digest, strdup(name), (uint64_t)size};
}

static void add_file(struct sources *s, const char *path)
{
    struct kiln_file *file;
    size_t before = s->count;

    if (kiln_file_open(path, &file, NULL))
        return;
    for (size_t i = 0; i < kiln_file_entry_count(file); i++) {
        struct kiln_entry e = {.size = sizeof e};

        if (!kiln_file_entry(file, i, &e, NULL) && e.kind == KILN_ENTRY_PTX)
            add_entry(s, file, i, &e);
    }
    if (s->count == before) {
        kiln_file_close(file);
        return;
    }
    s->files = grown(s->files, s->file_count, &s->file_cap, sizeof *s->files);
    s->files[s->file_count++] = file;
}

static int is_library(const char *name)
{
    static const char *const ends[] = {".a", ".ptx", ".fatbin", ".o"};
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
            return 1;
    return strstr(name, ".so") != NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_path(struct sources *s, const char *path, int depth)
{
    struct dirent **names;
    struct stat st;
    int n;

    /* libx.so is a link to libx.so.1: each file once, by its own name. */
    if ((depth ? lstat : stat)(path, &st))
        return -1;
    if (S_ISREG(st.st_mode) && (!depth || is_library(path)))
        add_file(s, path);
    if (!S_ISDIR(st.st_mode) || depth > 8)
        return 0;
    n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char below[4096];

        snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            add_path(s, below, depth + 1);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return n < 0 ? -1 : 0;
}

int sources_add(struct sources *s, const char *path)
{
    return add_path(s, path, 0);
}

static int by_size(const void *a, const void *b)
{
    const struct source *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return strcmp(x->name, y->name);
}

void sources_choose(struct sources *s, unsigned share, uint64_t seed)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) {
        uint64_t v = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);

        v = (v ^ v >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        if ((v >> 32) % 10000 < share)
            s->items[kept++] = s->items[i];
        else
            free(s->items[i].name);
    }
    s->count = kept;
    if (s->count)
        qsort(s->items, s->count, sizeof *s->items, by_size);
}

void sources_fini(struct sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].name);
    for (size_t i = 0; i < s->file_count; i++)
        kiln_file_close(s->files[i]);
    free(s->items);
    free(s->files);
    seen_fini(&s->texts);
}
