/* SPDX-License-Identifier: MIT
 *
 * The one entry point that the CPU driver exports beyond NVIDIA's: what it
 * is, so that a client asks for PTX where machine code for a GPU cannot run.
 * Found by dlsym; cuGetProcAddress does not know it. Its absence means another
 * driver.
 */
#ifndef KILN_DRIVER_KILN_DRIVER_INFO_H
#define KILN_DRIVER_KILN_DRIVER_INFO_H

#include <stddef.h>

#define KILN_DRIVER_INFO_NAME "kilnDriverInfo"

/* Callers set struct_size; later versions add fields at the end, and a driver
 * fills no more than the caller has room for. Texts live as long as the
 * driver. */
struct kiln_driver_info {
    size_t struct_size;
    const char *isa;             /* "kiln-x86_64" */
    const char *build;           /* identity of the driver's build */
    const char *codegen;         /* "LLVM 22.1.8", or "none" */
    const char *features;        /* of the host CPU that code may use */
    unsigned compute_capability; /* 121 */
    unsigned ptx_version;        /* newest that it assembles: 90 */
    int driver_version;          /* 13000 */
    /* Since 0.1: look-ups of compiled PTX in the cache, of this process. */
    unsigned long long cache_hits;
    unsigned long long cache_misses; /* built here */
    unsigned long long cache_waits;  /* built elsewhere meanwhile */
    /* In: the caller has warned of an unusable cache, the driver need not.
     * Out: one of the two has. */
    int cache_warned;
    /* In: the caller has warned of KILN_LOG, the driver need not. Out: one of
     * the two has. */
    int log_warned;
    /* The result of this thread's last call that failed with a sentence, and
     * the sentence, told once; 0 and "": none. */
    int error;
    const char *error_text;
};

/* Works before cuInit. A CUresult: 1 for a NULL or too small struct. */
typedef int kiln_driver_info_fn(struct kiln_driver_info *info);

#endif
