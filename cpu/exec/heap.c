/* SPDX-License-Identifier: MIT
 *
 * The device heap of malloc and free in kernels: one allocation of device
 * memory a context, made at the first malloc, given out by powers of two
 * (buddies). What is known of a block is kept apart from it, out of reach of
 * kernels. Its size is CU_LIMIT_MALLOC_HEAP_SIZE as it is at that time.
 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

enum { LEAF = 32, ORDERS = 40, FREE = 0x80 };

struct heap {
    uint64_t base;
    int orders;     /* the largest block is LEAF << (orders - 1) */
    uint8_t *state; /* by leaf: order + 1 where a block starts, | FREE */
    uint32_t *next; /* lists of free blocks; leaf + 1, 0: none */
    uint32_t *prev;
    uint32_t head[ORDERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void push(struct heap *h, uint32_t leaf, int order)
{
    const uint32_t first = h->head[order];

    h->state[leaf] = (uint8_t)(FREE | (order + 1));
    h->next[leaf] = first;
    h->prev[leaf] = 0;
    if (first)
        h->prev[first - 1] = leaf + 1;
    h->head[order] = leaf + 1;
}

static void take(struct heap *h, uint32_t leaf, int order)
{
    if (h->next[leaf])
        h->prev[h->next[leaf] - 1] = h->prev[leaf];
    if (h->prev[leaf])
        h->next[h->prev[leaf] - 1] = h->next[leaf];
    else
        h->head[order] = h->next[leaf];
    h->state[leaf] = 0;
}

static void heap_release(struct heap *h)
{
    if (!h)
        return;
    if (h->base)
        exec_memory_free(h->base, NULL);
    kiln_release(h->state);
    kiln_release(h->next);
    kiln_release(h->prev);
    kiln_release(h);
}

static struct heap *heap_new(uint64_t size)
{
    struct heap *h = kiln_zalloc(sizeof *h);
    size_t leaves;

    if (!h)
        return NULL;
    h->orders = 1;
    while (h->orders < 32 && ((uint64_t)LEAF << (h->orders - 1)) < size)
        h->orders++;
    leaves = (size_t)1 << (h->orders - 1);
    h->state = kiln_zalloc(leaves);
    h->next = kiln_zalloc(leaves * sizeof *h->next);
    h->prev = kiln_zalloc(leaves * sizeof *h->prev);
    if (!h->state || !h->next || !h->prev ||
        exec_memory_alloc((uint64_t)leaves * LEAF, NULL, &h->base, NULL)) {
        heap_release(h);
        return NULL;
    }
    push(h, 0, h->orders - 1);
    return h;
}

static uint64_t alloc_block(struct heap *h, uint64_t size)
{
    int order = 0, from;
    uint32_t leaf;

    while (order < h->orders && ((uint64_t)LEAF << order) < size)
        order++;
    for (from = order; from < h->orders && !h->head[from]; from++)
        ;
    if (from >= h->orders)
        return 0;
    leaf = h->head[from] - 1;
    take(h, leaf, from);
    while (from > order) {
        from--;
        push(h, leaf + ((uint32_t)1 << from), from);
    }
    h->state[leaf] = (uint8_t)(order + 1);
    return h->base + (uint64_t)leaf * LEAF;
}

static void free_block(struct heap *h, uint32_t leaf)
{
    int order = h->state[leaf] - 1;

    h->state[leaf] = 0;
    while (order < h->orders - 1) {
        const uint32_t other = leaf ^ ((uint32_t)1 << order);

        if (h->state[other] != (FREE | (order + 1)))
            break;
        take(h, other, order);
        if (other < leaf)
            leaf = other;
        order++;
    }
    push(h, leaf, order);
}

uint64_t heap_alloc(struct exec_context *context, uint64_t size)
{
    uint64_t at = 0;

    if (!size)
        return 0;
    pthread_mutex_lock(&lock);
    if (!context->heap)
        context->heap = heap_new(
            atomic_load_explicit(&context->heap_size, memory_order_relaxed));
    if (context->heap)
        at = alloc_block(context->heap, size);
    pthread_mutex_unlock(&lock);
    return at;
}

int heap_free(struct exec_context *context, uint64_t address)
{
    struct heap *h;
    uint64_t leaf;
    int bad = 1;

    pthread_mutex_lock(&lock);
    h = context->heap;
    if (h && address >= h->base) {
        leaf = (address - h->base) / LEAF;
        if (leaf < (uint64_t)1 << (h->orders - 1) &&
            (address - h->base) % LEAF == 0 && h->state[leaf] &&
            !(h->state[leaf] & FREE)) {
            free_block(h, (uint32_t)leaf);
            bad = 0;
        }
    }
    pthread_mutex_unlock(&lock);
    return bad ? -1 : 0;
}

void heap_close(struct exec_context *context)
{
    heap_release(context->heap);
    context->heap = NULL;
}
