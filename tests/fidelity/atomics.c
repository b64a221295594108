/* SPDX-License-Identifier: MIT
 *
 * atom and red: every operation and type, on a cell of each thread's own (the
 * value returned and the cell afterwards), in global, shared and generic
 * memory; orders and scopes one at a time; and many threads on few cells,
 * where the sum does not depend on their order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fidelity.h"

struct atomic {
    const char *op; /* of the mnemonic, with the type */
    char kind;      /* of the operands */
    int operands;   /* 1, or 2 for cas */
    int no_red;
};
static const struct atomic atomics[] = {
    {"add.u32", 'i', 1, 0},          {"add.s32", 'i', 1, 0},
    {"add.u64", 'l', 1, 0},          {"add.f32", 'f', 1, 0},
    {"add.f64", 'd', 1, 0},          {"add.noftz.f16", 'h', 1, 0},
    {"add.noftz.f16x2", 'H', 1, 0},  {"add.noftz.bf16", 'g', 1, 0},
    {"add.noftz.bf16x2", 'G', 1, 0}, {"inc.u32", 'i', 1, 0},
    {"dec.u32", 'i', 1, 0},          {"min.u32", 'i', 1, 0},
    {"max.u32", 'i', 1, 0},          {"min.s32", 'i', 1, 0},
    {"max.s32", 'i', 1, 0},          {"min.u64", 'l', 1, 0},
    {"max.u64", 'l', 1, 0},          {"min.s64", 'l', 1, 0},
    {"max.s64", 'l', 1, 0},          {"and.b32", 'i', 1, 0},
    {"or.b32", 'i', 1, 0},           {"xor.b32", 'i', 1, 0},
    {"and.b64", 'l', 1, 0},          {"or.b64", 'l', 1, 0},
    {"xor.b64", 'l', 1, 0},          {"exch.b32", 'i', 1, 1},
    {"exch.b64", 'l', 1, 1},         {"cas.b16", 'w', 2, 1},
    {"cas.b32", 'i', 2, 1},          {"cas.b64", 'l', 2, 1},
};
enum { ATOMICS = sizeof atomics / sizeof *atomics };

static const struct space {
    const char *name, *of_store, *open;
} spaces[] = {
    {".global", ".global", ""},
    {".shared", ".shared",
     "    .shared .align 16 .b8 room[4096];\n"
     "    .reg .b32 %sa;\n"
     "    mov.u32 %sa, %tid.x;\n"
     "    shl.b32 %sa, %sa, 4;\n"
     "    mov.u32 %t0, room;\n"
     "    add.u32 %sa, %sa, %t0;\n"
     "    cvt.u64.u32 %m, %sa;\n"},
    {"", "", ""},
    {"", "",
     "    .shared .align 16 .b8 room[4096];\n"
     "    .reg .b32 %sa;\n"
     "    mov.u32 %sa, %tid.x;\n"
     "    shl.b32 %sa, %sa, 4;\n"
     "    mov.u32 %t0, room;\n"
     "    add.u32 %sa, %sa, %t0;\n"
     "    cvt.u64.u32 %m, %sa;\n"
     "    cvta.shared.u64 %m, %m;\n"},
};

/* %h0, %o0 or %d0 and the words it becomes. */
static const char *old_register(const char *bits)
{
    return bits[1] == '1' ? "%h0" : bits[1] == '3' ? "%o0" : "%d0";
}

static const char *old_words(const char *bits)
{
    return bits[1] == '1'   ? "    cvt.u32.u16 %o0, %h0;\n"
           : bits[1] == '3' ? ""
                            : "    mov.b64 {%o0, %o1}, %d0;\n";
}

static const char *cell_words(const char *bits)
{
    return bits[1] == '1'   ? "    ld%s.b16 %%h1, [%%m];\n"
                              "    cvt.u32.u16 %%o%u, %%h1;\n"
           : bits[1] == '3' ? "    ld%s.b32 %%o%u, [%%m];\n"
                            : "    ld%s.v2.b32 {%%o%u, %%o3}, [%%m];\n";
}

