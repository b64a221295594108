/* SPDX-License-Identifier: MIT
 *
 * Entry points by name and version: cuGetProcAddress. The rules stand in
 * entry.def; stubs are answered as not there.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/api/driver.h"
#include "cpu/api/entry.h"

/* Only addresses are taken here; the stubs' type is as good as any. */
#define ENTRY(symbol, name, version, thread) CUresult symbol(void);
#include "cpu/api/entry.def"
#undef ENTRY

struct row {
    const char *name;
    const char *symbol;
    CUresult (*function)(void);
    int version;
    int thread;
};

/* Sorted by name, then thread, then version, as entry.def is. */
static const struct row rows[] = {
#define ENTRY(symbol, name, version, thread)                                   \
    {#name, #symbol, symbol, version, thread},
#include "cpu/api/entry.def"
#undef ENTRY
};

enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(ROWS == 637, "entry.def: every exported name");

/* Bounds of the stubs' section, made by the linker. */
extern const char __start_kiln_stubs[] __attribute__((visibility("hidden")));
extern const char __stop_kiln_stubs[] __attribute__((visibility("hidden")));

static int is_stub(const struct row *row)
{
    const char *at = (const char *)(uintptr_t)row->function;

    return at >= __start_kiln_stubs && at < __stop_kiln_stubs;
}

static int by_name(const void *key, const void *item)
{
    const struct row *row = item;

    return strcmp(key, row->name);
}

/* The last row of the name with this per-thread flag and a version within
 * both limits; *newer tells of one above `asked`. */
static const struct row *choose(const struct row *first, int thread, int asked,
                                int have, int *newer)
{
    const struct row *best = NULL;

    for (const struct row *r = first;
         r < rows + ROWS && !strcmp(r->name, first->name); r++) {
        if (r->thread != thread || r->version > have || is_stub(r))
            continue;
        if (r->version <= asked)
            best = r;
        else
            *newer = 1;
    }
    return best;
}

/* A newer signature that is missing must not be answered by an older one
 * that is there: the caller would call it wrongly. */
static int newest_is_stub(const struct row *first, const struct row *best,
                          int asked, int have)
{
    for (const struct row *r = first;
         r < rows + ROWS && !strcmp(r->name, first->name); r++)
        if (r->thread == best->thread && r->version > best->version &&
            r->version <= asked && r->version <= have)
            return 1;
    return 0;
}

void *entry_find(const char *name, int version, int per_thread,
                 CUdriverProcAddressQueryResult *status)
{
    const struct row *first = bsearch(name, rows, ROWS, sizeof *rows, by_name);
    const struct row *best = NULL;
    int have = driver_config()->version;
    int newer = 0;

    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!first)
        return NULL;
    while (first > rows && !strcmp(first[-1].name, first->name))
        first--;
    if (per_thread)
        best = choose(first, 1, version, have, &newer);
    if (!best)
        best = choose(first, 0, version, have, &newer);
    if (best && newest_is_stub(first, best, version, have))
        return NULL;
    if (!best) {
        if (newer)
            *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        return NULL;
    }
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return (void *)(uintptr_t)best->function;
}
