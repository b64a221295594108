/* SPDX-License-Identifier: MIT
 *
 * What an image depends on, as the fields of a cache key.
 */
#ifndef KILN_KERNEL_KEY_H
#define KILN_KERNEL_KEY_H

#include "cache/cache.h"
#include "compile/compile.h"
#include "compile/headers.h"

/* Raise when the fields or the entry's sections change their meaning. */
enum { KEY_SCHEMA = 1 };

/* Adds all fields. scan is the plan's. No path goes in, unless the result
 * can show one: then the paths are fields too. */
void key_fill(struct cache_key *key, const struct compiler *compiler,
              const struct plan *plan, const struct header_scan *scan);

/* Whether both scans met the same names with the same contents. */
int key_same_headers(const struct header_scan *a, const struct header_scan *b);

#endif
