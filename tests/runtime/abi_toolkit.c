/* SPDX-License-Identifier: MIT */
#include <cuda_runtime_api.h>

#include "abi.h"

const struct abi_number abi_toolkit[] = {
#define X(name, number, text) {#name, (unsigned long)name},
#include "error.def"
#undef X
    ABI_NUMBERS{NULL, 0}};
