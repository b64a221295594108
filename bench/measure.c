/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data.h"
#include "ref.h"

const struct device *const devices[DEVICES] = {&device_kiln, &device_opencl};

static double clock_ms(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static double cpu_ms(void)
{
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID) / omp_get_max_threads();
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, by_double);
    return n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
}

/* The best of many short runs, for these are limits. */
void measure_limits(struct limits *out)
{
    enum { N = 1 << 26, Q = N / 4 };
    float *x = data_grab(4L * N);
    float *y = data_grab(4L * N);

    memset(out, 0, sizeof *out);
    out->threads = omp_get_max_threads();
    for (int r = 0; r < 200; r++) {
        float *from = x + r % 4 * Q;
        float *to = y + r % 4 * Q;
        double t0 = now_ms();
        double t1, t2;

        ref_copy(from, to, Q);
        t1 = now_ms();
        y[3] += ref_reduce(from, Q);
        t2 = now_ms();
        y[1] = 0.999f;
        y[2] = 0.001f;
        out->peak =
            fmax(out->peak, ref_peak(y + 1) * out->threads / (now_ms() - t2));
        out->read = fmax(out->read, 4. * Q / (t2 - t1));
        out->copy = fmax(out->copy, 8. * Q / (t1 - t0));
    }
    free(x);
    free(y);
}

/* Loads the kernel and launches it once; *ms is the time of that, less the
 * time of a launch of the same size afterwards. That launch is as small as
 * leaves PoCL's variant of the kernel the same (it has one for grids under
 * 65536 wide). */
static int first(const struct device *d, const struct kern *k, double *ms,
                 char *why)
{
    size_t grid[3] = {1, 1, 1};
    double again = INFINITY;
    double t0, t1;

    for (int i = 0; i < 3; i++)
        if (k->grid[i] * k->block[i] > 65535)
            grid[i] = 65536 / k->block[i] + 1;
    t0 = now_ms();
    if (d->load(k, why) || d->launch(grid, k->block, why))
        return -1;
    t1 = now_ms();
    for (int r = 0; r < 3; r++) {
        double t = now_ms();

        if (d->launch(grid, k->block, why))
            return -1;
        again = fmin(again, now_ms() - t);
    }
    *ms = t1 - t0 - again;
    return 0;
}

/* The buffers that one side works on: the inputs, and its own outputs. */
static void own_buffers(const struct kern *k, void **in, void **own)
{
    for (int j = 0; k->buf[j]; j++)
        own[j] = data_is_output(k, j) ? data_grab(data_bytes(k, j)) : in[j];
}

static void make_inputs(const struct kern *k, void **in)
{
    for (int j = 0; k->buf[j]; j++) {
        in[j] = data_grab(data_bytes(k, j));
        data_fill(k, in, j);
    }
}

double measure_warm(const struct device *d, const struct kern *k,
                    const char *folder)
{
    void *in[BUFFERS], *own[BUFFERS];
    double ms = NAN;
    char why[WHY] = "";

    make_inputs(k, in);
    own_buffers(k, in, own);
    if (d->open(folder, why) || d->compile(k, folder, why) ||
        d->buffers(k, in, own, why) || first(d, k, &ms, why))
        fprintf(stderr, "bench: %s\n", why);
    return ms;
}

static double warm_process(int device, const struct kern *k, const char *folder)
{
    char command[8192];
    char exe[4096] = "";
    double ms = NAN;
    FILE *f;

    if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
        return NAN;
    snprintf(command, sizeof command, "'%s' --warm %d %s '%s'", exe, device,
             k->name, folder);
    f = popen(command, "r");
    if (!f)
        return NAN;
    if (fscanf(f, "%lf", &ms) != 1)
        ms = NAN;
    pclose(f);
    return ms;
}

static void prepare(int side, const struct kern *k, const char *folder,
                    void **in, void **own, struct row *row)
{
    const struct device *d = devices[side];
    char *why = row->why[side];
    double t;

    if (d->open(folder, why))
        return;
    t = now_ms();
    if (d->compile(k, folder, why))
        return;
    row->source[side] = now_ms() - t;
    if (d->buffers(k, in, own, why))
        return;
    first(d, k, &row->cold[side], why);
}

/* Restores the buffers, runs, and leaves the times in slot r; -1: not. */
static int run_side(int side, const struct kern *k, void **in, void **own,
                    double *wall, double *cpu, char *why)
{
    double w, c;
    int bad = 0;

    if (side == OMP) {
        for (int j = 0; k->buf[j]; j++)
            if (data_is_reset(k, j))
                memcpy(own[j], in[j], data_bytes(k, j));
    } else if (devices[side]->reset(k, in, own, why)) {
        return -1;
    }
    w = now_ms();
    c = cpu_ms();
    if (side == OMP)
        k->ref(own);
    else
        bad = devices[side]->launch(k->grid, k->block, why);
    *wall = now_ms() - w;
    *cpu = cpu_ms() - c;
    return bad;
}

void measure_kernel(const struct kern *k, const struct limits *limits, int runs,
                    struct row *row)
{
    static double wall[SIDES][RUNS_MAX], cpu[SIDES][RUNS_MAX];
    char folder[SIDES][64];
    char command[256];
    void *in[BUFFERS], *own[SIDES][BUFFERS];

    memset(row, 0, sizeof *row);
    make_inputs(k, in);
    for (int s = 0; s < SIDES; s++) {
        row->wall[s] = row->cpu[s] = row->source[s] = NAN;
        row->cold[s] = row->warm[s] = NAN;
        own_buffers(k, in, own[s]);
        strcpy(folder[s], "/tmp/kiln-bench-XXXXXX");
        if (s == OMP)
            continue;
        if (!mkdtemp(folder[s])) {
            perror(folder[s]);
            exit(1);
        }
        prepare(s, k, folder[s], in, own[s], row);
    }
    for (int r = -1; r < runs; r++) /* run -1 warms up */
        for (int s = 0; s < SIDES; s++) {
            int slot = r < 0 ? 0 : r;

            if (!row->why[s][0])
                run_side(s, k, in, own[s], &wall[s][slot], &cpu[s][slot],
                         row->why[s]);
        }
    for (int s = 0; s < SIDES; s++) {
        if (row->why[s][0])
            continue;
        row->wall[s] = median(wall[s], runs);
        row->cpu[s] = median(cpu[s], runs);
        row->right[s] =
            (s == OMP || !devices[s]->fetch(k, own[s], row->why[s])) &&
            data_check(k, in, own[s]);
        if (s != OMP)
            row->warm[s] = warm_process(s, k, folder[s]);
    }
    suite_work(k, in, own[OMP], &row->mb, &row->mflop);
    row->limit = fmax(row->mb * 1e6 / fmax(limits->copy, limits->read),
                      row->mflop * 1e6 / limits->peak);
    for (int s = 0; s < DEVICES; s++) {
        snprintf(command, sizeof command, "rm -rf %s", folder[s]);
        if (system(command))
            fprintf(stderr, "bench: %s is left behind\n", folder[s]);
    }
}
