/* SPDX-License-Identifier: MIT
 *
 * Inputs. Integer code alone decides them, so that they are the same
 * everywhere: a hash of (operand, number) and tables of edges.
 *
 * Kinds: c w i l integers of 8 (in a word), 16, 32, 64 bits; h g f d f16,
 * bf16, f32, f64; H G W F two f16, bf16, 16-bit integers, f32 in a register;
 * A B E T C D parts of matrices, 64 bits of f16, bf16, 8-bit floats, tf32, f32,
 * f64; s shift amounts, q bit positions and lengths, x selectors of prmt, j
 * lanes, k small integers, p predicates (bit 0).
 */
#include <stdlib.h>
#include <string.h>

#include "fidelity.h"

enum { MATRIX_EDGES = 1024 };

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* In order of importance: a product of three takes the first of each. */
static const uint32_t floats[] = {
    0,          0x80000000, 0x3f800000, 0x7f800000, 0x7fc00000, 0x00000001,
    0xbf800000, 0x7f7fffff, 0xff800000, 0x00800000, 0x7f800001, 0x807fffff,
    0x3f800001, 0x33800000, 0xff7fffff, 0x3f000000, 0x007fffff, 0x80000001,
    0x3f7fffff, 0x3fc00000, 0xbfc00000, 0x40000000, 0x80800000, 0x4b800000,
    0xffc12345, 0x7fa00000, 0x7fffffff, 0xffffffff, 0x40200000, 0xc0200000,
    0x40600000, 0xbf000000, 0x3effffff, 0x3f000001, 0x4b000000, 0x4b7fffff,
    0x4afffffd, 0x7f000000, 0x7e800000, 0x01000000, 0x00800001, 0x00ffffff,
    0x33000000, 0x34000000, 0x477fe000, 0x477fefff, 0x477ff000, 0x3f801000,
    0x3f803000, 0x3f808000, 0x3f818000, 0x4effffff, 0x4f000000, 0xcf000000,
    0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000,
    0x42fe0000, 0x43000000, 0x40490fdb, 0x1f800000, 0x42ff0000, 0x437f0000,
    0x437f8000, 0x43800000, 0xc3000000, 0xc3008000, 0xc3010000, 0x46fffe00,
    0x46ffff00, 0x47000000, 0xc7000000, 0xc7000100, 0x477fff00, 0x477fff80,
    0x47800000, 0x5effffff, 0x5f7fffff, 0x33000001, 0x32ffffff, 0x387fc000,
    0x387fe000, 0x387ff000, 0x38800000, 0x33c00000, 0x3f808001, 0x3f807fff,
    0x3f801001, 0x3f800fff, 0x7f7f8000, 0x7f7f7fff, 0x7f7f0000, 0x43e00000,
    0x43e7ffff, 0x43e80000, 0x43e80001, 0x43f00000, 0x47600000, 0x476fffff,
    0x47700000, 0x3b000000, 0x3a800000, 0x3a800001, 0x37800000, 0x37000000,
    0x3fffffff, 0x3ffff000, 0x3fffe000, 0x42b17218, 0xc2aeac50, 0x3e800000,
    0x3fb504f3, 0x3fb8aa3b, 0x4b7ffffe, 0xc0e00000, 0x3f490fdb, 0x40c90fdb,
    0x43000001, 0xc2fc0000, 0xc3150000, 0xc3150001, 0x7f7ffffe, 0x20000000};
