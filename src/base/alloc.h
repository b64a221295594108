/* SPDX-License-Identifier: MIT
 *
 * The one place that calls malloc. Tests make the Nth allocation fail.
 */
#ifndef KILN_BASE_ALLOC_H
#define KILN_BASE_ALLOC_H

#include <stddef.h>

/* As malloc, calloc, realloc and free. kiln_array takes count and size apart
 * and fails on overflow; kiln_strndup copies n bytes and adds a NUL. */
void *kiln_alloc(size_t bytes) __attribute__((malloc));
void *kiln_zalloc(size_t bytes) __attribute__((malloc));
void *kiln_array(void *old, size_t count, size_t size);
char *kiln_strndup(const char *text, size_t n) __attribute__((malloc));
char *kiln_strdup(const char *text) __attribute__((malloc));
void kiln_release(void *memory);

/* For tests: let the next `n` allocations pass and fail every later one;
 * a negative n ends this. */
void kiln_alloc_fail_after(long n);

#endif
