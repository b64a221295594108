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
    HUGE_LOOPS = 100, /* each goes through MemorySSA when code is hoisted */
    LARGE_MADE = 80000,
    HUGE_MADE = 400000,
    DEFAULT_SECONDS = 60
};

struct effort_size effort_size(const struct ptx_func *f)
{
    struct effort_size n = {.insns = f->insn_count};

    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];

        if (p->op != PTX_OP_BRA)
            continue;
        n.jumps++;
        n.branches += p->guard >= 0;
        n.loops += p->operands[0].kind == PTX_OPERAND_LABEL &&
                   f->labels[p->operands[0].label].insn <= i;
    }
    return n;
}

enum effort effort_of(const struct ptx_func *f)
{
    struct effort_size n = effort_size(f);

    if (n.insns > HUGE_INSNS || n.jumps > HUGE_BRANCHES || n.loops > HUGE_LOOPS)
        return EFFORT_HUGE;
    if (n.insns > LARGE_INSNS || n.jumps > LARGE_BRANCHES)
        return EFFORT_LARGE;
    return EFFORT_FULL;
}

enum effort effort_of_made(size_t made)
{
    return made > HUGE_MADE    ? EFFORT_HUGE
           : made > LARGE_MADE ? EFFORT_LARGE
                               : EFFORT_FULL;
}

size_t effort_count(LLVMValueRef fn)
{
    size_t n = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            n++;
    return n;
}

/* Seconds that the variable gives, else `otherwise`. */
static double seconds_of(const char *name, double otherwise)
{
    const char *text = env_get(name);
    char *end = NULL;
    double seconds = text ? strtod(text, &end) : otherwise;

    if (text && (end == text || *end || !(seconds >= 0 && seconds < 1e6)))
        return otherwise;
    return seconds;
}

uint64_t effort_deadline(void)
{
    return clock_ns() +
           (uint64_t)(seconds_of("KILN_JIT_SECONDS", DEFAULT_SECONDS) * 1e9);
}

uint64_t effort_end(void)
{
    const double seconds = seconds_of("KILN_JIT_LIMIT", 0);

    return seconds > 0 ? clock_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}
