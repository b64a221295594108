/* SPDX-License-Identifier: MIT
 *
 * The status table is public (kiln/status.h); this adds what code inside
 * Kiln fills it with. base/ knows nothing of CUDA beyond the numbers in that
 * table, nothing of LLVM, and opens files only in file.c.
 */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln/status.h"

/* Fill err (which may be NULL) and return the status, so that a failing
 * function ends in `return kiln_fail(err, ...)`. */
enum kiln_status kiln_fail(struct kiln_error *err, enum kiln_status status,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
enum kiln_status kiln_vfail(struct kiln_error *err, enum kiln_status status,
                            const char *format, va_list args)
    __attribute__((cold));

/* Put "prefix: " before err's text; the facts are never rewritten. */
void kiln_prefix(struct kiln_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

int kiln_status_cuda(enum kiln_status status);
int kiln_status_runtime(enum kiln_status status);
/* The status for a driver's CUresult; unknown numbers: KILN_E_UNKNOWN. */
enum kiln_status kiln_status_from_cuda(int result);

#endif
