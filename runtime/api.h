/* SPDX-License-Identifier: MIT
 *
 * Every function that the runtime exports. cuda* is the documented API;
 * __cuda* is what the code that nvcc and clang generate calls. A suffix
 * _ptsz or _ptds is the variant in which stream 0 is the calling thread's
 * own.
 */
#ifndef KILN_RUNTIME_API_H
#define KILN_RUNTIME_API_H

#include "runtime/cudart.h"

/* error.c */
RT_API cudaError_t cudaGetLastError(void);
RT_API cudaError_t cudaPeekAtLastError(void);
RT_API const char *cudaGetErrorName(cudaError_t error);
RT_API const char *cudaGetErrorString(cudaError_t error);

/* device.c */
RT_API cudaError_t cudaGetDeviceCount(int *count);
RT_API cudaError_t cudaSetDevice(int device);
RT_API cudaError_t cudaInitDevice(int device, unsigned device_flags,
                                  unsigned flags);
RT_API cudaError_t cudaGetDevice(int *device);
RT_API cudaError_t cudaDeviceSynchronize(void);
RT_API cudaError_t cudaDeviceReset(void);
RT_API cudaError_t cudaDeviceGetAttribute(int *value,
                                          CUdevice_attribute attribute,
                                          int device);
RT_API cudaError_t cudaDriverGetVersion(int *version);
RT_API cudaError_t cudaRuntimeGetVersion(int *version);

/* memory.c */
RT_API cudaError_t cudaMalloc(void **address, size_t bytes);
RT_API cudaError_t cudaMallocManaged(void **address, size_t bytes,
                                     unsigned flags);
RT_API cudaError_t cudaFree(void *address);
RT_API cudaError_t cudaMallocHost(void **memory, size_t bytes);
RT_API cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
RT_API cudaError_t cudaFreeHost(void *memory);
RT_API cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
RT_API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind);
RT_API cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind);
RT_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
RT_API cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from,
                                        size_t bytes, enum cudaMemcpyKind kind,
                                        cudaStream_t stream);
RT_API cudaError_t cudaMemset(void *to, int value, size_t bytes);
RT_API cudaError_t cudaMemset_ptds(void *to, int value, size_t bytes);
RT_API cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                                   cudaStream_t stream);
RT_API cudaError_t cudaMemsetAsync_ptsz(void *to, int value, size_t bytes,
                                        cudaStream_t stream);

/* symbol.c */
RT_API cudaError_t cudaGetSymbolAddress(void **address, const void *symbol);
RT_API cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol);
RT_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from,
                                      size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind);
RT_API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol,
                                        size_t bytes, size_t offset,
                                        enum cudaMemcpyKind kind);

/* stream.c */
RT_API cudaError_t cudaStreamCreate(cudaStream_t *stream);
RT_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream,
                                             unsigned flags);
RT_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
RT_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
RT_API cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
RT_API cudaError_t cudaStreamQuery(cudaStream_t stream);
RT_API cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream);
RT_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                       unsigned flags);
RT_API cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream,
                                            cudaEvent_t event, unsigned flags);
RT_API cudaError_t cudaEventCreate(cudaEvent_t *event);
RT_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
RT_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
RT_API cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
RT_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
RT_API cudaError_t cudaEventQuery(cudaEvent_t event);
RT_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                        cudaEvent_t end);
RT_API cudaError_t cudaEventDestroy(cudaEvent_t event);

/* library.c */
RT_API cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                       cudaJitOption *jit, void **jit_values,
                                       unsigned jit_count,
                                       cudaLibraryOption *options,
                                       void **option_values,
                                       unsigned option_count);
RT_API cudaError_t cudaLibraryLoadFromFile(
    cudaLibrary_t *library, const char *file, cudaJitOption *jit,
    void **jit_values, unsigned jit_count, cudaLibraryOption *options,
    void **option_values, unsigned option_count);
RT_API cudaError_t cudaLibraryUnload(cudaLibrary_t library);
RT_API cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel,
                                        cudaLibrary_t library,
                                        const char *name);
RT_API cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes,
                                        cudaLibrary_t library,
                                        const char *name);
RT_API cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes,
                                         cudaLibrary_t library,
                                         const char *name);
RT_API cudaError_t cudaLibraryGetKernelCount(unsigned *count,
                                             cudaLibrary_t library);
RT_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels,
                                               unsigned count,
                                               cudaLibrary_t library);

/* launch.c */
RT_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *entry);
RT_API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                                    void **arguments, size_t shared,
                                    cudaStream_t stream);
RT_API cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid,
                                         dim3 block, void **arguments,
                                         size_t shared, cudaStream_t stream);
RT_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                       const void *function, void **arguments);
RT_API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config,
                                            const void *function,
                                            void **arguments);
RT_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out,
                                         const void *function);
RT_API cudaError_t cudaFuncSetAttribute(const void *function, int attribute,
                                        int value);
RT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                            size_t shared, cudaStream_t stream);
RT_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block,
                                              size_t *shared, void *stream);
RT_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry);
RT_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid,
                                      dim3 block, void **arguments,
                                      size_t shared, cudaStream_t stream);
RT_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid,
                                           dim3 block, void **arguments,
                                           size_t shared, cudaStream_t stream);

/* register.c */
RT_API void **__cudaRegisterFatBinary(void *wrapper);
RT_API void __cudaRegisterFatBinaryEnd(void **handle);
RT_API void __cudaUnregisterFatBinary(void **handle);
RT_API void __cudaRegisterFunction(void **handle, const char *host_function,
                                   char *device_function,
                                   const char *device_name, int thread_limit,
                                   void *tid, void *bid, void *block,
                                   void *grid, int *warp_size);
RT_API void __cudaRegisterVar(void **handle, char *host_variable,
                              char *device_address, const char *device_name,
                              int external, size_t size, int constant,
                              int global);
RT_API void __cudaRegisterManagedVar(void **handle, void **host_pointer,
                                     char *device_address,
                                     const char *device_name, int external,
                                     size_t size, int constant, int global);
RT_API char __cudaInitModule(void **handle);

#endif
