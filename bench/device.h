/* SPDX-License-Identifier: MIT
 *
 * What is measured beside the OpenMP reference. Each function returns 0, or
 * -1 with the reason in why.
 */
#ifndef KILN_BENCH_DEVICE_H
#define KILN_BENCH_DEVICE_H

#include "suite.h"

enum { WHY = 400 };

struct device {
    const char *name;
    /* Opens the device and lets its compiler start, which is no part of a
     * kernel's time. cache is an empty folder, or one that an earlier
     * process left. */
    int (*open)(const char *cache, char *why);
    /* Source to what `load` takes, where that is a step of its own. */
    int (*compile)(const struct kern *k, const char *cache, char *why);
    /* Buffer j starts as in[j]; results are wanted in out[j] (the same
     * pointer for inputs). */
    int (*buffers)(const struct kern *k, void **in, void **out, char *why);
    /* Makes the kernel ready to be launched. */
    int (*load)(const struct kern *k, char *why);
    int (*launch)(const size_t grid[3], const size_t block[3], char *why);
    /* Puts back what a run changes. */
    int (*reset)(const struct kern *k, void **in, void **out, char *why);
    /* Brings results into out. */
    int (*fetch)(const struct kern *k, void **out, char *why);
};

extern const struct device device_kiln;
extern const struct device device_opencl;

/* CUDA C++ to PTX by libkiln; heap, or NULL with the reason. */
char *compile_ptx(const char *source, char *why);

#endif
