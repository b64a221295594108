/* SPDX-License-Identifier: MIT
 *
 * Which target to compile for. Pure: the compiler's list and the device's
 * figures in, a target and the rule that chose it out.
 */
#ifndef KILN_COMPILE_TARGET_H
#define KILN_COMPILE_TARGET_H

#include "compile/compile.h"

struct target {
    enum compile_kind kind;
    char name[32]; /* "sm_90", "compute_90" */
    char rule[160];
};

/* known: capabilities as 75, 90, 121 in any order; count 0: not told, all
 * are taken for known. asked may be NULL. compiler names it in messages. */
enum kiln_status target_choose(const char *asked,
                               const struct compile_device *device,
                               const int *known, size_t count,
                               const char *compiler, struct target *out,
                               struct kiln_error *err);

#endif
