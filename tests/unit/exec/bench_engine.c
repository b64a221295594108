/* SPDX-License-Identifier: MIT
 *
 * What the engine itself costs: an empty launch with its wait, an empty block,
 * a warp's switch at a barrier, a copy. Prints a line each; no test.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cpu/exec/exec.h"

static void empty(struct abi_block *block, uint32_t first, uint32_t end)
{
    (void)block;
    (void)first;
    (void)end;
}

enum { ROUNDS = 10000 };

static void barriers(struct abi_block *block, uint32_t warp, uint32_t end)
{
    (void)end;
    for (int i = 0; i < ROUNDS; i++)
        block->barrier(block, warp, 0, 0, ABI_BARRIER_SYNC, 0);
}

static struct exec_stream *stream;

static void must(enum kiln_status st, const struct kiln_error *err)
{
    if (!st)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static uint64_t timed(struct exec_launch *launch, int count, int each)
{
    struct kiln_error err;
    const uint64_t start = clock_ns();

    for (int i = 0; i < count; i++) {
        must(exec_launch(stream, launch, &err), &err);
        if (each)
            must(exec_stream_sync(stream, &err), &err);
    }
    must(exec_stream_sync(stream, &err), &err);
    return clock_ns() - start;
}

static double best(struct exec_launch *launch, int count, int each)
{
    uint64_t ns = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        const uint64_t now = timed(launch, count, each);

        ns = now < ns ? now : ns;
    }
    return (double)ns / count;
}

int main(void)
{
    struct kiln_error err;
    struct exec_context *context;
    struct exec_launch launch = {.function = empty,
                                 .grid = {1, 1, 1},
                                 .block = {256, 1, 1},
                                 .name = "empty"};

    must(exec_open(&err), &err);
    must(exec_context_new(&context, &err), &err);
    must(exec_stream_new(context, 0, 0, &stream, &err), &err);
    printf("runners                     %u\n", exec_runners());
    printf("launch and wait, 1 block    %8.0f ns\n", best(&launch, 2000, 1));
    printf("launch alone, 1 block       %8.0f ns\n", best(&launch, 2000, 0));
    launch.grid[0] = 16;
    printf("launch and wait, 16 blocks  %8.0f ns\n", best(&launch, 2000, 1));
    launch.grid[0] = 65536;
    printf("an empty block of 65,536    %8.2f ns\n",
           best(&launch, 10, 1) / 65536);
    launch.function = barriers;
    launch.flags = OBJECT_KERNEL_BARRIER;
    launch.grid[0] = 1;
    printf("a warp at a barrier         %8.2f ns\n",
           best(&launch, 1, 1) / (ROUNDS * 8));
    {
        const size_t size = 256 << 20;
        uint64_t a;
        uint64_t b;
        uint64_t start;
        struct exec_copy copy = {.width = size};
        struct exec_fill fill = {.unit = 4, .width = size / 4, .value = 7};

        must(exec_memory_alloc(size, NULL, &a, &err), &err);
        must(exec_memory_alloc(size, NULL, &b, &err), &err);
        for (int i = 0; i < 2; i++) {
            fill.to = (void *)a;
            start = clock_ns();
            must(exec_fill(stream, &fill, &err), &err);
            must(exec_stream_sync(stream, &err), &err);
            printf("fill, 256 MiB, %s       %6.2f GB/s\n",
                   i ? "again" : "first",
                   (double)size / (double)(clock_ns() - start));
        }
        for (int i = 0; i < 2; i++) {
            copy.to = (void *)b;
            copy.from = (void *)a;
            start = clock_ns();
            must(exec_copy(stream, &copy, &err), &err);
            must(exec_stream_sync(stream, &err), &err);
            printf("copy, 256 MiB, %s       %6.2f GB/s\n",
                   i ? "again" : "first",
                   (double)size / (double)(clock_ns() - start));
        }
        copy.width = 4096;
        start = clock_ns();
        for (int i = 0; i < 2000; i++) {
            must(exec_copy(stream, &copy, &err), &err);
            must(exec_stream_sync(stream, &err), &err);
        }
        printf("copy and wait, 4 KiB        %8.0f ns\n",
               (double)(clock_ns() - start) / 2000);
        exec_memory_free(a, NULL);
        exec_memory_free(b, NULL);
    }
    exec_stream_free(stream);
    exec_context_free(context);
    exec_close();
    return 0;
}
