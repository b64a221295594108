/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of all widths in all spaces, and atomics whose order does
 * not show: one operation a word, and what they return used in a sum alone.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

/* A type of memory and the registers that it goes to. */
struct type {
    const char *name;
    char kind;
    unsigned bytes;
};
static const struct type types[] = {
    {"u8", 'r', 1},  {"s8", 'r', 1},  {"b8", 'r', 1},  {"u16", 'r', 2},
    {"s16", 'r', 2}, {"u32", 'r', 4}, {"b32", 'r', 4}, {"s32", 'r', 4},
    {"u32", 'r', 4}, {"b16", 'h', 2}, {"u16", 'h', 2}, {"s8", 'h', 1},
    {"u8", 'h', 1},  {"b64", 'd', 8}, {"u64", 'd', 8}, {"u32", 'd', 4},
    {"s16", 'd', 2}, {"f32", 'f', 4}, {"b32", 'f', 4}, {"f64", 'g', 8},
    {"b16", 'x', 2}, {"b16", 'b', 2}, {"b32", 'y', 4}, {"b32", 'z', 4}};

struct place {
    const char *space; /* of the instruction */
    const char *base;  /* a register, or the name of a variable */
    int is_name;
    unsigned bytes; /* a power of two */
    int written;    /* may be */
    int function;   /* is there in functions too */
};
static const struct place places[] = {
    {".global", "%in", 0, IN_WORDS * 4, 0, 0},
    {".global", "%row", 0, ROW_WORDS * 4, 1, 0},
    {".local", "loc", 1, LOCAL_BYTES, 1, 1},
    {".const", "table", 1, TABLE_WORDS * 4, 0, 1},
    {".global", "words", 1, TABLE_WORDS * 4, 0, 1}};
enum { LOCAL = 2, CONSTANT = 3, PLACES = 5 };

static void index_to(struct gen *g, const char *t, unsigned most)
{
    if (chance(g, 30) && !g->in_function) {
        say(g, "add.u32 %s, %%gid, %u;", t, below(g, 64));
        say(g, "and.b32 %s, %s, %u;", t, t, most);
    } else if (chance(g, 15) && !g->in_function) {
        say(g, "and.b32 %s, $u, %u;", t, most);
    } else {
        say(g, "and.b32 %s, $r, %u;", t, most);
    }
}

/* The address of an element of `bytes`, as text for brackets; is_generic: its
 * address in the generic space. */
static void address(struct gen *g, const struct place *p, unsigned bytes,
                    int *is_generic, char *out, size_t size)
{
    const char *at = temp(g, 'd');
    const unsigned count = p->bytes / bytes;

    if (chance(g, 30) && !p->is_name) {
        snprintf(out, size, "%s+%u", p->base,
                 below(g, count < 32 ? count : 32) * bytes);
        *is_generic = chance(g, 20);
        return;
    }
    if (chance(g, 25) && p->is_name && !*is_generic) {
        snprintf(out, size, "%s+%u", p->base, below(g, count) * bytes);
        return;
    }
    if (p->is_name) {
        const char *name = temp(g, 'd');

        say(g, "mov.u64 %s, %s;", name, p->base);
        if (*is_generic)
            say(g, "cvta%s.u64 %s, %s;", p->space, name, name);
        at = name;
    } else {
        at = p->base;
    }
    {
        const char *index = temp(g, 'r'), *sum = temp(g, 'd');

        index_to(g, index, count - 1);
        say(g, "mad.wide.u32 %s, %s, %u, %s;", sum, index, bytes, at);
        snprintf(out, size, "%s", sum);
    }
}

static unsigned vector_length(struct gen *g, const struct type *t)
{
    const unsigned n = 1u << below(g, 3);

    if (n * t->bytes > 16 || !chance(g, 35))
        return 1;
    return n;
}

