/* SPDX-License-Identifier: MIT
 *
 * Registers, constants and conditions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static const struct {
    char letter;
    const char *type;
    int count;
} kinds[] = {{'r', "b32", 5},  {'d', "b64", 2}, {'h', "b16", 2},
             {'f', "f32", 3},  {'g', "f64", 2}, {'x', "b16", 2},
             {'y', "b32", 1},  {'b', "b16", 1}, {'z', "b32", 1},
             {'p', "pred", 3}, {'w', "b32", 2}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const uint32_t floats[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
    0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0x40490fdb, 0x3f000000,
    0x4b000001, 0x33800000, 0x477fe000, 0xc2480000, 0x4f000000, 0x3f800001};
static const uint64_t doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x7ff0000000000000, 0x0000000000000001,
    0x800fffffffffffff, 0x7fefffffffffffff, 0x400921fb54442d18,
    0x3ca0000000000000, 0x41e0000000000000, 0xc3e0000000000000,
    0x3ff0000000000001, 0x36a0000000000000, 0xc049000000000000};
static const uint64_t integers[] = {
    0,          1,          2,          0xffffffffffffffff,
    0x7fffffff, 0x80000000, 0xffffffff, 0x8000000000000000,
    255,        0x7fff,     31,         32};

#define ONE(g, array) array[below(g, sizeof(array) / sizeof *(array))]

/* Names, until the program is made. */
enum { NAME = 24, CHUNK = 1000 };
static struct chunk {
    struct chunk *next;
    char names[CHUNK][NAME];
    unsigned used;
} * chunks;

static char *text(void)
{
    if (!chunks || chunks->used == CHUNK) {
        struct chunk *c = must_alloc(1, sizeof *c);

        c->next = chunks;
        chunks = c;
    }
    return chunks->names[chunks->used++];
}

void names_free(void)
{
    while (chunks) {
        struct chunk *next = chunks->next;

        free(chunks);
        chunks = next;
    }
}

int kind_count(char kind)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].letter == kind)
            return kinds[i].count;
    return 0;
}

int has_kind(const struct gen *g, char kind)
{
    return strchr(g->kinds, kind) != NULL;
}

static const char *number(struct gen *g, char kind)
{
    char *t = text();
    uint64_t v = chance(g, 50) ? ONE(g, integers) : random_bits(g);
    const int special = chance(g, 70);

    if (chance(g, 30))
        v = below(g, 100);
    if (kind == 'f') {
        snprintf(t, NAME, "0f%08X",
                 special ? ONE(g, floats) : 0x38000000u + below(g, 0x0fffffff));
    } else if (kind == 'g') {
        snprintf(t, NAME, "0d%016llX", (unsigned long long)ONE(g, doubles));
    } else if (kind == 'd') {
        snprintf(t, NAME, "0x%llx", (unsigned long long)v);
    } else if (kind == 'h') {
        snprintf(t, NAME, "%u", (unsigned)(v & 0x7fff));
    } else {
        snprintf(t, NAME, "0x%x", (unsigned)v);
    }
    return t;
}

const char *variable(struct gen *g, char kind)
{
    char *t = text();

    snprintf(t, NAME, "%%%c%u", kind, below(g, (unsigned)kind_count(kind)));
    return t;
}

const char *operand(struct gen *g, char kind)
{
    static const char *const own[] = {"%own", "%gid", "%lane", "%cta",
                                      "%nt",  "%n",   "%w0",   "%w1"};

    if (strchr("rdhfg", kind) && chance(g, 15))
        return number(g, kind);
    if (kind == 'r' && chance(g, 20))
        return g->in_function ? "%lane" : ONE(g, own);
    return variable(g, kind);
}

const char *uniform_operand(struct gen *g)
{
    static const char *const own[] = {"%cta", "%nt", "%n", "%w0", "%w1"};

    return chance(g, 25) ? number(g, 'w') : ONE(g, own);
}

const char *temp(struct gen *g, char kind)
{
    char *t = text();

    snprintf(t, NAME, "%%t%c%d", kind, g->temps++);
    return t;
}

const char *predicate(struct gen *g)
{
    char *t = text();
    const int yes = chance(g, 50);

    snprintf(t, NAME, "%s%%p%u", yes ? "" : "!",
             below(g, (unsigned)kind_count('p')));
    return t;
}

const char *guard(struct gen *g)
{
    char *t;

    if (!chance(g, 15))
        return "";
    t = text();
    snprintf(t, NAME, "@%s ", predicate(g));
    return t;
}

