/* SPDX-License-Identifier: MIT
 *
 * What the tests of kernels that wait share: the module of progress.cu, words
 * of device memory, launches, and tests by name.
 */
#ifndef KILN_TESTS_API_WAITS_H
#define KILN_TESTS_API_WAITS_H

#include "api.h"

struct wait_test {
    const char *name;
    void (*test)(void);
};

/* Of the module that wait_tests has loaded. */
CUfunction function(const char *name);

/* n words of zeros; freed by cuMemFree. */
CUdeviceptr words(size_t n);
unsigned word(CUdeviceptr p, size_t i);

/* Until the kernel has ended. */
void run(const char *name, unsigned blocks, unsigned threads, void **args);

/* All tests, or the one that argv names; the program's exit status. */
int wait_tests(const char *file, const struct wait_test *tests, size_t count,
               int argc, char **argv);

#endif
