/* SPDX-License-Identifier: MIT
 *
 * The kernels that are measured, each with its data, its OpenMP reference
 * and its exact result.
 */
#ifndef KILN_BENCH_SUITE_H
#define KILN_BENCH_SUITE_H

#include <stddef.h>

enum { BUFFERS = 5 };

struct kern {
    const char *name;
    /* Buffers, a letter each: inputs f float, u word, p row starts,
     * q columns; x an input f that is written too; output F, U; S is a float
     * output of which only the sum counts; Z is U zeroed before each run. */
    const char *buf;
    size_t n[BUFFERS]; /* elements, of four bytes each */
    int ints[2];       /* arguments after the buffers */
    int int_count;
    int has_float; /* 0.7f comes last */
    int shuffle;   /* needs warp shuffles */
    size_t grid[3];
    size_t block[3];
    void (*ref)(void **b);
    /* Exact value of element i of output o. */
    double (*gold)(void **b, int o, size_t i);
    /* |error| <= tol * (|exact| + scale), but for the fraction bad. */
    double tol;
    double scale;
    double bad;
    double mb;    /* bytes moved, in millions; 0: from the data */
    double mflop; /* 0: from the data */
};

extern const struct kern suite[];
extern const size_t suite_count;

const struct kern *suite_find(const char *name);
/* mb and mflop of a kernel whose work depends on its data: in as made, out
 * as computed. */
void suite_work(const struct kern *k, void **in, void **out, double *mb,
                double *mflop);

#endif
