/* SPDX-License-Identifier: MIT */
#ifndef KILN_TESTS_JIT_CASES_H
#define KILN_TESTS_JIT_CASES_H

/* Heap: a kernel k(pin, pout) around a body, behind a prologue or raw. */
char *whole_kernel(const char *body, int raw);

/* Kernels of unusual size: they compile in reasonable time. */
void run_large(void);
/* Atomic operations and accesses without an instruction of their own. */
void run_atomics(void);
/* Kernels that are refused, each with its line. */
void run_refused(void);

#endif
