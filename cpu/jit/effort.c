/* SPDX-License-Identifier: MIT
 *
 * The limits between sizes. They lie above what people write by hand: the
 * largest of the benchmark's kernels has 700 instructions, the main loops of
 * the libraries' matrix products 2,000 to 5,000.
 */
#include "cpu/jit/effort.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/env.h"

enum {
    LARGE_INSNS = 4000,
    LARGE_BRANCHES = 250,
    HUGE_INSNS = 20000,
    HUGE_BRANCHES = 1500,
    DEFAULT_SECONDS = 60
};

enum effort effort_of(const struct ptx_func *f)
{
    size_t branches = 0;

    for (size_t i = 0; i < f->insn_count; i++)
        branches += f->insns[i].op == PTX_OP_BRA;
    if (f->insn_count > HUGE_INSNS || branches > HUGE_BRANCHES)
        return EFFORT_HUGE;
    if (f->insn_count > LARGE_INSNS || branches > LARGE_BRANCHES)
        return EFFORT_LARGE;
    return EFFORT_FULL;
}

uint64_t effort_deadline(void)
{
    const char *text = env_get("KILN_JIT_SECONDS");
    char *end = NULL;
    double seconds = text ? strtod(text, &end) : (double)DEFAULT_SECONDS;

    if (text && (end == text || *end || !(seconds >= 0 && seconds < 1e6)))
        seconds = DEFAULT_SECONDS;
    return clock_ns() + (uint64_t)(seconds * 1e9);
}
