/* SPDX-License-Identifier: MIT
 *
 * The device and driver that kiln explain is asked about.
 */
#ifndef KILN_TOOL_EXPLAIN_TARGET_H
#define KILN_TOOL_EXPLAIN_TARGET_H

#include "kiln/image.h"

/* The value of --device. *sm of "sm_90", 0 of a device that is to be opened.
 * EXIT_USAGE, said, where it is neither. */
int explain_device(const char *text, unsigned *sm);
/* "12.4" as 12040; -1: no version. */
int explain_driver(const char *text, int *version);

/* Whether the device is newer than the driver; `text` then says so. */
int explain_too_old(const struct kiln_target *target, char *text, size_t size);

/* A cubin that is taken may be of a newer toolkit than the driver. What such
 * a driver does with it was not measured: the verdict gets `text` as its own,
 * and says that it is not verified. */
void explain_toolkit(const struct kiln_file *file,
                     const struct kiln_target *target, struct kiln_verdict *v,
                     char *text, size_t size);

#endif
