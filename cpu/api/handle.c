/* SPDX-License-Identifier: MIT */
#include "cpu/api/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct slot {
    _Atomic(void *) object;
    _Atomic uint32_t kind;
    uint32_t next; /* in the list of free slots, 0 ends it */
};

enum { SLOTS = 1 << 20 };

/* Untouched pages cost nothing. Slot 0 stays unused: its index is the end of
 * lists. */
static struct slot slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used = 1; /* slots ever handed out, and slot 0 */
static uint32_t free_first;
static uint32_t free_last;

static struct slot *slot_of(const void *handle)
{
    uintptr_t at = (uintptr_t)handle;
    uintptr_t base = (uintptr_t)slots;

    if (at < base || at >= base + sizeof slots ||
        (at - base) % sizeof(struct slot))
        return NULL;
    return &slots[(at - base) / sizeof(struct slot)];
}

void *handle_new(enum handle_kind kind, void *object)
{
    uint32_t i = 0;

    pthread_mutex_lock(&lock);
    if (used < SLOTS) {
        /* New slots first: a dead handle stays recognisable for long. */
        i = used++;
    } else if (free_first) {
        i = free_first;
        free_first = slots[i].next;
        if (!free_first)
            free_last = 0;
    }
    pthread_mutex_unlock(&lock);
    if (!i)
        return NULL;
    atomic_store_explicit(&slots[i].object, object, memory_order_relaxed);
    atomic_store_explicit(&slots[i].kind, kind, memory_order_release);
    return &slots[i];
}

int handle_is(const void *handle, enum handle_kind kind)
{
    struct slot *slot = slot_of(handle);

    return slot &&
           atomic_load_explicit(&slot->kind, memory_order_acquire) == kind;
}

void *handle_get(const void *handle, enum handle_kind kind)
{
    if (!handle_is(handle, kind))
        return NULL;
    return atomic_load_explicit(&slot_of(handle)->object, memory_order_acquire);
}

void handle_set(void *handle, void *object)
{
    struct slot *slot = slot_of(handle);

    if (slot)
        atomic_store_explicit(&slot->object, object, memory_order_release);
}

void handle_free(void *handle)
{
    struct slot *slot = slot_of(handle);
    uint32_t i;

    if (!slot)
        return;
    i = (uint32_t)(slot - slots);
    atomic_store_explicit(&slot->kind, HANDLE_NONE, memory_order_release);
    atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    slot->next = 0;
    if (free_last)
        slots[free_last].next = i;
    else
        free_first = i;
    free_last = i;
    pthread_mutex_unlock(&lock);
}
