/* SPDX-License-Identifier: MIT
 *
 * Operations of the lanes of %mN, which are all those of the warp that come
 * here together: votes made the mask where control parted (flow.c).
 */
#include <stdio.h>

#include "gen.h"

/* PTX ISA, shfl: the source lane, since a result is defined only where that
 * lane takes part. Elsewhere the result here is a constant. */
static void shuffle(struct gen *g, int m)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const unsigned mode = below(g, 4), outside = 32 - (32u >> below(g, 4));
    const char *by = temp(g, 'r'), *lane = temp(g, 'r'), *t = temp(g, 'r');
    const char *p = temp(g, 'p'), *q = temp(g, 'p'), *bit = temp(g, 'r');

    if (chance(g, 40))
        say(g, "mov.u32 %s, %u;", by, below(g, 32));
    else
        say(g, "and.b32 %s, $r, 31;", by);
    say(g, "shfl.sync.%s.b32 %s|%s, $r, %s, %u, %%m%d;", modes[mode], t, p, by,
        outside << 8 | (mode ? 31 : 0), m);
    if (mode == 3) {
        say(g, "and.b32 %s, %s, %u;", bit, by, ~outside & 31);
        say(g, "and.b32 %s, %%lane, %u;", lane, outside);
        say(g, "or.b32 %s, %s, %s;", lane, lane, bit);
    } else {
        say(g, "%s %s, %%lane, %s;",
            mode == 0   ? "sub.s32"
            : mode == 1 ? "add.s32"
                        : "xor.b32",
            lane, by);
    }
    say(g, "selp.b32 %s, %s, %%lane, %s;", lane, lane, p);
    say(g, "shr.u32 %s, %%m%d, %s;", bit, m, lane);
    say(g, "and.b32 %s, %s, 1;", bit, bit);
    say(g, "setp.ne.u32 %s, %s, 0;", q, bit);
    say(g, "selp.b32 $=r, %s, 77, %s;", t, q);
    if (chance(g, 40))
        say(g, "selp.u32 $=r, 1, 2, %s;", p);
}

static void vote(struct gen *g, int m)
{
    if (chance(g, 50))
        say(g, "vote.sync.ballot.b32 $=r, $P, %%m%d;", m);
    else
        say(g, "vote.sync.{all|any|uni}.pred $=p, $P, %%m%d;", m);
}

static void match(struct gen *g, int m)
{
    const int wide = chance(g, 50);
    const char *t = temp(g, 'r'), *both = temp(g, 'd');

    say(g, "and.b32 %s, $r, %u;", t, below(g, 4));
    if (wide)
        say(g, "mul.wide.u32 %s, %s, 0x80000001;", both, t);
    if (chance(g, 50))
        say(g, "match.any.sync.b%s $=r, %s, %%m%d;", wide ? "64" : "32",
            wide ? both : t, m);
    else
        say(g, "match.all.sync.b%s $=r|$=p, %s, %%m%d;", wide ? "64" : "32",
            wide ? both : t, m);
}

static void reduce_lanes(struct gen *g, int m)
{
    say(g,
        "redux.sync.{add.u32|add.s32|min.u32|min.s32|max.u32|max.s32|"
        "and.b32|or.b32|xor.b32} $=r, $=r, %%m%d;",
        m);
}

/* A word of each lane in shared memory; it reads that of a lane in the mask. */
static void pass(struct gen *g, int m)
{
    const char *own = temp(g, 'r'), *lane = temp(g, 'r'), *bit = temp(g, 'r');
    const char *p = temp(g, 'p');

    say(g, "mov.u32 %s, lanes;", own);
    say(g, "mad.lo.u32 %s, %%own, 4, %s;", own, own);
    say(g, "st.shared.u32 [%s], $=r;", own);
    say(g, "bar.warp.sync %%m%d;", m);
    say(g, "xor.b32 %s, %%lane, %u;", lane, 1 + below(g, 31));
    say(g, "shr.u32 %s, %%m%d, %s;", bit, m, lane);
    say(g, "and.b32 %s, %s, 1;", bit, bit);
    say(g, "setp.ne.u32 %s, %s, 0;", p, bit);
    say(g, "selp.b32 %s, %s, %%lane, %s;", lane, lane, p);
    say(g, "sub.s32 %s, %s, %%lane;", lane, lane);
    say(g, "mad.lo.s32 %s, %s, 4, %s;", own, lane, own);
    say(g, "ld.shared.u32 $=r, [%s];", own);
    say(g, "bar.warp.sync %%m%d;", m);
}

void warp_operation(struct gen *g)
{
    const int m = g->scope.mask;

    switch (below(g, g->in_function ? 4 : 5)) {
    case 0:
        shuffle(g, m);
        break;
    case 1:
        vote(g, m);
        break;
    case 2:
        match(g, m);
        break;
    case 3:
        reduce_lanes(g, m);
        break;
    default:
        pass(g, m);
    }
}
