/* SPDX-License-Identifier: MIT
 *
 * The cubin: NVIDIA's ELF file for one SM number, ABI 7 (CUDA 11.8, 12) and
 * ABI 8 (CUDA 13). Gives what a launch needs to be checked against.
 */
#ifndef KILN_IMAGE_CUBIN_H
#define KILN_IMAGE_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum cubin_known { CUBIN_NO, CUBIN_YES, CUBIN_UNKNOWN };

struct cubin_param {
    uint32_t offset;
    uint32_t size;
    enum cubin_known pointer; /* told for SM >= 100 only */
};

struct cubin_kernel {
    const char *name; /* borrowed from the cubin's string table */
    const struct cubin_param *params; /* in order of their ordinals */
    uint32_t param_count;
    uint32_t param_bytes;   /* total, as the kernel's bank states it */
    int32_t registers;      /* -1: not stated */
    uint32_t static_shared; /* without what the system keeps on SM >= 90 */
    uint32_t local_bytes;   /* a thread: frame size */
    uint32_t max_threads;   /* 0: not stated */
    uint32_t reqntid[3];    /* 0: not stated */
};

struct cubin_variable {
    const char *name;
    uint64_t size;
    int constant; /* in .nv.constant3 */
};

struct cubin {
    uint32_t sm;
    char variant; /* 'a' where the file tells; 'f' it never tells */
    uint32_t abi; /* 7 or 8 */
    int relocatable;
    uint32_t toolkit; /* 130 for 13.0; 0: not told */
    const struct cubin_kernel *kernels;
    size_t kernel_count;
    const struct cubin_variable *variables;
    size_t variable_count;
    uint64_t global_bytes; /* of its global variables, by their symbols */
};

/* Only the ELF header: sm, variant (ABI 7), abi, relocatable. */
enum kiln_status cubin_identify(const void *bytes, size_t size,
                                struct cubin *out, struct kiln_error *err);
/* All of it; views borrow from bytes and the arena. */
enum kiln_status cubin_read(const void *bytes, size_t size, struct arena *arena,
                            struct cubin *out, struct kiln_error *err);
/* The same, and that no number in its tables leads outside: what a driver
 * that trusts them may be given. */
enum kiln_status cubin_check(const void *bytes, size_t size,
                             struct arena *arena, struct cubin *out,
                             struct kiln_error *err);
const struct cubin_kernel *cubin_kernel_find(const struct cubin *cubin,
                                             const char *name);

#endif
