/* SPDX-License-Identifier: MIT
 *
 * The file of answers: "KFIDELI1", the size unpacked (8 bytes), one zstd frame.
 * Unpacked, little-endian: the device's name (64 bytes), the number of cases
 * (4); for each its name (2 bytes of length, text), the digest of its inputs
 * (8), edges (4), words (1), whether it is an approximation (1), its largest
 * error (8); then all digests; then all edges.
 *
 * Edge results differ little from one rounding to the next, so each case's
 * are stored as the difference (exclusive or) from the last case of the same
 * size, by bytes of equal weight; zstd does the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "fidelity.h"

static const char magic[] = "KFIDELI1";

struct fid_answer *fid_answers_add(struct fid_answers *all, const char *name)
{
    struct fid_answer *a;

    if (all->count == all->capacity) {
        all->capacity = all->capacity ? all->capacity * 2 : 256;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (!all->items) {
            fprintf(stderr, "fidelity: no memory\n");
            exit(2);
        }
    }
    a = &all->items[all->count++];
    memset(a, 0, sizeof *a);
    a->name = fid_format("%s", name);
    return a;
}

const struct fid_answer *fid_answers_find(const struct fid_answers *all,
                                          const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (!strcmp(all->items[i].name, name))
            return &all->items[i];
    return NULL;
}

void fid_answers_free(struct fid_answers *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].name);
        free(all->items[i].edge);
    }
    free(all->items);
    memset(all, 0, sizeof *all);
}

static size_t edge_values(const struct fid_answer *a)
{
    return (size_t)a->edges * a->words;
}

/* The last case before `i` with as many values, or NULL. */
static const struct fid_answer *before(const struct fid_answers *all, size_t i)
{
    const struct fid_answer *a = &all->items[i];

    while (i-- > 0)
        if (all->items[i].edges == a->edges && all->items[i].words == a->words)
            return &all->items[i];
    return NULL;
}

/* --- writing --- */

static void put(FILE *f, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        putc((int)(v >> 8 * i & 0xff), f);
}

static void put_edges(FILE *f, const struct fid_answers *all, size_t i)
{
    const struct fid_answer *a = &all->items[i], *old = before(all, i);
    const size_t n = edge_values(a);

    for (unsigned byte = 0; byte < 4; byte++)
        for (size_t k = 0; k < n; k++)
            put(f, (a->edge[k] ^ (old ? old->edge[k] : 0)) >> 8 * byte, 1);
}

static void put_all(FILE *f, const struct fid_answers *all)
{
    fwrite(all->device, 1, sizeof all->device, f);
    put(f, all->count, 4);
    for (size_t i = 0; i < all->count; i++) {
        const struct fid_answer *a = &all->items[i];
        uint64_t worst;

        memcpy(&worst, &a->worst, 8);
        put(f, strlen(a->name), 2);
        fwrite(a->name, 1, strlen(a->name), f);
        put(f, a->inputs, 8);
        put(f, a->edges, 4);
        put(f, a->words, 1);
        put(f, (uint64_t)a->close, 1);
        put(f, worst, 8);
    }
    for (size_t i = 0; i < all->count; i++)
        for (unsigned k = 0; !all->items[i].close && k < DIGEST_COUNT; k++)
            put(f, all->items[i].digests[k], 8);
    for (size_t i = 0; i < all->count; i++)
        put_edges(f, all, i);
}

static void *pack(const void *bytes, size_t size, int level, size_t *packed)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    const size_t room = ZSTD_compressBound(size);
    void *out = fid_alloc(room, 1);

    if (!z)
        return NULL;
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 26);
    *packed = ZSTD_compress2(z, out, room, bytes, size);
    ZSTD_freeCCtx(z);
    return out;
}

int fid_answers_write(struct fid_answers *all, const char *path, int level)
{
    char *bytes = NULL;
    size_t size = 0, packed = 0;
    FILE *f = open_memstream(&bytes, &size);
    void *out;
    int bad;

    if (!f)
        return -1;
    put_all(f, all);
    fclose(f);
    out = pack(bytes, size, level, &packed);
    f = fopen(path, "wb");
    bad = !f || !out || ZSTD_isError(packed);
    if (!bad) {
        fwrite(magic, 1, 8, f);
        put(f, size, 8);
        bad = fwrite(out, 1, packed, f) != packed;
    }
    if ((f && fclose(f)) || bad) {
        fprintf(stderr, "fidelity: cannot write %s: %s\n", path,
                strerror(errno));
        bad = 1;
    }
    free(bytes);
    free(out);
    return bad ? -1 : 0;
}

/* --- reading: `at` moves to `end`; past it everything is 0 --- */

struct bytes {
    const uint8_t *at, *end;
    int bad;
};

static uint64_t get(struct bytes *b, unsigned bytes)
{
    uint64_t v = 0;

    if ((size_t)(b->end - b->at) < bytes) {
        b->bad = 1;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)*b->at++ << 8 * i;
    return v;
}

