/* SPDX-License-Identifier: MIT
 *
 * What the engine's tests share: one context and stream, and short ways to
 * allocate, copy and launch that fail the test when they fail.
 */
#ifndef KILN_TESTS_EXEC_FIXTURE_H
#define KILN_TESTS_EXEC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu/exec/exec.h"

struct fixture {
    struct exec_context *context;
    struct exec_stream *stream;
};

/* cmocka's setup and teardown of a test and of a whole program. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
int fixture_open(void **state);
int fixture_close(void **state);

void *device_alloc(size_t size);
void device_free(void *memory);
/* Queue and require success. */
void launch(struct exec_stream *stream, abi_kernel *kernel, uint32_t grid,
            uint32_t block, const void *params, uint32_t param_bytes,
            uint32_t flags);
void finish(struct exec_stream *stream);
/* The stream's context must have failed with status and a sentence that
 * holds words. */
void fails(struct exec_stream *stream, enum kiln_status status,
           const char *words);

/* The block's parameters as a struct. */
#define PARAMS(block, type)                                                    \
    ((type const *)(const void *)(block)->launch->params)

/* In a kernel, where cmocka cannot be called. */
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            abort();                                                           \
    } while (0)

#endif
