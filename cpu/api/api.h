/* SPDX-License-Identifier: MIT
 *
 * The edge of the CPU driver: how entry points are declared, how handles
 * become objects, and how statuses become CUresults. Each file here is one
 * group of the driver manual; they hold no mechanism of their own beyond
 * what the manual asks for.
 *
 * cpu/api must not know LLVM or PTX beyond its header: those are the plugin's
 * (cpu/jit), opened when something must be compiled.
 */
#ifndef KILN_CPU_API_API_H
#define KILN_CPU_API_API_H

#include <stdint.h>

#include "base/status.h"
#include "cpu/api/handle.h"
#include "driver/cuda_abi.h"

#define API_EXPORT __attribute__((visibility("default")))

/* An exported entry point. */
#define API(name, ...)                                                         \
    API_EXPORT CUresult name(__VA_ARGS__);                                     \
    CUresult name(__VA_ARGS__)

/* A second name of the same signature, as old versions of a call are. */
#define API_ALIAS(name, target, params, args)                                  \
    API_EXPORT CUresult name params;                                           \
    CUresult name params                                                       \
    {                                                                          \
        return target args;                                                    \
    }

/* A call whose last word is `stream`, and its _ptsz twin, for which no stream
 * means the calling thread's own default stream. */
#define API_ON_STREAM(name, params, args)                                      \
    static CUresult name##_on params;                                          \
    API_EXPORT CUresult name params;                                           \
    CUresult name params                                                       \
    {                                                                          \
        return name##_on args;                                                 \
    }                                                                          \
    API_EXPORT CUresult name##_ptsz params;                                    \
    CUresult name##_ptsz params                                                \
    {                                                                          \
        stream = stream ? stream : CU_STREAM_PER_THREAD;                       \
        return name##_on args;                                                 \
    }                                                                          \
    static CUresult name##_on params

/* A call that takes no stream and its _ptds twin; `args` pass the default
 * stream that each means under the name `stream`. */
#define API_SYNC(name, params, target, args)                                   \
    API_EXPORT CUresult name params;                                           \
    CUresult name params                                                       \
    {                                                                          \
        CUstream stream = CU_STREAM_LEGACY;                                    \
                                                                               \
        return target args;                                                    \
    }                                                                          \
    API_EXPORT CUresult name##_ptds params;                                    \
    CUresult name##_ptds params                                                \
    {                                                                          \
        CUstream stream = CU_STREAM_PER_THREAD;                                \
                                                                               \
        return target args;                                                    \
    }

struct context;
struct stream;

/* The CUresult for an error; the sentence goes to the log at level info. */
CUresult api_result(const struct kiln_error *err);
/* The result of this thread's last failure with a sentence, and it; taken: the
 * next call has 0 and "". */
int api_last_error(const char **text);
/* For a status without a sentence. */
CUresult api_status(enum kiln_status status);
/* Refuse by name: a log line and CUDA_ERROR_NOT_SUPPORTED. */
CUresult api_unsupported(const char *what);

/* First line of most calls: CUDA_ERROR_NOT_INITIALIZED before cuInit,
 * CUDA_ERROR_INVALID_CONTEXT without a current context,
 * CUDA_ERROR_CONTEXT_IS_DESTROYED, the context's sticky error, or *out. */
CUresult api_enter(struct context **out);
/* The same without looking at the sticky error. */
CUresult api_current(struct context **out);
/* Only the check for cuInit. */
CUresult api_initialized(void);
/* Device 0 is the only one: CUDA_ERROR_INVALID_DEVICE for any other. */
CUresult api_device(CUdevice device);

#endif