static const uint64_t doubles[] = {0,
                                   0x8000000000000000,
                                   0x3ff0000000000000,
                                   0x7ff0000000000000,
                                   0x7ff8000000000000,
                                   1,
                                   0xbff0000000000000,
                                   0x7fefffffffffffff,
                                   0xfff0000000000000,
                                   0x0010000000000000,
                                   0x7ff0000000000001,
                                   0x800fffffffffffff,
                                   0x3ff0000000000001,
                                   0x3ca0000000000000,
                                   0xffefffffffffffff,
                                   0x3fe0000000000000,
                                   0x000fffffffffffff,
                                   0x8000000000000001,
                                   0x3fefffffffffffff,
                                   0x3ff8000000000000,
                                   0xbff8000000000000,
                                   0x4000000000000000,
                                   0x8010000000000000,
                                   0x4340000000000000,
                                   0xfff8000012345678,
                                   0xffffffffffffffff,
                                   0x4004000000000000,
                                   0xc004000000000000,
                                   0x400c000000000000,
                                   0xbfe0000000000000,
                                   0x3fdfffffffffffff,
                                   0x3fe0000000000001,
                                   0x4330000000000000,
                                   0x432fffffffffffff,
                                   0x7fe0000000000000,
                                   0x0020000000000000,
                                   0x0010000000000001,
                                   0x36a0000000000000,
                                   0x36a0000000000001,
                                   0x3690000000000000,
                                   0x3690000000000001,
                                   0x380fffffc0000000,
                                   0x380fffffe0000000,
                                   0x380ffffff0000000,
                                   0x3810000000000000,
                                   0x380fffffffffffff,
                                   0x3ff0000010000000,
                                   0x3ff0000010000001,
                                   0x3ff000000fffffff,
                                   0x3ff0000030000000,
                                   0x3ff0020000000000,
                                   0x3ff0060000000000,
                                   0x40effc0000000000,
                                   0x40effdffffffffff,
                                   0x40effe0000000000,
                                   0x41dfffffffc00000,
                                   0x41dfffffffe00000,
                                   0x41e0000000000000,
                                   0xc1e0000000000000,
                                   0xc1e0000000200000,
                                   0x41efffffffe00000,
                                   0x41effffffff00000,
                                   0x41f0000000000000,
                                   0x43dfffffffffffff,
                                   0x43e0000000000000,
                                   0xc3e0000000000000,
                                   0xc3e0000000000001,
                                   0x43efffffffffffff,
                                   0x43f0000000000000,
                                   0x47efffffe0000000,
                                   0x47efffffefffffff,
                                   0x47effffff0000000,
                                   0x47f0000000000000,
                                   0x3e60000000000000,
                                   0x3e60000000000001,
                                   0x3e70000000000000,
                                   0x406fe00000000000,
                                   0x405fc00000000000,
                                   0x4060000000000000,
                                   0xc060000000000000,
                                   0xc060100000000000,
                                   0xc060200000000000,
                                   0x40dfffe000000000,
                                   0x40e0000000000000,
                                   0xc0e0000000000000,
                                   0xc0e0001000000000,
                                   0x40efffe000000000,
                                   0x40effff000000000,
                                   0x40f0000000000000,
                                   0x47efe00000000000,
                                   0x47eff00000000000,
                                   0x3810000000000001,
                                   0x400921fb54442d18,
                                   0x7fd0000000000000};
static const uint16_t halves[] = {
    0,      0x8000, 0x3c00, 0x7c00, 0x7e00, 1,      0xbc00, 0x7bff,
    0xfc00, 0x0400, 0x7c01, 0x83ff, 0x3c01, 0x1400, 0xfbff, 0x3800,
    0x03ff, 0x8001, 0x3bff, 0x3e00, 0xbe00, 0x4000, 0x8400, 0x6400,
    0xfe12, 0x7fff, 0xffff, 0x4100, 0xc100, 0x4300, 0xb800, 0x37ff,
    0x3801, 0x6800, 0x67ff, 0x7800, 0x0800, 0x0401, 0x07ff, 0x0200,
    0x0002, 0x4248, 0x5bf8, 0x5c00, 0xd800, 0x57f0, 0x5800, 0x77ff,
    0x7bfe, 0x3555, 0x4bff, 0x5bff, 0xcc00, 0x2e66, 0x1000, 0x0c00,
    0x5f00, 0x5f40, 0x5f80, 0x7b00, 0x7b80, 0x1800, 0x2000, 0x3f80};
static const uint16_t bfloats[] = {
    0,      0x8000, 0x3f80, 0x7f80, 0x7fc0, 1,      0xbf80, 0x7f7f,
    0xff80, 0x0080, 0x7f81, 0x807f, 0x3f81, 0x3c00, 0xff7f, 0x3f00,
    0x007f, 0x8001, 0x3f7f, 0x3fc0, 0xbfc0, 0x4000, 0x8080, 0x4300,
    0xffd2, 0x7fff, 0xffff, 0x4020, 0xc020, 0x4060, 0xbf00, 0x3eff,
    0x3f01, 0x4380, 0x437f, 0x7f00, 0x0100, 0x0081, 0x00ff, 0x0040,
    0x0002, 0x4049, 0x42fe, 0x4f00, 0xcf00, 0x4f7f, 0x4f80, 0x7e80,
    0x7f7e, 0x3eab, 0x4b00, 0x5f00, 0xdf00, 0x5f80, 0x3380, 0x3300,
    0x477f, 0x4780, 0x4700, 0xc700, 0x387f, 0x3880, 0x33c0, 0x2000};
