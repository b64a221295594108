/* SPDX-License-Identifier: MIT
 *
 * Constant memory: pages of device memory that kernels can only read. Copies
 * and fills write them at a second address, so that nothing has to be opened
 * to kernels meanwhile; the pages are a file's without a name, mapped twice.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

struct bank {
    struct bank *next;
    uint64_t base, size;
    unsigned char *writable;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bank *banks;
static _Atomic unsigned count; /* most programs have none */

static enum kiln_status map_twice(struct bank *b, struct kiln_error *err)
{
    void *at = (void *)(uintptr_t)b->base, *second;
    const int fd = memfd_create("kiln-constant", MFD_CLOEXEC);

    if (fd < 0)
        return kiln_fail(err, KILN_E_OS,
                         "constant memory: no file for its pages: %m");
    second =
        ftruncate(fd, (off_t)b->size)
            ? MAP_FAILED
            : mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (second != MAP_FAILED) {
        memcpy(second, at, b->size);
        if (mmap(at, b->size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == at) {
            close(fd);
            b->writable = second;
            return KILN_OK;
        }
        munmap(second, b->size);
    }
    close(fd);
    return kiln_fail(err, KILN_E_MEMORY,
                     "constant memory: no second mapping of %llu bytes: %m",
                     (unsigned long long)b->size);
}

enum kiln_status exec_memory_constant(uint64_t base, uint64_t size,
                                      struct kiln_error *err)
{
    struct bank *b = kiln_zalloc(sizeof *b);
    enum kiln_status st;

    if (!b)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    *b = (struct bank){.base = base, .size = size};
    st = map_twice(b, err);
    if (st) {
        kiln_release(b);
        return st;
    }
    pthread_mutex_lock(&lock);
    b->next = banks;
    banks = b;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return KILN_OK;
}

void *constant_writable(void *to)
{
    const uint64_t address = (uint64_t)(uintptr_t)to;
    void *found = NULL;

    if (!atomic_load_explicit(&count, memory_order_acquire))
        return to;
    pthread_mutex_lock(&lock);
    for (struct bank *b = banks; b && !found; b = b->next)
        if (address - b->base < b->size)
            found = b->writable + (address - b->base);
    pthread_mutex_unlock(&lock);
    return found ? found : to;
}

void constant_forget(uint64_t base, uint64_t size)
{
    if (!atomic_load_explicit(&count, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    for (struct bank **link = &banks; *link;) {
        struct bank *b = *link;

        if (b->base - base >= size) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        munmap(b->writable, b->size);
        kiln_release(b);
        atomic_fetch_sub(&count, 1);
    }
    pthread_mutex_unlock(&lock);
}