static void get_case(struct bytes *b, struct fid_answers *all)
{
    char name[512] = "";
    size_t n = get(b, 2);
    struct fid_answer *a;
    uint64_t worst;

    if (n >= sizeof name || (size_t)(b->end - b->at) < n) {
        b->bad = 1;
        return;
    }
    memcpy(name, b->at, n);
    b->at += n;
    a = fid_answers_add(all, name);
    a->inputs = get(b, 8);
    a->edges = (unsigned)get(b, 4);
    a->words = (unsigned)get(b, 1);
    a->close = (int)get(b, 1);
    worst = get(b, 8);
    memcpy(&a->worst, &worst, 8);
}

static void get_edges(struct bytes *b, struct fid_answers *all, size_t i)
{
    struct fid_answer *a = &all->items[i];
    const struct fid_answer *old = before(all, i);
    const size_t n = edge_values(a);

    if ((size_t)(b->end - b->at) < 4 * n) {
        b->bad = 1;
        return;
    }
    a->edge = fid_alloc(n, 4);
    for (unsigned byte = 0; byte < 4; byte++)
        for (size_t k = 0; k < n; k++)
            a->edge[k] |= (uint32_t)*b->at++ << 8 * byte;
    for (size_t k = 0; old && k < n; k++)
        a->edge[k] ^= old->edge[k];
}

static int get_all(struct bytes *b, struct fid_answers *all)
{
    size_t first = all->count, count;

    if (b->end - b->at < 64)
        return -1;
    memcpy(all->device, b->at, sizeof all->device);
    all->device[sizeof all->device - 1] = 0;
    b->at += 64;
    count = get(b, 4);
    for (size_t i = 0; i < count && !b->bad; i++)
        get_case(b, all);
    for (size_t i = first; i < all->count && !b->bad; i++)
        for (unsigned k = 0; !all->items[i].close && k < DIGEST_COUNT; k++)
            all->items[i].digests[k] = get(b, 8);
    for (size_t i = first; i < all->count && !b->bad; i++)
        get_edges(b, all, i);
    return b->bad || b->at != b->end ? -1 : 0;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long n;

    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 16) {
        rewind(f);
        bytes = fid_alloc((size_t)n, 1);
        *size = fread(bytes, 1, (size_t)n, f);
    }
    if (f)
        fclose(f);
    return bytes;
}

/* `all` must be empty: differences are from cases of the same file. */
int fid_answers_read(struct fid_answers *all, const char *path)
{
    size_t size = 0, whole;
    uint8_t *packed = read_file(path, &size), *bytes = NULL;
    struct bytes b = {packed, packed ? packed + size : NULL, 0};
    int bad = !packed || size < 16 || memcmp(packed, magic, 8);

    if (!bad) {
        b.at += 8;
        whole = get(&b, 8);
        bad = whole > (size_t)1 << 30;
        if (!bad) {
            bytes = fid_alloc(whole, 1);
            bad = ZSTD_decompress(bytes, whole, b.at, size - 16) != whole;
            b.at = bytes;
            b.end = bytes + whole;
        }
    }
    bad = bad || get_all(&b, all);
    if (bad)
        fprintf(stderr, "fidelity: %s: not a file of answers\n", path);
    free(packed);
    free(bytes);
    return bad ? -1 : 0;
}

/* --- digests --- */

static int half_is_nan(uint32_t v, uint32_t infinity)
{
    return (v & 0x7fff) > infinity;
}

static void one_nan_halves(uint32_t *v, uint32_t infinity)
{
    if (half_is_nan(*v & 0xffff, infinity))
        *v = *v >> 16 << 16 | 0x7fff;
    if (half_is_nan(*v >> 16, infinity))
        *v = (*v & 0xffff) | 0x7fff0000;
}

void fid_one_nan(char kind, uint32_t *planes, unsigned words, size_t n)
{
    const int halves = kind == 'h' || kind == 'g' || kind == 'H' || kind == 'G';
    const uint32_t infinity = kind == 'h' || kind == 'H' ? 0x7c00 : 0x7f80;

    for (size_t i = 0; halves && i < n * words; i++)
        one_nan_halves(&planes[i], infinity);
    for (size_t i = 0; (kind == 'f' || kind == 'F') && i < n * words; i++)
        if ((planes[i] & 0x7fffffff) > 0x7f800000)
            planes[i] = 0x7fffffff;
    for (unsigned w = 0; kind == 'd' && w + 1 < words; w += 2)
        for (size_t i = w * n; i < (w + 1) * n; i++) {
            const uint64_t v = planes[i] | (uint64_t)planes[n + i] << 32;

            if ((v & INT64_MAX) > UINT64_C(0x7ff) << 52) {
                planes[i] = 0xffffffff;
                planes[n + i] = 0x7fffffff;
            }
        }
}

uint64_t fid_digest(const uint32_t *planes, unsigned words, size_t n,
                    size_t from, size_t to)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (unsigned w = 0; w < words; w++)
        for (size_t i = from; i < to; i++) {
            h = (h ^ planes[w * n + i]) * UINT64_C(0x9e3779b97f4a7c15);
            h ^= h >> 29;
        }
    return h;
}