static void load(struct gen *g, const struct place *p, const struct type *t)
{
    static const char *const hints[] = {"", "", "", ".ca", ".cg", ".cs"};
    const unsigned n = vector_length(g, t);
    const char *space, *hint = hints[below(g, 6)], *nc = "", *vector = "";
    int is_generic = chance(g, 25);
    char at[40], list[96], names[4][16];

    address(g, p, n * t->bytes, &is_generic, at, sizeof at);
    space = is_generic ? "" : p->space;
    if (!strcmp(p->base, "%in") && !is_generic && chance(g, 30)) {
        nc = ".nc";
        hint = "";
    }
    if (!strcmp(space, ".const"))
        hint = "";
    if (n == 1) {
        say(g, "$Gld%s%s%s.%s $=%c, [%s];", space, hint, nc, t->name, t->kind,
            at);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        snprintf(names[i], sizeof *names, "%s", temp(g, t->kind));
    vector = n == 2 ? ".v2" : ".v4";
    snprintf(list, sizeof list, n == 2 ? "%s, %s" : "%s, %s, %s, %s", names[0],
             names[1], names[n == 4 ? 2 : 0], names[n == 4 ? 3 : 0]);
    say(g, "ld%s%s%s%s.%s {%s}, [%s];", space, hint, nc, vector, t->name, list,
        at);
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || chance(g, 60))
            say(g, "mov.b%s $=%c, %s;",
                strchr("hxb", t->kind)  ? "16"
                : strchr("dg", t->kind) ? "64"
                                        : "32",
                t->kind, names[i]);
}

/* A value for memory: bits that are the same on all devices. */
static const char *stored(struct gen *g, const struct type *t)
{
    const char *v = variable(g, t->kind);

    if (strchr("fgxb", t->kind))
        return settled(g, t->kind, v);
    return v;
}

static void store(struct gen *g, const struct place *p, const struct type *t)
{
    static const char *const hints[] = {"", "", "", ".wb", ".cg", ".cs"};
    const unsigned n = vector_length(g, t);
    const char *space, *hint = hints[below(g, 6)];
    int is_generic = chance(g, 25);
    char at[40], list[96], names[4][16];

    if (t->kind == 'y' || t->kind == 'z')
        t = &types[5];
    for (unsigned i = 0; i < n; i++)
        snprintf(names[i], sizeof *names, "%s", stored(g, t));
    address(g, p, n * t->bytes, &is_generic, at, sizeof at);
    space = is_generic ? "" : p->space;
    if (n == 1)
        snprintf(list, sizeof list, "%s", names[0]);
    else
        snprintf(list, sizeof list, n == 2 ? "{%s, %s}" : "{%s, %s, %s, %s}",
                 names[0], names[1], names[n == 4 ? 2 : 0],
                 names[n == 4 ? 3 : 0]);
    say(g, "$Gst%s%s%s.%s [%s], %s;", space, hint,
        n == 1   ? ""
        : n == 2 ? ".v2"
                 : ".v4",
        t->name, at, list);
}

void memory_access(struct gen *g)
{
    const struct type *t;
    const struct place *p;

    do
        t = &types[below(g, sizeof types / sizeof *types)];
    while (!has_kind(g, t->kind));
    do
        p = &places[below(g, PLACES)];
    while ((g->in_function && !p->function) ||
           (p == &places[LOCAL] && !g->has_local));
    if (p->written && chance(g, 50))
        store(g, p, t);
    else
        load(g, p, t);
}

/* --- atomics --- */

/* Words of the accumulators: eight of each operation. */
static const struct {
    const char *operation;
    unsigned first, bytes;
} sums[] = {{"add.u32", 0, 4},  {"min.u32", 8, 4}, {"max.s32", 16, 4},
            {"xor.b32", 24, 4}, {"or.b32", 32, 4}, {"and.b32", 40, 4},
            {"add.u64", 48, 8}};
enum { FLOAT_SUM = 56, EXCHANGED = 57, WRAPPED = 58, TICKETS = 60 };

