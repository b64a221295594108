/* SPDX-License-Identifier: MIT
 *
 * How much work a kernel gets, by its size. LLVM's passes and some of what
 * they find in code made for warps take more than linear time, so what is
 * welcome in a kernel of some hundred instructions is not in one of a hundred
 * thousand. Time and code stay in proportion to the PTX.
 */
#ifndef KILN_CPU_JIT_EFFORT_H
#define KILN_CPU_JIT_EFFORT_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/jit/llvm.h"
#include "cpu/ptx/ptx.h"

enum effort {
    EFFORT_FULL,  /* both launch shapes, all passes */
    EFFORT_LARGE, /* one function for all launch shapes, linear passes */
    EFFORT_HUGE,  /* no pass that is not needed, short blocks */
    EFFORTS
};

/* What is refused: code and time stay in proportion to the PTX. */
enum {
    EFFORT_MOST_INSNS = 200000, /* of a kernel with all that it calls */
    EFFORT_MOST_BRANCHES = 10000,
    EFFORT_MOST_LOOPS = 2000,
    EFFORT_MOST_OF_MODULE = 4000000, /* of a module's kernels together */
    EFFORT_MOST_MADE = 3000000       /* of LLVM's, that a kernel becomes */
};

/* Of a kernel, its calls expanded. A branch is a jump under a guard, a loop a
 * jump back; a return from a call is a jump. */
struct effort_size {
    size_t insns, jumps, branches, loops;
};
struct effort_size effort_size(const struct ptx_func *f);
enum effort effort_of(const struct ptx_func *f);

/* By LLVM's instructions: some of PTX become hundreds. */
enum effort effort_of_made(size_t made);
/* Of the function. */
size_t effort_count(LLVMValueRef fn);

/* KILN_JIT_SECONDS: from then on, in clock_ns() time, what is left of a
 * module is compiled as if it were huge. */
uint64_t effort_deadline(void);
/* KILN_JIT_LIMIT: from then on what is not begun is refused; UINT64_MAX where
 * there is none. */
uint64_t effort_end(void);

#endif
