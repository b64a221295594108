/* SPDX-License-Identifier: MIT
 *
 * CUDA source to PTX or machine code, by NVRTC or by clang. Knows nothing of
 * drivers, of the cache or of how an image is loaded; the device is a few
 * numbers here. Nothing is opened until it is needed: compiler_find only
 * looks at files, so that a caller with a cached result never loads a
 * compiler.
 */
#ifndef KILN_COMPILE_COMPILE_H
#define KILN_COMPILE_COMPILE_H

#include "base/buffer.h"
#include "base/hash.h"
#include "base/status.h"

enum compiler_kind { COMPILER_NVRTC, COMPILER_CLANG };

/* A compiler as a file on this machine. */
struct compiler {
    enum compiler_kind kind;
    char file[512];
    char builtins[512];   /* NVRTC's second file, or "" */
    char include[512];    /* the toolkit's headers, or "" */
    struct hash identity; /* of all its files; no path is part of it */
};

/* wanted: "nvrtc", "clang", or NULL for KILN_COMPILER, else NVRTC where it is
 * found, else clang. The error says where it looked. */
enum kiln_status compiler_find(const char *wanted, struct compiler *out,
                               struct kiln_error *err);

/* The device to compile for, as far as a compiler must know. */
struct compile_device {
    int capability; /* 90 for 9.0 */
    int runs_sass;  /* NVIDIA's machine code; else PTX only */
};

struct compile_request {
    const char *name; /* path, never NULL here */
    const char *text;
    size_t text_size;
    const char *arch; /* "sm_90", "compute_90" or NULL */
    const char *standard;
    int max_registers;
    const char *const *names;
    size_t name_count;
    const char *const *defines;
    size_t define_count;
    const char *const *folders;
    size_t folder_count;
    const char *const *extra;
    size_t extra_count;
    unsigned timeout_ms;
    struct compile_device device;
};

enum compile_kind { COMPILE_PTX = 1, COMPILE_CUBIN = 2 };

struct compile_result {
    enum compile_kind kind;
    struct buffer bytes;
    struct buffer log; /* also on failure */
    char target[32];   /* "sm_90", "compute_90" */
    char compiler[96]; /* "NVRTC 13.0" */
    char rule[160];    /* why this target */
    char **symbols;    /* one a name of the request */
    size_t symbol_count;
};

/* Runs the compiler. On failure result holds the log alone. For a name that
 * the source does not define: KILN_E_NOT_FOUND, listing what it defines. */
enum kiln_status compile_run(const struct compiler *compiler,
                             const struct compile_request *request,
                             struct compile_result *result,
                             struct kiln_error *err);
void compile_result_fini(struct compile_result *result);

#endif