static const uint64_t integers[] = {0,
                                    1,
                                    0xffffffffffffffff,
                                    0x8000000080008080,
                                    0x7fffffff7fff7f7f,
                                    2,
                                    0x8000000000000000,
                                    0x7fffffffffffffff,
                                    0xfffffffffffffffe,
                                    0x123456789abcdef0,
                                    0x00000000ffffffff,
                                    0x0000000080000000,
                                    0x000000007fffffff,
                                    0xffffffff00000000,
                                    3,
                                    0xffff,
                                    0x8000,
                                    0x7fff,
                                    0xff,
                                    0x80,
                                    0x7f,
                                    0xffffffff80000000,
                                    0xffffffff7fffffff,
                                    0xffffffffffff8000,
                                    0xffffffffffff7fff,
                                    0xffffffffffffff80,
                                    0xffffffffffffff7f,
                                    0x100,
                                    0x10000,
                                    0x100000000,
                                    0xfffffffffffffffd,
                                    7,
                                    10,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    0xffffff,
                                    0x800000,
                                    0x7fffff,
                                    0x1000000,
                                    0x1000001,
                                    0x1ffffff,
                                    0xffffffffff800000,
                                    0x1fffffffffffff,
                                    0x20000000000001,
                                    0x3fffffffffffffff,
                                    0x7ffffffffffffc00,
                                    0x7ffffffffffffbff,
                                    0x7ffffffffffffe00,
                                    0xfffffffffffff800,
                                    0xfffffffffffffbff,
                                    0x8000000000000001,
                                    0xdeadbeefcafebabe,
                                    0x5555555555555555,
                                    0xaaaaaaaaaaaaaaaa,
                                    0x00ff00ff00ff00ff,
                                    0x8080808080808080,
                                    0x7f7f7f7f7f7f7f7f,
                                    0x80007fff80007fff,
                                    0xfff,
                                    0x7fe,
                                    0xffef};
static const uint32_t large_amounts[] = {
    256,        257,        0x11f,      0x1001,     0x7fffffff,
    0x80000000, 0x80000001, 0xffffff00, 0xffffffe0, 0xffffffff};
static const uint32_t positions[] = {
    0,  1,  31,  32,  33,  63,  64,         65,         255, 2,
    16, 30, 127, 128, 256, 257, 0xffffffff, 0x80000000, 62,  8};
static const uint32_t selectors[] = {0x3210, 0x7654,     0xba98, 0xfedc, 0x0000,
                                     0x8888, 0x4567,     0x0123, 0x1032, 0x5410,
                                     0x7632, 0xffff3210, 0x9,    0x7,    0xf0f0,
                                     1,      2,          3,      4,      0x30};

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Independent numbers of one element's operand. */
static uint64_t draw(size_t i, unsigned operand, unsigned n)
{
    return mix(mix(i * 8 + operand) + n);
}

static unsigned edge_count(char kind)
{
    switch (kind) {
    case 'f':
        return COUNT(floats);
    case 'd':
        return COUNT(doubles);
    case 'h':
    case 'g':
    case 'H':
    case 'G':
        return COUNT(halves);
    case 's':
        return 256 + COUNT(large_amounts);
    case 'q':
        return COUNT(positions);
    case 'x':
        return COUNT(selectors);
    case 'j':
        return 40;
    case 'k':
        return 16;
    case 'p':
        return 2;
    case 'F':
        return COUNT(floats);
    default:
        return COUNT(integers);
    }
}
_Static_assert(COUNT(halves) == COUNT(bfloats), "one count for both");

