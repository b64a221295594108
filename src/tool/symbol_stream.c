/* SPDX-License-Identifier: MIT
 *
 * Symbols of entries, read by all processors and handed out in the order of
 * the file. Only so many are held at a time: a large library has more kernels
 * than fit into memory unpacked, and an attack has more still: text that packs
 * to nothing defines millions. So what is listed of a file is bounded by its
 * size, and the sentence of the entries behind says so.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/inspect.h"

enum { THREADS_MAX = 256, SLOTS = 1024, BATCH = 32, BATCH_BYTES = 1 << 18 };

/* Names that a file may define: so many in any, and one in each KiB. Libraries
 * have up to 300 kernels and 4,200 parameters in a MiB; 16 parameters count as
 * one name. No more than AHEAD are read before the caller asks for them. */
enum { NAMES_FREE = 1 << 16, NAMES_BYTES = 1 << 10, AHEAD = 1 << 16 };
enum { PARAMETERS_PER_NAME = 16 };

/* Bytes of images that are unpacked at a time, where more than one is. */
static const uint64_t IN_FLIGHT = 1 << 28;

struct slot {
    struct entry_symbols symbols;
    uint64_t names;
    int ready;
};

struct symbol_stream {
    const struct kiln_file *file;
    size_t count;
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t room;    /* a slot or memory became free */
    pthread_cond_t arrived; /* a slot became ready */
    size_t next;            /* entry that nobody reads yet */
    size_t taken;           /* entries handed out */
    uint64_t in_flight;
    uint64_t names_read;  /* of all entries that were read */
    uint64_t names_taken; /* of those handed out */
    uint64_t names_max;
    int stop;
    struct slot slots[SLOTS]; /* entry i: number i % SLOTS */
    pthread_t threads[THREADS_MAX];
    size_t thread_count;
};

static uint64_t weight(const struct symbol_stream *s, size_t index)
{
    struct kiln_entry e = {.size = sizeof e};

    kiln_file_entry(s->file, index, &e, NULL);
    return e.plain < IN_FLIGHT ? e.plain + e.stored : IN_FLIGHT;
}

static uint64_t names_of(const struct kiln_symbols *symbols)
{
    size_t count = kiln_symbols_count(symbols);
    uint64_t parameters = 0;

    for (size_t i = 0; i < count; i++) {
        struct kiln_symbol s = {.size = sizeof s};

        kiln_symbols_get(symbols, i, &s, NULL);
        parameters += s.parameter_count;
    }
    return count + kiln_symbols_variable_count(symbols) +
           parameters / PARAMETERS_PER_NAME;
}

static void too_many(const struct symbol_stream *s, struct entry_symbols *e)
{
    kiln_symbols_free(e->symbols);
    e->symbols = NULL;
    e->error.status = KILN_E_FORMAT;
    snprintf(e->error.text, sizeof e->error.text,
             "not listed: up to here a file of %llu bytes defines more than "
             "%llu names",
             (unsigned long long)kiln_file_size(s->file),
             (unsigned long long)s->names_max);
}

/* Some entries to read now, from *first on; 0 when there are no more. Small
 * ones are taken together, so that the lock is not what takes the time. Called
 * with the lock. */
static size_t claim(struct symbol_stream *s, size_t *first, uint64_t *bytes)
{
    while (!s->stop && s->next < s->count) {
        int wait = s->names_read - s->names_taken > AHEAD &&
                   s->names_read <= s->names_max;
        size_t n = 0;

        *bytes = 0;
        *first = s->next;
        /* The caller still looks at the slot of the last one. */
        while (!wait && n < BATCH && *bytes < BATCH_BYTES &&
               s->next < s->count && s->next - s->taken < SLOTS - 1) {
            uint64_t w = weight(s, s->next);

            if (s->in_flight && s->in_flight + w > IN_FLIGHT)
                break;
            s->in_flight += w;
            *bytes += w;
            s->next++;
            n++;
        }
        if (n)
            return n;
        pthread_cond_wait(&s->room, &s->lock);
    }
    return 0;
}

static void read_slot(struct symbol_stream *s, size_t index, int full)
{
    struct slot *slot = &s->slots[index % SLOTS];
    struct entry_symbols *e = &slot->symbols;

    if (full) {
        too_many(s, e);
        return;
    }
    e->error.status = kiln_symbols_read(s->file, index, &e->symbols, &e->error);
    slot->names = e->error.status ? 0 : names_of(e->symbols);
}

static void *read_entries(void *data)
{
    struct symbol_stream *s = data;
    uint64_t bytes;
    size_t first, n;

    pthread_mutex_lock(&s->lock);
    while ((n = claim(s, &first, &bytes))) {
        /* All that were read stand before these. */
        int full = s->names_read > s->names_max;

        pthread_mutex_unlock(&s->lock);
        for (size_t i = first; i < first + n; i++)
            read_slot(s, i, full);
        pthread_mutex_lock(&s->lock);
        for (size_t i = first; i < first + n; i++) {
            s->names_read += s->slots[i % SLOTS].names;
            s->slots[i % SLOTS].ready = 1;
        }
        s->in_flight -= bytes;
        pthread_cond_signal(&s->arrived);
        pthread_cond_broadcast(&s->room);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct symbol_stream *symbols_start(const struct kiln_file *file)
{
    struct symbol_stream *s = calloc(1, sizeof *s);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores > 1 ? (size_t)cores : 1;

    if (!s)
        return NULL;
    s->file = file;
    s->count = kiln_file_entry_count(file);
    s->names_max = NAMES_FREE + kiln_file_size(file) / NAMES_BYTES;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->room, NULL);
    pthread_cond_init(&s->arrived, NULL);
    wanted = wanted > THREADS_MAX ? THREADS_MAX : wanted;
    wanted = wanted > s->count ? s->count : wanted;
    while (s->thread_count < wanted &&
           !pthread_create(&s->threads[s->thread_count], NULL, read_entries, s))
        s->thread_count++;
    if (s->count && !s->thread_count) {
        symbols_end(s);
        return NULL;
    }
    return s;
}

/* The slot of the last entry that was handed out is empty again. */
static void empty_last(struct symbol_stream *s)
{
    struct slot *last = &s->slots[(s->taken - 1) % SLOTS];

    kiln_symbols_free(last->symbols.symbols);
    *last = (struct slot){0};
}

const struct entry_symbols *symbols_next(struct symbol_stream *s)
{
    struct slot *slot;

    pthread_mutex_lock(&s->lock);
    if (s->taken)
        empty_last(s);
    slot = &s->slots[s->taken % SLOTS];
    while (!slot->ready)
        pthread_cond_wait(&s->arrived, &s->lock);
    s->names_taken += slot->names;
    if (++s->taken % BATCH == 0 || slot->names)
        pthread_cond_broadcast(&s->room);
    if (s->names_taken > s->names_max && slot->symbols.symbols)
        too_many(s, &slot->symbols);
    pthread_mutex_unlock(&s->lock);
    return &slot->symbols;
}

void symbols_end(struct symbol_stream *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = 1;
    pthread_cond_broadcast(&s->room);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < s->thread_count; i++)
        pthread_join(s->threads[i], NULL);
    for (size_t i = 0; i < SLOTS; i++)
        kiln_symbols_free(s->slots[i].symbols.symbols);
    pthread_cond_destroy(&s->arrived);
    pthread_cond_destroy(&s->room);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
