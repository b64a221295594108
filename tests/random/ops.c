/* SPDX-License-Identifier: MIT
 *
 * Instructions on registers alone: lines of ops.def.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

struct op {
    char kind;
    int guarded; /* may be */
    const char *text;
};
#define OP(kind, text) {kind, 1, text},
static const struct op first[] = {
#define OLD(kind, text) OP(kind, text)
#define NEW(kind, text)
#define BARE(kind, text)
#include "ops.def"
#undef OLD
#undef NEW
#undef BARE
};
static const struct op second[] = {
#define OLD(kind, text)
#define NEW(kind, text)  OP(kind, text)
#define BARE(kind, text) {kind, 0, text},
#include "ops.def"
};

static int usable(const struct gen *g, const struct op *op)
{
    if (strstr(op->text, DIRECTED ".f64") && !g->directed)
        return 0;
    for (const char *c = op->text; (c = strchr(c, '$')); c++) {
        const char kind = c[1] == '=' ? c[2] : c[1];

        if (strchr("rdhfgxybzp", kind) && !has_kind(g, kind))
            return 0;
    }
    return 1;
}

static void arithmetic_to(struct gen *g, char kind)
{
    const struct op *op;
    char result[32];

    do
        op = g->edition == 1
                 ? &first[below(g, sizeof first / sizeof *first)]
                 : &second[below(g, sizeof second / sizeof *second)];
    while (op->kind != kind || !usable(g, op));
    snprintf(result, sizeof result, "%s", variable(g, kind));
    say_operation(g, op->text, result, op->guarded);
}

/* Half of what is computed is plain integers, as in programs. */
void arithmetic(struct gen *g)
{
    const unsigned n = (unsigned)strlen(g->kinds);
    char kind = 'r';

    if (chance(g, 60))
        do
            kind = g->kinds[below(g, n)];
        while (kind == 'w');
    arithmetic_to(g, kind);
}

void uniform_arithmetic(struct gen *g)
{
    say(g, "{add.s32|sub.s32|mul.lo.s32|xor.b32|and.b32|min.u32|mul.hi.u32|"
           "shr.u32} $=w, $u, $u;");
}
