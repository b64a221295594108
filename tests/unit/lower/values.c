/* SPDX-License-Identifier: MIT
 *
 * See values.h.
 */
#include "values.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const uint64_t ints[] = {
    0,          1,          2,          3,          7,          8,
    31,         32,         33,         0x7f,       0x80,       0xff,
    0x100,      0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffff,
    0xffffff,   0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
    0xdeadbeef, 0xffff8000, 0xffffff80, 0xfffffffd, 0xfffffffe, 0xffffffff};
static const uint64_t longs[] = {0,
                                 1,
                                 2,
                                 7,
                                 63,
                                 64,
                                 0xff,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x1fffffffffffff,
                                 0x20000000000001,
                                 0x123456789abcdef0,
                                 0x3fffffffffffffff,
                                 0x7fffffffffffffff,
                                 0x7ffffffffffffc00,
                                 0x7ffffffffffffbff,
                                 0x8000000000000000,
                                 0x8000000000000001,
                                 0xfffffffffffff800,
                                 0xffffffff00000000,
                                 0xffffffff80000000,
                                 0xffffffff7fffffff,
                                 0xfffffffffffffffe,
                                 0xffffffffffffffff};
static const uint64_t amounts[] = {
    0,   1,   2,   7,   8,   15,     16,         17,        23, 24,
    30,  31,  32,  33,  47,  48,     63,         64,        65, 96,
    127, 128, 255, 256, 257, 0x1001, 0x80000000, 0xffffffff};
static const uint64_t floats[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x33800000, 0x38800000,
    0x387fc000, 0x3effffff, 0x3f000000, 0xbf000000, 0x3f000001, 0x3f7fffff,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3fc00000, 0xbfc00000, 0x40200000,
    0x40490fdb, 0x43000000, 0x43800000, 0x477fe000, 0x477fefff, 0x477ff000,
    0x47800000, 0x4b000000, 0x4b800001, 0x4f000000, 0x4effffff, 0xcf000000,
    0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f800000,
    0x7e800000, 0x7e800001, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff};
static const uint64_t doubles[] = {0,
                                   0x8000000000000000,
                                   1,
                                   0x8000000000000001,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x36a0000000000000,
                                   0x36a0000000000001,
                                   0x380fffffe0000000,
                                   0x380fffffffffffff,
                                   0x3810000000000000,
                                   0x3fdfffffffffffff,
                                   0x3fe0000000000000,
                                   0xbfe0000000000000,
                                   0x3feffffffffffffe,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   0x3ff0000010000000,
                                   0x3ff0000010000001,
                                   0x3ff0000030000000,
                                   0x3ff8000000000000,
                                   0x4004000000000000,
                                   0x40effc0000000000,
                                   0x40effdffffffffff,
                                   0x40effe0000000000,
                                   0x41dfffffffc00000,
                                   0x41dfffffffe00000,
                                   0x41e0000000000000,
                                   0xc1e0000000000000,
                                   0xc1e0000000200000,
                                   0x41efffffffe00000,
                                   0x41efffffffffffff,
                                   0x43e0000000000000,
                                   0x43dfffffffffffff,
                                   0xc3e0000000000000,
                                   0x43f0000000000000,
                                   0x47efffffe0000000,
                                   0x47efffffefffffff,
                                   0x47effffff0000000,
                                   0x47f0000000000000,
                                   0x7fefffffffffffff,
                                   0xffefffffffffffff,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0x7ff0000000000001,
                                   0xffffffffffffffff};
static const uint64_t halves[] = {
    0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401,
    0x07ff, 0x1400, 0x2e66, 0x37ff, 0x3800, 0xb800, 0x3801, 0x3bff, 0x3c00,
    0xbc00, 0x3c01, 0x3e00, 0x4100, 0x4248, 0x5bff, 0x6400, 0x7800, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe00, 0x7fff};
static const uint64_t bfloats[] = {
    0,      0x8000, 1,      0x8001, 0x007f, 0x807f, 0x0080, 0x8080, 0x0081,
    0x00ff, 0x2000, 0x3d4c, 0x3eff, 0x3f00, 0xbf00, 0x3f01, 0x3f7f, 0x3f80,
    0xbf80, 0x3f81, 0x3fc0, 0x4020, 0x4049, 0x437f, 0x4f00, 0x5f00, 0x7f00,
    0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x7fff};
static const uint64_t bits[] = {0, 1};
static const uint64_t positions[] = {0,  1,  2,  7,  8, 15, 16, 23,
                                     24, 29, 30, 31, 3, 5,  11, 19};
