/* SPDX-License-Identifier: MIT
 *
 * What listing kernels costs beside the decompressors alone: over all packed
 * entries of a file, by all processors,
 *  - zstd and lz4 from memory into a buffer that is used again,
 *  - kiln_file_unpack, which reads the file, checks and hands out memory,
 *  - kiln_symbols_read, which reads what came for its kernels.
 * Least of three turns each, the wall's time and the processors'.
 *
 *     bench_unpack FILE
 */
#include <lz4.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "kernel/file.h"

enum { THREADS_MAX = 256, TURNS = 3 };

enum pass { BARE, UNPACK, SYMBOLS, PASSES };

struct work {
    struct kiln_file *file;
    char **payloads;
    size_t largest; /* plain size */
    atomic_size_t next;
    atomic_ullong bytes, failed;
    enum pass pass;
};

struct took {
    double wall, processors;
};

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int is_packed(const struct file_entry *e)
{
    return e->packing == FATBIN_PACKED_ZSTD || e->packing == FATBIN_PACKED_LZ4;
}

static void bare(struct work *w, size_t i, char *to)
{
    const struct file_entry *e = file_entry(w->file, i);
    int64_t n = -1;

    if (e->packing == FATBIN_PACKED_ZSTD)
        n = (int64_t)ZSTD_decompress(to, e->plain_size, w->payloads[i],
                                     e->payload_size);
    else
        n = LZ4_decompress_safe(w->payloads[i], to, (int)e->payload_size,
                                (int)e->plain_size);
    if (n != (int64_t)e->plain_size)
        atomic_fetch_add(&w->failed, 1);
    else
        atomic_fetch_add(&w->bytes, (unsigned long long)n);
}

static void one(struct work *w, size_t i, char *buffer)
{
    struct kiln_symbols *symbols;
    void *bytes;
    size_t size;

    if (!is_packed(file_entry(w->file, i)))
        return;
    if (w->pass == BARE) {
        bare(w, i, buffer);
    } else if (w->pass == SYMBOLS) {
        if (!kiln_symbols_read(w->file, i, &symbols, NULL))
            kiln_symbols_free(symbols);
        else
            atomic_fetch_add(&w->failed, 1);
    } else if (!kiln_file_unpack(w->file, i, &bytes, &size, NULL)) {
        kiln_bytes_free(bytes);
    } else {
        atomic_fetch_add(&w->failed, 1);
    }
}

static void *some(void *data)
{
    struct work *w = data;
    char *buffer = malloc(w->largest + 1);
    size_t i;

    while (buffer && (i = atomic_fetch_add(&w->next, 1)) < w->file->entry_count)
        one(w, i, buffer);
    free(buffer);
    return NULL;
}

static void all(struct work *w, enum pass pass, struct took *best)
{
    pthread_t threads[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    double wall = now(CLOCK_MONOTONIC);
    double processors = now(CLOCK_PROCESS_CPUTIME_ID);

    w->pass = pass;
    atomic_store(&w->next, 0);
    atomic_store(&w->bytes, 0);
    while (started < cores - 1 && started < THREADS_MAX &&
           !pthread_create(&threads[started], NULL, some, w))
        started++;
    some(w);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    wall = now(CLOCK_MONOTONIC) - wall;
    processors = now(CLOCK_PROCESS_CPUTIME_ID) - processors;
    best->wall = wall < best->wall ? wall : best->wall;
    best->processors =
        processors < best->processors ? processors : best->processors;
}

/* The packed bytes of every entry, as the decompressors alone want them. */
static int load(struct work *w)
{
    const struct image_source *s = &w->file->source;

    w->payloads = calloc(w->file->entry_count + 1, sizeof *w->payloads);
    for (size_t i = 0; w->payloads && i < w->file->entry_count; i++) {
        const struct file_entry *e = file_entry(w->file, i);

        if (!is_packed(e))
            continue;
        if (e->plain_size > w->largest)
            w->largest = e->plain_size;
        w->payloads[i] = malloc(e->payload_size + 1);
        if (!w->payloads[i] || s->read(s->data, e->offset + e->header_size,
                                       w->payloads[i], e->payload_size, NULL))
            return -1;
    }
    return w->payloads ? 0 : -1;
}

int main(int argc, char **argv)
{
    static const char *const names[PASSES] = {
        "zstd and lz4 alone", "unpacked by Kiln", "read for kernels"};
    struct work work = {0};
    struct kiln_error err;
    struct took best[PASSES];
    unsigned long long bytes = 0;

    if (argc != 2 || kiln_file_open(argv[1], &work.file, &err)) {
        fprintf(stderr, "bench_unpack: %s\n", argc == 2 ? err.text : "FILE");
        return 2;
    }
    if (load(&work)) {
        fprintf(stderr, "bench_unpack: %s: cannot be read\n", argv[1]);
        return 2;
    }
    for (int p = 0; p < PASSES; p++)
        best[p] = (struct took){1e9, 1e9};
    for (int turn = 0; turn < TURNS; turn++)
        for (int p = 0; p < PASSES; p++) {
            all(&work, (enum pass)p, &best[p]);
            bytes = p == BARE ? atomic_load(&work.bytes) : bytes;
        }
    for (int p = 0; p < PASSES; p++)
        printf("  %-20s %6.2f s, %6.2f s of processor time (%.2f times, "
               "%.2f times as long)\n",
               names[p], best[p].wall, best[p].processors,
               best[p].wall / best[BARE].wall,
               best[p].processors / best[BARE].processors);
    printf("  %zu entries, %llu bytes unpacked, %llu failed\n",
           work.file->entry_count, bytes, (unsigned long long)work.failed);
    for (size_t i = 0; i < work.file->entry_count; i++)
        free(work.payloads[i]);
    free(work.payloads);
    kiln_file_close(work.file);
    return work.failed != 0;
}
