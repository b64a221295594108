/* SPDX-License-Identifier: MIT
 *
 * What is known of memory: device allocations by any address inside, and
 * host memory that was allocated or registered as page-locked.
 */
#ifndef KILN_CPU_API_MEMORY_H
#define KILN_CPU_API_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/api/context.h"

enum allocation_kind {
    ALLOCATION_PLAIN,
    ALLOCATION_MANAGED,
    ALLOCATION_ASYNC, /* of a pool */
    /* from here on not the program's to free */
    ALLOCATION_MODULE, /* a module's variables */
    ALLOCATION_ARRAY   /* texels, which no address names */
};

/* One device allocation: the tag that cpu/exec keeps with it. */
struct allocation {
    enum allocation_kind kind;
    struct context *context;
    uint64_t base;
    uint64_t size;
    unsigned long long id;
    struct allocation *next;
    struct allocation **link;
};

/* Host memory known to the driver. */
struct host_range {
    uintptr_t base;
    size_t size;
    unsigned flags;
    int registered; /* not ours to free */
    struct context *context;
};

CUresult memory_alloc(struct context *context, uint64_t size,
                      enum allocation_kind kind, struct allocation **out);
void memory_free(struct allocation *allocation);
/* The allocation around an address, or NULL. */
struct allocation *memory_find(uint64_t address);
/* Whether [address, address + size) lies in one allocation or one known host
 * range. */
int memory_covers(uint64_t address, uint64_t size);
/* How much of size there is from address on, known to be covered. */
uint64_t memory_left(uint64_t address, uint64_t size);

/* The range around an address: 1 with a copy in *out, or 0. */
int host_find(uintptr_t address, struct host_range *out);
void host_release_context(struct context *context);

#endif
