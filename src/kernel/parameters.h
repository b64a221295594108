/* SPDX-License-Identifier: MIT
 *
 * A kernel's parameters: from the driver where it tells (CUDA 12.4 and
 * later), else from the image; which of them are pointers, from the image
 * where it tells.
 */
#ifndef KILN_KERNEL_PARAMETERS_H
#define KILN_KERNEL_PARAMETERS_H

#include "kernel/handle.h"

/* NVIDIA's limit is 32764 bytes of them. */
enum { PARAMETERS_MAX = 4096 };

/* A heap array of *count, NULL for none. */
enum kiln_status parameters_read(struct kiln *kiln,
                                 const struct kiln_image *image,
                                 CUfunction function, const char *symbol,
                                 struct kiln_parameter **out, size_t *count,
                                 struct kiln_error *err);

/* From PTX text: the parameter list of .entry symbol. E_NOT_FOUND when the
 * text has no such entry, E_FORMAT when its list is not understood. compiled:
 * the text is a compiler's, which marks all pointers of a module or none; a
 * person may mark some. */
enum kiln_status parameters_from_ptx(const char *text, int compiled,
                                     const char *symbol,
                                     struct kiln_parameter **out, size_t *count,
                                     struct kiln_error *err);

/* The block that .reqntid demands, in PTX or machine code; zeros: none, or not
 * told. */
void required_block(const struct kiln_image *image, const char *symbol,
                    unsigned out[3]);
/* The same of PTX text. */
void required_block_ptx(const char *text, const char *symbol, unsigned out[3]);

#endif
