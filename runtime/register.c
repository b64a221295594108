/* SPDX-License-Identifier: MIT
 *
 * Registration happens before main, in every object of a program, for code
 * that may never run: it fills tables and touches no driver. The first use
 * of a kernel hands the whole fat binary to the driver, as the library that
 * the wrapper's address stands for, and asks for the kernel by name.
 */
#include "runtime/register.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

enum entry_kind { ENTRY_KERNEL, ENTRY_VARIABLE, ENTRY_MANAGED };

struct module {
    void *wrapper;
    pthread_mutex_t lock; /* held while the driver loads this module */
    int loaded;
    CUlibrary library;
    struct module *next;
};

/* One host address. Lives until its module is unregistered, which happens
 * when the code that could use it is gone. */
struct entry {
    const void *host;
    struct module *module;
    const char *name; /* in the program's data */
    enum entry_kind kind;
    size_t size;
    _Atomic(CUkernel) kernel; /* once looked up */
    struct entry *next;       /* in its bucket */
};

enum { BUCKETS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct module *modules;
    struct entry *buckets[BUCKETS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry **bucket(const void *host)
{
    uint64_t h = (uint64_t)(uintptr_t)host * 0x9E3779B97F4A7C15u;

    return &table.buckets[h >> 54];
}

/* Under table.lock. */
static struct entry *find(const void *host)
{
    struct entry *e = *bucket(host);

    while (e && e->host != host)
        e = e->next;
    return e;
}

static struct entry *look_up(const void *host)
{
    struct entry *e;

    pthread_mutex_lock(&table.lock);
    e = find(host);
    pthread_mutex_unlock(&table.lock);
    return e;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct module *m = kiln_zalloc(sizeof *m);

    if (!m) {
        log_line(LOG_ERROR, "cudart: no memory to register a fat binary");
        return NULL;
    }
    m->wrapper = wrapper;
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_lock(&table.lock);
    m->next = table.modules;
    table.modules = m;
    pthread_mutex_unlock(&table.lock);
    /* Callers only hand the handle back. */
    return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

static void add(void **handle, const void *host, const char *name,
                enum entry_kind kind, size_t size)
{
    struct module *m = (struct module *)handle;
    struct entry *e;
    struct entry **b = bucket(host);

    if (!m || !name)
        return;
    e = kiln_zalloc(sizeof *e);
    if (!e) {
        log_line(LOG_ERROR, "cudart: no memory to register %s", name);
        return;
    }
    e->host = host;
    e->module = m;
    e->name = name;
    e->kind = kind;
    e->size = size;
    pthread_mutex_lock(&table.lock);
    e->next = *b;
    *b = e;
    pthread_mutex_unlock(&table.lock);
}

void __cudaRegisterFunction(void **handle, const char *host_function,
                            char *device_function, const char *device_name,
                            int thread_limit, void *tid, void *bid, void *block,
                            void *grid, int *warp_size)
{
    (void)device_function;
    (void)thread_limit;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)warp_size;
    add(handle, host_function, device_name, ENTRY_KERNEL, 0);
}

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
                       const char *device_name, int external, size_t size,
                       int constant, int global)
{
    (void)device_address;
    (void)external;
    (void)constant;
    (void)global;
    add(handle, host_variable, device_name, ENTRY_VARIABLE, size);
}

void __cudaRegisterManagedVar(void **handle, void **host_pointer,
                              char *device_address, const char *device_name,
                              int external, size_t size, int constant,
                              int global)
{
    (void)device_address;
    (void)external;
    (void)constant;
    (void)global;
    add(handle, host_pointer, device_name, ENTRY_MANAGED, size);
}

static cudaError_t load(const struct driver *d, struct module *m)
{
    /* The wrapper stays where it is for as long as it is registered. */
    CUlibraryOption options[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
    void *values[] = {(void *)(uintptr_t)1};
    CUresult result = CUDA_SUCCESS;

    if (!d->cuLibraryLoadData || !d->cuLibraryGetKernel)
        return cudaErrorCallRequiresNewerDriver;
    pthread_mutex_lock(&m->lock);
    if (!m->loaded) {
        result = d->cuLibraryLoadData(&m->library, m->wrapper, NULL, NULL, 0,
                                      options, values, 1);
        m->loaded = result == CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&m->lock);
    return rt_from_cuda(result);
}

cudaError_t register_kernel(const struct driver *d, const void *entry,
                            cudaKernel_t *kernel, int *found)
{
    struct entry *e = look_up(entry);
    CUkernel k;
    cudaError_t error;

    *found = e && e->kind == ENTRY_KERNEL;
    if (!*found)
        return cudaErrorInvalidDeviceFunction;
    k = atomic_load(&e->kernel);
    if (!k) {
        error = load(d, e->module);
        if (!error)
            error = rt_from_cuda(
                d->cuLibraryGetKernel(&k, e->module->library, e->name));
        if (error)
            return error;
        atomic_store(&e->kernel, k);
    }
    *kernel = k;
    return cudaSuccess;
}

cudaError_t register_variable(const struct driver *d, const void *variable,
                              CUdeviceptr *address, size_t *bytes)
{
    struct entry *e = look_up(variable);
    cudaError_t error;

    if (!e || e->kind == ENTRY_KERNEL || !d->cuLibraryGetGlobal ||
        !d->cuLibraryGetManaged)
        return cudaErrorInvalidSymbol;
    error = load(d, e->module);
    if (error)
        return error;
    if (e->kind == ENTRY_MANAGED)
        return rt_from_cuda(d->cuLibraryGetManaged(
            address, bytes, e->module->library, e->name));
    return rt_from_cuda(
        d->cuLibraryGetGlobal(address, bytes, e->module->library, e->name));
}

/* The managed variables of one module, copied out of the table so that the
 * driver is not called under its lock. Returns how many there are in all. */
static size_t managed_of(const struct module *m, struct entry **out,
                         size_t room)
{
    size_t count = 0;

    pthread_mutex_lock(&table.lock);
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct entry *e = table.buckets[b]; e; e = e->next)
            if (e->module == m && e->kind == ENTRY_MANAGED) {
                if (count < room)
                    out[count] = e;
                count++;
            }
    pthread_mutex_unlock(&table.lock);
    return count;
}

/* Programs read managed variables through a pointer that this fills in,
 * before anything else of them runs. */
char __cudaInitModule(void **handle)
{
    struct module *m = (struct module *)handle;
    struct entry **list = NULL;
    size_t count = m ? managed_of(m, NULL, 0) : 0;
    cudaError_t error = cudaSuccess;
    const struct driver *d;

    if (count == 0)
        return 1;
    d = rt_enter(&error);
    list = kiln_array(NULL, count, sizeof *list);
    if (d && !list)
        error = cudaErrorMemoryAllocation;
    if (!error)
        count = managed_of(m, list, count);
    for (size_t i = 0; i < count && !error; i++) {
        CUdeviceptr address = 0;
        size_t bytes = 0;
        void *pointer;

        error = register_variable(d, list[i]->host, &address, &bytes);
        pointer = (void *)(uintptr_t)address;
        if (!error)
            memcpy((void *)(uintptr_t)list[i]->host, &pointer, sizeof pointer);
    }
    kiln_release(list);
    return rt_note(error) == cudaSuccess;
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct module *m = (struct module *)handle;
    struct module **at = &table.modules;
    cudaError_t error;
    const struct driver *d;

    if (!m)
        return;
    pthread_mutex_lock(&table.lock);
    for (size_t b = 0; b < BUCKETS; b++) {
        struct entry **e = &table.buckets[b];

        while (*e) {
            struct entry *gone = *e;

            if (gone->module != m) {
                e = &gone->next;
                continue;
            }
            *e = gone->next;
            kiln_release(gone);
        }
    }
    while (*at && *at != m)
        at = &(*at)->next;
    if (*at)
        *at = m->next;
    pthread_mutex_unlock(&table.lock);
    if (m->loaded) {
        d = rt_driver(&error);
        if (d && d->cuLibraryUnload)
            d->cuLibraryUnload(m->library);
    }
    pthread_mutex_destroy(&m->lock);
    kiln_release(m);
}