const char *condition(struct gen *g)
{
    const char *p = temp(g, 'p');
    const unsigned how = below(g, 8), bit = 1u << below(g, 6);

    if (how < 3)
        say(g, "setp.{eq|ne|lt|le|gt|ge}.{u|s}32 %s, $=r, $r;", p);
    else if (how < 5)
        say(g, "and.b32 #r0, $=r, %u;\nsetp.{eq|ne}.u32 %s, #r0, 0;", bit, p);
    else if (how == 5 && has_kind(g, 'f'))
        say(g, "setp.{eq|ne|lt|le|gt|ge|ltu|geu}.f32 %s, $=f, $f;", p);
    else if (how == 6)
        say(g, "setp.{eq|ne|lt|le|gt|ge}.u32 %s, %%lane, %u;", p, below(g, 32));
    else
        say(g, "not.pred %s, $=p;", p);
    return p;
}

const char *uniform_condition(struct gen *g)
{
    const char *p = temp(g, 'p');

    if (chance(g, 50))
        say(g,
            "xor.b32 #r0, $u, $u;\nand.b32 #r0, #r0, %u;\n"
            "setp.ne.u32 %s, #r0, 0;",
            1u << below(g, 4), p);
    else
        say(g, "setp.{eq|ne|lt|le|gt|ge}.u32 %s, $u, %u;", p, below(g, 70));
    return p;
}

const char *settled(struct gen *g, char kind, const char *value)
{
    const char *t = temp(g, kind), *p = temp(g, 'p');
    const char *format = kind == 'f'   ? "setp.nan.f32 %s, %s, %s;"
                         : kind == 'g' ? "setp.nan.f64 %s, %s, %s;"
                         : kind == 'x' ? "setp.nan.f16 %s, %s, %s;"
                                       : "setp.nan.bf16 %s, %s, %s;";

    say(g, format, p, value, value);
    say(g,
        kind == 'f'   ? "selp.f32 %s, 0f7FFFFFFF, %s, %s;"
        : kind == 'g' ? "selp.f64 %s, 0d7FF8000000000000, %s, %s;"
                      : "selp.b16 %s, 0x7fff, %s, %s;",
        t, value, p);
    return t;
}

void declare_registers(struct gen *g)
{
    for (int i = 0; i < KINDS; i++) {
        if (has_kind(g, kinds[i].letter))
            say(g, ".reg .%s %%%c<%d>;", kinds[i].type, kinds[i].letter,
                kinds[i].count);
        /* As many of each kind as there are of all: only numbers are used. */
        if (g->temps)
            say(g, ".reg .%s %%t%c<%d>;", kinds[i].type, kinds[i].letter,
                g->temps);
    }
    if (g->masks)
        say(g, ".reg .b32 %%m<%d>;", g->masks);
}

/* Every register from %r0 and the constants: r first. */
void start_registers(struct gen *g)
{
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; has_kind(g, kinds[i].letter) && k < kinds[i].count;
             k++) {
            const char letter = kinds[i].letter;
            const char *t;

            switch (letter) {
            case 'r':
                if (k)
                    say(g, "mad.lo.u32 %%r%d, %%r0, %u, %%lane;", k,
                        (unsigned)k * 0x9e3779b1u);
                break;
            case 'w':
                if (!g->in_function)
                    say(g, "mad.lo.u32 %%w%d, %%cta, %d, %%n;", k, 3 + k);
                break;
            case 'd':
                say(g, "mul.wide.%s32 %%d%d, %%r0, %%r%d;", k ? "s" : "u", k,
                    k + 1);
                break;
            case 'f':
                t = temp(g, 'r');
                say(g, "bfe.s32 %s, %%r%d, %d, 12;", t, k, k * 3);
                say(g, "cvt.rn.f32.s32 %%f%d, %s;", k, t);
                break;
            case 'g':
                say(g, "cvt.rn.f64.s32 %%g%d, %%r%d;", k, k);
                break;
            case 'p':
                t = temp(g, 'r');
                say(g, "and.b32 %s, %%r%d, %d;", t, k, 4 << k);
                say(g, "setp.ne.u32 %%p%d, %s, 0;", k, t);
                break;
            case 'h':
                say(g, "cvt.u16.u32 %%h%d, %%r%d;", k, k);
                break;
            case 'x':
            case 'b':
                t = temp(g, 'r');
                say(g, "bfe.s32 %s, %%r%d, %d, 8;", t, k, k + 5);
                if (letter == 'b') {
                    const char *f = temp(g, 'f');

                    say(g, "cvt.rn.f32.s32 %s, %s;", f, t);
                    say(g, "cvt.rn.bf16.f32 %%b%d, %s;", k, f);
                } else {
                    say(g, "cvt.rn.f16.s32 %%x%d, %s;", k, t);
                }
                break;
            default:
                say(g, "and.b32 %%%c%d, %%r%d, 0xbfffbfff;", letter, k, k);
                break;
            }
        }
}
