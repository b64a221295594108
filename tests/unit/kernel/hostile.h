/* SPDX-License-Identifier: MIT
 *
 * Files made to take long: each kind has as many as it can hold of something
 * that a reader might go through again for each.
 */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include <stddef.h>

#include "base/buffer.h"

/* The name of a kind; NULL past the last. */
const char *hostile_kind(size_t index);

/* A file of this kind of about `size` bytes; no bytes for an unknown kind. */
struct buffer hostile_make(const char *kind, size_t size);

#endif
