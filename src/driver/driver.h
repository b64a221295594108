/* SPDX-License-Identifier: MIT
 *
 * The one seam to devices: a table of CUDA driver entry points, each asked
 * for with the version of the signature it is called with, each optional one
 * NULL where the driver lacks it. The same table is filled from NVIDIA's
 * driver and from Kiln's CPU driver. Knows nothing of compilers, images or
 * the cache.
 */
#ifndef KILN_DRIVER_DRIVER_H
#define KILN_DRIVER_DRIVER_H

#include "base/status.h"
#include "driver/cuda_abi.h"

enum driver_kind { DRIVER_NVIDIA, DRIVER_CPU };

struct driver {
    enum driver_kind kind;
    int version;          /* 13000 is 13.0 */
    char file[256];       /* the library's path as the loader resolved it */
    char text[128];       /* what a driver of Kiln's says of itself, or "" */
    unsigned ptx_version; /* newest it assembles, 90 for 9.0; 0: not told */
    void *library;        /* of dlopen; never closed: drivers keep threads */
    void *info_entry;     /* kilnDriverInfo, or NULL */
#define X(name, version, need, parameters) CUresult(*name) parameters;
#include "driver/entries.def"
#undef X
};

/* Opens NVIDIA's driver (KILN_NVIDIA_DRIVER, else libcuda.so.1 of the
 * loader's path) and initialises it. A libcuda.so.1 of Kiln's own is a CPU
 * driver and refused here. */
enum kiln_status driver_open_nvidia(struct driver *d, struct kiln_error *err);
/* Opens libkiln-cpu.so: KILN_CPU_DRIVER, else beside this code's own file or
 * in ../lib of it, else by the loader's path. */
enum kiln_status driver_open_cpu(struct driver *d, struct kiln_error *err);
/* Opens the driver of this file or name, NVIDIA's or Kiln's. */
enum kiln_status driver_open_file(struct driver *d, const char *path,
                                  struct kiln_error *err);
/* NVIDIA's where it initialises and has a device, else the CPU driver. When
 * neither is there the error tells of both. */
enum kiln_status driver_open_default(struct driver *d, struct kiln_error *err);

/* Fails with the status for `result`, saying "what: NAME (number): text". */
enum kiln_status driver_fail(const struct driver *d, CUresult result,
                             struct kiln_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

/* The same for a call of this thread that just failed, in the driver's own
 * words where it has some: which block and address a fault was at. */
enum kiln_status driver_fail_told(const struct driver *d, CUresult result,
                                  struct kiln_error *err, const char *format,
                                  ...)
    __attribute__((format(printf, 4, 5), cold));

struct driver_device {
    CUdevice handle;
    int ordinal;
    int major, minor;
    int max_threads;
    int max_block[3], max_grid[3];
    int max_shared, max_shared_optin;
    uint64_t memory;
    char name[128];
};

/* What the driver did about compiled PTX since it was opened; zeros where it
 * does not tell. */
struct driver_cache_counts {
    unsigned long long hits, misses, waits;
    /* Set before the call where this process has warned of an unusable cache
     * already; set after it where the driver has. */
    int warned;
};
void driver_cache_counts(const struct driver *d,
                         struct driver_cache_counts *out);

enum kiln_status driver_device_get(const struct driver *d, int ordinal,
                                   struct driver_device *out,
                                   struct kiln_error *err);

/* Makes `context` current until driver_scope_end, which restores whatever was
 * current before. */
struct driver_scope {
    const struct driver *driver;
    int entered;
};
enum kiln_status driver_scope_begin(struct driver_scope *scope,
                                    const struct driver *d, CUcontext context,
                                    struct kiln_error *err);
void driver_scope_end(struct driver_scope *scope);

#endif
