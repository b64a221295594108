/* SPDX-License-Identifier: MIT
 *
 * Runs single PTX instructions through the parser, the lowering and LLVM on
 * scalars and vectors, in both flush modes, with and without AVX-512's
 * intrinsics, and compares every lane with a reference written from the ISA.
 */
#ifndef KILN_TESTS_LOWER_HARNESS_H
#define KILN_TESTS_LOWER_HARNESS_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_SOURCES = 5 };
enum compare {
    BITS,    /* every bit of the destination register */
    FLOAT32, /* the same, any NaN for a NaN */
    FLOAT64,
    FLOAT32X2,
    CLOSE /* an approximation: `error` says how far off */
};

/* clang-format off */
/*
 * One instruction form.
 *
 * text   registers as letters: q .b8, h .b16, r .b32, d .b64, p .pred; the
 *        harness numbers them. "setp.lt.and.s32 p|p, r, r, p"
 * kinds  a letter a source register, what to feed it:
 *          i l w   integers of 32, 64, 16 bits    s    shift amounts, lengths
 *          f e     f32, f64                       p    predicate
 *          h b     f16, bf16                      x y  packed ones
 *          z       f32x2                          c    the carry flag (last)
 *          q j     bit positions 0 to 31, small signed numbers
 * ref    results as the destination registers hold them; out[2] is the carry
 */
/* clang-format on */
struct form {
    const char *text;
    const char *kinds;
    void (*ref)(const struct form *form, const uint64_t *in, uint64_t *out);
    enum compare how;
    unsigned arg;
    /* CLOSE: how far `got` is off, in units of what is allowed: 1 is the
     * most. The largest is printed. */
    double (*error)(const struct form *form, const uint64_t *in, uint64_t got);
};

int form_has(const struct form *form, const char *modifier);
/* The n-th type of the mnemonic: letter 's', 'u', 'b', 'f' and its bits; bf16
 * is 'g', tf32 't'. An x2 type has `packed` set and the bits of a half. */
struct form_type {
    char letter;
    unsigned bits;
    int packed;
};
struct form_type form_type(const struct form *form, unsigned n);
/* Runs all forms in all configurations; returns how many failed. */
int harness_run(const struct form *forms, size_t count);

uint64_t harness_random(void);

#endif
