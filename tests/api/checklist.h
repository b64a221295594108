/* SPDX-License-Identifier: MIT
 *
 * Kernels of a few lines, each run and its results checked.
 */
#ifndef KILN_TESTS_API_CHECKLIST_H
#define KILN_TESTS_API_CHECKLIST_H

#include <stdint.h>

enum { LIST_THREADS = 64, LIST_WORDS = 4 };

struct list_kernel {
    const char *name;
    unsigned version, target; /* 75: 7.5 and sm_75 */
    const char *directives;   /* of the kernel */
    const char *module;       /* declarations before it */
    const char *body;
};
/* What word w of thread t must be. */
typedef uint32_t list_expect(const void *data, unsigned t, unsigned w);

/* Says by a check whether it loads, runs and gives what is expected. Registers:
 * %o0 to %o3, the results, 0 at first; %h (16 bits), %r, %d (64), %p, %f, %e
 * (f64). */
void list_run(const struct list_kernel *k, list_expect *expect,
              const void *data);
/* Texts are printed and not run. */
extern int list_prints;

void list_atomics(void);

#endif
