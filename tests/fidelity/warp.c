/* SPDX-License-Identifier: MIT
 *
 * Operations across lanes: all modes and widths, whole and partial warps,
 * under divergence one and two deep, after some lanes have left, with a member
 * mask for each group of lanes. Where a source lane takes no part the result
 * is undefined (PTX ISA 9.7.9.6), so the kernels store 0 there.
 *
 * Masks come from a vote of lanes that are together, never from luck, except
 * in the cases of activemask.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fidelity.h"

/* What surrounds an operation: text before it, behind it, how many times the
 * operation stands there (labels and registers are its own), and the size of
 * the block. `%am` is the mask of lanes that take part. */
struct place {
    const char *name;
    unsigned threads;
    int ways;  /* 1: all; 2: two sides of a branch; 4: two branches deep */
    int leave; /* lanes with bit 4 of %sel leave before */
};
static const struct place places[] = {
    {"", 256, 1, 0},
    {", blocks of 48", 48, 1, 0},
    {", blocks of 17", 17, 1, 0},
    {", two sides", 256, 2, 0},
    {", two sides, blocks of 48", 48, 2, 0},
    {", four ways", 256, 4, 0},
    {", lanes have left", 256, 1, 1},
    {", lanes have left, two sides, blocks of 80", 80, 2, 1},
};
enum { PLACES = sizeof places / sizeof *places };

/* Where `op` stands: each copy with %am set to its lanes. Bits 0 and 1 of
 * %a0 (an integer operand of kind l, so that they vary) choose the way. */
static void surround(FILE *f, const struct place *p, const char *op)
{
    fprintf(f, "    .reg .b32 %%am, %%all, %%lane, %%sel;\n"
               "    .reg .pred %%way<4>;\n"
               "    mov.u32 %%lane, %%laneid;\n"
               "    cvt.u32.u64 %%sel, %%a0;\n"
               "    activemask.b32 %%all;\n"
               "    mov.u32 %%o0, 0;\n"
               "    mov.u32 %%o1, 0;\n");
    if (p->leave)
        fprintf(f, "    and.b32 %%am, %%sel, 16;\n"
                   "    setp.ne.u32 %%way0, %%am, 0;\n"
                   "    vote.sync.ballot.b32 %%am, !%%way0, %%all;\n"
                   "    @%%way0 exit;\n"
                   "    mov.u32 %%all, %%am;\n");
    if (p->ways == 1) {
        fprintf(f, "    mov.u32 %%am, %%all;\n%s", op);
        return;
    }
    fprintf(f, "    and.b32 %%am, %%sel, 1;\n"
               "    setp.ne.u32 %%way0, %%am, 0;\n"
               "    and.b32 %%am, %%sel, 2;\n"
               "    setp.ne.u32 %%way1, %%am, 0;\n");
    for (int side = 0; side < 2; side++) {
        const char *no = side ? "!" : "";

        fprintf(f,
                "    vote.sync.ballot.b32 %%am, %s%%way0, %%all;\n"
                "    @%s%%way0 bra SIDE%d;\n"
                "    bra PAST%d;\n"
                "SIDE%d:\n",
                no, no, side, side, side);
        if (p->ways == 2) {
            fprintf(f, "    {\n%s    }\n", op);
        } else {
            fprintf(f,
                    "    {\n"
                    "    .reg .b32 %%inner;\n"
                    "    mov.u32 %%inner, %%am;\n"
                    "    vote.sync.ballot.b32 %%am, %%way1, %%inner;\n"
                    "    @!%%way1 bra OTHER%d;\n"
                    "    {\n%s    }\n"
                    "    bra MEET%d;\n"
                    "OTHER%d:\n"
                    "    not.b32 %%am, %%am;\n"
                    "    and.b32 %%am, %%am, %%inner;\n"
                    "    {\n%s    }\n"
                    "MEET%d:\n"
                    "    bar.warp.sync %%inner;\n"
                    "    }\n",
                    side, op, side, side, op, side);
        }
        fprintf(f,
                "PAST%d:\n"
                "    bar.warp.sync %%all;\n",
                side);
    }
}

