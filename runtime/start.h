/* SPDX-License-Identifier: MIT
 *
 * The runtime's one record: the driver, opened on first use, and the primary
 * contexts. Every API function begins with one of these and ends in
 * rt_note.
 *
 * Locks: start.c's lock guards the primary contexts; register.c's table lock
 * is never held while the driver is called; a module's lock is held while
 * the driver loads that module. None is taken under another.
 */
#ifndef KILN_RUNTIME_START_H
#define KILN_RUNTIME_START_H

#include "driver/driver.h"
#include "runtime/api.h"

/* The driver, opened by the first caller. NULL, with the reason in *error,
 * when none answers or it is too old. */
const struct driver *rt_driver(cudaError_t *error);
/* Why no driver could be opened, or NULL. */
const char *rt_start_text(void);

/* The driver with a context current in this thread: the caller's own, or
 * the primary context of the thread's device. NULL with *error otherwise. */
const struct driver *rt_enter(cudaError_t *error);
/* Makes the device's primary context current. */
cudaError_t rt_use_device(const struct driver *d, int device);
/* Forgets the primary context, so that the next use retains it again. */
void rt_forget_device(int device);
/* The device that this thread chose; 0 at first. */
int rt_chosen_device(void);

cudaError_t rt_from_cuda(CUresult result);
/* Remembers a failure as this thread's last error; returns it. */
cudaError_t rt_note(cudaError_t error);
/* rt_note(rt_from_cuda(result)) */
cudaError_t rt_result(CUresult result);

#endif
