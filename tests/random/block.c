/* SPDX-License-Identifier: MIT
 *
 * Barriers, and what threads of a block give each other between them. All
 * threads that have not ended come here. What is in `cells` before, nobody
 * reads any more; each operation ends with a barrier.
 */
#include <stdio.h>

#include "gen.h"

/* Where threads have ended, forms that count threads are left out. */
static void barrier(struct gen *g)
{
    const int counted = !g->exits;

    switch (below(g, 8)) {
    case 0:
        say(g, "bar.sync %u;", below(g, 16));
        break;
    case 1:
        say(g, counted ? "bar.sync %u, %%all;" : "barrier.sync %u;",
            below(g, 16));
        break;
    case 2:
        say(g, counted ? "barrier.sync.aligned 0, %%all;"
                       : "barrier.cta.sync.aligned 0;");
        break;
    case 3:
        say(g, "and.b32 #r0, $u, 7;\nbar.sync #r0;");
        break;
    default:
        say(g, "bar.sync 0;");
    }
}

/* cells + n * bytes into a new register. */
static const char *cell(struct gen *g, const char *n, unsigned bytes)
{
    const char *t = temp(g, 'r');

    say(g, "mov.u32 %s, cells;", t);
    say(g, "mad.lo.u32 %s, %s, %u, %s;", t, n, bytes, t);
    return t;
}

/* Some thread of the block. */
static const char *other(struct gen *g)
{
    const char *t = temp(g, 'r'), *p;

    switch (below(g, 4)) {
    case 0:
        say(g, "rem.u32 %s, $r, %%nt;", t);
        break;
    case 1:
        p = temp(g, 'p');
        say(g, "xor.b32 %s, %%own, %u;", t, 1 + below(g, 63));
        say(g, "setp.lt.u32 %s, %s, %%nt;", p, t);
        say(g, "selp.b32 %s, %s, %%own, %s;", t, t, p);
        break;
    case 2:
        say(g, "rem.u32 %s, $u, %%nt;", t);
        break;
    default:
        say(g, "add.u32 %s, %%own, %u;", t, 1 + below(g, 100));
        say(g, "rem.u32 %s, %s, %%nt;", t, t);
    }
    return t;
}

static void exchange(struct gen *g)
{
    static const struct {
        const char *type;
        char kind;
        unsigned bytes, count;
    } types[] = {{"u32", 'r', 4, 1}, {"u32", 'r', 4, 1}, {"s8", 'r', 1, 1},
                 {"u16", 'r', 2, 1}, {"b16", 'h', 2, 1}, {"b64", 'd', 8, 1},
                 {"b32", 'r', 4, 2}, {"u32", 'r', 4, 4}, {"b64", 'd', 8, 2}};
    const unsigned i = below(g, has_kind(g, 'd') && has_kind(g, 'h') ? 9 : 4);
    const char kind = types[i].kind, *own = "%own", *at, *from;
    const unsigned bytes = types[i].bytes * types[i].count;

    if (chance(g, 30)) {
        own = temp(g, 'r');
        say(g, "sub.u32 %s, %%nt, %%own;", own);
        say(g, "sub.u32 %s, %s, 1;", own, own);
    }
    at = cell(g, own, bytes);
    if (types[i].count == 1)
        say(g, "st.shared.%s [%s], $=%c;", types[i].type, at, kind);
    else if (types[i].count == 2)
        say(g, "st.shared.v2.%s [%s], {$=%c, $=%c};", types[i].type, at, kind,
            kind);
    else
        say(g, "st.shared.v4.%s [%s], {$=%c, %%own, $=%c, %%gid};",
            types[i].type, at, kind, kind);
    barrier(g);
    from = other(g);
    at = cell(g, from, bytes);
    if (types[i].count == 1) {
        say(g, "$Gld.shared.%s $=%c, [%s];", types[i].type, kind, at);
    } else {
        const char *a = temp(g, kind), *b = temp(g, kind);

        say(g, "ld.shared.v2.%s {%s, %s}, [%s];", types[i].type, a, b, at);
        say(g, "xor.b%u $=%c, %s, %s;", types[i].bytes * 8, kind, a, b);
    }
    barrier(g);
}

static void tree(struct gen *g)
{
    const char *own = cell(g, "%own", 4), *half = temp(g, 'r');
    const char *p = temp(g, 'p'), *q = temp(g, 'p'), *a = temp(g, 'r');
    const char *b = temp(g, 'r'), *zero;
    const int label = g->labels;

    g->labels += 3;
    say(g, "st.shared.u32 [%s], $=r;", own);
    say(g, "mov.u32 %s, %u;", half, THREADS_MOST / 2);
    say(g, "L%d:", label);
    barrier(g);
    say(g, "add.u32 %s, %%own, %s;", a, half);
    say(g, "setp.lt.u32 %s, %%own, %s;", p, half);
    say(g, "setp.lt.and.u32 %s, %s, %%nt, %s;", p, a, p);
    say(g, "@!%s bra L%d;", p, label + 1);
    say(g, "sub.u32 %s, %s, %%own;", a, a);
    say(g, "mad.lo.u32 %s, %s, 4, %s;", a, a, own);
    say(g, "ld.shared.u32 %s, [%s];", a, a);
    say(g, "ld.shared.u32 %s, [%s];", b, own);
    say(g, "{add.u32|max.s32} %s, %s, %s;", a, a, b);
    say(g, "st.shared.u32 [%s], %s;", own, a);
    say(g, "L%d:", label + 1);
    say(g, "shr.u32 %s, %s, 1;", half, half);
    say(g, "setp.ne.u32 %s, %s, 0;", q, half);
    say(g, "@%s bra L%d;", q, label);
    barrier(g);
    zero = cell(g, "0", 4);
    say(g, "ld.shared.u32 $=r, [%s];", zero);
    barrier(g);
}

