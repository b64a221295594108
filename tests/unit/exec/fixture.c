/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

int fixture_open(void **state)
{
    struct kiln_error err = {0};

    (void)state;
    if (exec_open(&err))
        fail_msg("%s", err.text);
    return 0;
}

int fixture_close(void **state)
{
    (void)state;
    exec_close();
    return 0;
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (exec_context_new(&f->context, NULL) ||
        exec_stream_new(f->context, 0, 0, &f->stream, NULL))
        return -1;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    exec_stream_free(f->stream);
    exec_context_free(f->context);
    free(f);
    return 0;
}

void *device_alloc(size_t size)
{
    struct kiln_error err = {0};
    uint64_t at;

    if (exec_memory_alloc(size, NULL, &at, &err))
        fail_msg("%s", err.text);
    return (void *)(uintptr_t)at;
}

void device_free(void *memory)
{
    struct kiln_error err = {0};

    if (exec_memory_free((uint64_t)(uintptr_t)memory, &err))
        fail_msg("%s", err.text);
}

void launch(struct exec_stream *stream, abi_kernel *kernel, uint32_t grid,
            uint32_t block, const void *params, uint32_t param_bytes,
            uint32_t flags)
{
    struct kiln_error err = {0};
    const struct exec_launch l = {.function = kernel,
                                  .flags = flags,
                                  .grid = {grid, 1, 1},
                                  .block = {block, 1, 1},
                                  .static_shared = 4096,
                                  .params = params,
                                  .param_bytes = param_bytes,
                                  .name = "tested"};

    if (exec_launch(stream, &l, &err))
        fail_msg("%s", err.text);
}

void finish(struct exec_stream *stream)
{
    struct kiln_error err = {0};

    if (exec_stream_sync(stream, &err))
        fail_msg("%s", err.text);
}

void fails(struct exec_stream *stream, enum kiln_status status,
           const char *words)
{
    struct kiln_error err = {0};

    assert_int_equal(exec_stream_sync(stream, &err), status);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    /* it stays */
    memset(&err, 0, sizeof err);
    assert_int_equal(exec_stream_sync(stream, &err), status);
    assert_non_null(strstr(err.text, words));
}
