/* SPDX-License-Identifier: MIT
 *
 * The driver's one global record: what the device claims to be, which is
 * fixed from the environment once, and what cuInit sets up.
 */
#ifndef KILN_CPU_API_DRIVER_H
#define KILN_CPU_API_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "driver/cuda_abi.h"
#include "walk/walk.h"

struct cache;
struct context;

/* The major .version up to which PTX is looked at. */
enum { DRIVER_ANY_PTX = 999 };

/* Fixed at first use, also before cuInit. */
struct driver_config {
    int version;             /* 13000, or KILN_CPU_DRIVER_VERSION */
    int is_named;            /* by that variable */
    struct walk_device walk; /* sm 121, or KILN_CPU_CC; newest PTX */
    int force_ptx;           /* CUDA_FORCE_PTX_JIT */
    int disable_jit;         /* CUDA_DISABLE_PTX_JIT */
    int eager;               /* CUDA_MODULE_LOADING=EAGER */
    int checks;              /* KILN_CPU_CHECK */
    int cache_disabled;      /* CUDA_CACHE_DISABLE */
    char name[128];          /* "Kiln CPU (...)" */
    CUuuid uuid;
};

/* lock guards the lists of contexts and libraries, the primary context, and
 * the host ranges; it is taken before any lock of cpu/exec, and never while
 * work is waited for. */
struct driver {
    pthread_mutex_t lock;
    atomic_int ready;    /* cuInit succeeded */
    struct cache *cache; /* NULL: none */
    struct context *contexts;
    struct {
        void *handle;            /* stays the same while the process lives */
        struct context *context; /* NULL: inactive */
        unsigned references;
        unsigned flags;
    } primary;
    atomic_ullong ids; /* for contexts, streams, threads */
};

extern struct driver driver;

const struct driver_config *driver_config(void);
/* "kiln 0.1.0 <hash of the sources>": one build's objects are not another
 * one's. */
const char *driver_build(void);
/* "LLVM 22.1.8": of the compiler plugin built with this driver, or "none". */
const char *driver_codegen(void);
unsigned long long driver_next_id(void);

#endif
