/* SPDX-License-Identifier: MIT */
#ifndef KILN_TEST_MUTATE_H
#define KILN_TEST_MUTATE_H

#include <stddef.h>
#include <stdint.h>

uint64_t random_next(uint64_t *state);

/* A damaged copy of an image (cubin, PTX or container): *out is of malloc,
 * with a zero behind it. By itself, where the damage is within one image, or
 * in a container that is whole again. NULL when memory is out. */
unsigned char *mutate(const unsigned char *image, size_t size, uint64_t *state,
                      size_t *out_size);

/* mutate_text.c, mutate_cubin.c: one change in place; at most `room` bytes.
 * The new size. */
size_t mutate_text(char *text, size_t size, size_t room, uint64_t *state);
size_t mutate_cubin(unsigned char *bytes, size_t size, uint64_t *state);
/* A field of 1, 2, 4 or 8 bytes set to a value that hurts. */
void mutate_field(unsigned char *at, size_t width, uint64_t *state);

#endif
