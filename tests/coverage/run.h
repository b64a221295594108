/* SPDX-License-Identifier: MIT
 *
 * run_kernels: launches the kernels of a pack on the driver that
 * KILN_TEST_DRIVER names, and compares what they leave in memory with what
 * another device left. Its parts: what a kernel is given (inputs.c), one
 * kernel (launch.c), answers of another device (compare.c), processes that
 * do the work (workers.c), tables (run_main.c).
 *
 * Nobody knows what these kernels expect, so any of them may fault, or not
 * end. Each is run with several inputs, and twice with each, at different
 * addresses: what differs then (a stored address, threads that write one
 * word, memory that nobody wrote) is no result, and not compared.
 */
#ifndef KILN_TESTS_COVERAGE_RUN_H
#define KILN_TESTS_COVERAGE_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "pack.h"

enum { SEEDS = 4, MAX_SAMPLES = 192 };

/* How a run ended. */
enum run_end {
    RUN_NOT,     /* not tried, its process was lost before */
    RUN_CHANGED, /* finished, and memory is not what it was */
    RUN_SAME,    /* finished, nothing was written */
    RUN_VARIES,  /* finished twice, differently */
    RUN_REFUSED, /* the module was not loaded */
    RUN_LAUNCH,  /* the launch was refused */
    RUN_FAULT,   /* illegal address */
    RUN_TRAP,    /* trap, assertion, another failure of the kernel */
    RUN_LIMIT,   /* over the time limit */
    RUN_LOST,    /* the process died or had to be ended */
    RUN_ENDS
};
extern const char *const run_end_text[RUN_ENDS];

enum run_verdict {
    VERDICT_NONE,  /* there is no answer */
    VERDICT_EQUAL, /* to the bit */
    VERDICT_CLOSE, /* within the tolerance of its type */
    VERDICT_DIFFERS,
    VERDICT_OPEN,  /* differs, as it did when the answers were kept */
    VERDICT_OTHER, /* it did not end, or varied, on the other device */
    VERDICTS
};

/* Memory in units of 8 bytes. */
struct sample {
    uint32_t unit;
    uint64_t value;
};

struct run {
    enum run_end end;
    enum run_verdict verdict;
    int error;        /* CUresult */
    char why[120];    /* of a module that was refused: from the log */
    uint64_t digest;  /* of the units that changed, with their places */
    uint32_t changed; /* how many */
    double worst;     /* relative error, of VERDICT_CLOSE and _DIFFERS */
    uint32_t sample_count;
    struct sample samples[MAX_SAMPLES]; /* where it differs from the answer */
};

/* --- inputs.c ------------------------------------------------------------- */

/* All pointers lead into one block of memory, so that an access beyond a
 * buffer meets the same bytes on every device. */
struct inputs {
    unsigned char params[MAX_PARAM_BYTES];
    unsigned grid[3], block[3];
    uint64_t *image;
    size_t units;
};
/* Bytes of memory that the plan needs. */
size_t inputs_size(const struct plan *p);
/* With the memory at `base`; in->image has room for inputs_size bytes. */
void inputs_make(struct inputs *in, const struct plan *p, uint64_t key,
                 unsigned seed, uint64_t base);

/* --- compare.c ------------------------------------------------------------ */

struct answer {
    uint64_t key;
    unsigned seed;
    enum run_end end;
    int open; /* known to differ: compared, and not held against the device */
    uint64_t digest;
    uint32_t changed;
    uint32_t sample_count;
    struct sample *samples;
};
struct answers {
    struct answer *items; /* by key and seed */
    size_t count, cap;
    char device[96];
};
int answers_read(struct answers *a, const char *path);
const struct answer *answers_find(const struct answers *a, uint64_t key,
                                  unsigned seed);
void answers_free(struct answers *a);

/* Of a run that ended with RUN_CHANGED: verdict, worst and samples. */
void compare_run(struct run *run, const struct plan *plan,
                 const struct answer *answer, const uint64_t *before,
                 const uint64_t *after, size_t units);

/* --- launch.c ------------------------------------------------------------- */

/* The device's name; ends the process when there is none. */
void launch_open(char *name, size_t size);
/* The seeds of a kernel, all or those that finished on another device. 0, or
 * -1 when the process has to be replaced. */
int launch_kernel(const struct packed_kernel *k, const struct answers *answers,
                  int finished, struct run *runs, atomic_int *seed);

/* --- workers.c ------------------------------------------------------------ */

struct run_options {
    unsigned processes;
    unsigned seconds; /* for a kernel, with compiling */
    unsigned within;  /* no kernel is started after so many */
    int finished;     /* only runs that have a digest among the answers */
};
/* All kernels. The runs, SEEDS for each kernel, or NULL. */
struct run *workers_run(const struct pack *p, const struct answers *answers,
                        const struct run_options *options, char *device,
                        size_t device_size);

#endif
