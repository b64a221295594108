/* SPDX-License-Identifier: MIT
 *
 * The JIT options of a load or a link, and the two log buffers that they may
 * name.
 */
#ifndef KILN_CPU_API_OPTIONS_H
#define KILN_CPU_API_OPTIONS_H

#include "base/buffer.h"
#include "driver/cuda_abi.h"

struct log_target {
    char *buffer; /* the caller's, NULL: none */
    unsigned size;
    void **out; /* where the size written goes */
};

struct load_options {
    unsigned level; /* 0 to 4 */
    int level_given;
    unsigned maxreg; /* as asked; 0: no cap */
    uint32_t target; /* CU_JIT_TARGET without its flags; 0: the device's */
    int target_zero; /* CU_JIT_TARGET 0, which fits no image */
    int override_directives;
    int verbose;
    int debug;
    int lineinfo;
    int sm3x; /* CU_JIT_NEW_SM3X_OPT, which no compiler takes any more */
    void **wall_time;
    struct log_target error_log;
    struct log_target info_log;
    /* What will be written to the caller's buffers. */
    struct buffer errors;
    struct buffer infos;
};

/* CUDA_ERROR_INVALID_VALUE for unknown options and wrong values, before any
 * image is looked at. The options borrow the caller's arrays. */
CUresult options_read(unsigned count, const CUjit_option *options,
                      void **values, struct load_options *out);
/* One more line of a log. */
void options_error(struct load_options *o, const char *text);
void options_info(struct load_options *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Write both buffers and their sizes, as NVIDIA's driver does. */
void options_write_logs(struct load_options *o);
void options_wall_time(struct load_options *o, uint64_t ns);
void options_fini(struct load_options *o);

#endif
