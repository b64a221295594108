/* SPDX-License-Identifier: MIT
 *
 * Inputs, the same on every run, and the check of results.
 */
#ifndef KILN_BENCH_DATA_H
#define KILN_BENCH_DATA_H

#include "suite.h"

/* Zeroed memory in large pages where the system gives them. */
void *data_grab(size_t bytes);
size_t data_bytes(const struct kern *k, int j);
int data_is_output(const struct kern *k, int j);
/* Whether buffer j must be as made before every run. */
int data_is_reset(const struct kern *k, int j);
void data_fill(const struct kern *k, void **in, int j);
/* Whether the outputs b are those of the inputs in. */
int data_check(const struct kern *k, void **in, void **b);
/* The section of kernels.cu for name (heap), or of its head (NULL). */
char *data_source(const char *name);
char *data_slurp(const char *file);

#endif
