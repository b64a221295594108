/* SPDX-License-Identifier: MIT
 *
 * Between the two halves of the checker: check.c matches operands with
 * patterns, rules.c holds what no pattern says.
 */
#ifndef KILN_CPU_PTX_CHECK_H
#define KILN_CPU_PTX_CHECK_H

#include "cpu/ptx/parse.h"

struct check {
    struct parser *p;
    struct ptx_insn *insn;
    struct ptx_func *func;
};

/* Whether a register of type `reg` may stand for an operand of `type`. */
int reg_suits(enum ptx_type type, enum ptx_type reg, int wider);
enum kiln_status check_rules(const struct check *c);
/* matrix.c: how many registers fragments have. */
enum kiln_status check_mma(const struct check *c);
enum kiln_status check_wmma(const struct check *c);
enum kiln_status check_matrices(const struct check *c);

#endif
