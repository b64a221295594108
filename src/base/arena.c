/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    _Alignas(16) unsigned char data[];
};

enum { FIRST_BLOCK = 16 << 10, LARGEST_STEP = 4 << 20 };

void *arena_alloc(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->head;
    size_t room = block ? block->size - arena->used : 0;
    void *result;

    if (bytes > SIZE_MAX - 64)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!block || bytes > room) {
        size_t size = block ? block->size * 2 : FIRST_BLOCK;

        if (size > LARGEST_STEP)
            size = LARGEST_STEP;
        if (size < bytes)
            size = bytes;
        if (size > SIZE_MAX - sizeof *block)
            return NULL;
        block = kiln_zalloc(sizeof *block + size);
        if (!block)
            return NULL;
        block->size = size;
        block->next = arena->head;
        arena->head = block;
        arena->used = 0;
        arena->total += size;
    }
    result = block->data + arena->used;
    arena->used += bytes;
    return result;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes)
               ? NULL
               : arena_alloc(arena, bytes);
}

char *arena_strndup(struct arena *arena, const char *text, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : arena_alloc(arena, n + 1);

    if (copy && n)
        memcpy(copy, text, n);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    text = arena_alloc(arena, (size_t)n + 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    return text;
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t *cap,
                 size_t size)
{
    size_t wanted;
    void *larger;

    if (count < *cap)
        return items;
    wanted = *cap ? *cap * 2 : 8;
    larger = wanted < count ? NULL : arena_array(arena, wanted, size);
    if (!larger)
        return NULL;
    if (count)
        memcpy(larger, items, count * size);
    *cap = wanted;
    return larger;
}

void arena_fini(struct arena *arena)
{
    for (struct arena_block *b = arena->head, *next; b; b = next) {
        next = b->next;
        kiln_release(b);
    }
    *arena = (struct arena){0};
}
