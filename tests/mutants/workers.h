/* SPDX-License-Identifier: MIT
 *
 * Processes that compile mutants, and what is known of each when it ends.
 */
#ifndef KILN_TESTS_WORKERS_H
#define KILN_TESTS_WORKERS_H

#include "mutants.h"

enum { MOST_WORKERS = 256 };

struct options {
    uint64_t first, count, workers, seconds, cpu_seconds, print;
    const char *keep, *driver;
};

/* What became of one mutant; small enough for a pipe to take it whole. */
struct report {
    uint64_t number;
    uint64_t cpu_ns;
    uint64_t object_size;
    uint32_t text_size;
    uint16_t outcome;
    uint8_t isa, level, hurried, changes, run;
    char why[256];
};
extern const char *const isa_names[3];

/* All mutants of the options, then a summary. 1 when there were findings. */
int workers_run(const struct options *o, const struct seeds *seeds);

/* tally.c: sums of reports. */
struct tally;
struct tally *tally_new(void);
void tally_add(struct tally *t, const struct report *r);
/* Number of findings. */
uint64_t tally_print(struct tally *t, double seconds);

#endif
