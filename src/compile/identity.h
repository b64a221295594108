/* SPDX-License-Identifier: MIT
 *
 * Which compiler a file is, without loading it: a linker's build id names
 * the content of a library of 100 MB in a millisecond.
 */
#ifndef KILN_COMPILE_IDENTITY_H
#define KILN_COMPILE_IDENTITY_H

#include "base/hash.h"
#include "base/status.h"

/* Adds one file's identity: size and build id, or the whole content where
 * the file has no build id. */
enum kiln_status identity_add(struct hasher *h, const char *path,
                              struct kiln_error *err);

#endif
