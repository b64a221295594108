/* SPDX-License-Identifier: MIT
 *
 * atom and red: every operation and type, in global and shared memory by each
 * name of it and by generic addresses, with every scope and order.
 */
#include "checklist.h"

#include <stdio.h>
#include <string.h>

static const struct operation {
    const char *text;
    unsigned bits;
    int only_atom;
    uint64_t before, operand, third, after; /* third: of cas */
} operations[] = {
    {"add.u32", 32, 0, 0xfffffff0, 0x20, 0, 0x10},
    {"add.s32", 32, 0, 5, 0xfffffff9, 0, 0xfffffffe},
    {"add.u64", 64, 0, 0xffffffff, 2, 0, 0x100000001},
    {"add.f32", 32, 0, 0x3f800000, 0x40000000, 0, 0x40400000},
    {"add.f64", 64, 0, 0x3ff0000000000000, 0x4000000000000000, 0,
     0x4008000000000000},
    {"add.noftz.f16", 16, 0, 0x3c00, 0x4000, 0, 0x4200},
    {"add.noftz.f16x2", 32, 0, 0x3c000001, 0x40000001, 0, 0x42000002},
    {"add.noftz.bf16", 16, 0, 0x3f80, 0x4000, 0, 0x4040},
    {"add.noftz.bf16x2", 32, 0, 0x3f800001, 0x40000001, 0, 0x40400002},
    {"inc.u32", 32, 0, 6, 7, 0, 7},
    {"inc.u32", 32, 0, 7, 7, 0, 0},
    {"dec.u32", 32, 0, 4, 9, 0, 3},
    {"dec.u32", 32, 0, 0, 9, 0, 9},
    {"dec.u32", 32, 0, 12, 9, 0, 9},
    {"min.u32", 32, 0, 5, 0xfffffff9, 0, 5},
    {"max.u32", 32, 0, 5, 0xfffffff9, 0, 0xfffffff9},
    {"min.s32", 32, 0, 5, 0xfffffff9, 0, 0xfffffff9},
    {"max.s32", 32, 0, 5, 0xfffffff9, 0, 5},
    {"min.u64", 64, 0, 5, 0xfffffffffffffff9, 0, 5},
    {"max.u64", 64, 0, 5, 0xfffffffffffffff9, 0, 0xfffffffffffffff9},
    {"min.s64", 64, 0, 5, 0xfffffffffffffff9, 0, 0xfffffffffffffff9},
    {"max.s64", 64, 0, 5, 0xfffffffffffffff9, 0, 5},
    {"and.b32", 32, 0, 0xff00ff, 0xf0f0f0, 0, 0xf000f0},
    {"or.b32", 32, 0, 0xff00ff, 0xf0f0f0, 0, 0xfff0ff},
    {"xor.b32", 32, 0, 0xff00ff, 0xf0f0f0, 0, 0x0ff00f},
    {"and.b64", 64, 0, 0xff00ff00000001, 0xf0f0f000000003, 0, 0xf000f000000001},
    {"or.b64", 64, 0, 0xff00ff00000001, 0xf0f0f000000002, 0, 0xfff0ff00000003},
    {"xor.b64", 64, 0, 0xff00ff00000001, 0xf0f0f000000003, 0, 0x0ff00f00000002},
    {"exch.b32", 32, 1, 5, 7, 0, 7},
    {"exch.b64", 64, 1, 5, 0x700000000, 0, 0x700000000},
    {"cas.b16", 16, 1, 5, 5, 9, 9},
    {"cas.b32", 32, 1, 5, 5, 9, 9},
    {"cas.b32", 32, 1, 5, 6, 9, 5},
    {"cas.b64", 64, 1, 0x500000000, 0x500000000, 9, 9},
};

static const char *const scopes[] = {"", ".cta", ".cluster", ".gpu", ".sys"};
static const struct {
    const char *space, *plain, *at; /* of atom, of ld and st, the address */
} places[] = {{".global", ".global", "[%d18]"},
              {"", ".global", "[%d18]"},
              {".shared", ".shared", "[%r38]"},
              {".shared::cta", ".shared", "[%r38]"},
              {".shared::cluster", ".shared", "[%r38]"},
              {"", "", "[%d17]"}};

