/* SPDX-License-Identifier: MIT
 *
 * Functions and calls of them: directly, by address, of themselves.
 *
 * f0, f1...: (a, b, s) -> value, called from anywhere. The last may call itself
 * up to three deep, as b says. lanes_of: (a, mask) -> value, called by all
 * lanes of the mask together.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

enum { FUNCTIONS = 3 };

static const char parameters[] =
    "(.param .b32 a, .param .b32 b, .param .align 8 .b8 s[16])";

/* The arguments of a call in a scope of its own; `function`: its name or its
 * address; `prototype`: ", P1" behind an indirect call. The result is $=r. */
static void call_of(struct gen *g, const char *function, const char *prototype,
                    const char *b)
{
    const int k = g->labels++;

    say(g, "{");
    say(g, ".param .b32 a%d; .param .b32 b%d; .param .align 8 .b8 s%d[16];", k,
        k, k);
    say(g, ".param .b32 q%d;", k);
    say(g, "st.param.b32 [a%d], $=r;\nst.param.b32 [b%d], %s;", k, k, b);
    say(g, "st.param.v2.b32 [s%d], {$=r, $=r};", k);
    if (has_kind(g, 'd'))
        say(g, "st.param.b64 [s%d+8], $=d;", k);
    else
        say(g, "st.param.b32 [s%d+8], $=r;\nst.param.b32 [s%d+12], $=r;", k, k);
    say(g, "call (q%d), %s, (a%d, b%d, s%d)%s;", k, function, k, k, k,
        prototype);
    say(g, "ld.param.b32 $=r, [q%d];", k);
    say(g, "}");
}

static void indirect(struct gen *g)
{
    const char *at = temp(g, 'd'), *b = variable(g, 'r');
    const int k = g->labels++;
    char prototype[16];

    if (chance(g, 50)) {
        say(g,
            "and.b32 #r0, $=r, 1;\nmov.u64 #d0, pointers;\n"
            "mad.wide.u32 #d0, #r0, 8, #d0;\nld.global.u64 %s, [#d0];",
            at);
    } else {
        say(g,
            "mov.u64 #d0, f0;\nmov.u64 #d1, f%d;\n"
            "selp.b64 %s, #d0, #d1, $=p;",
            g->functions - 1, at);
    }
    if (chance(g, 50))
        say(g, "P%d: .calltargets f0, f%s;", k,
            g->functions < 3  ? "1"
            : g->edition == 1 ? "2"
                              : "1, f2");
    else
        say(g,
            "P%d: .callprototype (.param .b32 _) _ "
            "(.param .b32 _, .param .b32 _, .param .align 8 .b8 _[16]);",
            k);
    snprintf(prototype, sizeof prototype, ", P%d", k);
    call_of(g, at, prototype, b);
}

static void masked(struct gen *g)
{
    const int k = g->labels++;

    say(g, "{");
    say(g, ".param .b32 a%d; .param .b32 b%d; .param .b32 q%d;", k, k, k);
    say(g, "st.param.b32 [a%d], $=r;\nst.param.b32 [b%d], %%m%d;", k, k,
        g->scope.mask);
    say(g, "call (q%d), lanes_of, (a%d, b%d);", k, k, k);
    say(g, "ld.param.b32 $=r, [q%d];", k);
    say(g, "}");
}

void call(struct gen *g)
{
    char name[8];

    if (g->masked && g->scope.mask >= 0 && chance(g, 60)) {
        masked(g);
    } else if (!g->functions) {
        arithmetic(g);
    } else if (g->functions > 1 && !g->in_function && chance(g, 40)) {
        indirect(g);
    } else {
        const char *b = variable(g, 'r');

        snprintf(name, sizeof name, "f%u", below(g, (unsigned)g->functions));
        call_of(g, name, "", b);
    }
}

/* Calls itself once or twice, if b still says so. */
static void itself(struct gen *g, const char *name)
{
    const int label = g->labels++, twice = chance(g, 40);
    const char *b = temp(g, 'r'), *p = temp(g, 'p');

    statement_begin(g);
    say(g, "and.b32 %s, %%depth, 3;\nsetp.eq.u32 %s, %s, 0;", b, p, b);
    say(g, "@%s bra L%d;", p, label);
    say(g, "sub.u32 %s, %s, 1;", b, b);
    call_of(g, name, "", b);
    if (twice)
        call_of(g, name, "", b);
    say(g, "L%d:", label);
    statement_end(g);
}

static void result(struct gen *g)
{
    say(g, "xor.b32 #r0, $=r, $=r;\nadd.u32 #r0, #r0, $=r;\n"
           "st.param.b32 [out], #r0;\nret;");
}

/* One function; `is_masked`: lanes_of. */
static void function(struct gen *g, const char *name, int is_masked,
                     int is_recursive)
{
    const struct gen outer = *g;
    struct node *declarations;

    g->in_function = 1;
    g->returns = !is_masked || g->edition == 1;
    g->scope = (struct scope){
        .mask = -1, .leave = -1, .again = -1, .depth = 1, .loops = 1};
    g->temps = g->masks = 0;
    g->budget = 2 + (int)below(g, 5);
    g->has_local = chance(g, 25);
    say(g, ".func (.param .b32 out) %s%s", name,
        is_masked ? "(.param .b32 a, .param .b32 b)" : parameters);
    say(g, "{");
    declarations = part_begin(g);
    statement_end(g);
    say(g, "mov.u32 %%lane, %%laneid;\nld.param.b32 %%r0, [a];");
    start_registers(g);
    say(g, "ld.param.b32 %%depth, [b];");
    if (is_masked) {
        g->scope.mask = g->masks++;
        say(g, "mov.b32 %%m0, %%depth;");
    } else {
        say(g, "xor.b32 %%r1, %%r1, %%depth;\nld.param.b32 %%r2, [s+4];");
        if (has_kind(g, 'd'))
            say(g, "ld.param.u64 %%d1, [s+8];");
        if (has_kind(g, 'h'))
            say(g, "ld.param.b16 %%h0, [s+2];");
    }
    if (g->has_local)
        local_start(g);
    if (is_recursive)
        itself(g, name);
    statements(g, 4);
    result(g);
    say(g, "}");
    g->at = declarations;
    declare_registers(g);
    say(g, ".reg .b32 %%lane, %%depth;");
    {
        const uint64_t state = g->state;
        const int labels = g->labels;

        *g = outer;
        g->state = state;
        g->labels = labels;
    }
}

void functions_make(struct gen *g)
{
    const int count = chance(g, 40) ? 1 + (int)below(g, FUNCTIONS) : 0;

    while (g->functions < count) {
        const int recursive = g->functions + 1 == count && chance(g, 40);
        char name[8];

        snprintf(name, sizeof name, "f%d", g->functions);
        if (recursive)
            say(g, ".func (.param .b32 out) %s%s;", name, parameters);
        function(g, name, 0, recursive);
        g->functions++;
    }
    if (count > 1)
        say(g, ".global .align 8 .u64 pointers[2] = {f0, f1};");
    if (!g->plain && chance(g, 30)) {
        function(g, "lanes_of", 1, 0);
        g->masked = 1;
    }
}