static void add(struct fid_cases *all, const char *family, const char *name,
                const struct place *p, const char *op, const char *kinds,
                unsigned words)
{
    char *body = NULL;
    size_t size;
    FILE *f = open_memstream(&body, &size);
    struct fid_case *c;

    if (!f)
        exit(2);
    surround(f, p, op);
    fclose(f);
    c = fid_add(all, family, fid_format("%s%s", name, p->name), body, kinds,
                words);
    c->threads = p->threads;
}

static void everywhere(struct fid_cases *all, const char *family,
                       const char *name, const char *op, const char *kinds,
                       unsigned words)
{
    for (int i = 0; i < PLACES; i++)
        add(all, family, name, &places[i], op, kinds, words);
}

/* --- shfl.sync --- */

/* %t5 = the source lane, as the ISA's pseudo code has it; then a result only
 * where it takes part. */
static char *shuffle(const char *mode, const char *b, const char *c)
{
    const char *source = !strcmp(mode, "up")     ? "sub.s32 %t5, %lane, %t0;"
                         : !strcmp(mode, "down") ? "add.s32 %t5, %lane, %t0;"
                         : !strcmp(mode, "bfly")
                             ? "xor.b32 %t5, %lane, %t0;"
                             : "not.b32 %t5, %t1;\n"
                               "    and.b32 %t5, %t5, %t0;\n"
                               "    and.b32 %t2, %lane, %t1;\n"
                               "    or.b32 %t5, %t5, %t2;";

    return fid_format("    shfl.sync.%s.b32 %%t9|%%p0, %%sel, %s, %s, %%am;\n"
                      "    mov.u32 %%t0, %s;\n"
                      "    and.b32 %%t0, %%t0, 31;\n"
                      "    mov.u32 %%t1, %s;\n"
                      "    shr.u32 %%t1, %%t1, 8;\n"
                      "    and.b32 %%t1, %%t1, 31;\n"
                      "    %s\n"
                      "    selp.b32 %%t5, %%t5, %%lane, %%p0;\n"
                      "    shr.u32 %%t6, %%am, %%t5;\n"
                      "    and.b32 %%t6, %%t6, 1;\n"
                      "    setp.ne.u32 %%p1, %%t6, 0;\n"
                      "    selp.b32 %%o0, %%t9, 0, %%p1;\n"
                      "    selp.b32 %%o1, 1, 0, %%p0;\n",
                      mode, b, c, b, c, source);
}

static void shuffles(struct fid_cases *all)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const clamps[] = {"0x1f",   "0",      "0x1c1f", "0x1c00",
                                         "0x181f", "0x1800", "0x101f", "0x1000",
                                         "0x1e1f", "0x0f",   "0x1c03", "%a2"};
    static const char *const fixed[] = {"1", "2", "16", "31", "0"};

    for (int m = 0; m < 4; m++) {
        char name[96], *op;

        for (int i = 0; i < 12; i++) {
            op = shuffle(modes[m], "%a1", clamps[i]);
            snprintf(name, sizeof name, "shfl.sync.%s.b32 a, b, %s", modes[m],
                     clamps[i]);
            if (i < 1 || i == 11)
                everywhere(all, "shfl", name, op, "ljj", 2);
            else
                add(all, "shfl", name, &places[0], op, "ljj", 2);
            free(op);
        }
        for (int i = 0; i < 5; i++) {
            const char *clamp = m ? "0x1f" : "0";

            op = shuffle(modes[m], fixed[i], clamp);
            snprintf(name, sizeof name, "shfl.sync.%s.b32 a, %s, %s", modes[m],
                     fixed[i], clamp);
            add(all, "shfl", name, &places[i % 2], op, "ljj", 2);
            free(op);
        }
    }
}

/* --- votes, matches, reductions --- */

