/* SPDX-License-Identifier: MIT
 *
 * What listing kernels costs beyond unpacking: every entry of a file is
 * unpacked by all processors, and then read for its kernels.
 *
 *     bench_unpack FILE
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kiln/image.h"

enum { THREADS_MAX = 256 };

struct work {
    const struct kiln_file *file;
    atomic_size_t next;
    atomic_ullong bytes;
    int symbols;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void one(struct work *w, size_t i)
{
    struct kiln_symbols *symbols;
    void *bytes;
    size_t size;

    if (w->symbols) {
        if (!kiln_symbols_read(w->file, i, &symbols, NULL))
            kiln_symbols_free(symbols);
    } else if (!kiln_file_unpack(w->file, i, &bytes, &size, NULL)) {
        atomic_fetch_add(&w->bytes, size);
        kiln_bytes_free(bytes);
    }
}

static void *some(void *data)
{
    struct work *w = data;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < kiln_file_entry_count(w->file))
        one(w, i);
    return NULL;
}

static double all(struct work *w, int symbols)
{
    pthread_t threads[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    double start = now();

    w->symbols = symbols;
    atomic_store(&w->next, 0);
    while (started < cores - 1 && started < THREADS_MAX &&
           !pthread_create(&threads[started], NULL, some, w))
        started++;
    some(w);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return now() - start;
}

int main(int argc, char **argv)
{
    struct work work = {0};
    struct kiln_file *file;
    struct kiln_error err;
    double unpack = 1e9, symbols = 1e9, t;

    if (argc != 2 || kiln_file_open(argv[1], &file, &err)) {
        fprintf(stderr, "bench_unpack: %s\n", argc == 2 ? err.text : "FILE");
        return 2;
    }
    work.file = file;
    for (int i = 0; i < 3; i++) {
        atomic_store(&work.bytes, 0);
        t = all(&work, 0);
        unpack = t < unpack ? t : unpack;
        t = all(&work, 1);
        symbols = t < symbols ? t : symbols;
    }
    printf("unpacking %zu entries to %llu bytes: %.2f s; their kernels too: "
           "%.2f s, %.2f times as long\n",
           kiln_file_entry_count(file), (unsigned long long)work.bytes, unpack,
           symbols, symbols / unpack);
    kiln_file_close(file);
    return 0;
}
