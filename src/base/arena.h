/* SPDX-License-Identifier: MIT
 *
 * One arena a job (a parse, a compile): memory is handed out, never given
 * back singly, and freed whole.
 */
#ifndef KILN_BASE_ARENA_H
#define KILN_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head;
    size_t used;  /* bytes handed out of head */
    size_t total; /* bytes taken from the heap */
};

/* A zeroed arena is ready. Results are zeroed and aligned to 16; NULL when
 * memory is out. arena_fini accepts a zeroed arena. */
void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t n);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_fini(struct arena *arena);

/* Grow an arena array by doubling: items keeps its place in the caller's
 * struct, *cap is in items. Returns the array with room for count + 1 items,
 * or NULL (the old one stays valid). */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t *cap,
                 size_t size);

#endif
