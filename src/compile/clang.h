/* SPDX-License-Identifier: MIT
 *
 * Compiling by clang as a child process, with Kiln's own device header, on
 * machines without any file of NVIDIA's. Makes PTX only.
 */
#ifndef KILN_COMPILE_CLANG_H
#define KILN_COMPILE_CLANG_H

#include "compile/compile.h"

/* The bytes of device.h. */
extern const char clang_device_header[];
extern const size_t clang_device_header_size;

enum kiln_status clang_run(const struct compiler *compiler,
                           const struct compile_request *request,
                           struct compile_result *result,
                           struct kiln_error *err);

#endif
