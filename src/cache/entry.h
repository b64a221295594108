/* SPDX-License-Identifier: MIT
 *
 * The bytes of an entry (docs/format-cache.md, "An entry"): written and
 * checked here, without a file in sight.
 */
#ifndef KILN_CACHE_ENTRY_H
#define KILN_CACHE_ENTRY_H

#include "cache/cache.h"

enum { ENTRY_HEADER = 48, ENTRY_ROW = 32, ENTRY_SECTIONS_MAX = 64 };

/* No entry is larger: what is read is bounded before it is allocated. */
#define ENTRY_LARGEST ((uint64_t)1 << 30)

/* Append the entry's bytes to out. E_MEMORY, or E_INVALID for a section
 * table that cannot be written. */
enum kiln_status entry_write(const struct cache_key *key,
                             const struct cache_section *sections, size_t count,
                             uint64_t expires, uint64_t published,
                             struct buffer *out, struct kiln_error *err);

/* Check everything but the key. E_FORMAT names what is wrong. */
enum kiln_status entry_check(const unsigned char *bytes, size_t size,
                             struct kiln_error *err);

/* Of checked bytes: end of life, 0 for none. */
uint64_t entry_expires(const unsigned char *bytes);

#endif