static uint64_t edge(char kind, unsigned n)
{
    const unsigned other = (n * 7 + 3) % edge_count(kind);

    switch (kind) {
    case 'f':
        return floats[n];
    case 'F':
        return floats[n] | (uint64_t)floats[other] << 32;
    case 'd':
        return doubles[n];
    case 'h':
        return halves[n];
    case 'g':
        return bfloats[n];
    case 'H':
        return halves[n] | (uint32_t)halves[other] << 16;
    case 'G':
        return bfloats[n] | (uint32_t)bfloats[other] << 16;
    case 's':
        if (n < 34)
            return n;
        n -= 34;
        return n < COUNT(large_amounts) ? large_amounts[n]
                                        : n - COUNT(large_amounts) + 34;
    case 'q':
        return positions[n];
    case 'x':
        return selectors[n];
    case 'j':
    case 'k':
    case 'p':
        return n;
    default:
        return integers[n];
    }
}

/* Fraction bits, bits in all; 0: not a float. */
static int float_format(char kind, unsigned *fraction, unsigned *bits)
{
    switch (kind) {
    case 'h':
    case 'H':
        *fraction = 10, *bits = 16;
        return 1;
    case 'g':
    case 'G':
        *fraction = 7, *bits = 16;
        return 1;
    case 'f':
    case 'F':
        *fraction = 23, *bits = 32;
        return 1;
    case 'd':
        *fraction = 52, *bits = 64;
        return 1;
    default:
        return 0;
    }
}

