/* SPDX-License-Identifier: MIT
 *
 * Branches, loops, switches and jumps. Control is of two sorts. In tracked
 * places a mask register holds the lanes of the warp that are here, so that
 * warp operations may stand there; a vote at each parting makes the masks of
 * the sides. In others, control is anybody's: loops left from the middle, jumps
 * out of several levels, and no lane asks where another is.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

enum { DEEPEST = 4, LOOPS = 3 };

/* A scope inside the present one. */
static struct scope inner(const struct gen *g, int uniform, int mask)
{
    struct scope s = g->scope;

    s.depth++;
    if (g->scope.mask >= 0 && (mask < 0 || !uniform)) {
        /* No way out to where lanes are counted. */
        s.leave = s.again = -1;
        s.end_count = 0;
    }
    s.uniform = g->scope.uniform && uniform;
    s.mask = mask;
    return s;
}

static int new_mask(struct gen *g, const char *p, int yes)
{
    const int m = g->masks++;

    say(g, "vote.sync.ballot.b32 %%m%d, %s%s, %%m%d;", m, yes ? "" : "!", p,
        g->scope.mask);
    return m;
}

static void within(struct gen *g, struct scope s, int most)
{
    const struct scope outer = g->scope;

    part_begin(g);
    g->scope = s;
    statements(g, most);
    g->scope = outer;
    statement_end(g);
}

static void branch(struct gen *g)
{
    const int uniform = g->scope.uniform ? chance(g, 50) : 0;
    const int tracked = g->scope.mask >= 0 && (uniform || chance(g, 65));
    const int otherwise = chance(g, 45), label = g->labels;
    const char *p = uniform || (!g->in_function && chance(g, 20))
                        ? uniform_condition(g)
                        : condition(g);
    int yes = -1, no = -1;

    g->labels += 2;
    if (tracked && uniform)
        yes = no = g->scope.mask;
    else if (tracked) {
        yes = new_mask(g, p, 1);
        if (otherwise)
            no = new_mask(g, p, 0);
    }
    if (otherwise && chance(g, 30)) {
        const int then = g->labels++;

        say(g, "@%s bra L%d;", p, then);
        say(g, "bra L%d;", label);
        say(g, "L%d:", then);
    } else {
        say(g, "@!%s bra%s L%d;", p, uniform ? ".uni" : "", label);
    }
    within(g, inner(g, uniform, yes), 4);
    if (otherwise)
        say(g, "bra L%d;", label + 1);
    say(g, "L%d:", label);
    if (otherwise) {
        within(g, inner(g, uniform, no), 4);
        say(g, "L%d:", label + 1);
    }
}

/* At most this many times round, by the loops that are around it. */
static unsigned trips(const struct gen *g)
{
    return g->scope.loops == 0 ? 7 : g->scope.loops == 1 ? 3 : 1;
}

static void loop(struct gen *g)
{
    const int uniform = g->scope.uniform ? chance(g, 50) : 0;
    const int tracked = g->scope.mask >= 0 && (uniform || chance(g, 65));
    const int head = g->labels, leave = head + 1, again = head + 2;
    const int test_last = !(tracked && !uniform) && chance(g, 35);
    const char *i = temp(g, 'r'), *n = temp(g, 'r'), *p = temp(g, 'p');
    struct scope s = inner(g, uniform, tracked ? g->scope.mask : -1);

    g->labels += 3;
    s.loops++;
    say(g, "and.b32 %s, $%c, %u;", n, uniform ? 'u' : 'r', trips(g));
    say(g, "mov.u32 %s, 0;", i);
    if (tracked && !uniform) {
        s.mask = g->masks++;
        say(g, "mov.b32 %%m%d, %%m%d;", s.mask, g->scope.mask);
    }
    s.leave = leave;
    s.again = tracked && !uniform ? -1 : again;
    say(g, "L%d:", head);
    if (!test_last) {
        say(g, "setp.ge.u32 %s, %s, %s;", p, i, n);
        if (tracked && !uniform)
            say(g, "vote.sync.ballot.b32 %%m%d, !%s, %%m%d;", s.mask, p,
                s.mask);
        say(g, "@%s bra L%d;", p, leave);
    }
    within(g, s, 5);
    if (chance(g, 40))
        say(g, "mad.lo.u32 $=r, %s, 5, $=r;", i);
    say(g, "L%d:", again);
    say(g, "add.u32 %s, %s, 1;", i, i);
    if (test_last) {
        say(g, "setp.le.u32 %s, %s, %s;", p, i, n);
        say(g, "@%s bra L%d;", p, head);
    } else {
        say(g, "bra L%d;", head);
    }
    say(g, "L%d:", leave);
}

/* brx.idx, over four entries, some of them the same. */
static void choice(struct gen *g)
{
    const int uniform = g->scope.uniform ? chance(g, 50) : 0;
    const int first = g->labels, ways = 2 + (int)below(g, 3);
    const char *t = temp(g, 'r');
    int mask = -1;

    g->labels += ways + 2;
    if (g->scope.mask >= 0 && uniform)
        mask = g->scope.mask;
    say(g, "T%d: .branchtargets L%d, L%d, L%d, L%d;", first, first + ways - 1,
        first + (int)below(g, (unsigned)ways), first, first + 1);
    say(g, "and.b32 %s, $%c, 3;", t, uniform ? 'u' : 'r');
    say(g, "brx.idx %s, T%d;", t, first);
    for (int i = 0; i < ways; i++) {
        say(g, "L%d:", first + i);
        within(g, inner(g, uniform, mask), 2);
        if (i + 1 < ways && chance(g, 80)) /* else falls through */
            say(g, "bra L%d;", first + ways);
    }
    say(g, "L%d:", first + ways);
}

