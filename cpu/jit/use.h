/* SPDX-License-Identifier: MIT */
#ifndef KILN_CPU_JIT_USE_H
#define KILN_CPU_JIT_USE_H

#include "cpu/jit/graph.h"

int use_is_index_type(enum ptx_type t);
/* Whether the result is linear in base + lane * stride operands. */
int use_is_linear(const struct ptx_insn *p);
/* Set address_only of each value. Before shapes are known. */
void use_find_address_only(struct graph *g);

/* range.c: the largest value of operand k, or of the result in `bits` bits;
 * UINT64_MAX where that is not known. */
uint64_t range_operand(const struct graph *g, const struct graph_insn *insn,
                       int k);
uint64_t range_result(const struct graph *g, const struct graph_insn *insn,
                      unsigned bits);

#endif
