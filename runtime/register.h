/* SPDX-License-Identifier: MIT
 *
 * What a program's start-up code registered: fat binaries, and which host
 * addresses stand for which kernels and variables in them.
 */
#ifndef KILN_RUNTIME_REGISTER_H
#define KILN_RUNTIME_REGISTER_H

#include "runtime/start.h"

/* The kernel that a host address stands for, loading its fat binary when
 * this is the first use. *found says whether the address was registered at
 * all; when not, nothing else happens. */
cudaError_t register_kernel(const struct driver *d, const void *entry,
                            cudaKernel_t *kernel, int *found);
/* The same for a variable, in the current context. */
cudaError_t register_variable(const struct driver *d, const void *variable,
                              CUdeviceptr *address, size_t *bytes);

#endif
