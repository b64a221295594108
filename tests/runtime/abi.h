/* SPDX-License-Identifier: MIT
 *
 * The binary interface as numbers: compiled once with the toolkit's header
 * and once with Kiln's, and compared. Before including this, include either.
 */
#ifndef KILN_TESTS_ABI_H
#define KILN_TESTS_ABI_H

#include <stddef.h>

struct abi_number {
    const char *name;
    unsigned long value;
};

extern const struct abi_number abi_toolkit[];
extern const struct abi_number abi_ours[];

#define ABI_NUMBER(expression) {#expression, (unsigned long)(expression)},
#define ABI_FIELD(type, field) ABI_NUMBER(offsetof(type, field))
#define ABI_NUMBERS                                                            \
    ABI_NUMBER(sizeof(cudaError_t))                                            \
    ABI_NUMBER(sizeof(struct cudaFuncAttributes))                              \
    ABI_FIELD(struct cudaFuncAttributes, maxThreadsPerBlock)                   \
    ABI_FIELD(struct cudaFuncAttributes, maxDynamicSharedSizeBytes)            \
    ABI_FIELD(struct cudaFuncAttributes, nonPortableClusterSizeAllowed)        \
    ABI_NUMBER(sizeof(cudaLaunchConfig_t))                                     \
    ABI_FIELD(cudaLaunchConfig_t, blockDim)                                    \
    ABI_FIELD(cudaLaunchConfig_t, dynamicSmemBytes)                            \
    ABI_FIELD(cudaLaunchConfig_t, stream)                                      \
    ABI_FIELD(cudaLaunchConfig_t, attrs)                                       \
    ABI_FIELD(cudaLaunchConfig_t, numAttrs)                                    \
    ABI_NUMBER(cudaMemcpyHostToHost)                                           \
    ABI_NUMBER(cudaMemcpyHostToDevice)                                         \
    ABI_NUMBER(cudaMemcpyDeviceToHost)                                         \
    ABI_NUMBER(cudaMemcpyDeviceToDevice)                                       \
    ABI_NUMBER(cudaMemcpyDefault)

#endif
