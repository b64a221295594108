/* SPDX-License-Identifier: MIT
 *
 * cp.reduce.async.bulk: 1024 bytes of shared memory added to, or the like, as
 * many bytes of global or shared memory, for each operation and type.
 */
#include "../api/api.h"
#include "floats.h"
#include "numbers.h"
#include "words.h"

#include <math.h>
#include <string.h>

enum { WORDS = 256, BEFORE = 1024 /* in's word that out's first word was */ };

/* What happens to two elements of `bits`. */
typedef uint64_t element_fn(uint64_t old, uint64_t x);

static const struct row {
    const char *op; /* and type */
    unsigned bits;
    int shared; /* has the form for shared memory too */
    element_fn *apply;
    uint32_t keep; /* bits of each word of the operands; 0: all */
} * row;

/* --- the operations --- */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b;
}
static uint64_t and (uint64_t a, uint64_t b)
{
    return a & b;
}
static uint64_t or (uint64_t a, uint64_t b)
{
    return a | b;
}
static uint64_t xor (uint64_t a, uint64_t b) { return a ^ b; } static uint64_t
    inc(uint64_t a, uint64_t b)
{
    return a >= b ? 0 : a + 1;
}
static uint64_t dec(uint64_t a, uint64_t b)
{
    return a == 0 || a > b ? b : a - 1;
}
static uint64_t min_u(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static uint64_t max_u(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static uint64_t min_s32(uint64_t a, uint64_t b)
{
    return (int32_t)a < (int32_t)b ? a : b;
}
static uint64_t max_s32(uint64_t a, uint64_t b)
{
    return (int32_t)a > (int32_t)b ? a : b;
}
static uint64_t min_s64(uint64_t a, uint64_t b)
{
    return (int64_t)a < (int64_t)b ? a : b;
}
static uint64_t max_s64(uint64_t a, uint64_t b)
{
    return (int64_t)a > (int64_t)b ? a : b;
}

static uint64_t add_f64(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&a, &x, 8);
    return a;
}

/* Subnormal numbers are zeros of their sign, as for atom in global memory. */
static float flushed(float x)
{
    return x < 0x1p-126f && x > -0x1p-126f ? x * 0 : x;
}

static uint64_t add_f32(uint64_t a, uint64_t b)
{
    const uint32_t bits[2] = {(uint32_t)a, (uint32_t)b};
    float x, y;
    uint32_t r;

    memcpy(&x, &bits[0], 4);
    memcpy(&y, &bits[1], 4);
    x = flushed(flushed(x) + flushed(y));
    memcpy(&r, &x, 4);
    return r;
}

static uint64_t add_f16(uint64_t a, uint64_t b)
{
    return half_encode(half_decode((uint32_t)a) + half_decode((uint32_t)b));
}

static uint64_t min_f16(uint64_t a, uint64_t b)
{
    return half_decode((uint32_t)a) < half_decode((uint32_t)b) ? a : b;
}

static double bfloat(uint64_t bits)
{
    return float_decode((uint32_t)bits, 8, 7, 1);
}

static uint64_t add_bf16(uint64_t a, uint64_t b)
{
    const double x = bfloat(a) + bfloat(b), size = fabs(x);
    const uint64_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    double m;

    if (size < 0x1p-126)
        return sign | (uint64_t)nearbyint(size * 0x1p133);
    m = frexp(size, &e);
    return sign | (((uint64_t)(e + 125) << 7) + (uint64_t)nearbyint(m * 256));
}

static uint64_t max_bf16(uint64_t a, uint64_t b)
{
    return bfloat(a) > bfloat(b) ? a : b;
}

/* Numbers of floats are finite, and small where subnormal ones matter. */
static const struct row rows[] = {
    {"add.u32", 32, 1, add, 0},
    {"add.s32", 32, 1, add, 0},
    {"add.u64", 64, 1, add, 0},
    {"min.u32", 32, 1, min_u, 0},
    {"max.u32", 32, 1, max_u, 0},
    {"min.s32", 32, 1, min_s32, 0},
    {"max.s32", 32, 1, max_s32, 0},
    {"min.u64", 64, 0, min_u, 0},
    {"max.u64", 64, 0, max_u, 0},
    {"min.s64", 64, 0, min_s64, 0},
    {"max.s64", 64, 0, max_s64, 0},
    {"inc.u32", 32, 1, inc, 0},
    {"dec.u32", 32, 1, dec, 0},
    {"and.b32", 32, 1, and, 0},
    {"or.b32", 32, 1, or, 0},
    {"xor.b32", 32, 1, xor, 0},
    {"and.b64", 64, 0, and, 0},
    {"or.b64", 64, 0, or, 0},
    {"xor.b64", 64, 0, xor, 0},
    {"add.f32", 32, 0, add_f32, 0xbfffffff},
    {"add.f32", 32, 0, add_f32, 0x80ffffff},
    {"add.f64", 64, 0, add_f64, 0xbfffffff},
    {"add.noftz.f16", 16, 0, add_f16, 0xbfffbfff},
    {"add.noftz.bf16", 16, 0, add_bf16, 0x83ff83ff},
    {"min.f16", 16, 0, min_f16, 0xbfffbfff},
    {"max.bf16", 16, 0, max_bf16, 0xbfffbfff},
};

/* --- kernels --- */

static uint32_t expected(uint32_t at)
{
    const uint32_t step = row->bits == 64 ? 2 : 1, from = at - at % step;
    uint64_t old = 0, x = 0, all = 0;

    for (uint32_t i = 0; i < step; i++) {
        old |= (uint64_t)in_words[BEFORE + from + i] << 32 * i;
        x |= (uint64_t)in_words[from + i] << 32 * i;
    }
    for (unsigned i = 0; i < 32 * step; i += row->bits) {
        const uint64_t mask = UINT64_MAX >> (64 - row->bits);

        all |= (row->apply(old >> i & mask, x >> i & mask) & mask) << i;
    }
    return (uint32_t)(all >> at % step * 32);
}

#define START                                                                  \
    "mov.u32 %%r5, room;\nshl.b32 %%r6, %%t, 2;\nadd.u32 %%r7, %%r5, %%r6;\n"  \
    "mul.wide.u32 %%x0, %%t, 4;\nadd.u64 %%x1, %%out, %%x0;\n"                 \
    "ld.shared.u32 %%r8, [%%r7+4096];\nsetp.eq.u32 %%p7, %%t, 0;\n"

/* Of all 256 threads the first asks for all of it. */
static const char to_global[] =
    START "st.global.u32 [%%x1], %%r8;\nfence.proxy.async;\nbar.sync 0;\n"
          "@!%%p7 bra OUT;\n"
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.%s "
          "[%%out], [%%r5], 1024;\n"
          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nOUT:\n";

static const char to_shared[] =
    START "add.u32 %%r30, %%r5, 32704;\n"
          "@%%p7 mbarrier.init.shared.b64 [%%r30], 1;\n"
          "st.shared.u32 [%%r7+16384], %%r8;\n"
          "fence.mbarrier_init.release.cluster;\nfence.proxy.async;\n"
          "bar.sync 0;\nadd.u32 %%r9, %%r5, 16384;\n"
          "@!%%p7 bra W;\n"
          "mbarrier.arrive.expect_tx.shared.b64 _, [%%r30], 1024;\n"
          "cp.reduce.async.bulk.shared::cluster.shared::cta"
          ".mbarrier::complete_tx::bytes.%s [%%r9], [%%r5], 1024, [%%r30];\n"
          "W: mbarrier.try_wait.parity.shared.b64 %%p2, [%%r30], 0;\n"
          "@!%%p2 bra W;\nld.shared.u32 %%r8, [%%r7+16384];\n"
          "st.global.u32 [%%x1], %%r8;\n";

static void run(const char *text, const char *to)
{
    char body[2048], name[96];

    put(body, 0, sizeof body, text, row->op);
    put(name, 0, sizeof name, "cp.reduce.async.bulk.%s to %s memory", row->op,
        to);
    words_run(name, 90, WORDS, body, WORDS, expected);
}

int main(void)
{
    test_start();
    test_need_compiler();
    words_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        row = &rows[i];
        for (unsigned k = 0; k < IN_WORDS; k++)
            in_words[k] =
                (uint32_t)random_bits() & (row->keep ? row->keep : UINT32_MAX);
        words_fill();
        run(to_global, "global");
        words_in_cluster(1); /* or an H200 does not take it */
        if (row->shared)
            run(to_shared, "shared");
        words_in_cluster(0);
    }
    return test_end();
}