/* The cell holds a0; the operation takes a1 (and a2). cas compares with a0
 * where the low bit of a2 is set, so that it often stores. */
static void own_cell(struct fid_cases *all, const struct atomic *a,
                     const struct space *s, const char *sem, int is_red,
                     const char *suffix)
{
    const char *bits = fid_register(a->kind), *old = old_register(bits);
    const unsigned old_count = is_red ? 0 : bits[1] == '6' ? 2 : 1;
    const unsigned words = old_count + (bits[1] == '6' ? 2 : 1);
    char kinds[4] = {a->kind, a->kind, a->operands > 1 ? a->kind : 0, 0};
    char op[64], *first, *second, *body;
    struct fid_case *c;

    snprintf(op, sizeof op, "%s%s%s.%s", is_red ? "red" : "atom", sem, s->name,
             a->op);
    first =
        fid_format("%s    st%s.%s [%%m], %%a0;\n", s->open, s->of_store, bits);
    if (a->operands > 1) {
        char *choose = fid_format("    and.b%s %s1, %%a2, 1;\n"
                                  "    setp.ne.b%s %%p0, %s1, 0;\n"
                                  "    selp.b%s %s1, %%a0, %%a1, %%p0;\n",
                                  bits + 1,
                                  bits[1] == '1'   ? "%h"
                                  : bits[1] == '3' ? "%t"
                                                   : "%d",
                                  bits + 1,
                                  bits[1] == '1'   ? "%h"
                                  : bits[1] == '3' ? "%t"
                                                   : "%d",
                                  bits + 1,
                                  bits[1] == '1'   ? "%h"
                                  : bits[1] == '3' ? "%t"
                                                   : "%d");

        second =
            fid_format("%s    %s %s, [%%m], %s1, %%a2;\n%s", choose, op, old,
                       bits[1] == '1'   ? "%h"
                       : bits[1] == '3' ? "%t"
                                        : "%d",
                       old_words(bits));
        free(choose);
    } else if (is_red) {
        second = fid_format("    %s [%%m], %%a1;\n", op);
    } else {
        second =
            fid_format("    %s %s, [%%m], %%a1;\n%s", op, old, old_words(bits));
    }
    {
        char *cell = bits[1] == '6'
                         ? fid_format("    ld%s.v2.b32 {%%o%u, %%o%u}, "
                                      "[%%m];\n",
                                      s->of_store, old_count, old_count + 1)
                         : fid_format(cell_words(bits), s->of_store, old_count);

        body = fid_format("%s%s%s", first, second, cell);
        free(cell);
    }
    c = fid_add(all, is_red ? "red" : "atom", fid_format("%s%s", op, suffix),
                body, kinds, words);
    c->scratch = 1;
    /* The value returned is a copy; the cell may be a NaN too. */
    c->result = strchr("hgfdHG", a->kind) ? a->kind : 0;
    free(first);
    free(second);
}

/* All threads of a block on 8 cells of 8 bytes in shared memory. */
static void few_cells(struct fid_cases *all, const struct atomic *a, int is_red)
{
    static const char open[] = "    .shared .align 16 .b8 room[64];\n"
                               "    .reg .b32 %sa, %sb;\n"
                               "    .reg .b64 %old, %value;\n"
                               "    mov.u32 %t0, room;\n"
                               "    mov.u32 %sb, %tid.x;\n"
                               "    and.b32 %sb, %sb, 7;\n"
                               "    mad.lo.u32 %sb, %sb, 8, %t0;\n"
                               "    mov.u64 %old, 0x0102030405060708;\n"
                               "    st.shared.u64 [%sb], %old;\n"
                               "    and.b32 %sa, %a1, 7;\n"
                               "    mad.lo.u32 %sa, %sa, 8, %t0;\n"
                               "    bar.sync 0;\n";
    /* inc and dec count the same only to one limit. */
    const int counts = !strncmp(a->op, "inc", 3) || !strncmp(a->op, "dec", 3);
    const char *bits = fid_register(a->kind);
    char *body;

    if (!strchr("il", a->kind) || a->no_red)
        return;
    body = fid_format("%s"
                      "    %s.shared.%s %s[%%sa], %s;\n"
                      "    bar.sync 0;\n"
                      "    ld.shared.v2.b32 {%%o0, %%o1}, [%%sb];\n",
                      open, is_red ? "red" : "atom", a->op,
                      is_red           ? ""
                      : bits[1] == '3' ? "%o2, "
                                       : "%d2, ",
                      counts ? "1000" : "%a0");
    fid_add(all, is_red ? "red" : "atom",
            fid_format("%s.shared.%s, a block on 8 cells",
                       is_red ? "red" : "atom", a->op),
            body, a->kind == 'i' ? "ii" : "li", 2);
}

