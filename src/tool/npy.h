/* SPDX-License-Identifier: MIT
 *
 * The header of NumPy's .npy files: what the elements are and how many.
 */
#ifndef KILN_TOOL_NPY_H
#define KILN_TOOL_NPY_H

#include <stdio.h>

#include "tool/argument.h"

/* Whether a path names such a file. */
int npy_is(const char *path);
/* Reads the header; what follows is the data. 0, or -1 with a sentence when
 * it is none, or not of this type and count. */
int npy_read_header(FILE *from, const struct element_type *type, uint64_t count,
                    char *why, size_t why_size);
/* One dimension of count elements. 0 or -1, with errno. */
int npy_write_header(FILE *to, const struct element_type *type, uint64_t count);

#endif
