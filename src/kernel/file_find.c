/* SPDX-License-Identifier: MIT
 *
 * The search through a large file: copying it out of the page cache takes
 * longer than looking at it, and one processor copies at a fraction of what
 * memory gives. Mapping it instead would turn a file that somebody cuts
 * short meanwhile into a signal.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "image/find.h"
#include "kernel/file.h"

/* More than a few only wait for memory. */
enum { PIECE = 1 << 16, PIECES = 4, THREADS_MAX = 8 };

struct finding {
    struct image_source *source;
    uint64_t from, to; /* where a container may begin */
    uint64_t end;      /* what may be read for it */
    int anywhere;
    atomic_ullong next;  /* offset of the piece that is free */
    atomic_ullong first; /* hit so far */
    pthread_mutex_t lock;
    struct kiln_error error;
};

static void lower(atomic_ullong *value, uint64_t to)
{
    unsigned long long now = atomic_load(value);

    while (to < now && !atomic_compare_exchange_weak(value, &now, to))
        ;
}

static void failed(struct finding *f, const struct kiln_error *error)
{
    pthread_mutex_lock(&f->lock);
    if (!f->error.status)
        f->error = *error;
    pthread_mutex_unlock(&f->lock);
    atomic_store(&f->next, f->to);
}

/* Up to `size` bytes from `at` on, and what is seen behind them. 0: go on. */
static int piece(struct finding *f, uint64_t at, uint64_t size)
{
    unsigned char bytes[PIECE + FIND_BEHIND + 1];
    uint64_t left = f->end - at;
    size_t n =
        size + FIND_BEHIND < left ? (size_t)size + FIND_BEHIND : (size_t)left;
    struct kiln_error err = {0};
    size_t hit;

    err.status = f->source->read(f->source->data, at, bytes, n, &err);
    if (err.status) {
        failed(f, &err);
        return 1;
    }
    hit = image_find(bytes, n, f->anywhere);
    if (hit >= size || hit == n || at + hit >= f->to)
        return 0;
    lower(&f->first, at + hit);
    return 1;
}

static void *pieces(void *data)
{
    struct finding *f = data;

    for (;;) {
        uint64_t at = atomic_fetch_add(&f->next, PIECE * PIECES);

        for (int i = 0; i < PIECES; i++, at += PIECE)
            if (at >= f->to || at >= atomic_load(&f->first) ||
                piece(f, at, PIECE))
                return NULL;
    }
}

/* The first hit in [from, to), with what is seen up to `end`. */
static enum kiln_status find_in(struct kiln_file *file, uint64_t from,
                                uint64_t to, uint64_t end, int anywhere,
                                uint64_t *hit, struct kiln_error *err)
{
    struct finding f = {.source = &file->source,
                        .from = from,
                        .to = to,
                        .end = end,
                        .anywhere = anywhere,
                        .next = from,
                        .first = to};
    pthread_t threads[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = cores < THREADS_MAX ? (int)cores : THREADS_MAX, started = 0;

    pthread_mutex_init(&f.lock, NULL);
    while (started + 1 < wanted &&
           !pthread_create(&threads[started], NULL, pieces, &f))
        started++;
    pieces(&f);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&f.lock);
    if (f.error.status) {
        if (err)
            *err = f.error;
        return f.error.status;
    }
    *hit = atomic_load(&f.first);
    return KILN_OK;
}

/* The next stretch of [from, to) for which the file system holds bytes; from
 * `to` on where none does. What lies between reads as zeros, in which nothing
 * begins, and may be terabytes. */
static void next_data(int fd, uint64_t from, uint64_t to, uint64_t *start,
                      uint64_t *stop)
{
    off_t data = lseek(fd, (off_t)from, SEEK_DATA);
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

    *start = from;
    *stop = to;
    if (data < 0 && errno == ENXIO)
        *start = to;
    if (data < 0 || hole <= data)
        return;
    /* Places stay whole words from where the search began. */
    data -= (off_t)(((uint64_t)data - from) % 4);
    *start = (uint64_t)data < to ? (uint64_t)data : to;
    *stop = (uint64_t)hole < to ? (uint64_t)hole : to;
}

enum kiln_status file_find(void *file, uint64_t from, uint64_t to, int anywhere,
                           uint64_t *hit, struct kiln_error *err)
{
    const struct kiln_file *f = file;

    while (from < to) {
        uint64_t start, stop, at;
        enum kiln_status st;

        next_data(f->fd, from, to, &start, &stop);
        if (start == to)
            break;
        st = find_in(file, start, stop, to, anywhere, &at, err);
        if (st)
            return st;
        if (at < stop) {
            *hit = at;
            return KILN_OK;
        }
        from = stop + (start - stop) % 4;
    }
    *hit = to;
    return KILN_OK;
}
