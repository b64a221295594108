/* SPDX-License-Identifier: MIT
 *
 * The look-up behind cuGetProcAddress.
 */
#ifndef KILN_CPU_API_ENTRY_H
#define KILN_CPU_API_ENTRY_H

#include "driver/cuda_abi.h"

/* The function for this name, at most this version, the per-thread twin
 * first when asked for; NULL with *status saying why. */
void *entry_find(const char *name, int version, int per_thread,
                 CUdriverProcAddressQueryResult *status);

#endif