/* A stretch whose end may be jumped to. */
static void stretch(struct gen *g)
{
    struct scope s = inner(g, 0, -1);
    const int label = g->labels++;

    if (s.end_count == 8)
        s.end_count--;
    s.ends[s.end_count++] = label;
    within(g, s, 5);
    say(g, "L%d:", label);
}

/* Returns 0 where there is nowhere to go. */
static int jump(struct gen *g)
{
    const struct scope *s = &g->scope;
    const char *p;

    if (s->uniform && s->mask >= 0) {
        if (s->leave < 0)
            return 0;
        p = uniform_condition(g);
        say(g, "@%s bra L%d;", p, chance(g, 50) ? s->leave : s->again);
        return 1;
    }
    if (s->mask >= 0) { /* a loop whose lanes are counted */
        if (s->leave < 0)
            return 0;
        p = condition(g);
        say(g, "vote.sync.ballot.b32 %%m%d, !%s, %%m%d;", s->mask, p, s->mask);
        say(g, "@%s bra L%d;", p, s->leave);
        return 1;
    }
    switch (below(g, 4)) {
    case 0:
        if (s->leave < 0)
            return 0;
        say(g, "@%s bra L%d;", condition(g), s->leave);
        return 1;
    case 1:
        if (s->again < 0)
            return 0;
        say(g, "@%s bra L%d;", condition(g), s->again);
        return 1;
    case 2:
        if (!s->end_count)
            return 0;
        p = condition(g);
        say(g, "@%s bra L%d;", p, s->ends[below(g, (unsigned)s->end_count)]);
        return 1;
    default:
        if (g->returns) {
            const int label = g->labels++;

            say(g, "@!%s bra L%d;\nst.param.b32 [out], $=r;\nret;\nL%d:",
                condition(g), label, label);
            return 1;
        }
        if (!g->plain || g->in_function || !s->depth)
            return 0;
        p = condition(g);
        say(g, "@%s {exit|ret};", p);
        return 1;
    }
}

/* Some threads end, and the mask knows. */
static void leave_for_good(struct gen *g)
{
    const char *p = condition(g);

    say(g, "vote.sync.ballot.b32 %%m%d, !%s, %%m%d;", g->scope.mask, p,
        g->scope.mask);
    say(g, "@%s exit;", p);
}

/* Instructions in a row; each may be left out by itself. */
static void several(struct gen *g)
{
    for (unsigned n = 1 + below(g, 5); n; n--) {
        statement_begin(g);
        arithmetic(g);
        statement_end(g);
    }
}

/* As the first edition chose. */
static void simple_1(struct gen *g)
{
    const struct scope *s = &g->scope;
    const unsigned what = below(g, 100);

    if (what < 25 && s->mask >= 0)
        warp_operation(g);
    else if (what < 45 && s->uniform && s->mask >= 0 && !g->in_function)
        block_operation(g);
    else if (what < 50 && s->uniform && !g->in_function)
        uniform_arithmetic(g);
    else if (what < 65)
        memory_access(g);
    else if (what < 70 && !g->in_function)
        atomic(g);
    else if (what < 76)
        call(g);
    else if (what < 79 && s->uniform && s->mask >= 0 && g->exits)
        leave_for_good(g);
    else if (what < 88 && jump(g))
        return;
    else
        for (unsigned n = 1 + below(g, 3); n; n--)
            arithmetic(g);
}

static void simple(struct gen *g)
{
    const struct scope *s = &g->scope;
    const int tracked = s->mask >= 0, together = tracked && s->uniform;
    const unsigned what = below(g, 100);

    if (tracked && chance(g, 30))
        warp_operation(g);
    else if (together && !g->in_function && chance(g, 35))
        block_operation(g);
    else if (what < 6 && s->uniform && !g->in_function)
        uniform_arithmetic(g);
    else if (what < 26)
        memory_access(g);
    else if (what < 36 && !g->in_function)
        atomic(g);
    else if (what < 46)
        call(g);
    else if (what < 52 && together && g->exits)
        leave_for_good(g);
    else if (what < 70 && jump(g))
        return;
    else
        several(g);
}

void flow(struct gen *g)
{
    const unsigned what = below(g, 100);

    if (g->scope.depth >= DEEPEST || what < 60)
        (g->edition == 1 ? simple_1 : simple)(g);
    else if (what < 75)
        branch(g);
    else if (what < 80)
        choice(g);
    else if (what < 92 && g->scope.loops < LOOPS)
        loop(g);
    else
        stretch(g);
}

void statements(struct gen *g, int most)
{
    for (unsigned n = 1 + below(g, (unsigned)most); n; n--) {
        if (g->budget-- <= 0 && g->scope.depth)
            return;
        statement_begin(g);
        flow(g);
        statement_end(g);
        if (g->edition > 1 && chance(g, 60))
            several(g);
    }
}
