/* SPDX-License-Identifier: MIT
 *
 * Device memory: one reserved range of addresses in which nothing is
 * accessible but live allocations. Each has pages of its own and an
 * inaccessible page after it, and addresses are not used again before the
 * range has been gone through once, so that stale and stray pointers fault.
 *
 * A process may have only so many mappings (vm.max_map_count). A program with
 * very many allocations therefore gets its further small ones from shared
 * pages (slab.c), where a stray pointer may hit a neighbour.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"
#include "cpu/exec/slab.h"

#define MIB       ((uint64_t)1 << 20)
#define HUGE_PAGE (2 * MIB)
/* allocations of this size ask the system first whether it has as much */
#define ASK_FIRST (256 * MIB)

enum { OWN_PAGES = 16384 /* allocations with pages of their own */ };

struct entry {
    struct exec_range range; /* size 0: freed, skipped */
    struct slab *slab;       /* NULL: one allocation */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t start, end; /* of the reserved range */
/* Of it, what is never handed out at either end: an index of 32 bits that went
 * wrong, times an element of 16 bytes, is a fault and no write to what the
 * process has beside the range. */
static uint64_t margin;
static uint64_t page;
static uint64_t next;         /* addresses from here on were never used */
static uint64_t used;         /* bytes in live allocations, whole pages */
static uint64_t total;        /* the device's memory */
static struct entry *entries; /* by address */
static size_t count, room, live;

static uint64_t round_up(uint64_t v, uint64_t alignment)
{
    return (v + alignment - 1) & ~(alignment - 1);
}

static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long n = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%llu", &n) != 1) /* "max" */
        n = 0;
    fclose(file);
    return n;
}

static uint64_t physical(void)
{
    static const char *const limits[] = {
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    struct sysinfo info;
    uint64_t bytes = 0;

    if (!sysinfo(&info))
        bytes = (uint64_t)info.totalram * info.mem_unit;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const uint64_t limit = read_number(limits[i]);

        if (limit && limit < bytes)
            bytes = limit;
    }
    return bytes;
}

/* What the system could give now without swapping, or UINT64_MAX. */
static uint64_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib;
    uint64_t bytes = UINT64_MAX;
    char line[128];

    if (!file)
        return bytes;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    fclose(file);
    return bytes;
}

const char *memory_limit_text(char *text, size_t size)
{
    struct rlimit limit;

    text[0] = 0;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, size,
                 "; the limit of address space (ulimit -v) is %llu KiB, set "
                 "it to unlimited or raise it",
                 (unsigned long long)limit.rlim_cur / 1024);
    return text;
}

/* Of a limited address space the device takes a quarter at most: the rest of
 * the process needs some too. */
static uint64_t most_space(uint64_t most)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        while (most > limit.rlim_cur / 4 && most > (uint64_t)1 << 30)
            most /= 4;
    return most;
}

enum kiln_status memory_open(struct kiln_error *err)
{
#if defined(__SANITIZE_THREAD__)
    /* its shadow costs time in proportion */
    const uint64_t most = (uint64_t)1 << 34;
#else
    const uint64_t most = (uint64_t)1 << 40;
#endif

    char limit[120];

