/* SPDX-License-Identifier: MIT
 *
 * A folder of its own for each case, and the usual moves on a store in it.
 */
#ifndef KILN_TESTS_CACHE_FIXTURE_H
#define KILN_TESTS_CACHE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/cache.h"

struct fixture {
    char root[64]; /* made, removed at the end */
    char dir[80];  /* root/cache, not made */
    int warnings;  /* log lines at LOG_WARN while the case ran */
    char last[1024];
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

struct cache *open_store(const struct fixture *f, uint64_t max_size);
struct cache_key key_of(const char *name);
/* Look up; on a miss publish `value` as section "value". */
enum cache_result use(struct cache *cache, const char *name, const char *value);
/* Look up only; whether it is a hit whose value is right. */
int has(struct cache *cache, const char *name, const char *value);
/* Path of the entry in the fixture's folder. */
void entry_path(const struct fixture *f, const char *name, char path[256]);
/* Regular files and their bytes below a path. */
void count_files(const char *path, int *files, uint64_t *bytes);

#endif
