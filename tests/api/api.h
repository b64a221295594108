/* SPDX-License-Identifier: MIT
 *
 * What the API tests share. They link no driver and no test library: the
 * driver is opened by name, so that one binary runs on the CPU driver and on
 * NVIDIA's. KILN_TEST_DRIVER names it; the default is the build's own.
 */
#ifndef KILN_TESTS_API_API_H
#define KILN_TESTS_API_API_H

#include <stddef.h>
#include <stdint.h>

#include "driver/cuda_abi.h"

#define FUNCTION(name, params) extern CUresult(*name) params;
#include "functions.def"
#undef FUNCTION

/* Whether the driver is Kiln's, for what it promises beyond NVIDIA's. */
extern int is_kiln;

/* Opens the driver; ends the program when that fails. */
void test_open(void);
/* The same, then cuInit and a created context, which becomes current. */
CUcontext test_start(void);
/* Ends the program with status 77 when the driver has no PTX compiler. */
void test_need_compiler(void);
/* Prints the sum; the program's exit status. */
int test_end(void);

/* One line a check. Each returns whether it passed. */
int test_check(int ok, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int test_result(CUresult found, CUresult wanted, const char *file, int line,
                const char *what);
const char *result_name(CUresult result);

#define CHECK(condition)                                                       \
    test_check(!!(condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_SAYS(condition, ...)                                             \
    test_check(!!(condition), __FILE__, __LINE__, __VA_ARGS__)
#define IS(call, wanted) test_result(call, wanted, __FILE__, __LINE__, #call)
#define OK(call)         IS(call, CUDA_SUCCESS)

/* PTX that several tests use. */
extern const char ptx_saxpy[]; /* saxpy(float a, float *x, float *y, u32 n) */
extern const char ptx_syntax_error[]; /* on line 9 */

/* Loads the PTX and finds a function; ends the program when it cannot. */
CUfunction test_function(const char *ptx, const char *name, CUmodule *module);
/* A whole text file, on the heap; ends the program when it cannot be read. */
char *test_read_file(const char *path);

#endif
