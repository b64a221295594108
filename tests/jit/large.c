/* SPDX-License-Identifier: MIT
 *
 * Kernels of unusual size and form. Their results are known by arithmetic;
 * the time to compile them is printed, and bounded loosely: a step of the
 * compiler that is quadratic in blocks or values shows as a time-out.
 */
#include "../api/api.h"
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 64 };

static char *text;
static size_t used, room;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    va_list args;

    if (room - used < 256) {
        room = room * 2 + 4096;
        text = realloc(text, room);
        if (!text)
            exit(1);
    }
    va_start(args, format);
    used += (size_t)vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Compiles what was added; out[t] must be expect[t]. */
static void check(const char *name, const uint32_t *expect)
{
    char *whole = whole_kernel(text, 0);
    uint32_t got[THREADS];
    CUdeviceptr out = 0;
    void *args[] = {&out, &out};
    CUmodule module;
    CUfunction f;
    double took = now();
    int right = 1;

    f = test_function(whole, "k", &module);
    took = now() - took;
    printf("     %s: %.0f ms\n", name, took * 1e3);
    OK(cuMemAlloc_v2(&out, sizeof got));
    OK(cuMemsetD32_v2(out, 0, THREADS));
    OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(got, out, sizeof got));
    for (uint32_t t = 0; right && t < THREADS; t++)
        if ((right = got[t] == expect[t]) == 0 || t == THREADS - 1)
            CHECK_SAYS(right, "%s: thread %u: %#x, wanted %#x", name, t, got[t],
                       expect[t]);
    OK(cuMemFree_v2(out));
    cuModuleUnload(module);
    free(whole);
    used = 0;
}

static void nested(int depth)
{
    uint32_t expect[THREADS];
    char name[64];

    add("mov.u32 %%r1, 0;\n");
    for (int i = 0; i < depth; i++)
        add("setp.le.u32 %%p1, %%t, %d;\n@%%p1 bra E%d;\n"
            "add.u32 %%r1, %%r1, 1;\n",
            i, i);
    for (int i = depth; i-- > 0;)
        add("E%d: add.u32 %%r1, %%r1, 2;\n", i);
    add("st.global.u32 [%%out], %%r1;\nret;\n");
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t in = t < (uint32_t)depth ? t : (uint32_t)depth;

        expect[t] = in + 2 * (in < (uint32_t)depth ? in + 1 : in);
    }
    snprintf(name, sizeof name, "%d nested branches", depth);
    check(name, expect);
}

static void chain(int blocks)
{
    uint32_t expect[THREADS];
    char name[64];

    add("mov.u32 %%r1, %%t;\n");
    for (int i = 0; i < blocks / 2; i++)
        add("and.b32 %%r2, %%r1, %d;\nsetp.eq.u32 %%p1, %%r2, 0;\n"
            "@%%p1 bra E%d;\nadd.u32 %%r1, %%r1, %d;\nE%d:\n",
            1 << (i % 7), i, i | 1, i);
    add("st.global.u32 [%%out], %%r1;\nret;\n");
    for (uint32_t t = 0; t < THREADS; t++) {
        expect[t] = t;
        for (int i = 0; i < blocks / 2; i++)
            if (expect[t] & 1u << (i % 7))
                expect[t] += (uint32_t)(i | 1);
    }
    snprintf(name, sizeof name, "%d blocks in a row", blocks);
    check(name, expect);
}

static void straight(int count)
{
    uint32_t expect[THREADS];
    char name[64];

    add("mov.u32 %%r1, %%t;\nmov.u32 %%r2, 1;\n");
    for (int i = 0; i < count / 2; i++)
        add("mad.lo.u32 %%r1, %%r1, 5, %%r2;\nxor.b32 %%r2, %%r1, %d;\n", i);
    add("st.global.u32 [%%out], %%r1;\nret;\n");
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t a = t, b = 1;

        for (int i = 0; i < count / 2; i++) {
            a = a * 5 + b;
            b = a ^ (uint32_t)i;
        }
        expect[t] = a;
    }
    snprintf(name, sizeof name, "%d instructions in a row", count);
    check(name, expect);
}

static void barriers(int count)
{
    uint32_t expect[THREADS];
    char name[64];

    add("shl.b32 %%r3, %%t, 2;\nmov.u32 %%r4, sh;\nadd.u32 %%r3, %%r3, %%r4;\n"
        "xor.b32 %%r5, %%r3, 4;\nmov.u32 %%r1, %%t;\n");
    for (int i = 0; i < count / 2; i++)
        add("st.shared.u32 [%%r3], %%r1;\nbar.sync 0;\n"
            "ld.shared.u32 %%r2, [%%r5];\nbar.sync 0;\n"
            "mad.lo.u32 %%r1, %%r1, 3, %%r2;\n");
    add("st.global.u32 [%%out], %%r1;\nret;\n");
    for (uint32_t t = 0; t < THREADS; t++)
        expect[t] = t;
    for (int i = 0; i < count / 2; i++)
        for (uint32_t t = 0; t < THREADS; t += 2) {
            uint32_t a = expect[t], b = expect[t + 1];

            expect[t] = a * 3 + b;
            expect[t + 1] = b * 3 + a;
        }
    snprintf(name, sizeof name, "%d barriers", count);
    check(name, expect);
}

static void loops(int depth)
{
    uint32_t expect[THREADS];

    add("mov.u32 %%r1, 0;\n");
    for (int i = 0; i < depth; i++)
        add("mov.u32 %%r%d, 0;\nL%d:\n", i + 2, i);
    add("add.u32 %%r1, %%r1, %%t;\n");
    for (int i = depth; i-- > 0;)
        add("add.u32 %%r%d, %%r%d, 1;\nsetp.lt.u32 %%p1, %%r%d, 2;\n"
            "@%%p1 bra L%d;\n",
            i + 2, i + 2, i + 2, i);
    add("st.global.u32 [%%out], %%r1;\nret;\n");
    for (uint32_t t = 0; t < THREADS; t++)
        expect[t] = t << depth;
    check("10 nested loops", expect);
}

void run_large(void)
{
    const char *slow = getenv("KILN_TEST_LONG");
    int scale = slow && *slow ? 7 : 1;

    nested(100 * (scale > 1 ? 2 : 1));
    chain(200 * scale);
    straight(500 * scale * scale);
    barriers(40 * scale);
    loops(10);
    free(text);
    text = NULL;
    room = 0;
}
