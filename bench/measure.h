/* SPDX-License-Identifier: MIT
 *
 * One kernel on every device and on the reference, in turn.
 */
#ifndef KILN_BENCH_MEASURE_H
#define KILN_BENCH_MEASURE_H

#include "device.h"

enum { DEVICES = 2, OMP = DEVICES, SIDES = DEVICES + 1, RUNS_MAX = 99 };
extern const struct device *const devices[DEVICES]; /* Kiln, PoCL */

struct limits {
    double copy; /* bytes a millisecond */
    double read;
    double peak; /* flops a millisecond */
    int threads;
};

struct row {
    double mb;
    double mflop;
    double limit;         /* ms: what the machine allows */
    double wall[SIDES];   /* ms, medians; NAN: not measured */
    double cpu[SIDES];    /* ms of all threads over their number */
    double source[SIDES]; /* ms to compile the source to what is loaded */
    double cold[SIDES];   /* ms to load and first launch, cache empty */
    double warm[SIDES];   /* the same in a new process, cache filled */
    int right[SIDES];
    char why[SIDES][WHY]; /* why it was not measured */
};

void measure_limits(struct limits *out);
void measure_kernel(const struct kern *k, const struct limits *limits, int runs,
                    struct row *out);
/* Milliseconds to load and first launch with the caches in folder; NAN. */
double measure_warm(const struct device *d, const struct kern *k,
                    const char *folder);
double now_ms(void);

#endif
