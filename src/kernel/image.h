/* SPDX-License-Identifier: MIT
 *
 * Filling a kiln_image. Each function returns 0, or -1 when memory is out
 * (the image then is still good for kiln_image_free).
 */
#ifndef KILN_KERNEL_IMAGE_H
#define KILN_KERNEL_IMAGE_H

#include "kernel/handle.h"

int image_set_bytes(struct kiln_image *image, const void *bytes, size_t size);
int image_add_symbol(struct kiln_image *image, const char *name,
                     const char *symbol);

#endif
