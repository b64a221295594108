/* SPDX-License-Identifier: MIT
 *
 * See harness.h. One LLVM module a configuration holds a function for each
 * form; it is compiled to an object, as the plugin does, and linked in memory.
 */
#include "harness.h"

#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit.h"
#include "values.h"

enum { MOST_PRINTED = 3, SLOT = 32 };

struct config {
    unsigned lanes;
    int flush;
    int level; /* 0: no F16C and FMA, 1: with them, 2: AVX-512 */
    int optimise;
};
static const struct config configs[] = {
    {0, 0, 2, 0}, {16, 0, 2, 1}, {8, 0, 1, 1}, {16, 1, 2, 0},
    {0, 1, 1, 1}, {32, 0, 2, 0}, {4, 0, 0, 0},
};

typedef void lane_code(const uint64_t *in, uint64_t *out);

int form_has(const struct form *form, const char *modifier)
{
    const char *end = strchr(form->text, ' ');
    const char *at = strstr(form->text, modifier);
    return at && at < end;
}

struct form_type form_type(const struct form *form, unsigned n)
{
    struct form_type none = {0, 0, 0};
    for (const char *at = form->text; *at && *at != ' '; at++) {
        struct form_type t = none;
        if (*at != '.')
            continue;
        const char *w = at + 1;
        if (!strncmp(w, "pred", 4)) {
            t.letter = 'p';
            t.bits = 1;
        } else {
            t.letter = *w;
            if (!strncmp(w, "bf", 2) || !strncmp(w, "tf", 2)) {
                t.letter = *w == 'b' ? 'g' : 't';
                w++;
            }
            if (!strchr("subfgt", t.letter) || w[1] < '0' || w[1] > '9' ||
                !strncmp(w, "f4e", 3) || !strncmp(w, "b4e", 3))
                continue;
            t.bits = (unsigned)strtoul(w + 1, NULL, 10);
            t.packed = w[3] == 'x';
        }
        if (n-- == 0)
            return t;
    }
    return none;
}

/* Functions that run with the processor's flush modes hold only f32
 * operations with .ftz, and no f64 or bf16. */
static int runs_flushed(const struct form *form)
{
    if (form_has(form, "f64") || form_has(form, "bf16"))
        return 0;
    return !form_has(form, "f32") || form_has(form, ".ftz");
}

static uint64_t width_mask(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* f64's fma without FMA may lose the last bit where a part of the product is
 * subnormal, and be infinite where one overflows. */
static int near_range_ends(const struct form *form, const uint64_t *in)
{
    if (!form_has(form, "fma.rn.f64"))
        return 0;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t exponent = in[i] >> 52 & 0x7ff;
        if (exponent < 54 || exponent > 0x7ff - 28)
            return 1;
    }
    return 0;
}

/* Any NaN is as good as another. x86 flushes what is below the least normal
 * before it is rounded to the precision, the reference what is below it
 * afterwards. */
static int same_single(const struct config *c, uint64_t got, uint64_t want)
{
    if (got == want)
        return 1;
    if (c->flush && (want & 0x7fffffff) == 0x00800000 &&
        got == (want & 0x80000000))
        return 1;
    return (want & 0x7fffffff) > 0x7f800000 &&
           (got & 0x7fffffff) > 0x7f800000 && got >> 32 == 0;
}

static int same(const struct form *form, const struct config *c,
                const uint64_t *in, uint64_t got, uint64_t want)
{
    if (got == want)
        return 1;
    if (c->level == 0 && near_range_ends(form, in) &&
        (got - want == 1 || want - got == 1 || !((got | want) << 1) ||
         (got & INT64_MAX) == UINT64_C(0x7ff) << 52))
        return 1;
    if (form->how == FLOAT32X2)
        return same_single(c, (uint32_t)got, (uint32_t)want) &&
               same_single(c, got >> 32, want >> 32);
    if (form->how == FLOAT64)
        return (want & INT64_MAX) > UINT64_C(0x7ff) << 52 &&
               (got & INT64_MAX) > UINT64_C(0x7ff) << 52;
    return form->how == FLOAT32 && same_single(c, got, want);
}

struct result {
    uint64_t cases;
    unsigned failed;
    double worst;
    uint64_t worst_at;
};

