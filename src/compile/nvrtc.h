/* SPDX-License-Identifier: MIT
 *
 * Compiling by NVIDIA's run-time compiler, opened when first needed.
 */
#ifndef KILN_COMPILE_NVRTC_H
#define KILN_COMPILE_NVRTC_H

#include "compile/compile.h"

enum kiln_status nvrtc_run(const struct compiler *compiler,
                           const struct compile_request *request,
                           struct compile_result *result,
                           struct kiln_error *err);

#endif