/* A mask a group of n lanes (a power of two), within %am. */
static char *by_group(unsigned n, const char *op)
{
    return fid_format("    and.b32 %%t20, %%lane, %u;\n"
                      "    mov.u32 %%t21, %u;\n"
                      "    shl.b32 %%t21, %%t21, %%t20;\n"
                      "    and.b32 %%am, %%am, %%t21;\n%s",
                      ~(n - 1) & 31, n == 32 ? UINT32_MAX : (1u << n) - 1, op);
}

static void in_groups(struct fid_cases *all, const char *family,
                      const char *name, const char *op, const char *kinds,
                      unsigned words)
{
    for (unsigned n = 1; n <= 16; n *= 2) {
        char *text = by_group(n, op), long_name[128];

        snprintf(long_name, sizeof long_name, "%s, groups of %u", name, n);
        add(all, family, long_name, &places[0], text, kinds, words);
        if (n == 4) {
            add(all, family, long_name, &places[1], text, kinds, words);
            add(all, family, long_name, &places[6], text, kinds, words);
        }
        free(text);
    }
}

static void votes(struct fid_cases *all)
{
    static const char *const modes[] = {"all", "any", "uni"};
    static const char *const bits[] = {"%a1", "!%a1"};
    char name[64], *op;

    for (int m = 0; m < 3; m++)
        for (int n = 0; n < 2; n++) {
            /* A predicate that is often the same in a whole warp: of the
             * warp's number, or of the lane. */
            op = fid_format("    shr.u32 %%t0, %%zi, 5;\n"
                            "    and.b32 %%t1, %%t0, 3;\n"
                            "    setp.eq.u32 %%p1, %%t1, 1;\n"
                            "    setp.eq.u32 %%p2, %%t1, 2;\n"
                            "    and.pred %%p0, %%a1, %%p1;\n"
                            "    or.pred %%p0, %%p0, %%p2;\n"
                            "    vote.sync.%s.pred %%p3, %s%%p0, %%am;\n"
                            "    selp.b32 %%o0, 1, 0, %%p3;\n",
                            modes[m], n ? "!" : "");
            snprintf(name, sizeof name, "vote.sync.%s.pred %sp", modes[m],
                     n ? "!" : "");
            everywhere(all, "vote", name, op, "lp", 1);
            if (!n)
                in_groups(all, "vote", name, op, "lp", 1);
            free(op);
        }
    for (int n = 0; n < 2; n++) {
        op = fid_format("    vote.sync.ballot.b32 %%o0, %s, %%am;\n", bits[n]);
        snprintf(name, sizeof name, "vote.sync.ballot.b32 %sp", n ? "!" : "");
        everywhere(all, "vote", name, op, "lp", 1);
        if (!n)
            in_groups(all, "vote", name, op, "lp", 1);
        free(op);
    }
}

static void matches(struct fid_cases *all)
{
    static const char any32[] = "    match.any.sync.b32 %o0, %a1, %am;\n";
    static const char any64[] = "    mov.b64 %d0, {%a1, %a1};\n"
                                "    shl.b64 %d0, %d0, 20;\n"
                                "    match.any.sync.b64 %o0, %d0, %am;\n";
    static const char all32[] = "    shr.u32 %t1, %zi, 5;\n"
                                "    and.b32 %t1, %t1, 1;\n"
                                "    mul.lo.u32 %t1, %t1, %a1;\n"
                                "    match.all.sync.b32 %o0|%p0, %t1, %am;\n"
                                "    selp.b32 %o1, 1, 0, %p0;\n";
    static const char all64[] = "    shr.u32 %t1, %zi, 5;\n"
                                "    and.b32 %t1, %t1, 1;\n"
                                "    mul.lo.u32 %t1, %t1, %a1;\n"
                                "    mov.b64 %d0, {%t1, 7};\n"
                                "    match.all.sync.b64 %o0|%p0, %d0, %am;\n"
                                "    selp.b32 %o1, 1, 0, %p0;\n";

    everywhere(all, "match", "match.any.sync.b32", any32, "lk", 1);
    everywhere(all, "match", "match.any.sync.b64", any64, "lk", 1);
    everywhere(all, "match", "match.all.sync.b32", all32, "lk", 2);
    everywhere(all, "match", "match.all.sync.b64", all64, "lk", 2);
    in_groups(all, "match", "match.any.sync.b32", any32, "lk", 1);
    in_groups(all, "match", "match.all.sync.b32", all32, "lk", 2);
}

