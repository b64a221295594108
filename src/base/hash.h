/* SPDX-License-Identifier: MIT
 *
 * SHA-256 through libcrypto.
 */
#ifndef KILN_BASE_HASH_H
#define KILN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_SIZE = 32, HASH_HEX = 65 };

struct hash {
    uint8_t bytes[HASH_SIZE];
};

struct hasher;                   /* one running digest, heap */
struct hasher *hasher_new(void); /* NULL: out of memory */
void hasher_add(struct hasher *h, const void *bytes, size_t n);
/* Ends the digest and frees h. 0, or -1 when any step failed. */
int hasher_take(struct hasher *h, struct hash *out);
void hasher_free(struct hasher *h);

/* One digest in one call; 0 or -1. */
int hash_bytes(const void *bytes, size_t n, struct hash *out);
void hash_hex(const struct hash *h, char hex[HASH_HEX]);

#endif