static void sum(struct gen *g)
{
    const unsigned kind = below(g, sizeof sums / sizeof *sums);
    const char *index = temp(g, 'r'), *at = temp(g, 'd');
    const int is_red = chance(g, 60), is_generic = chance(g, 20);
    const unsigned words = sums[kind].bytes / 4;

    if (words == 2 && !has_kind(g, 'd'))
        return;
    index_to(g, index, 8 / words - 1);
    say(g, "mad.wide.u32 %s, %s, %u, %%out;", at, index, sums[kind].bytes);
    say(g, "$G%s{||.relaxed.gpu}%s.%s %s[%s+%u], $%c;", is_red ? "red" : "atom",
        is_generic ? "" : ".global", sums[kind].operation, is_red ? "" : "_, ",
        at, sums[kind].first * 4, words == 2 ? 'd' : 'r');
}

/* Sums of small integers are exact in any order. */
static void float_sum(struct gen *g)
{
    const char *t = temp(g, 'r'), *f = temp(g, 'f');

    say(g, "and.b32 %s, $r, 15;", t);
    say(g, "cvt.rn.f32.u32 %s, %s;", f, t);
    say(g, "red.global.add.f32 [%%out+%d], %s;", FLOAT_SUM * 4, f);
}

static void exchange(struct gen *g)
{
    const char *old = temp(g, 'r'), *seen = temp(g, 'r'), *sum = temp(g, 'r');
    const char *p = temp(g, 'p');
    const int label = g->labels++;

    say(g, "ld.volatile.global.u32 %s, [%%out+%d];", seen, EXCHANGED * 4);
    say(g, "L%d:", label);
    say(g, "mov.b32 %s, %s;", old, seen);
    say(g, "add.u32 %s, %s, $=r;", sum, old);
    say(g, "atom.global.cas.b32 %s, [%%out+%d], %s, %s;", seen, EXCHANGED * 4,
        old, sum);
    say(g, "setp.ne.u32 %s, %s, %s;", p, seen, old);
    say(g, "@%s bra L%d;", p, label);
}

static void ticket(struct gen *g)
{
    const char *t = temp(g, 'r'), *hash = temp(g, 'r');

    say(g, "atom.global.add.u32 %s, [%%out+%d], 1;", t, TICKETS * 4);
    say(g, "mul.lo.u32 %s, %s, 0x9e3779b1;", hash, t);
    say(g, "shr.u32 %s, %s, 7;", t, hash);
    say(g, "xor.b32 %s, %s, %s;", hash, hash, t);
    say(g, "red.global.add.u32 [%%out+%d], %s;", (TICKETS + 1) * 4, hash);
}

void atomic(struct gen *g)
{
    switch (below(g, 8)) {
    case 0:
        float_sum(g);
        break;
    case 1:
        exchange(g);
        break;
    case 2:
        ticket(g);
        break;
    case 3:
        say(g, "$Gred.global.inc.u32 [%%out+%d], 1000;", WRAPPED * 4);
        break;
    case 4:
        say(g, "$Gatom.global.dec.u32 #r0, [%%out+%d], 77;", (WRAPPED + 1) * 4);
        break;
    default:
        sum(g);
    }
}

static void words_declare(struct gen *g, const char *space, const char *name)
{
    say(g, ".%s .align 16 .b32 %s[%d] = {", space, name, TABLE_WORDS);
    for (int i = 0; i < TABLE_WORDS; i++) {
        const int shift = chance(g, 50) ? 32 : 56;

        say(g, "0x%x%s", (unsigned)(random_bits(g) >> shift),
            i + 1 < TABLE_WORDS ? ", " : "};");
    }
}

void memory_declare(struct gen *g)
{
    words_declare(g, "const", "table");
    words_declare(g, "global", "words");
}

void local_start(struct gen *g)
{
    const int label = g->labels++;

    say(g, ".local .align 16 .b8 loc[%d];", LOCAL_BYTES);
    say(g,
        "mov.u64 #d0, loc;\nmov.u32 #r1, 0;\nL%d:\n"
        "mad.lo.u32 #r2, #r1, 0x01030507, %%r0;\n"
        "st.local.u32 [#d0], #r2;\nadd.u64 #d0, #d0, 4;\n"
        "add.u32 #r1, #r1, 1;\nsetp.lt.u32 #p3, #r1, %d;\n@#p3 bra L%d;",
        label, LOCAL_BYTES / 4, label);
}