/* The old values of add of 1 to one cell are all numbers below the count:
 * their sum over the block is known whatever the order. */
static void tickets(struct fid_cases *all)
{
    static const char body[] = "    .shared .align 16 .b8 room[64];\n"
                               "    mov.u32 %t0, %tid.x;\n"
                               "    setp.ne.u32 %p0, %t0, 0;\n"
                               "    mov.u64 %d0, 0;\n"
                               "    @!%p0 st.shared.u64 [room], %d0;\n"
                               "    bar.sync 0;\n"
                               "    atom.shared.add.u32 %t1, [room], 1;\n"
                               "    mul.lo.u32 %t1, %t1, %t1;\n"
                               "    red.shared.add.u32 [room+4], %t1;\n"
                               "    bar.sync 0;\n"
                               "    ld.shared.v2.b32 {%o0, %o1}, [room];\n";

    fid_add(all, "atom", fid_format("atom.shared.add.u32, tickets of a block"),
            fid_format("%s", body), "i", 2);
}

/* Vectors: the cell holds a0 and a1 in turn, the operands are a2 and a3. */
static void vectors(struct fid_cases *all)
{
    static const struct {
        const char *text;
        char kind;
        unsigned count;
    } rows[] = {
        {"add.v2.f32", 'f', 2},          {"add.v4.f32", 'f', 4},
        {"add.noftz.v2.f16", 'h', 2},    {"add.noftz.v4.f16", 'h', 4},
        {"add.noftz.v8.f16", 'h', 8},    {"min.noftz.v4.f16", 'h', 4},
        {"max.noftz.v2.f16", 'h', 2},    {"add.noftz.v2.bf16", 'g', 2},
        {"add.noftz.v8.bf16", 'g', 8},   {"min.noftz.v2.bf16", 'g', 2},
        {"max.noftz.v4.bf16", 'g', 4},   {"add.noftz.v2.f16x2", 'H', 2},
        {"add.noftz.v4.f16x2", 'H', 4},  {"min.noftz.v2.f16x2", 'H', 2},
        {"max.noftz.v4.f16x2", 'H', 4},  {"add.noftz.v4.bf16x2", 'G', 4},
        {"min.noftz.v4.bf16x2", 'G', 4}, {"max.noftz.v2.bf16x2", 'G', 2},
    };

    for (size_t r = 0; r < 2 * sizeof rows / sizeof *rows; r++) {
        const int red = r % 2,
                  half = rows[r / 2].kind >= 'g' && rows[r / 2].kind <= 'h';
        const unsigned n = rows[r / 2].count;
        const char kind = rows[r / 2].kind;
        const char kinds[5] = {kind, kind, kind, kind, 0};
        const unsigned cell_words = n * (half ? 2 : 4) / 4;
        const unsigned old = red ? 0 : n;
        char *body = NULL;
        struct fid_case *c;
        size_t size;
        FILE *f = open_memstream(&body, &size);

        if (!f)
            exit(2);
        for (unsigned i = 0; i < n; i++)
            fprintf(f, "    st.global.b%d [%%m+%u], %%a%u;\n", half ? 16 : 32,
                    i * (half ? 2 : 4), i % 2);
        fprintf(f, "    %s.global.%s ", red ? "red" : "atom", rows[r / 2].text);
        for (unsigned i = 0; !red && i < n; i++)
            fprintf(f, "%s%%%c%u%s", i ? ", " : "{", half ? 'h' : 'o', i,
                    i + 1 < n ? "" : "}, ");
        fprintf(f, "[%%m], ");
        for (unsigned i = 0; i < n; i++)
            fprintf(f, "%s%%a%u%s", i ? ", " : "{", 2 + i % 2,
                    i + 1 < n ? "" : "};\n");
        for (unsigned i = 0; !red && half && i < n; i++)
            fprintf(f, "    cvt.u32.u16 %%o%u, %%h%u;\n", i, i);
        for (unsigned i = 0; i < cell_words; i++)
            fprintf(f, "    ld.global.b32 %%o%u, [%%m+%u];\n", old + i, 4 * i);
        fclose(f);
        c = fid_add(
            all, red ? "red" : "atom",
            fid_format("%s.global.%s", red ? "red" : "atom", rows[r / 2].text),
            body, kinds, old + cell_words);
        c->scratch = 1;
        c->result = kind == 'h' ? 'H' : kind == 'g' ? 'G' : kind;
    }
}

