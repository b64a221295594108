/* SPDX-License-Identifier: MIT
 *
 * Instructions made of a row of forms.def: words of its modifiers, operands
 * as its patterns say. Most pass the checks of modifiers, and many those of
 * operands, so that a change of one token is tried behind all of them.
 */
#ifndef KILN_FUZZ_MUTATE_FORM_H
#define KILN_FUZZ_MUTATE_FORM_H

#include "base/buffer.h"
#include "cpu/ptx/ptx.h"
#include "fuzz/random.h"

enum form_name {
    FORM_REGISTER, /* of `bits` bits; 1: a predicate */
    FORM_VARIABLE, /* in the space that begins with `bits`; 0: any */
    FORM_LABEL,
    FORM_TABLE,
    FORM_FUNCTION
};

/* Where the names of an instruction come from: adds one to *out. */
struct form_names {
    void *from;
    void (*add)(void *from, struct rng *r, enum form_name kind, unsigned bits,
                struct buffer *out);
};

/* A guard perhaps, a mnemonic and operands, without the semicolon. */
void form_insn(const struct form_names *names, struct rng *r,
               struct buffer *out);
/* A mnemonic with modifiers of a row with as many operands; of `op`, unless
 * it is negative. Returns 0 when there is no such row. */
int form_mnemonic(int op, unsigned operands, struct rng *r, struct buffer *out);

#endif
