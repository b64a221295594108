/* SPDX-License-Identifier: MIT
 *
 * The modules by all threads, largest first, so that none is left with a
 * large one at the end.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "coverage.h"

struct work {
    struct coverage *c;
    atomic_size_t next;
    atomic_int failed;
};

/* All members are counts. */
static void add(struct totals *sum, const struct totals *t)
{
    const uint64_t *from = (const uint64_t *)t;
    uint64_t *to = (uint64_t *)sum;

    for (size_t i = 0; i < sizeof *t / sizeof *from; i++)
        to[i] += from[i];
}

static void one_module(struct coverage *c, struct generator *g, size_t number)
{
    struct totals t = {0};
    const struct source *s = &c->sources.items[number];
    struct arena arena = {0};
    struct kiln_error err;
    struct ptx_module *m;
    void *bytes;
    size_t size;

    if (kiln_file_unpack(s->file, s->entry, &bytes, &size, &err)) {
        fprintf(stderr, "ptx_coverage: %s: %s\n", s->name, err.text);
        return;
    }
    m = parse_module(c, &t, number, bytes, size, &arena);
    kiln_bytes_free(bytes);
    if (m && c->options.code)
        generate_module(g, &t, number, m);
    arena_fini(&arena);
    pthread_mutex_lock(&c->lock);
    add(&c->totals, &t);
    add(&c->by_file[s->file_number], &t);
    pthread_mutex_unlock(&c->lock);
}

static void *worker(void *data)
{
    struct work *w = data;
    struct coverage *c = w->c;
    struct generator *g = c->options.code ? generator_new(c) : NULL;
    size_t i;

    if (!g && c->options.code) {
        atomic_store(&w->failed, 1);
        return NULL;
    }
    while ((i = atomic_fetch_add(&w->next, 1)) < c->sources.count) {
        one_module(c, g, i);
        if (isatty(2))
            fprintf(stderr, "\r%zu of %zu modules ", i + 1, c->sources.count);
    }
    generator_free(g);
    return NULL;
}

int modules_run(struct coverage *c)
{
    struct work w = {.c = c};
    const unsigned n = c->options.threads;
    pthread_t *threads = calloc(n, sizeof *threads);
    unsigned started = 0;

    c->by_file = calloc(c->sources.file_count, sizeof *c->by_file);
    if (!c->by_file)
        return -1;
    while (threads && started < n &&
           pthread_create(&threads[started], NULL, worker, &w) == 0)
        started++;
    if (!started)
        worker(&w);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (isatty(2))
        fputc('\n', stderr);
    return atomic_load(&w.failed) ? -1 : 0;
}
