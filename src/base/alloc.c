/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long allowed = -1;

static int refuse(void)
{
    long n = atomic_load_explicit(&allowed, memory_order_relaxed);

    if (n < 0)
        return 0;
    if (n == 0)
        return 1;
    atomic_fetch_sub_explicit(&allowed, 1, memory_order_relaxed);
    return 0;
}

void kiln_alloc_fail_after(long n)
{
    atomic_store(&allowed, n);
}

void *kiln_alloc(size_t bytes)
{
    return refuse() ? NULL : malloc(bytes ? bytes : 1);
}

void *kiln_zalloc(size_t bytes)
{
    return refuse() ? NULL : calloc(1, bytes ? bytes : 1);
}

void *kiln_array(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || refuse())
        return NULL;
    return realloc(old, bytes ? bytes : 1);
}

char *kiln_strndup(const char *text, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : kiln_alloc(n + 1);

    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

char *kiln_strdup(const char *text)
{
    return kiln_strndup(text, strlen(text));
}

void kiln_release(void *memory)
{
    free(memory);
}