static void wide_cells(struct fid_cases *all)
{
    static const char open[] = "    .reg .b128 %q<4>;\n"
                               "    st.global.v2.b64 [%m], {%a0, %a1};\n"
                               "    mov.b128 %q1, {%a2, %a3};\n";
    static const char see[] = "    mov.b128 {%d0, %d1}, %q0;\n"
                              "    mov.b64 {%o0, %o1}, %d0;\n"
                              "    mov.b64 {%o2, %o3}, %d1;\n"
                              "    ld.global.v4.b32 {%o4, %o5, %o6, %o7}, "
                              "[%m];\n";

    fid_add(all, "atom", fid_format("atom.global.exch.b128"),
            fid_format("%s    atom.global.exch.b128 %%q0, [%%m], %%q1;\n%s",
                       open, see),
            "llll", 8)
        ->scratch = 1;
    fid_add(all, "atom", fid_format("atom.global.cas.b128"),
            fid_format("%s    and.b64 %%d4, %%a3, 1;\n"
                       "    setp.eq.u64 %%p0, %%d4, 0;\n"
                       "    selp.b64 %%d4, %%a0, %%a3, %%p0;\n"
                       "    mov.b128 %%q2, {%%d4, %%a1};\n"
                       "    atom.global.cas.b128 %%q0, [%%m], %%q2, %%q1;\n%s",
                       open, see),
            "llll", 8)
        ->scratch = 1;
}

void fid_atomics(struct fid_cases *all)
{
    static const char *const sems[] = {
        ".relaxed",     ".acquire",     ".release", ".acq_rel",
        ".relaxed.cta", ".relaxed.gpu", ".cta",     ".gpu",
        ".sys",         ".acquire.sys", ".cluster", ".release.cluster",
        ".acq_rel.cta"};

    for (int i = 0; i < ATOMICS; i++) {
        for (int s = 0; s < 4; s++) {
            const char *suffix = s == 3 ? ", generic shared" : "";

            own_cell(all, &atomics[i], &spaces[s], "", 0, suffix);
            if (!atomics[i].no_red)
                own_cell(all, &atomics[i], &spaces[s], "", 1, suffix);
        }
        few_cells(all, &atomics[i], 0);
        few_cells(all, &atomics[i], 1);
    }
    for (size_t i = 0; i < sizeof sems / sizeof *sems; i++) {
        own_cell(all, &atomics[0], &spaces[0], sems[i], 0, "");
        own_cell(all, &atomics[28], &spaces[i % 4], sems[i], 0,
                 i % 4 == 3 ? ", generic shared" : "");
        if (!strstr(sems[i], "acq"))
            own_cell(all, &atomics[2], &spaces[0], sems[i], 1, "");
    }
    tickets(all);
    vectors(all);
    wide_cells(all);
}