struct list {
    char text[1 << 17];
    size_t at;
    unsigned count;
};

static const char *reg(unsigned bits)
{
    return bits == 16 ? "%h" : bits == 32 ? "%r" : "%d";
}

/* Registers 0 to 3: before, operand, third, after; 4: what was there. */
static void add_access(struct list *l, const struct operation *o, int is_red,
                       const char *order, const char *scope, unsigned place)
{
    const char *r = reg(o->bits), *plain = places[place].plain;
    const char *at = places[place].at;
    char d[16] = "", third[16] = "", check[128] = "";

    if (!is_red) {
        snprintf(d, sizeof d, "%s4, ", r);
        snprintf(check, sizeof check,
                 "setp.ne.b%u %%p0, %s4, %s0;\n@%%p0 add.u32 %%o0, %%o0, 1;\n",
                 o->bits, r, r);
    }
    if (!strncmp(o->text, "cas", 3))
        snprintf(third, sizeof third, ", %s2", r);
    l->at += (size_t)snprintf(
        l->text + l->at, sizeof l->text - l->at,
        "st%s.b%u %s, %s0;\n%s%s%s%s.%s %s%s, %s1%s;\n%s"
        "ld%s.b%u %s5, %s;\nsetp.ne.b%u %%p0, %s5, %s3;\n"
        "@%%p0 add.u32 %%o1, %%o1, 1;\nadd.u32 %%o2, %%o2, 1;\n",
        plain, o->bits, at, r, is_red ? "red" : "atom", order, scope,
        places[place].space, o->text, d, at, r, third, check, plain, o->bits, r,
        at, o->bits, r, r);
    l->count++;
}

static void begin(struct list *l, const struct operation *o)
{
    const uint64_t values[] = {o->before, o->operand, o->third, o->after};

    l->at = l->count = 0;
    for (unsigned i = 0; i < 4; i++)
        l->at += (size_t)snprintf(
            l->text + l->at, sizeof l->text - l->at, "mov.b%u %s%u, 0x%llx;\n",
            o->bits, reg(o->bits), i, (unsigned long long)values[i]);
    l->at += (size_t)snprintf(
        l->text + l->at, sizeof l->text - l->at,
        ".shared .align 16 .b64 s;\nmov.u64 %%d18, g;\nmov.u32 %%r38, s;\n"
        "mov.u64 %%d17, s;\ncvta.shared.u64 %%d17, %%d17;\n"
        "mov.u32 %%r37, %%tid.x;\nsetp.ne.u32 %%p1, %%r37, 0;\n"
        "@%%p1 bra END;\n");
}

/* The first thread alone: no wrong value before, none after, of so many. */
static uint32_t of_first(const void *data, unsigned t, unsigned w)
{
    return !t && w == 2 ? *(const unsigned *)data : 0;
}

static void try_operation(const struct operation *o, int is_red)
{
    static const char *const orders[] = {"", ".relaxed", ".release", ".acquire",
                                         ".acq_rel"};
    static struct list l;
    char name[64];
    struct list_kernel k = {.name = name,
                            .version = 86,
                            .target = 90,
                            .directives = "",
                            .module = ".global .align 16 .b64 g;\n",
                            .body = l.text};

    begin(&l, o);
    for (unsigned p = 0; p < sizeof places / sizeof *places; p++)
        for (unsigned s = 0; s < 5; s++)
            add_access(&l, o, is_red, orders[(p + s) % (is_red ? 3 : 5)],
                       scopes[s], p);
    l.at += (size_t)snprintf(l.text + l.at, sizeof l.text - l.at, "END:\n");
    snprintf(name, sizeof name, "%s.%s of 0x%llx", is_red ? "red" : "atom",
             o->text, (unsigned long long)o->before);
    list_run(&k, of_first, &l.count);
}

void list_atomics(void)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        try_operation(&operations[i], 0);
        if (!operations[i].only_atom)
            try_operation(&operations[i], 1);
    }
}