static void print_case(const struct form *form, const struct config *c,
                       const uint64_t *in, uint64_t got, uint64_t want,
                       unsigned which)
{
    fprintf(stderr, "%s [lanes %u flush %d level %d opt %d]:", form->text,
            c->lanes, c->flush, c->level, c->optimise);
    for (unsigned s = 0; form->kinds[s]; s++)
        fprintf(stderr, " %llx", (unsigned long long)in[s]);
    fprintf(stderr, " -> [%u] %llx, expected %llx\n", which,
            (unsigned long long)got, (unsigned long long)want);
}

static void check(const struct form *form, const struct jit_form *jf,
                  const struct config *c, const uint64_t *in,
                  const uint64_t *got, const uint64_t *want, struct result *r)
{
    r->cases++;
    if (form->how == CLOSE) {
        double off = form->error(form, in, got[0]);
        if (!(off <= r->worst)) {
            r->worst = off;
            r->worst_at = in[0];
        }
        if (!(off <= 1) && r->failed++ < MOST_PRINTED)
            print_case(form, c, in, got[0], 0, 0);
        return;
    }
    for (unsigned d = 0; d < 3; d++) {
        if (!jf->dst_bits[d])
            continue;
        uint64_t expect = want[d] & width_mask(jf->dst_bits[d]);
        if (!same(form, c, in, got[d], expect) && r->failed++ < MOST_PRINTED)
            print_case(form, c, in, got[d], expect, d);
    }
}

/* Feeds cases to the code a vector at a time. */
static struct result run_form(const struct form *form,
                              const struct jit_form *jf, const struct config *c,
                              lane_code *code, const struct values *v)
{
    struct result r = {0, 0, 0, 0};
    unsigned lanes = c->lanes ? c->lanes : 1;
    unsigned sources = (unsigned)strlen(form->kinds);
    _Alignas(64) uint64_t in[MAX_SOURCES * SLOT], out[3 * SLOT];
    unsigned saved = _mm_getcsr();
    for (size_t at = 0; at < v->count; at += lanes) {
        for (unsigned i = 0; i < lanes; i++)
            for (unsigned s = 0; s < sources; s++)
                in[s * lanes + i] =
                    v->in[((at + i) % v->count) * MAX_SOURCES + s];
        if (c->flush)
            _mm_setcsr(saved | 0x8040);
        code(in, out);
        _mm_setcsr(saved);
        for (unsigned i = 0; i < lanes; i++) {
            size_t k = (at + i) % v->count;
            uint64_t got[3] = {out[i], out[lanes + i], out[2 * lanes + i]};
            check(form, jf, c, &v->in[k * MAX_SOURCES], got, &v->want[k * 3],
                  &r);
        }
    }
    return r;
}

static int report(const struct form *form, const struct config *c,
                  const struct result *r)
{
    if (form->how == CLOSE && c->lanes == 16)
        printf("%-34s flush %d: %8.3f of the allowed error, at %llx\n",
               form->text, c->flush, r->worst, (unsigned long long)r->worst_at);
    if (r->failed)
        fprintf(stderr, "%s: %u of %llu wrong\n", form->text, r->failed,
                (unsigned long long)r->cases);
    return r->failed != 0;
}

static int run_config(const struct config *c, const struct form *forms,
                      size_t count, const struct values *values)
{
    int failed = 0;
    struct jit *jit = jit_open(c->lanes, c->flush, c->level);
    struct jit_form *made = calloc(count, sizeof *made);
    if (!jit || !made)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (c->flush && !runs_flushed(&forms[i]))
            continue;
        failed += jit_add(jit, &forms[i], (unsigned)i, &made[i]);
    }
    jit_link(jit, c->optimise);
    for (size_t i = 0; i < count; i++) {
        if (!made[i].ready)
            continue;
        lane_code *code;
        *(void **)&code = jit_find(jit, (unsigned)i);
        struct result r = run_form(&forms[i], &made[i], c, code, &values[i]);
        failed += report(&forms[i], c, &r);
    }
    free(made);
    jit_close(jit);
    return failed;
}

int harness_run(const struct form *forms, size_t count)
{
    int failed = 0;
    struct values *values = calloc(count, sizeof *values);
    if (!values)
        abort();
    for (size_t i = 0; i < count; i++)
        values_make(&values[i], &forms[i]);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        if (configs[i].level > 1 && !jit_has_avx512()) {
            printf("no AVX-512: %u lanes skipped\n", configs[i].lanes);
            continue;
        }
        failed += run_config(&configs[i], forms, count, values);
    }
    for (size_t i = 0; i < count; i++)
        values_free(&values[i]);
    free(values);
    return failed;
}
