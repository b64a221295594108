/* SPDX-License-Identifier: MIT
 *
 * The process of a device: programs come in, memory images or their digests go
 * out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../api/api.h"
#include "random.h"

static struct {
    CUdeviceptr out, in;
    size_t out_words;
    int level; /* of optimisation */
    int from, to;
} my = {.level = -1};

static void read_all(void *bytes, size_t size)
{
    char *at = bytes;

    while (size) {
        const ssize_t n = read(my.from, at, size);

        if (n <= 0)
            exit(0); /* no more questions */
        at += n;
        size -= (size_t)n;
    }
}

static void write_all(const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size) {
        const ssize_t n = write(my.to, at, size);

        if (n <= 0)
            exit(0);
        at += n;
        size -= (size_t)n;
    }
}

/* What a name says beside the driver. */
static void obey(char *name)
{
    char *word = strchr(name, ',');

    if (word)
        *word++ = 0;
    if (strcmp(name, "cpu"))
        setenv("KILN_TEST_DRIVER", name, 1);
    while (word) {
        char *next = strchr(word, ',');

        if (next)
            *next++ = 0;
        if (word[0] == 'O')
            my.level = atoi(word + 1);
        else if (!strcmp(word, "1"))
            setenv("KILN_CPU_THREADS", "1", 1);
        else
            setenv("KILN_CPU_ISA", word, 1);
        word = next;
    }
    setenv("KILN_CACHE_DISABLE", "1", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1);
}

static CUresult launch(CUfunction f, const struct request *q,
                       const struct launch *l, uint32_t *image)
{
    const size_t words = program_image_words(l);
    uint32_t n = q->n;
    unsigned char bytes[16];
    void *args[] = {&my.out, &my.in, &n, bytes};
    CUresult result = 0;

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 29 + n);
    if (words > my.out_words) {
        if (my.out)
            cuMemFree_v2(my.out);
        my.out_words = words;
        result = cuMemAlloc_v2(&my.out, words * 4);
    }
    if (!result)
        result = cuMemsetD32_v2(my.out, q->start, words);
    if (!result)
        result = cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2],
                                l->block[0], l->block[1], l->block[2],
                                THREADS_MOST * 16, NULL, args, NULL);
    if (!result)
        result = cuCtxSynchronize();
    if (!result)
        result = cuMemcpyDtoH_v2(image, my.out, words * 4);
    return result;
}

static void answer(const struct request *q, const char *text)
{
    char log[sizeof((struct reply *)0)->why] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)(uintptr_t)sizeof log,
                      (void *)(uintptr_t)(unsigned)my.level};
    struct reply r = {.outcome = DEVICE_RAN};
    CUmodule module = NULL;
    CUfunction f = NULL;
    uint32_t *image;
    size_t at = 0;
    CUresult result = cuModuleLoadDataEx(&module, text, my.level < 0 ? 2 : 3,
                                         options, values);

    for (int i = 0; i < LAUNCHES; i++)
        r.words += program_image_words(&q->launches[i]);
    image = must_alloc(r.words, 4);
    if (!result)
        result = cuModuleGetFunction(&f, module, "k");
    if (result) {
        r.outcome = DEVICE_REFUSED;
        snprintf(r.why, sizeof r.why, "%.40s: %.400s", result_name(result),
                 log);
    }
    for (int i = 0; i < LAUNCHES && !result; i++) {
        result = launch(f, q, &q->launches[i], image + at);
        at += program_image_words(&q->launches[i]);
        if (result) {
            r.outcome = DEVICE_DIED;
            snprintf(r.why, sizeof r.why, "launch %d: %s", i,
                     result_name(result));
        }
    }
    if (r.outcome == DEVICE_RAN)
        r.digest = digest_bytes(0, image, r.words * 4);
    if (!q->with_image || r.outcome != DEVICE_RAN)
        r.words = 0;
    write_all(&r, sizeof r);
    write_all(image, r.words * 4);
    free(image);
    if (r.outcome == DEVICE_DIED)
        exit(0); /* the context is lost */
    if (module)
        cuModuleUnload(module);
}

_Noreturn void serve(const char *name, int from, int to)
{
    char words[256];
    uint32_t *input = must_alloc(IN_WORDS, 4);

    my.from = from;
    my.to = to;
    snprintf(words, sizeof words, "%s", name);
    obey(words);
    test_start();
    test_need_compiler();
    input_fill(input);
    if (cuMemAlloc_v2(&my.in, IN_WORDS * 4) ||
        cuMemcpyHtoD_v2(my.in, input, IN_WORDS * 4) ||
        cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192)) {
        printf("FAIL %s: no memory on the device\n", name);
        exit(1);
    }
    free(input);
    for (;;) {
        struct request q;
        char *text;

        read_all(&q, sizeof q);
        text = must_alloc((size_t)q.size + 1, 1);
        read_all(text, q.size);
        answer(&q, text);
        free(text);
    }
}
