/* SPDX-License-Identifier: MIT
 *
 * The loader's cache, read without loading anything.
 */
#ifndef KILN_COMPILE_LDCACHE_H
#define KILN_COMPILE_LDCACHE_H

#include <stddef.h>

/* Calls visit for each library of this machine's kind whose name begins with
 * `prefix`, until it returns non-zero; returns that, or 0. A cache that is
 * missing or damaged has no libraries. */
int ldcache_each(const char *file, const char *prefix,
                 int (*visit)(void *data, const char *name, const char *path),
                 void *data);

#define LDCACHE_FILE "/etc/ld.so.cache"

#endif
