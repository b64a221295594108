/* SPDX-License-Identifier: MIT
 *
 * The search for the beginning of a container, for the scan and for sources
 * that search by themselves.
 */
#ifndef KILN_IMAGE_FIND_H
#define KILN_IMAGE_FIND_H

#include <stddef.h>

/* What follows a place must be seen for it to be told from a mere number in
 * code: searches of parts overlap by so many bytes. */
enum { FIND_BEHIND = 7 };

/* The first place in n bytes where a container can begin: at a multiple of 4
 * from their start, or at any byte. n: none. */
size_t image_find(const void *bytes, size_t n, int anywhere);

#endif
