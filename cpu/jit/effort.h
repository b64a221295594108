/* SPDX-License-Identifier: MIT
 *
 * How much work a kernel gets, by its size. LLVM's passes and some of what
 * they find in code made for warps take more than linear time, so what is
 * welcome in a kernel of some hundred instructions is not in one of a hundred
 * thousand. Time and code stay in proportion to the PTX.
 */
#ifndef KILN_CPU_JIT_EFFORT_H
#define KILN_CPU_JIT_EFFORT_H

#include <stdint.h>

#include "cpu/ptx/ptx.h"

enum effort {
    EFFORT_FULL,  /* both launch shapes, all passes */
    EFFORT_LARGE, /* one function for all launch shapes, linear passes */
    EFFORT_HUGE,  /* no pass that is not needed, short blocks */
    EFFORTS
};

/* By instructions and branches of the kernel, its calls expanded. */
enum effort effort_of(const struct ptx_func *f);

/* KILN_JIT_SECONDS: from then on, in clock_ns() time, what is left of a
 * module is compiled as if it were huge. */
uint64_t effort_deadline(void);

#endif
