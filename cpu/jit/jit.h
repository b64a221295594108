/* SPDX-License-Identifier: MIT
 *
 * The PTX compiler as the driver sees it: a plugin, libkiln-ptxjit.so, opened
 * only when something must be compiled. Bytes in, bytes out.
 *
 * This is the only folder that includes llvm-c.
 */
#ifndef KILN_CPU_JIT_JIT_H
#define KILN_CPU_JIT_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { JIT_PLUGIN_VERSION = 1 };

struct jit_request {
    size_t struct_size;
    const char *ptx; /* size bytes, no NUL needed */
    size_t size;
    unsigned level;       /* CU_JIT_OPTIMIZATION_LEVEL, 0 to 4 */
    unsigned maxnreg;     /* CU_JIT_MAX_REGISTERS, 0: none */
    unsigned target;      /* compute capability to accept, 121 */
    unsigned max_version; /* newest PTX to accept, 90; 0: any known */
    const char *build;    /* driver build identity, for the object */
    unsigned lineinfo;
    unsigned checks; /* ask the engine before each access */
    int log_warned;  /* a KILN_LOG that is no level was told of */
};

struct jit_result {
    size_t struct_size;
    unsigned char *object; /* heap of the plugin: jit_result_free */
    size_t size;
    char *error_log; /* NUL-terminated or NULL */
    char *info_log;
};

/* The compiler itself, for the plugin and for tests. */
enum kiln_status jit_compile(const struct jit_request *request,
                             struct jit_result *result, struct kiln_error *err);

/* Exported by the plugin under these names. */
typedef enum kiln_status jit_compile_fn(const struct jit_request *request,
                                        struct jit_result *result,
                                        struct kiln_error *err);
typedef void jit_result_free_fn(struct jit_result *result);
/* "LLVM 22.1.8": part of the cache key, so the driver must know it without
 * opening LLVM: it is also compiled into the driver as KILN_CODEGEN. */
typedef const char *jit_identity_fn(void);

#define JIT_COMPILE_NAME  "kiln_ptxjit_compile"
#define JIT_FREE_NAME     "kiln_ptxjit_result_free"
#define JIT_IDENTITY_NAME "kiln_ptxjit_identity"

#endif
