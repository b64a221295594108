/* SPDX-License-Identifier: MIT
 *
 * The binary interface of the CUDA runtime API, as programs built by nvcc
 * and clang use it; a test compares it with the toolkit's header where that
 * is installed. Handles are the driver's: cudaStream_t is CUstream,
 * cudaLibrary_t is CUlibrary, cudaKernel_t is CUkernel.
 *
 * runtime/ knows src/base and src/driver, and nothing of compilers, images
 * or the cache.
 */
#ifndef KILN_RUNTIME_CUDART_H
#define KILN_RUNTIME_CUDART_H

#include "driver/cuda_abi.h"

typedef enum {
#define X(name, number, text) name = number,
#include "error.def"
#undef X
    CUDART_FORCE_INT = 0x7fffffff
} cudaError_t;

/* What the runtime API answers for cudaRuntimeGetVersion. */
#define CUDART_VERSION 13000
/* The oldest driver with libraries and kernels independent of contexts. */
#define CUDART_DRIVER_NEEDED 12000

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUlibrary cudaLibrary_t;
typedef CUkernel cudaKernel_t;

typedef struct {
    unsigned x;
    unsigned y;
    unsigned z;
} dim3;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

/* Numbered as CUjit_option and CUlibraryOption are. */
typedef CUjit_option cudaJitOption;
typedef CUlibraryOption cudaLibraryOption;

typedef struct {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int cacheModeCA;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
    int clusterDimMustBeSet;
    int requiredClusterWidth;
    int requiredClusterHeight;
    int requiredClusterDepth;
    int clusterSchedulingPolicyPreference;
    int nonPortableClusterSizeAllowed;
    int reserved[16];
};

#define RT_API __attribute__((visibility("default")))

#endif
