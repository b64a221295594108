/* SPDX-License-Identifier: MIT
 *
 * The environment, which a set-uid program must not believe.
 */
#ifndef KILN_BASE_ENV_H
#define KILN_BASE_ENV_H

#include <stdint.h>

/* The value, or NULL when unset, empty, or when the program runs with more
 * rights than its caller (AT_SECURE). */
const char *env_get(const char *name);
/* 1 for "1", "true", "yes", "on"; 0 for anything else. */
int env_flag(const char *name);
/* Bytes, with K, M or G behind the number: 1 with *out set; 0 when unset, -1
 * when it makes no sense. */
int env_bytes(const char *name, uint64_t *out);
/* Whether the process runs with more rights than its caller. */
int env_secure(void);

#endif
