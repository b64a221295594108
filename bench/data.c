/* SPDX-License-Identifier: MIT */
#include "data.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SAMPLES = 4096 };

void *data_grab(size_t bytes)
{
    const size_t page = 1 << 21;
    void *p = aligned_alloc(page, (bytes + page) & ~(page - 1));

    if (!p) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

size_t data_bytes(const struct kern *k, int j)
{
    return 4 * k->n[j];
}

int data_is_output(const struct kern *k, int j)
{
    return strchr("FUSZx", k->buf[j]) != NULL;
}

int data_is_reset(const struct kern *k, int j)
{
    return strchr("xZ", k->buf[j]) != NULL;
}

static uint32_t rnd(size_t i, uint32_t seed)
{
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)(z >> 32);
}

void data_fill(const struct kern *k, void **in, int j)
{
    const char c = k->buf[j];
    const size_t n = k->n[j];
    const uint32_t seed = (uint32_t)j;
    float *f = in[j];
    uint32_t *u = in[j];
    int *row = in[j];

    if (c == 'f' || c == 'x') {
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            f[i] = 0.5f + (float)(rnd(i, seed) >> 8) * 0x1p-24f;
    } else if (c == 'u' || c == 'q') {
        /* Columns are those of the vector in buffer 3. */
        const uint32_t cols = c == 'q' ? (uint32_t)k->n[3] : 0;

#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            u[i] = cols ? rnd(i, seed) % cols : rnd(i, seed);
    } else if (c == 'p') {
        /* Lengths from a quarter to seven quarters of the mean ints[1]. */
        const int mean = k->ints[1];

        for (size_t i = 1; i < n; i++)
            row[i] = row[i - 1] + mean / 4 +
                     (int)(rnd(i, seed) % (uint32_t)(mean * 3 / 2 + 1));
    }
}

static double value(const struct kern *k, void **b, int j, size_t i)
{
    const float *f = b[j];
    double sum = 0;

    if (k->buf[j] == 'S') {
        for (size_t e = 0; e < k->n[j]; e++)
            sum += f[e];
        return sum;
    }
    if (strchr("Fx", k->buf[j]))
        return f[i];
    return ((const uint32_t *)b[j])[i];
}

int data_check(const struct kern *k, void **in, void **b)
{
    size_t tested = 0;
    size_t wrong = 0;
    int output = 0;

    for (int j = 0; k->buf[j]; j++) {
        const size_t n = k->buf[j] == 'S' ? 1 : k->n[j];
        const size_t step = n > SAMPLES ? n / SAMPLES : 1;

        if (!data_is_output(k, j))
            continue;
        for (size_t s = 0; s < n; s += step, tested++) {
            size_t i = s + rnd(s, 99) % step;
            double want, got;

            if (i >= n)
                i = n - 1;
            want = k->gold(in, output, i);
            got = value(k, b, j, i);
            wrong += !(fabs(got - want) <= k->tol * (fabs(want) + k->scale));
        }
        output++;
    }
    return (double)wrong <= k->bad * (double)tested;
}

char *data_slurp(const char *file)
{
    enum { LIMIT = 1 << 17 };
    char path[4096];
    FILE *f;
    char *text = calloc(1, LIMIT);

    snprintf(path, sizeof path, "%s/%s", KILN_BENCH_FOLDER, file);
    f = fopen(file[0] == '/' ? file : path, "r");
    if (!f || !text || !fread(text, 1, LIMIT - 1, f)) {
        perror(file);
        exit(1);
    }
    fclose(f);
    return text;
}

char *data_source(const char *name)
{
    char *all = data_slurp("kernels.cu");
    char mark[64];
    char *from = all;
    char *end;
    char *cut;

    if (name) {
        snprintf(mark, sizeof mark, "/* @%s ", name);
        from = strstr(all, mark);
        if (!from) {
            fprintf(stderr, "bench: kernels.cu has no %s\n", mark);
            exit(1);
        }
    }
    end = strstr(from + 1, "/* @");
    if (end)
        *end = '\0';
    cut = strdup(from);
    free(all);
    return cut;
}
