/* SPDX-License-Identifier: MIT
 *
 * Instruction forms to machine code: `void f(const uint64_t *in, uint64_t
 * *out)`, a slot of 64 bits a lane, source after source, destination after
 * destination, the carry flag third.
 */
#ifndef KILN_TESTS_LOWER_JIT_H
#define KILN_TESTS_LOWER_JIT_H

#include "harness.h"

struct jit;
struct jit_form {
    int ready;
    unsigned dst_bits[3];
};
int jit_has_avx512(void);
struct jit *jit_open(unsigned lanes, int flush, int level);
/* 1: the form failed to parse or to lower, said on stderr. A refusal for lack
 * of AVX-512 is none: made->ready stays 0. */
int jit_add(struct jit *jit, const struct form *form, unsigned index,
            struct jit_form *made);
void jit_link(struct jit *jit, int optimise);
void *jit_find(struct jit *jit, unsigned index);
void jit_close(struct jit *jit);

#endif
