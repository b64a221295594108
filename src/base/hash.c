/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>

#include "base/alloc.h"

struct hasher {
    EVP_MD_CTX *ctx;
    int bad;
};

/* Fetched once: OpenSSL 3 otherwise looks the algorithm up for each digest. */
static EVP_MD *sha256;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

struct hasher *hasher_new(void)
{
    struct hasher *h = kiln_zalloc(sizeof *h);

    if (!h)
        return NULL;
    pthread_once(&once, fetch);
    h->ctx = EVP_MD_CTX_new();
    if (!h->ctx || !sha256) {
        hasher_free(h);
        return NULL;
    }
    h->bad = EVP_DigestInit_ex2(h->ctx, sha256, NULL) != 1;
    return h;
}

void hasher_add(struct hasher *h, const void *bytes, size_t n)
{
    if (n && !h->bad)
        h->bad = EVP_DigestUpdate(h->ctx, bytes, n) != 1;
}

int hasher_take(struct hasher *h, struct hash *out)
{
    unsigned size = 0;
    int bad = h->bad || EVP_DigestFinal_ex(h->ctx, out->bytes, &size) != 1 ||
              size != HASH_SIZE;

    hasher_free(h);
    return bad ? -1 : 0;
}

void hasher_free(struct hasher *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    kiln_release(h);
}

int hash_bytes(const void *bytes, size_t n, struct hash *out)
{
    struct hasher *h = hasher_new();

    if (!h)
        return -1;
    hasher_add(h, bytes, n);
    return hasher_take(h, out);
}

void hash_hex(const struct hash *h, char hex[HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < HASH_SIZE; i++) {
        hex[2 * i] = digits[h->bytes[i] >> 4];
        hex[2 * i + 1] = digits[h->bytes[i] & 15];
    }
    hex[2 * HASH_SIZE] = 0;
}
