/* SPDX-License-Identifier: MIT
 *
 * Elementwise instructions: those whose result in a lane depends on that
 * lane's operands alone. One lowering serves scalars (uniform values) and
 * vectors (one chunk of a warp): LLVM's instructions take both.
 *
 * Values are raw bits: a register of N bits is iN or <lanes x iN>, a
 * predicate i1 or <lanes x i1>; floats are bit-cast at use.
 */
#ifndef KILN_CPU_JIT_LOWER_H
#define KILN_CPU_JIT_LOWER_H

#include "base/status.h"
#include "cpu/jit/llvm.h"
#include "cpu/ptx/ptx.h"

struct lower {
    LLVMContextRef ctx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    unsigned lanes; /* 0: the values are scalars */
    int flush;      /* the function runs with FTZ and DAZ set, so that .ftz
                     * needs no code of its own */
    int has_avx512; /* avx512f, bw, dq, vl: x86 intrinsics may be used */
    int has_f16c;
    /* The carry flag, i1 per lane: in for addc, subc, madc; out (set by the
     * lowering) for .cc forms. */
    LLVMValueRef carry;
};

/* Whether lower_insn handles this instruction, all of its modifiers and
 * types included. */
int lower_knows(const struct ptx_insn *insn);

/* Lower one instruction at l->b. src: the source operands in order (without
 * destinations), each of its register's width, immediates at the width of the
 * instruction's type for that operand; narrower types use the low bits.
 * dst_bits: the destination registers' widths (1: predicate); dst[i] gets a
 * value of exactly that width, extended as PTX ISA 9.4.1 (operand size
 * exceeding instruction-type size) and cvt's rules say; a sink's entry is
 * left out by dst_bits 0. Never traps: divisors of zero, INT_MIN / -1, shifts
 * past the width and conversions out of range are defined as PTX has them.
 * E_NOT_SUPPORTED with "line N: MNEMONIC: ..." otherwise. */
enum kiln_status lower_insn(struct lower *l, const struct ptx_insn *insn,
                            const LLVMValueRef *src, const unsigned *dst_bits,
                            LLVMValueRef *dst, struct kiln_error *err);

/* The iN (or vector) type of `bits`, 1 for predicates, for l->lanes. */
LLVMTypeRef lower_int_type(const struct lower *l, unsigned bits);
/* A constant of that type, the same in each lane. */
LLVMValueRef lower_int(const struct lower *l, unsigned bits, uint64_t value);
/* Call an LLVM intrinsic overloaded on `types`. */
LLVMValueRef lower_intrinsic(struct lower *l, const char *name,
                             LLVMTypeRef *types, unsigned type_count,
                             LLVMValueRef *args, unsigned arg_count);

#endif