static void reductions(struct fid_cases *all)
{
    static const char *const ops[] = {"add.u32", "add.s32", "min.u32",
                                      "min.s32", "max.u32", "max.s32",
                                      "and.b32", "or.b32",  "xor.b32"};

    for (int i = 0; i < 9; i++) {
        char name[64], *op;

        op = fid_format("    redux.sync.%s %%o0, %%sel, %%am;\n", ops[i]);
        snprintf(name, sizeof name, "redux.sync.%s", ops[i]);
        everywhere(all, "redux", name, op, "l", 1);
        in_groups(all, "redux", name, op, "l", 1);
        free(op);
    }
}

static void masks(struct fid_cases *all)
{
    everywhere(all, "activemask", "activemask.b32", "    activemask.b32 %o0;\n",
               "l", 1);
    everywhere(all, "elect", "elect.sync",
               "    elect.sync %o0|%p0, %am;\n"
               "    selp.b32 %o1, 1, 0, %p0;\n",
               "l", 2);
    everywhere(all, "special", "laneid and lanemask_eq, lt, le, gt, ge",
               "    mov.u32 %t0, %lanemask_eq;\n"
               "    mov.u32 %t1, %lanemask_lt;\n"
               "    mov.u32 %t2, %lanemask_le;\n"
               "    mov.u32 %t3, %lanemask_gt;\n"
               "    mov.u32 %t4, %lanemask_ge;\n"
               "    mad.lo.u32 %o0, %t0, 3, %t1;\n"
               "    mad.lo.u32 %o0, %o0, 5, %t2;\n"
               "    mad.lo.u32 %o0, %o0, 7, %t3;\n"
               "    mad.lo.u32 %o0, %o0, 11, %t4;\n"
               "    mov.u32 %o1, %laneid;\n",
               "l", 2);
}

/* --- barriers with a result --- */

static void barriers(struct fid_cases *all)
{
    static const char *const starts[] = {"bar.red", "bar.cta.red",
                                         "barrier.red", "barrier.red.aligned"};
    static const struct place sizes[] = {{", blocks of 256", 256, 1, 0},
                                         {", blocks of 48", 48, 1, 0},
                                         {", blocks of 32", 32, 1, 0},
                                         {", lanes have left", 96, 1, 1}};

    for (int s = 0; s < 4; s++)
        for (int i = 0; i < 4; i++) {
            char name[64], *op;
            static const char often[] = "    and.b32 %t0, %zi, 0x3c0;\n"
                                        "    setp.eq.u32 %p1, %t0, 0x40;\n"
                                        "    or.pred %p0, %a1, %p1;\n"
                                        "    setp.ne.u32 %p1, %t0, 0x80;\n"
                                        "    and.pred %p0, %p0, %p1;\n";

            if (s > 1 && i == 3)
                continue; /* not without .aligned's promise */
            op = fid_format("%s    %s.popc.u32 %%o0, 0, %%p0;\n"
                            "    %s.and.pred %%p2, 1, %%p0;\n"
                            "    %s.or.pred %%p3, 2, !%%p0;\n"
                            "    selp.b32 %%o1, 1, 0, %%p2;\n"
                            "    selp.b32 %%t0, 2, 0, %%p3;\n"
                            "    or.b32 %%o1, %%o1, %%t0;\n",
                            often, starts[s], starts[s], starts[s]);
            snprintf(name, sizeof name, "%s.popc, and, or", starts[s]);
            add(all, "bar.red", name, &sizes[i], op, "lp", 2);
            free(op);
        }
}

void fid_warp(struct fid_cases *all)
{
    shuffles(all);
    votes(all);
    matches(all);
    reductions(all);
    masks(all);
    barriers(all);
}
