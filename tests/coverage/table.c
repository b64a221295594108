/* SPDX-License-Identifier: MIT
 *
 * Two tables that threads share: counts by text, and digests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"

static void no_memory(void)
{
    fputs("ptx_coverage: out of memory\n", stderr);
    exit(1);
}

/* --- counts --- */

void table_init(struct table *t)
{
    *t = (struct table){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static struct table_row *row_of(struct table *t, const char *key)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].key, key) == 0)
            return &t->rows[i];
    if (t->count == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 64;
        t->rows = realloc(t->rows, t->cap * sizeof *t->rows);
        if (!t->rows)
            no_memory();
    }
    t->rows[t->count] = (struct table_row){.key = strdup(key)};
    return &t->rows[t->count++];
}

/* Whether the module is new to the row. */
static int first_of(struct table_row *row, uint64_t module)
{
    const size_t at = (size_t)(module / 8);
    const unsigned char bit = (unsigned char)(1u << (module % 8));

    if (at >= row->seen_size) {
        const size_t size = (at + 256) & ~(size_t)255; /* above at */

        row->seen = realloc(row->seen, size);
        if (!row->seen)
            no_memory();
        memset(row->seen + row->seen_size, 0, size - row->seen_size);
        row->seen_size = size;
    }
    if (row->seen[at] & bit)
        return 0;
    row->seen[at] |= bit;
    return 1;
}

void table_add(struct table *t, const char *key, uint64_t n, uint64_t module,
               const char *example)
{
    struct table_row *row;

    pthread_mutex_lock(&t->lock);
    row = row_of(t, key);
    if (!row->example && example)
        row->example = strdup(example);
    row->count += n;
    row->modules += (uint64_t)first_of(row, module);
    pthread_mutex_unlock(&t->lock);
}

static int by_count(const void *a, const void *b)
{
    const struct table_row *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->key, y->key);
}

void table_print(struct table *t, const char *what, size_t most)
{
    if (!t->count)
        return;
    qsort(t->rows, t->count, sizeof *t->rows, by_count);
    printf("\n%s (%zu kinds; number, modules, what):\n", what, t->count);
    for (size_t i = 0; i < t->count && i < most; i++) {
        const struct table_row *row = &t->rows[i];

        printf("%10llu %6llu  %s\n", (unsigned long long)row->count,
               (unsigned long long)row->modules, row->key);
        if (row->example)
            printf("%19s%s\n", "", row->example);
    }
    if (t->count > most)
        printf("%19sand %zu more\n", "", t->count - most);
}

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->rows[i].key);
        free(t->rows[i].example);
        free(t->rows[i].seen);
    }
    free(t->rows);
}

/* --- digests --- */

void seen_init(struct seen *s)
{
    *s = (struct seen){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static struct seen_item *slot_of(const struct seen *s, const struct hash *key)
{
    uint64_t at;

    memcpy(&at, key->bytes, sizeof at);
    for (;; at++) {
        struct seen_item *i = &s->items[at & (s->cap - 1)];

        if (!i->used || memcmp(&i->key, key, sizeof *key) == 0)
            return i;
    }
}

static void grow(struct seen *s)
{
    struct seen old = *s;

    s->cap = old.cap ? old.cap * 2 : 4096;
    s->items = calloc(s->cap, sizeof *s->items);
    if (!s->items)
        no_memory();
    for (size_t i = 0; i < old.cap; i++)
        if (old.items[i].used)
            *slot_of(s, &old.items[i].key) = old.items[i];
    free(old.items);
}

int seen_find(struct seen *s, const struct hash *key, int *good)
{
    int found = 0;

    pthread_mutex_lock(&s->lock);
    if (s->cap) {
        const struct seen_item *i = slot_of(s, key);

        found = i->used;
        *good = i->good;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

int seen_add(struct seen *s, const struct hash *key, int good)
{
    struct seen_item *i;
    int is_new;

    pthread_mutex_lock(&s->lock);
    if (s->count * 2 >= s->cap)
        grow(s);
    i = slot_of(s, key);
    is_new = !i->used;
    if (is_new) {
        *i = (struct seen_item){.key = *key, .used = 1, .good = good};
        s->count++;
    }
    pthread_mutex_unlock(&s->lock);
    return is_new;
}

void seen_fini(struct seen *s)
{
    free(s->items);
}
