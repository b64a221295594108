/* SPDX-License-Identifier: MIT
 *
 * bench [NAME...]: measures these kernels (all) on Kiln's CPU device, on
 * PoCL and as OpenMP, in turn on the same data, checks every result, and
 * prints one row a kernel. RUNS=n: timed runs (9). Each kernel has a process
 * of its own, so that a crash costs one row.
 *
 * Exit status: 0 when Kiln's results are right for every kernel, else 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { CHILD_SECONDS = 300 };

static int runs_wanted(void)
{
    const char *text = getenv("RUNS");
    int runs = text ? atoi(text) : 9;

    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "bench: RUNS is %s; 1 to %d\n", text, RUNS_MAX);
        exit(2);
    }
    return runs;
}

static void cell(int width, int digits, double v)
{
    if (isnan(v))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, digits, v);
}

static void print_head(const struct limits *l, int runs)
{
    printf("# copy %.1f GB/s, read %.1f GB/s, peak %.0f GFLOP/s, %d threads,"
           " median of %d runs\n",
           l->copy / 1e6, l->read / 1e6, l->peak / 1e6, l->threads, runs);
    puts("# Times in milliseconds; ratios of wall times, below 1 Kiln is"
         " faster; % of what the machine's limits allow.\n"
         "# CUDA: source to PTX by NVRTC or clang; cold: PTX (Kiln) or source "
         "(PoCL) to the first launch, nothing"
         " cached; warm: the same in a new process.");
    printf("%-13s %8s %8s %8s %8s %9s %9s %8s %6s %6s %6s %8s %8s %8s %8s"
           "  %s\n",
           "kernel", "limit", "OpenMP", "PoCL", "Kiln", "Kiln/OMP", "Kiln/PoCL",
           "CPU K/O", "OMP %", "Kiln %", "CUDA", "K cold", "K warm", "P cold",
           "P warm", "results: Kiln PoCL OpenMP");
    fflush(stdout);
}

static const char *verdict(const struct row *r, int side)
{
    if (r->why[side][0])
        return "none";
    return r->right[side] ? "right" : "WRONG";
}

static void print_row(const struct kern *k, const struct row *r)
{
    enum { KILN, POCL };

    printf("%-13s", k->name);
    cell(8, 2, r->limit);
    cell(8, 2, r->wall[OMP]);
    cell(8, 2, r->wall[POCL]);
    cell(8, 2, r->wall[KILN]);
    cell(9, 2, r->wall[KILN] / r->wall[OMP]);
    cell(9, 3, r->wall[KILN] / r->wall[POCL]);
    cell(8, 2, r->cpu[KILN] / r->cpu[OMP]);
    cell(6, 1, 100 * r->limit / r->wall[OMP]);
    cell(6, 1, 100 * r->limit / r->wall[KILN]);
    cell(6, 0, r->source[KILN]);
    cell(8, 1, r->cold[KILN]);
    cell(8, 1, r->warm[KILN]);
    cell(8, 0, r->cold[POCL]);
    cell(8, 0, r->warm[POCL]);
    printf("  %s %s %s\n", verdict(r, KILN), verdict(r, POCL), verdict(r, OMP));
    for (int s = 0; s < SIDES; s++)
        if (r->why[s][0])
            printf("    %s\n", r->why[s]);
}

/* Runs this program again; its output goes to text (or to ours when text is
 * NULL). Returns the exit status, or 128 + the signal. */
static int again(char *const argv[], char *text, size_t size)
{
    int ends[2] = {-1, -1};
    size_t used = 0;
    int status;
    pid_t child;

    if (text && pipe(ends))
        return 1;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        if (text)
            dup2(ends[1], 1);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    if (text) {
        ssize_t n;

        close(ends[1]);
        while (used < size - 1 &&
               (n = read(ends[0], text + used, size - 1 - used)) > 0)
            used += (size_t)n;
        text[used] = '\0';
        close(ends[0]);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int orchestrate(int argc, char **argv, int runs)
{
    char text[256] = "";
    char numbers[3][32];
    struct limits l = {0};
    char *limits_argv[] = {argv[0], "--limits", NULL};
    int bad = 0;

    for (int j = 1; j < argc; j++)
        if (!suite_find(argv[j])) {
            fprintf(stderr, "bench: no kernel %s; there are:", argv[j]);
            for (size_t i = 0; i < suite_count; i++)
                fprintf(stderr, " %s", suite[i].name);
            fputs("\n", stderr);
            return 2;
        }
    if (again(limits_argv, text, sizeof text) ||
        sscanf(text, "%lf %lf %lf %d", &l.copy, &l.read, &l.peak, &l.threads) !=
            4)
        return 1;
    snprintf(numbers[0], sizeof numbers[0], "%.1f", l.copy);
    snprintf(numbers[1], sizeof numbers[1], "%.1f", l.read);
    snprintf(numbers[2], sizeof numbers[2], "%.1f", l.peak);
    print_head(&l, runs);
    for (size_t i = 0; i < suite_count; i++) {
        char name[64];
        char *one[] = {argv[0],    "--kernel", name, numbers[0],
                       numbers[1], numbers[2], NULL};
        int wanted = argc < 2;
        int status;

        for (int j = 1; j < argc; j++)
            wanted |= !strcmp(argv[j], suite[i].name);
        if (!wanted)
            continue;
        snprintf(name, sizeof name, "%s", suite[i].name);
        status = again(one, NULL, 0);
        if (status > 127)
            printf("%-13s ended by signal %d\n", name, status - 128);
        bad |= status != 0;
    }
    return bad;
}

static int one_kernel(char **argv, int runs)
{
    const struct kern *k = suite_find(argv[2]);
    struct limits l = {atof(argv[3]), atof(argv[4]), atof(argv[5]), 0};
    struct row row;

    if (!k)
        return 2;
    measure_kernel(k, &l, runs, &row);
    print_row(k, &row);
    return row.why[0][0] || !row.right[0];
}

int main(int argc, char **argv)
{
    int runs = runs_wanted();

    if (argc == 2 && !strcmp(argv[1], "--limits")) {
        struct limits l;

        measure_limits(&l);
        printf("%f %f %f %d\n", l.copy, l.read, l.peak, l.threads);
        return 0;
    }
    if (argc == 6 && !strcmp(argv[1], "--kernel"))
        return one_kernel(argv, runs);
    if (argc == 5 && !strcmp(argv[1], "--warm")) {
        int d = atoi(argv[2]);
        const struct kern *k = suite_find(argv[3]);

        if (d < 0 || d >= DEVICES || !k)
            return 2;
        printf("%f\n", measure_warm(devices[d], k, argv[4]));
        return 0;
    }
    return orchestrate(argc, argv, runs);
}