static const uint64_t offsets[] = {
    0,          1,          2,          3,          8,
    16,         31,         32,         33,         0xffffffff,
    0xfffffffe, 0xfffffff0, 0xffffffe0, 0x80000000, 0x7fffffff};

struct pool {
    char kind;
    const uint64_t *edges;
    size_t count;
    unsigned width;
};
static const struct pool pools[] = {
    {'i', ints, COUNT(ints), 32},       {'l', longs, COUNT(longs), 64},
    {'w', ints, COUNT(ints), 16},       {'s', amounts, COUNT(amounts), 32},
    {'f', floats, COUNT(floats), 32},   {'e', doubles, COUNT(doubles), 64},
    {'h', halves, COUNT(halves), 16},   {'b', bfloats, COUNT(bfloats), 16},
    {'z', floats, COUNT(floats), 64},   {'x', halves, COUNT(halves), 32},
    {'y', bfloats, COUNT(bfloats), 32}, {'q', positions, COUNT(positions), 5},
    {'j', offsets, COUNT(offsets), 32}, {'p', bits, COUNT(bits), 1},
    {'c', bits, COUNT(bits), 1},
};

static const struct pool *pool_of(char kind)
{
    for (size_t i = 0; i < COUNT(pools); i++)
        if (pools[i].kind == kind)
            return &pools[i];
    abort();
}

uint64_t harness_random(void)
{
    static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t cut(const struct pool *p, uint64_t v)
{
    return p->width == 64 ? v : v & ((UINT64_C(1) << p->width) - 1);
}

static uint64_t edge(const struct pool *p, uint64_t n)
{
    uint64_t v = p->edges[n % p->count];
    if (strchr("xyz", p->kind)) /* the other half: any other edge */
        v |= p->edges[(n * 7 + harness_random()) % p->count] << (p->width / 2);
    return cut(p, v);
}

/* Random bits; for floats often of moderate size, so that sums round. */
static uint64_t random_value(const struct pool *p)
{
    uint64_t v = harness_random();
    if (p->kind == 's')
        v = harness_random() % 3 ? v % 70 : v;
    if (p->kind == 'j')
        v = harness_random() % 40 - 20;
    if (p->kind == 'f' && v >> 63)
        v = (v & 0x83ffffff) | 0x3c000000;
    if (p->kind == 'e' && v >> 62 & 1)
        v = (v & UINT64_C(0x807fffffffffffff)) | UINT64_C(0x3f80000000000000);
    if ((p->kind == 'i' || p->kind == 'l') && harness_random() % 2)
        v >>= harness_random() % p->width;
    return cut(p, v);
}

static void fill_edges(struct values *v, const struct pool *const *p,
                       unsigned n, size_t pairs)
{
    for (size_t i = 0; i < pairs; i++) {
        uint64_t *in = &v->in[i * MAX_SOURCES];
        size_t left = i;
        for (unsigned s = 0; s < n; s++) {
            in[s] = s < 2 ? edge(p[s], left) : edge(p[s], harness_random());
            left /= p[s]->count;
        }
    }
}

void values_make(struct values *v, const struct form *form)
{
    const struct pool *p[MAX_SOURCES];
    unsigned n = (unsigned)strlen(form->kinds);
    size_t edges = 1, random = form->how == CLOSE ? 1u << 17 : 800;
    const char *more = getenv("KILN_TEST_CASES");
    if (more)
        random = strtoul(more, NULL, 10);
    for (unsigned s = 0; s < n; s++)
        p[s] = pool_of(form->kinds[s]);
    for (unsigned s = 0; s < n && s < 2; s++)
        edges *= p[s]->count;
    if (n > 2)
        edges *= 2;
    v->count = edges + random;
    v->in = calloc(v->count * MAX_SOURCES, sizeof *v->in);
    v->want = calloc(v->count * 3, sizeof *v->want);
    if (!v->in || !v->want)
        abort();
    fill_edges(v, p, n, edges);
    for (size_t i = edges; i < v->count; i++)
        for (unsigned s = 0; s < n; s++) {
            int sweep = form->how == CLOSE && n == 1 && p[s]->width == 32;
            v->in[i * MAX_SOURCES + s] =
                sweep ? ((i - edges) * 0x8000 + harness_random() % 0x8000) &
                            0xffffffff
                : harness_random() % 8 ? random_value(p[s])
                                       : edge(p[s], harness_random());
        }
    for (size_t i = 0; form->how != CLOSE && i < v->count; i++)
        form->ref(form, &v->in[i * MAX_SOURCES], &v->want[i * 3]);
}

void values_free(struct values *v)
{
    free(v->in);
    free(v->want);
}