static void shared_atomics(struct gen *g)
{
    static const char *const operations[] = {"add.u32", "add.s32", "max.u32",
                                             "max.s32", "xor.b32", "or.b32",
                                             "add.f32"};
    /* Cells of threads that have ended may hold anything: no sums of floats. */
    const unsigned kind = below(g, g->exits && g->edition > 1 ? 6 : 7);
    const char *own = cell(g, "%own", 4), *to, *value = variable(g, 'r');

    say(g, "st.shared.u32 [%s], 0;", own);
    barrier(g);
    to = other(g);
    to = cell(g, to, 4);
    if (kind == 6) {
        const char *t = temp(g, 'r'), *f = temp(g, 'f');

        say(g, "and.b32 %s, %s, 255;", t, value);
        say(g, "cvt.rn.f32.u32 %s, %s;", f, t);
        value = f;
    }
    say(g,
        chance(g, 60) ? "$Gred.shared.%s [%s], %s;"
                      : "$Gatom.shared.%s _, [%s], %s;",
        operations[kind], to, value);
    barrier(g);
    say(g, "ld.shared.u32 $=r, [%s];", own);
    barrier(g);
}

static void reduction(struct gen *g)
{
    if (g->exits) {
        exchange(g);
        return;
    }
    switch (below(g, 4)) {
    case 0:
        say(g, "bar.red.popc.u32 $=r, %u, $P;", below(g, 4));
        break;
    case 1:
        say(g, "barrier.red.popc.u32 $=r, %u, %%all, $P;", below(g, 4));
        break;
    case 2:
        say(g, "bar.red.and.pred $=p, 0, %%all, $P;");
        break;
    default:
        say(g, "bar.red.or.pred $=p, %u, $P;", below(g, 16));
    }
}

/* Two groups of warps, each with a barrier of its own; then, the first warp
 * writes and does not wait for those that read. */
static void halves(struct gen *g)
{
    const char *low = temp(g, 'r'), *first = temp(g, 'r'), *p = temp(g, 'p');
    const char *size = temp(g, 'r'), *count = temp(g, 'r'), *t = temp(g, 'r');
    const char *at = cell(g, "%own", 4), *warps = temp(g, 'r');
    const int label = g->labels;

    g->labels += 2;
    say(g, "st.shared.u32 [%s], $=r;", at);
    say(g, "shr.u32 %s, %%all, 6;", warps);
    say(g, "shl.b32 %s, %s, 5;", low, warps);
    say(g, "setp.lt.u32 %s, %%own, %s;", p, low);
    say(g, "selp.b32 %s, 0, %s, %s;", first, low, p);
    say(g, "sub.u32 %s, %%nt, %s;", size, low);
    say(g, "selp.b32 %s, %s, %s, %s;", size, low, size, p);
    say(g, "sub.u32 %s, %%all, %s;", count, low);
    say(g, "@%s bra L%d;", p, label);
    say(g, "bar.sync 2, %s;", count);
    say(g, "bra L%d;", label + 1);
    say(g, "L%d:", label);
    say(g, "bar.sync 1, %s;", low);
    say(g, "L%d:", label + 1);
    say(g, "sub.u32 %s, %%own, %s;", t, first);
    say(g, "add.u32 %s, %s, %u;", t, t, 1 + below(g, 60));
    say(g, "rem.u32 %s, %s, %s;", t, t, size);
    say(g, "add.u32 %s, %s, %s;", t, t, first);
    at = cell(g, t, 4);
    say(g, "ld.shared.u32 $=r, [%s];", at);
    say(g, "bar.sync 0;");
}

static void producer(struct gen *g)
{
    const char *p = temp(g, 'p'), *at = cell(g, "%lane", 4);
    const int label = g->labels;

    g->labels += 2;
    say(g, "setp.ge.u32 %s, %%own, 32;", p);
    say(g, "@%s bra L%d;", p, label);
    say(g, "st.shared.u32 [%s], $r;", at);
    say(g, "fence.acq_rel.cta;");
    say(g, "bar.arrive 3, %%all;");
    say(g, "bra L%d;", label + 1);
    say(g, "L%d:", label);
    say(g, "bar.sync 3, %%all;");
    say(g, "ld.shared.u32 $=r, [%s];", at);
    say(g, "L%d:", label + 1);
    say(g, "bar.sync 0;");
}

void block_operation(struct gen *g)
{
    switch (below(g, g->exits ? 7 : 9)) {
    case 0:
        tree(g);
        break;
    case 1:
    case 2:
        shared_atomics(g);
        break;
    case 3:
        reduction(g);
        break;
    case 7:
        halves(g);
        break;
    case 8:
        producer(g);
        break;
    default:
        exchange(g);
    }
}

/* All of it has a value before anybody reads. */
void shared_start(struct gen *g)
{
    const char *t = temp(g, 'r'), *p = temp(g, 'p'), *at = temp(g, 'r');
    const int label = g->labels++;

    say(g, "mov.u32 %s, %%own;", t);
    say(g, "L%d:", label);
    say(g, "mov.u32 %s, cells;", at);
    say(g, "mad.lo.u32 %s, %s, 4, %s;", at, t, at);
    say(g, "st.shared.u32 [%s], %s;", at, t);
    say(g, "add.u32 %s, %s, %%nt;", t, t);
    say(g, "setp.lt.u32 %s, %s, %d;", p, t, THREADS_MOST * 4);
    say(g, "@%s bra L%d;", p, label);
    say(g, "bar.sync 0;");
}