static uint64_t low(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* An integer of at most 24 bits, halved `halvings` times, as a float. */
static uint64_t from_integer(int64_t v, unsigned halvings, unsigned fraction,
                             unsigned bits)
{
    const uint64_t bias = low(bits - fraction - 2);
    uint64_t sign = v < 0, m = (uint64_t)(v < 0 ? -v : v), top = 63;

    if (!m)
        return sign << (bits - 1);
    while (!(m >> top & 1))
        top--;
    m = top > fraction ? m >> (top - fraction) : m << (fraction - top);
    return sign << (bits - 1) | (bias + top - halvings) << fraction |
           (m & low(fraction));
}

static uint64_t random_float(char kind, size_t i, unsigned operand,
                             unsigned half, unsigned fraction, unsigned bits)
{
    static const uint8_t cuts[] = {3,  7,  10, 13, 16, 20, 22, 23,
                                   29, 32, 42, 45, 52, 8,  5,  2};
    const unsigned exponent_bits = bits - fraction - 1;
    const uint64_t bias = low(exponent_bits - 1);
    const uint64_t v = draw(i, operand, 1 + 8 * half) & low(bits);
    const uint64_t w = draw(i, operand, 2 + 8 * half);
    const uint64_t common = draw(i, 7, 3);
    const unsigned cut = cuts[w % COUNT(cuts)] % (fraction + 1);
    uint64_t e;

    switch (i % 8) {
    case 2: /* exponents near each other */
        e = (common % (2 * bias) + 1 + w % 7) & low(exponent_bits);
        return (v & ~(low(exponent_bits) << fraction)) | e << fraction;
    case 3: /* ties, and next to them */
        e = (bias - 32 % bias + (w >> 8) % 64) & low(exponent_bits);
        e = (v & ~(low(exponent_bits) << fraction) & ~low(cut)) | e << fraction;
        return (e | (cut ? UINT64_C(1) << (cut - 1) : 0)) + (w >> 16) % 3 - 1;
    case 4:
        return from_integer((int64_t)(w % 1024) - 512, (unsigned)(w >> 32) % 3,
                            fraction, bits);
    case 5:
        return edge(kind, (unsigned)(w % edge_count(kind))) >>
                   (half && bits < 64 ? bits : 0) &
               low(bits);
    case 6: /* of moderate size */
        e = bias - 8 + w % 16;
        return (v & ~(low(exponent_bits) << fraction)) | e << fraction;
    case 7: /* nearly the same or the opposite */
        e = (bias - 8 + common % 16) << fraction;
        return ((common >> 8 & low(fraction)) | e | (w & 1) << (bits - 1)) ^
               (w >> 8 & low((unsigned)(w >> 40) % 6));
    default:
        return v;
    }
}

static uint64_t random_integer(size_t i, unsigned operand)
{
    const uint64_t v = draw(i, operand, 1), w = draw(i, operand, 2);

    switch (i % 8) {
    case 2:
        return v >> w % 64;
    case 3: /* next to powers of two */
        return (UINT64_C(1) << w % 64) + (w >> 8) % 5 - 2;
    case 4:
        return w % 64 - 16;
    case 5:
        return integers[w % COUNT(integers)];
    case 6:
        return (uint64_t)((int64_t)v >> w % 64);
    case 7:
        return draw(i, 7, 3) ^ (w & low((unsigned)(w >> 40) % 8));
    default:
        return v;
    }
}

/* One element of a matrix; all lanes of a warp draw from one distribution, so
 * that sums of products round in all ways. */
static uint64_t random_element(uint64_t w, size_t warp, unsigned fraction,
                               unsigned bits)
{
    const unsigned exponent_bits = bits - fraction - 1;
    const uint64_t bias = low(exponent_bits - 1);
    const uint64_t most = 2 * bias; /* the greatest finite exponent */
    uint64_t v = w & low(bits) & ~(low(exponent_bits) << fraction), e;
    const uint64_t r = w >> 32;

    switch (warp % 8) {
    case 0:
        e = bias - 3 + r % 6;
        break;
    case 1:
        e = bias - (bias > 9 ? 8 : bias / 2) + r % (bias > 9 ? 16 : bias);
        break;
    case 2:
        e = r % (most + 1);
        break;
    case 3:
        return from_integer((int64_t)(r % 33) - 16, 0, fraction, bits);
    case 4: /* one and a little, of both signs: sums cancel */
        v &= ~low(fraction) | 3;
        e = bias;
        break;
    case 5: /* mostly zeros */
        if (r % 4)
            return v & UINT64_C(1) << (bits - 1);
        e = (r >> 8) % (most + 1);
        break;
    case 6: /* infinities, NaN, subnormals among others */
        e = r % 64 == 0 ? most + 1 : r % 64 == 1 ? 0 : bias - 3 + (r >> 8) % 6;
        if (r % 128 == 0)
            v &= ~low(fraction);
        break;
    default: /* small, to the subnormals */
        e = (r >> 8) % (bias / 2 + 1);
        break;
    }
    return v | e << fraction;
}

static uint64_t random_elements(char kind, size_t i, unsigned operand)
{
    static const struct {
        char kind;
        uint8_t fraction, bits;
    } formats[] = {{'A', 10, 16}, {'B', 7, 16},  {'E', 3, 8}, {'T', 23, 32},
                   {'C', 23, 32}, {'D', 52, 64}, {'V', 2, 8}};
    unsigned k = 0, bits;
    uint64_t v = 0;

    while (formats[k].kind != kind)
        k++;
    bits = formats[k].bits;
    for (unsigned n = 0; n < 64 / bits; n++) {
        const uint64_t w = draw(i, operand, 32 + n);

        /* 8 bits: their largest exponent is not all infinities. */
        v |= (bits == 8 && i / 32 % 2
                  ? w & 0xff
                  : random_element(w, i / 32, formats[k].fraction, bits))
             << n * bits;
    }
    return v;
}

static int is_matrix(char kind)
{
    return strchr("ABETCDV", kind) != NULL;
}

static uint64_t random_value(char kind, size_t i, unsigned operand)
{
    const uint64_t w = draw(i, operand, 2);
    unsigned fraction, bits;

    if (is_matrix(kind))
        return random_elements(kind, i, operand);

    if (float_format(kind, &fraction, &bits)) {
        uint64_t v = random_float(kind, i, operand, 0, fraction, bits);

        if (strchr("HGF", kind))
            v |= random_float(kind, i ^ (w >> 60), operand, 1, fraction, bits)
                 << bits;
        return v;
    }
    switch (kind) {
    case 's':
        return i % 4 ? w % 80 : i % 8 ? w : w % 256;
    case 'q':
        return i % 8 ? w % 72 : w >> w % 33;
    case 'x':
        return w & (i % 4 ? 0xffff : UINT64_MAX);
    case 'j':
        return i % 16 ? w % 33 : w;
    case 'k':
        return (w >> 8) % (1 + w % 8);
    default:
        return random_integer(i, operand);
    }
}

static size_t element_bytes(char kind)
{
    return strchr("whg", kind) ? 2 : strchr("ldFABETCDV", kind) ? 8 : 4;
}

static void put(struct fid_inputs *in, unsigned s, size_t i, uint64_t v)
{
    uint8_t *at = (uint8_t *)in->data[s] + i * in->bytes[s];

    for (size_t b = 0; b < in->bytes[s]; b++)
        at[b] = (uint8_t)(v >> 8 * b);
    in->digest = mix(in->digest ^ v);
}

uint64_t fid_input(const struct fid_inputs *in, unsigned operand, size_t i)
{
    const size_t n = in->bytes[operand];
    const uint8_t *at = (const uint8_t *)in->data[operand] + i * n;
    uint64_t v = 0;

    for (size_t b = 0; b < n; b++)
        v |= (uint64_t)at[b] << 8 * b;
    return v;
}

/* A third operand that nearly cancels the product of the first two, for every
 * other one of the elements whose operands are alike: fma must not round in
 * between. Single IEEE operations, the same on every host. */
static uint64_t cancelling(const struct fid_inputs *in, size_t i, uint64_t c)
{
    const uint64_t x = fid_input(in, 0, i), y = fid_input(in, 1, i);
    const uint64_t off = draw(i, 2, 5) % 4;

    if (!strcmp(in->kinds, "fff")) {
        const uint32_t a = (uint32_t)x, b = (uint32_t)y;
        float s, t;
        uint32_t v;

        memcpy(&s, &a, 4);
        memcpy(&t, &b, 4);
        s = -(s * t);
        memcpy(&v, &s, 4);
        return s == s ? v ^ off : c; /* which NaN is the host's affair */
    }
    if (!strcmp(in->kinds, "ddd")) {
        double s, t;
        uint64_t v;

        memcpy(&s, &x, 8);
        memcpy(&t, &y, 8);
        s = -(s * t);
        memcpy(&v, &s, 8);
        return s == s ? v ^ off : c;
    }
    return c;
}

/* How many edges of each operand fit into EDGE_MOST crossed; shift amounts
 * give way last. */
static void edge_shares(const char *kinds, unsigned n, unsigned *share)
{
    for (unsigned s = 0; s < n; s++)
        share[s] = edge_count(kinds[s]);
    for (;;) {
        unsigned widest = FID_IN, amounts = 0;
        size_t all = 1;

        for (unsigned s = 0; s < n; s++)
            all *= share[s];
        if (all <= EDGE_MOST)
            return;
        for (unsigned s = 0; s < n; s++) {
            if (kinds[s] == 's')
                amounts = share[s] > share[amounts] ? s : amounts;
            else if (share[s] > 7 &&
                     (widest == FID_IN || share[s] > share[widest]))
                widest = s;
        }
        if (widest == FID_IN)
            widest = kinds[amounts] == 's' ? amounts : n - 1;
        if (share[widest] > 2)
            share[widest]--;
        else
            share[0]--;
    }
}

void fid_inputs_make(struct fid_inputs *in, const char *kinds)
{
    const unsigned n = (unsigned)strlen(kinds);
    const int exhaustive = n == 1 && strchr("hgw", kinds[0]) != NULL;
    unsigned share[FID_IN];
    size_t edges = 1;

    memset(in, 0, sizeof *in);
    strcpy(in->kinds, kinds);
    edge_shares(kinds, n, share);
    if (is_matrix(kinds[0])) /* as good as any are the first */
        edges = 0;
    else
        for (unsigned s = 0; s < n; s++)
            edges *= share[s];
    /* Whole warps, so that a warp sees no end of the input. */
    in->edges = edges ? (unsigned)(edges + 31) / 32 * 32 : MATRIX_EDGES;
    in->count = in->edges + RANDOM_COUNT;
    for (unsigned s = 0; s < n; s++) {
        in->bytes[s] = element_bytes(kinds[s]);
        in->data[s] = fid_alloc(in->count, in->bytes[s]);
    }
    for (size_t i = 0; i < in->count; i++) {
        size_t left = i;

        for (unsigned s = 0; s < n; s++) {
            uint64_t v;

            if (i < edges)
                v = edge(kinds[s], (unsigned)(left % share[s]));
            else if (exhaustive && i - edges < 65536)
                v = i - edges;
            else
                v = random_value(kinds[s], i, s);
            if (i >= edges && s == 2 && i % 16 == 7)
                v = cancelling(in, i, v);
            left /= share[s];
            put(in, s, i, v);
        }
    }
}

void fid_inputs_free(struct fid_inputs *in)
{
    for (unsigned s = 0; s < FID_IN; s++)
        free(in->data[s]);
    memset(in, 0, sizeof *in);
}
