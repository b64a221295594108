/* SPDX-License-Identifier: MIT
 *
 * Where the CPU driver's file is.
 */
#ifndef KILN_DRIVER_FIND_H
#define KILN_DRIVER_FIND_H

#include "base/status.h"

enum kiln_status find_cpu_driver(char *path, size_t size,
                                 struct kiln_error *err);

#endif
