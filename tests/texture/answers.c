/* SPDX-License-Identifier: MIT
 *
 * What another driver answered, read from a file and compared.
 *
 * FILE: for each case its name and a NUL, the number of words (4 bytes), and
 * they; for one that could not be run no word, and behind the name a tab and
 * why. The whole may be compressed by zstd.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "answers.h"

static unsigned char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = NULL;
    long n;

    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 &&
        (bytes = malloc((size_t)n))) {
        rewind(f);
        *size = fread(bytes, 1, (size_t)n, f);
    }
    if (f)
        fclose(f);
    return bytes;
}

int answers_open(struct answers *a, const char *path)
{
    size_t size = 0;
    unsigned char *bytes = read_all(path, &size);
    unsigned long long plain;

    memset(a, 0, sizeof *a);
    if (!bytes)
        return -1;
    plain = ZSTD_getFrameContentSize(bytes, size);
    if (plain == ZSTD_CONTENTSIZE_ERROR || plain == ZSTD_CONTENTSIZE_UNKNOWN) {
        a->bytes = bytes;
        a->size = size;
        return 0;
    }
    a->bytes = malloc(plain + 1);
    if (a->bytes)
        a->size = ZSTD_decompress(a->bytes, plain, bytes, size);
    free(bytes);
    return a->bytes && !ZSTD_isError(a->size) ? 0 : -1;
}

static int answers_next(struct answers *a, struct answer *out)
{
    const unsigned char *at = a->bytes + a->at;
    const unsigned char *nul =
        a->at < a->size ? memchr(at, 0, a->size - a->at) : NULL;
    uint32_t count;

    if (!nul || a->bytes + a->size - nul < 5)
        return 0;
    memcpy(&count, nul + 1, 4);
    if ((size_t)(a->bytes + a->size - nul - 5) / 4 < count)
        return 0;
    out->name = (const char *)at;
    out->count = count;
    out->words = nul + 5;
    a->at = (size_t)(nul + 5 - a->bytes) + (size_t)count * 4;
    return 1;
}

int answers_pack(const char *from, const char *to)
{
    size_t size = 0, room, n;
    unsigned char *bytes = read_all(from, &size), *packed;
    FILE *f = fopen(to, "wb");

    if (!bytes || !f)
        return 1;
    room = ZSTD_compressBound(size);
    packed = malloc(room);
    if (!packed)
        return 1;
    n = ZSTD_compress(packed, room, bytes, size, 22);
    if (ZSTD_isError(n) || fwrite(packed, 1, n, f) != n)
        return 1;
    free(bytes);
    free(packed);
    return fclose(f) != 0;
}

int answers_find(struct answers *a, const char *name, struct answer *out)
{
    const size_t n = strlen(name);

    /* in the order of the cases, as a rule: on from the last one */
    for (int turn = 0; turn < 2; turn++) {
        while (answers_next(a, out))
            if (!strncmp(out->name, name, n) &&
                (!out->name[n] || out->name[n] == '\t'))
                return 1;
        a->at = 0;
    }
    return 0;
}

static float float_of(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

/* NaN is any NaN, as in tests/fidelity. */
static int same(uint32_t a, uint32_t b, int is_float)
{
    return a == b || (is_float && isnan(float_of(a)) && isnan(float_of(b)));
}

void answers_compare(const struct answer *a, const uint32_t *words,
                     int is_float, struct difference *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < a->count; i++) {
        uint32_t theirs;
        double error;

        memcpy(&theirs, a->words + i * 4, 4);
        if (same(theirs, words[i], is_float))
            continue;
        if (!out->words++) {
            out->at = i;
            out->theirs = theirs;
            out->ours = words[i];
        }
        error = fabs((double)float_of(theirs) - (double)float_of(words[i]));
        if (!is_float || isnan(error))
            error = INFINITY;
        if (error > out->error)
            out->error = error;
    }
}
