/* SPDX-License-Identifier: MIT
 *
 * The prototypes of every lowering that lower.def names.
 */
#ifndef KILN_CPU_JIT_LOWER_RULES_H
#define KILN_CPU_JIT_LOWER_RULES_H

#include "cpu/jit/lower_impl.h"

#define RULE(op, first, second, mods, rounds, fn) lower_fn lower_##fn;
#include "cpu/jit/lower.def"
#undef RULE

#endif
