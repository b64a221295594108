/* SPDX-License-Identifier: MIT
 *
 * Runs kernels and compares all that they leave in memory with what their
 * twins left on the host (twin_host.h).
 *
 *     jit_run NAME...            NAME.ptx is checked by NAME.expect
 *     jit_run --dump FILE NAME KERNEL N
 *                                the words that line N of KERNEL's gives
 *
 * A line of NAME.expect: kernel, grid x y z, block x y z, seed, digest.
 */
#include "../api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IN_WORDS = 4096, HEAD = 64, EACH = 21 };

struct launch {
    char kernel[128];
    unsigned grid[3], block[3], seed;
    unsigned long long digest;
};

static const char *dump_file, *dump_kernel;
static int dump_at, shown, bad, good;

static char *read_text(const char *name, const char *suffix)
{
    char path[4096], *text;
    size_t size, got;
    FILE *f;

    snprintf(path, sizeof path, "%s%s", name, suffix);
    f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) {
        printf("FAIL %s: cannot read\n", path);
        exit(1);
    }
    size = (size_t)ftell(f);
    rewind(f);
    text = malloc(size + 1);
    got = text ? fread(text, 1, size, f) : 0;
    if (!text || got != size) {
        printf("FAIL %s: cannot read\n", path);
        exit(1);
    }
    text[size] = 0;
    fclose(f);
    return text;
}

static unsigned long long digest(const uint32_t *p, size_t n)
{
    unsigned long long h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static void dump(const uint32_t *p, size_t n)
{
    FILE *f = fopen(dump_file, "wb");

    if (!f || fwrite(p, 4, n, f) != n)
        printf("FAIL %s: cannot write\n", dump_file);
    if (f)
        fclose(f);
}

static void fill(const struct launch *l, uint32_t *in, uint32_t *out,
                 size_t words)
{
    uint32_t x = l->seed;

    for (uint32_t i = 0; i < IN_WORDS; i++) {
        x = x * 1664525 + 1013904223;
        in[i] = x ^ x >> 13;
    }
    for (size_t i = 0; i < words; i++)
        out[i] = i < HEAD ? 0 : 0xa5a50000u + (uint32_t)i;
}

static void check(const char *name, const struct launch *l, CUmodule module)
{
    const unsigned *g = l->grid, *b = l->block;
    size_t total = (size_t)g[0] * g[1] * g[2] * b[0] * b[1] * b[2];
    size_t words = HEAD + EACH * total;
    static uint32_t host_in[IN_WORDS];
    uint32_t *host = malloc(words * 4);
    CUdeviceptr in = 0, out = 0;
    CUfunction f = NULL;
    int n = (int)total;
    void *args[] = {&in, &out, &n};
    CUresult r;

    if (!host)
        exit(1);
    fill(l, host_in, host, words);
    r = cuModuleGetFunction(&f, module, l->kernel);
    if (!r)
        r = cuMemAlloc_v2(&in, sizeof host_in);
    if (!r)
        r = cuMemAlloc_v2(&out, words * 4);
    if (!r)
        r = cuMemcpyHtoD_v2(in, host_in, sizeof host_in);
    if (!r)
        r = cuMemcpyHtoD_v2(out, host, words * 4);
    if (!r)
        r = cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], 0, NULL, args,
                           NULL);
    if (!r)
        r = cuMemcpyDtoH_v2(host, out, words * 4);
    if (r) {
        printf("FAIL %s %s: %s\n", name, l->kernel, result_name(r));
        exit(1);
    }
    if (dump_file)
        dump(host, words);
    if (digest(host, words) == l->digest) {
        good++;
    } else {
        bad++;
        printf("FAIL %s %s grid %ux%ux%u block %ux%ux%u: another result "
               "than on the host\n",
               name, l->kernel, g[0], g[1], g[2], b[0], b[1], b[2]);
    }
    cuMemFree_v2(in);
    cuMemFree_v2(out);
    free(host);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(const char *name)
{
    char *ptx = read_text(name, ".ptx"), *expect = read_text(name, ".expect");
    char log[4096] = "", *line, *rest = expect;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    double start = now();
    CUresult r = cuModuleLoadDataEx(&module, ptx, 2, options, values);
    char seen[128] = "";
    int at = 0;

    if (getenv("JIT_RUN_TIMES"))
        printf("%s: compiled in %.0f ms\n", name, (now() - start) * 1e3);
    if (r) {
        printf("FAIL %s: %s\n%s\n", name, result_name(r), log);
        bad++;
        free(ptx);
        free(expect);
        return;
    }
    while ((line = strtok_r(rest, "\n", &rest))) {
        struct launch l;

        if (sscanf(line, "%127s %u %u %u %u %u %u %u %llx", l.kernel,
                   &l.grid[0], &l.grid[1], &l.grid[2], &l.block[0], &l.block[1],
                   &l.block[2], &l.seed, &l.digest) != 9) {
            printf("FAIL %s: bad line: %s\n", name, line);
            bad++;
            continue;
        }
        at = strcmp(seen, l.kernel) ? 0 : at + 1;
        strcpy(seen, l.kernel);
        if (dump_file && (strcmp(dump_kernel, l.kernel) || at != dump_at))
            continue;
        check(name, &l, module);
        shown++;
    }
    cuModuleUnload(module);
    free(ptx);
    free(expect);
}

int main(int argc, char **argv)
{
    int i = 1;

    if (argc == 6 && !strcmp(argv[1], "--dump")) {
        dump_file = argv[2];
        dump_kernel = argv[4];
        dump_at = atoi(argv[5]);
        argc = 4;
        i = 3;
    }
    test_start();
    test_need_compiler();
    for (; i < argc; i++)
        run(argv[i]);
    printf("%d launches alike, %d not\n", good, bad);
    return bad || !shown;
}
