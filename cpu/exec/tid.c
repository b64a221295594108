/* SPDX-License-Identifier: MIT
 *
 * Thread indices, a table for each block shape: generated code loads a chunk
 * of them instead of dividing. The last few shapes are kept.
 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

enum { ROWS = ABI_MAX_THREADS + ABI_WARP, KEPT = 32 };

struct tid_table {
    uint32_t block[3];
    unsigned refs; /* one is the cache's */
    uint64_t used;
    uint32_t tid[3][ROWS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tid_table *kept[KEPT];
static uint64_t clock_now;

static void drop(struct tid_table *table)
{
    if (table && --table->refs == 0)
        kiln_release(table);
}

static struct tid_table *build(const uint32_t block[3])
{
    struct tid_table *table = kiln_alloc(sizeof *table);

    if (!table)
        return NULL;
    memcpy(table->block, block, sizeof table->block);
    table->refs = 1;
    for (uint32_t t = 0; t < ROWS; t++) {
        table->tid[0][t] = t % block[0];
        table->tid[1][t] = t / block[0] % block[1];
        table->tid[2][t] = t / block[0] / block[1];
    }
    return table;
}

struct tid_table *tid_get(const uint32_t block[3])
{
    struct tid_table *table = NULL;
    size_t oldest = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KEPT && !table; i++) {
        if (!kept[i]) {
            oldest = i;
            break;
        }
        if (memcmp(kept[i]->block, block, sizeof kept[i]->block) == 0)
            table = kept[i];
        else if (kept[i]->used < kept[oldest]->used)
            oldest = i;
    }
    if (!table) {
        table = build(block);
        if (table) {
            drop(kept[oldest]);
            kept[oldest] = table;
        }
    }
    if (table) {
        table->refs++;
        table->used = ++clock_now;
    }
    pthread_mutex_unlock(&lock);
    return table;
}

void tid_put(struct tid_table *table)
{
    pthread_mutex_lock(&lock);
    drop(table);
    pthread_mutex_unlock(&lock);
}

const uint32_t *tid_column(const struct tid_table *table, int d)
{
    return table->tid[d];
}

void tid_close(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KEPT; i++) {
        drop(kept[i]);
        kept[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
}
