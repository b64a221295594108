/* SPDX-License-Identifier: MIT
 *
 * PTX made to take long: each kind has `n` of something that a compiler may
 * go through again for each.
 */
#ifndef KILN_TESTS_UNIT_JIT_HOSTILE_H
#define KILN_TESTS_UNIT_JIT_HOSTILE_H

#include <stddef.h>

#include "base/buffer.h"

/* The name of a kind; NULL past the last. */
const char *hostile_kind(size_t index);

/* A module with a kernel k(p) of this kind; no bytes for an unknown kind. */
struct buffer hostile_make(const char *kind, int n);

#endif