    page = (uint64_t)sysconf(_SC_PAGESIZE);
    total = physical();
    for (uint64_t size = most_space(most); size >= (uint64_t)1 << 30;
         size /= 4) {
        void *map = mmap(NULL, size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (map == MAP_FAILED)
            continue;
        start = (uint64_t)(uintptr_t)map;
        end = start + size;
        margin = size > (uint64_t)1 << 37 ? (uint64_t)1 << 36 : 0;
        next = round_up(start + margin + page, HUGE_PAGE);
        return KILN_OK;
    }
    return kiln_fail(err, KILN_E_MEMORY,
                     "no 1 GiB of address space for device memory: %m%s",
                     memory_limit_text(limit, sizeof limit));
}

void memory_close(void)
{
    for (size_t i = 0; i < count; i++)
        slab_free(entries[i].slab);
    kiln_release(entries);
    entries = NULL;
    count = room = live = 0;
    used = 0;
    if (start)
        munmap((void *)(uintptr_t)start, end - start);
    start = end = 0;
}

/* ---- the table, under the lock ---- */

/* Index of the last entry that starts at or before address, or -1. */
static ptrdiff_t search(uint64_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (entries[mid].range.base <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return (ptrdiff_t)low - 1;
}

static struct entry *entry_at(uint64_t address)
{
    const ptrdiff_t i = search(address);

    if (i < 0 || address - entries[i].range.base >= entries[i].range.size)
        return NULL;
    return &entries[i];
}

static void compact(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (entries[i].range.size)
            entries[kept++] = entries[i];
    count = kept;
}

static struct entry *insert(uint64_t base, uint64_t size)
{
    size_t at;

    if (count == room) {
        const size_t wanted = room ? room * 2 : 64;
        struct entry *more = kiln_array(entries, wanted, sizeof *more);

        if (!more)
            return NULL;
        entries = more;
        room = wanted;
    }
    at = (size_t)(search(base) + 1);
    memmove(entries + at + 1, entries + at, (count - at) * sizeof *entries);
    count++;
    entries[at] = (struct entry){.range = {.base = base, .size = size}};
    return &entries[at];
}

static uint64_t span(uint64_t size)
{
    return round_up(size, page) + page; /* with the guard page */
}

/* A place for size bytes: never used addresses first, then the first gap
 * between live allocations. 0: none. */
static uint64_t place(uint64_t size)
{
    const uint64_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : page;
    uint64_t base = round_up(next, alignment);
    const uint64_t most = end - margin;
    uint64_t after = start + margin + page;

    if (base <= most && span(size) <= most - base) {
        next = base + span(size);
        return base;
    }
    compact();
    for (size_t i = 0; i <= count; i++) {
        const uint64_t stop = i < count ? entries[i].range.base : most;

        base = round_up(after, alignment);
        if (base <= stop && span(size) <= stop - base)
            return base;
        if (i < count)
            after = stop + span(entries[i].range.size);
    }
    return 0;
}

static struct entry *map_entry(uint64_t size, struct kiln_error *err)
{
    const uint64_t base = place(size);
    const uint64_t bytes = round_up(size, page);
    struct entry *entry;

    if (!base) {
        kiln_fail(err, KILN_E_MEMORY,
                  "no room for %llu bytes between device allocations",
                  (unsigned long long)size);
        return NULL;
    }
    if (mprotect((void *)(uintptr_t)base, bytes, PROT_READ | PROT_WRITE)) {
        kiln_fail(err, KILN_E_MEMORY,
                  "%llu bytes of device memory beside %zu allocations: %m",
                  (unsigned long long)size, live);
        return NULL;
    }
    entry = insert(base, size);
    if (!entry) {
        mprotect((void *)(uintptr_t)base, bytes, PROT_NONE);
        kiln_fail(err, KILN_E_MEMORY, "no memory for the allocation table");
        return NULL;
    }
    if (size >= HUGE_PAGE) /* advice: may fail */
        madvise((void *)(uintptr_t)base, bytes, MADV_HUGEPAGE);
    live++;
    used += bytes;
    return entry;
}

/* A fresh mapping forgets contents, rights and advice in one call. */
static void unmap_entry(struct entry *entry)
{
    const uint64_t bytes = round_up(entry->range.size, page);
    void *base = (void *)(uintptr_t)entry->range.base;

    if (mmap(base, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        madvise(base, bytes, MADV_DONTNEED);
        mprotect(base, bytes, PROT_NONE);
    }
    constant_forget(entry->range.base, bytes);
    slab_free(entry->slab);
    entry->slab = NULL;
    entry->range.size = 0;
    live--;
    used -= bytes;
    if (count > 64 && live < count / 2)
        compact();
}

/* ---- small allocations when there are very many ---- */

static enum kiln_status alloc_small(uint64_t size, void *tag, uint64_t *out,
                                    struct kiln_error *err)
{
    struct entry *entry = NULL;

    for (size_t i = count; i-- > 0 && !entry;)
        if (entries[i].slab && slab_fits(entries[i].slab, size))
            entry = &entries[i];
    if (!entry) {
        entry = map_entry(SLAB_BYTES, err);
        if (!entry)
            return KILN_E_MEMORY;
        entry->slab = slab_new(entry->range.base, size);
        if (!entry->slab) {
            unmap_entry(entry);
            return kiln_fail(err, KILN_E_MEMORY,
                             "no memory for the allocation table");
        }
    }
    *out = slab_take(entry->slab, size, tag);
    return KILN_OK;
}

/* ---- the interface ---- */

enum kiln_status exec_memory_alloc(uint64_t size, void *tag, uint64_t *out,
                                   struct kiln_error *err)
{
    enum kiln_status st = engine_ready(err);
    uint64_t most;

    if (st)
        return st;
    if (!size)
        return kiln_fail(err, KILN_E_INVALID, "allocation of 0 bytes");
    most = size >= ASK_FIRST ? available() : UINT64_MAX;
    pthread_mutex_lock(&lock);
    if (total - used < most)
        most = total - used;
    if (size > most) {
        st = kiln_fail(err, KILN_E_MEMORY,
                       "allocation of %llu bytes: %llu of %llu are free",
                       (unsigned long long)size, (unsigned long long)most,
                       (unsigned long long)total);
    } else if (live >= OWN_PAGES && size <= SLAB_LARGEST) {
        st = alloc_small(size, tag, out, err);
    } else {
        struct entry *entry = map_entry(size, err);

        if (entry) {
            entry->range.tag = tag;
            *out = entry->range.base;
        } else {
            st = KILN_E_MEMORY;
        }
    }
    pthread_mutex_unlock(&lock);
    return st;
}

enum kiln_status exec_memory_free(uint64_t base, struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;
    struct entry *entry;

    pthread_mutex_lock(&lock);
    entry = entry_at(base);
    if (entry && entry->slab && slab_give(entry->slab, base)) {
        if (slab_is_empty(entry->slab))
            unmap_entry(entry);
    } else if (entry && !entry->slab && entry->range.base == base) {
        unmap_entry(entry);
    } else {
        st = kiln_fail(err, KILN_E_INVALID,
                       "0x%llx is not the start of a device allocation",
                       (unsigned long long)base);
    }
    pthread_mutex_unlock(&lock);
    return st;
}

int exec_memory_find(uint64_t address, struct exec_range *out)
{
    const struct entry *entry;
    int found = 0;

    if (!exec_memory_is_device(address))
        return 0;
    pthread_mutex_lock(&lock);
    entry = entry_at(address);
    if (entry && entry->slab) {
        found = slab_find(entry->slab, address, out);
    } else if (entry) {
        *out = entry->range;
        found = 1;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int exec_memory_is_device(uint64_t address)
{
    return address - start < end - start;
}

void exec_memory_info(uint64_t *free_bytes, uint64_t *total_bytes)
{
    const uint64_t system = available();

    pthread_mutex_lock(&lock);
    *total_bytes = total;
    *free_bytes = total - used < system ? total - used : system;
    pthread_mutex_unlock(&lock);
}
