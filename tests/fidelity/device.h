/* SPDX-License-Identifier: MIT
 *
 * Runs cases on the driver that KILN_TEST_DRIVER names.
 */
#ifndef KILN_TESTS_FIDELITY_DEVICE_H
#define KILN_TESTS_FIDELITY_DEVICE_H

#include "../api/api.h"
#include "fidelity.h"

/* Opens the driver; the device's name and driver version into `name`. */
void device_open(char *name, size_t size);

/* Loads the cases' kernels, halving the list where the driver refuses it.
 * functions[i] is NULL for a case that is refused by itself; `why` gets the
 * first line of the driver's log then. */
struct loaded {
    CUmodule modules[64];
    unsigned module_count;
    CUfunction functions[64];
    char *why[64];
};
void device_load(struct loaded *l, const struct fid_case *const *cases,
                 size_t count, enum fid_way way);
void device_unload(struct loaded *l);

/* The results of one case: words planes of in->count values, on the heap;
 * NULL when the launch failed, which is printed. */
uint32_t *device_run(const struct fid_case *c, CUfunction function,
                     const struct fid_inputs *in, enum fid_way way);
/* A new context in place of one that a launch has spoilt. */
void device_restart(void);
/* Frees what device_run keeps between cases of the same inputs. */
void device_forget(void);

#endif
