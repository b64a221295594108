/* SPDX-License-Identifier: MIT
 *
 * Loads and stores: every type, vector and space, into registers of every
 * width; cache operators, orders and hints one at a time; packing moves and
 * addresses. A thread uses 64 bytes of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fidelity.h"

struct space {
    const char *name; /* of ld and st, with the dot */
    const char *open; /* makes %m an address there */
};
static const struct space spaces[] = {
    {".global", ""},
    {"", ""},
    {".shared", "    .shared .align 16 .b8 room[4096];\n"
                "    .reg .b32 %sa;\n"
                "    mov.u32 %sa, %tid.x;\n"
                "    shl.b32 %sa, %sa, 6;\n"
                "    mov.u32 %t0, room;\n"
                "    add.u32 %sa, %sa, %t0;\n"
                "    cvt.u64.u32 %m, %sa;\n"},
    {".local", "    .local .align 16 .b8 room[64];\n"
               "    mov.u64 %m, room;\n"},
};
static const char generic_shared[] = "    cvta.shared.u64 %m, %m;\n";
static const char generic_local[] = "    cvta.local.u64 %m, %m;\n";

static const struct type {
    const char *name;
    unsigned bytes;
} types[] = {{"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2},
             {"s16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
             {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
enum { TYPES = sizeof types / sizeof *types };

/* 64 bytes from the operands of kinds "ll". */
static const char fill[] = "    st%s.b64 [%%m], %%a0;\n"
                           "    st%s.b64 [%%m+8], %%a1;\n"
                           "    xor.b64 %%d0, %%a0, %%a1;\n"
                           "    st%s.b64 [%%m+16], %%d0;\n"
                           "    not.b64 %%d1, %%a0;\n"
                           "    st%s.b64 [%%m+24], %%d1;\n";

static const char mix_all[] = "    ld%s.v2.b32 {%%o0, %%o1}, [%%m];\n"
                              "    ld%s.v2.b32 {%%o2, %%o3}, [%%m+8];\n"
                              "    ld%s.v2.b32 {%%o4, %%o5}, [%%m+16];\n"
                              "    ld%s.v2.b32 {%%o6, %%o7}, [%%m+24];\n";

static char *filled(const struct space *s, const char *more)
{
    char *part = fid_format(fill, s->name, s->name, s->name, s->name);
    char *text = fid_format("%s%s%s", s->open, part, more);

    free(part);
    return text;
}

static int is_shared(const struct space *s)
{
    return !strcmp(s->name, ".shared");
}

static void add(struct fid_cases *all, const char *family, char *name,
                char *body, unsigned words, const struct space *s)
{
    struct fid_case *c;

    c = fid_add(all, family, name, body, "ll", words);
    c->scratch = 1;
    c->threads = is_shared(s) ? 64 : 256;
}

/* ld.T into registers of `bits`; each element one after the other. */
static void load(struct fid_cases *all, const struct space *s,
                 const struct type *t, unsigned count, unsigned bits)
{
    static const char *const regs[] = {"%h", "%t", "%d"};
    const char *reg = regs[bits / 32];
    char list[96] = "", more[1024], vec[8] = "";
    unsigned words = 0;
    size_t n = 0, m = 0;

    for (unsigned i = 0; i < count; i++) {
        m += (size_t)snprintf(list + m, sizeof list - m, "%s%s%u",
                              i ? ", " : "", reg, i + 4);
    }
    if (count > 1)
        snprintf(vec, sizeof vec, ".v%u", count);
    n = (size_t)snprintf(more, sizeof more, "    ld%s%s.%s %s%s%s, [%%m+%u];\n",
                         s->name, vec, t->name, count > 1 ? "{" : "", list,
                         count > 1 ? "}" : "",
                         count > 2 && t->bytes > 2 ? 0
                         : count > 1               ? 16
                                                   : 8);
    for (unsigned i = 0; i < count; i++) {
        if (bits == 64) {
            n += (size_t)snprintf(more + n, sizeof more - n,
                                  "    mov.b64 {%%o%u, %%o%u}, %%d%u;\n", words,
                                  words + 1, i + 4);
            words += 2;
        } else {
            n += (size_t)snprintf(more + n, sizeof more - n,
                                  bits == 16 ? "    cvt.u32.u16 %%o%u, %%h%u;\n"
                                             : "    mov.b32 %%o%u, %%t%u;\n",
                                  words, i + 4);
            words++;
        }
    }
    add(all, "ld",
        fid_format("ld%s%s.%s into .b%u", s->name, vec, t->name, bits),
        filled(s, more), words, s);
}

static void store(struct fid_cases *all, const struct space *s,
                  const struct type *t, unsigned count, unsigned bits)
{
    char more[1024], list[96] = "", vec[8] = "", *seen;
    size_t m = 0;

    for (unsigned i = 0; i < count; i++)
        m += (size_t)snprintf(list + m, sizeof list - m, "%s%%%c%u",
                              i ? ", " : "",
                              bits == 16   ? 'h'
                              : bits == 32 ? 't'
                                           : 'd',
                              i + 4);
    if (count > 1)
        snprintf(vec, sizeof vec, ".v%u", count);
    seen = fid_format(mix_all, s->name, s->name, s->name, s->name);
    snprintf(more, sizeof more,
             "    mov.b64 {%%t4, %%t5}, %%a1;\n"
             "    mov.b64 {%%t6, %%t7}, %%a0;\n"
             "    mov.b64 {%%h4, %%h5, %%h6, %%h7}, %%a1;\n"
             "    mov.b64 %%d4, %%a1;\n"
             "    mov.b64 %%d5, %%a0;\n"
             "    st%s%s.%s [%%m+%u], %s%s%s;\n%s",
             s->name, vec, t->name,
             count > 1 ? 16 - (count * t->bytes > 16 ? 16 : 0) : t->bytes,
             count > 1 ? "{" : "", list, count > 1 ? "}" : "", seen);
    add(all, "st",
        fid_format("st%s%s.%s from .b%u", s->name, vec, t->name, bits),
        filled(s, more), 8, s);
    free(seen);
}

static void all_types(struct fid_cases *all, const struct space *s)
{
    for (int t = 0; t < TYPES; t++)
        for (unsigned count = 1; count <= 4; count *= 2)
            for (unsigned bits = 16; bits <= 64; bits *= 2) {
                const int is_float = types[t].name[0] == 'f';

                if (types[t].bytes * 8 > bits || types[t].bytes * count > 16 ||
                    (is_float && types[t].bytes * 8 != bits) ||
                    (count > 1 && (bits == 64) != (types[t].bytes == 8)))
                    continue;
                load(all, s, &types[t], count, bits);
                store(all, s, &types[t], count, bits);
            }
}

/* Orders, cache operators and hints, each alone. */
static void modifiers(struct fid_cases *all)
{
    static const char *const loads[] = {".volatile.global",
                                        ".relaxed.cta.global",
                                        ".relaxed.gpu.global",
                                        ".relaxed.sys.global",
                                        ".acquire.cta.global",
                                        ".acquire.gpu.global",
                                        ".acquire.sys.global",
                                        ".weak.global",
                                        ".relaxed.cluster",
                                        ".volatile",
                                        ".relaxed.gpu",
                                        ".acquire.gpu",
                                        ".global.ca",
                                        ".global.cg",
                                        ".global.cs",
                                        ".global.lu",
                                        ".global.cv",
                                        ".ca",
                                        ".global.nc",
                                        ".global.L1::evict_last",
                                        ".global.L1::no_allocate",
                                        ".global.L2::64B",
                                        ".global.L2::128B",
                                        ".global.L2::256B",
                                        ".global.L1::evict_first.L2::128B",
                                        "u.global"};
    static const char *const stores[] = {".volatile.global",
                                         ".relaxed.cta.global",
                                         ".relaxed.gpu.global",
                                         ".relaxed.sys.global",
                                         ".release.cta.global",
                                         ".release.gpu.global",
                                         ".release.sys.global",
                                         ".weak.global",
                                         ".relaxed.cluster",
                                         ".volatile",
                                         ".relaxed.gpu",
                                         ".release.gpu",
                                         ".global.wb",
                                         ".global.cg",
                                         ".global.cs",
                                         ".global.wt",
                                         ".wb",
                                         ".global.L1::evict_last",
                                         ".global.L1::no_allocate"};
    static const char *const how[] = {"b8", "b32", "v2.b32", "v4.f32", "b64"};
    static const char *const into[] = {"%t4", "%t4", "{%t4, %t5}",
                                       "{%t4, %t5, %t6, %t7}", "%d4"};

    for (unsigned i = 0; i < sizeof loads / sizeof *loads; i++)
        for (unsigned k = 0; k < 5; k++) {
            /* What .nc reads must not be written by the kernel: an input of
             * 8 bytes. */
            const int nc = strstr(loads[i], ".nc") || loads[i][0] == 'u';
            char *more =
                fid_format("    mov.b64 %%d4, 0;\n"
                           "    mov.b64 {%%t4, %%t5}, %%d4;\n"
                           "    mov.b64 {%%t6, %%t7}, %%d4;\n"
                           "    ld%s.%s %s, [%s];\n"
                           "    mov.b64 {%%t8, %%t9}, %%d4;\n"
                           "    xor.b32 %%o0, %%t4, %%t8;\n"
                           "    xor.b32 %%o1, %%t5, %%t9;\n"
                           "    mov.b32 %%o2, %%t6;\n"
                           "    mov.b32 %%o3, %%t7;\n",
                           loads[i], how[k], into[k], nc ? "%zd1" : "%m+16");

            if (!nc || k != 3)
                add(all, "ld", fid_format("ld%s.%s", loads[i], how[k]),
                    filled(&spaces[0], more), 4, &spaces[0]);
            free(more);
        }
    for (unsigned i = 0; i < sizeof stores / sizeof *stores; i++)
        for (unsigned k = 0; k < 5; k++) {
            char *seen = fid_format(mix_all, "", "", "", "");
            char *more = fid_format("    mov.b64 {%%t4, %%t5}, %%a1;\n"
                                    "    mov.b64 {%%t6, %%t7}, %%a0;\n"
                                    "    mov.b64 %%d4, %%a1;\n"
                                    "    st%s.%s [%%m+16], %s;\n%s",
                                    stores[i], how[k], into[k], seen);

            add(all, "st", fid_format("st%s.%s", stores[i], how[k]),
                filled(&spaces[0], more), 8, &spaces[0]);
            free(seen);
            free(more);
        }
}

/* The same of shared memory, by its other names. */
static void shared_modifiers(struct fid_cases *all)
{
    static const char *const names[][2] = {
        {".shared::cta", ".shared::cta"},
        {".shared::cluster", ".shared::cluster"},
        {".volatile.shared", ".volatile.shared"},
        {".relaxed.cta.shared", ".relaxed.cta.shared"},
        {".acquire.cta.shared::cta", ".release.cta.shared::cta"},
        {".weak.shared", ".weak.shared"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *more =
            fid_format("    st%s.v2.b64 [%%m+8], {%%a1, %%a0};\n"
                       "    st%s.b8 [%%m+5], %%a1;\n"
                       "    ld%s.v4.b32 {%%o0, %%o1, %%o2, %%o3}, "
                       "[%%m];\n"
                       "    ld%s.s16 %%o4, [%%m+20];\n",
                       names[i][1], names[i][1], names[i][0], names[i][0]);

        memcpy(strstr(more, "[%m+8]"), "[%m]  ", 6);
        add(all, "ld", fid_format("ld%s, st%s", names[i][0], names[i][1]),
            filled(&spaces[2], more), 5, &spaces[2]);
        free(more);
    }
}

/* Generic addresses of shared and local variables, and what they are. */
static void addresses(struct fid_cases *all)
{
    static const char *const kinds[] = {"global", "shared", "local",
                                        "shared::cta", "shared::cluster"};

    for (int s = 0; s < 4; s++) {
        const char *to_generic = s == 2   ? generic_shared
                                 : s == 3 ? generic_local
                                          : "";
        char *body, *isspace = NULL, *seen;
        size_t size;
        FILE *f;

        if (s == 1)
            continue;
        f = open_memstream(&isspace, &size);
        if (!f)
            exit(2);
        fprintf(f, "%s    mov.u32 %%o8, 0;\n", to_generic);
        for (int k = 0; k < 5; k++)
            fprintf(f,
                    "    isspacep.%s %%p0, %%m;\n"
                    "    selp.b32 %%t0, %u, 0, %%p0;\n"
                    "    or.b32 %%o8, %%o8, %%t0;\n",
                    kinds[k], 1u << k);
        fclose(f);
        seen = fid_format(mix_all, "", "", "", "");
        body = fid_format("%s    st.v2.b64 [%%m+8], {%%a1, %%a0};\n"
                          "    cvta.to%s.u64 %%d4, %%m;\n"
                          "    ld%s.b64 %%d5, [%%d4+8];\n"
                          "    mov.b64 {%%o9, %%o10}, %%d5;\n%s",
                          isspace, spaces[s].name, spaces[s].name, seen);
        memcpy(strstr(body, "[%m+8]"), "[%m]  ", 6);
        add(all, "cvta", fid_format("cvta, isspacep%s", spaces[s].name),
            filled(&spaces[s], body), 11, &spaces[s]);
        free(isspace);
        free(seen);
        free(body);
    }
    fid_add(all, "isspacep",
            fid_format("isspacep.const, param::entry of .global"),
            fid_format("    isspacep.const %%p0, %%zd1;\n"
                       "    selp.b32 %%o0, 1, 0, %%p0;\n"
                       "    isspacep.param::entry %%p0, %%zd1;\n"
                       "    selp.b32 %%o1, 1, 0, %%p0;\n"),
            "l", 2);
}

static void packing(struct fid_cases *all)
{
    static const struct {
        const char *name, *body;
        unsigned words;
    } rows[] = {
        {"mov.b32 {h, h}",
         "    cvt.u32.u64 %t0, %a0;\n"
         "    mov.b32 {%h0, %h1}, %t0;\n"
         "    mov.b32 %o0, {%h1, %h0};\n",
         1},
        {"mov.b64 {r, r}",
         "    mov.b64 {%o0, %o1}, %a0;\n"
         "    mov.b64 %d0, {%o1, %o0};\n"
         "    xor.b64 %d0, %d0, %a1;\n"
         "    mov.b64 {%o2, %o3}, %d0;\n",
         4},
        {"mov.b64 {h, h, h, h}",
         "    mov.b64 {%h0, %h1, %h2, %h3}, %a0;\n"
         "    mov.b64 %d0, {%h3, %h1, %h0, %h2};\n"
         "    mov.b64 {%o0, %o1}, %d0;\n",
         2},
        {"mov.b64 {_, r}",
         "    mov.b64 {_, %o0}, %a0;\n"
         "    mov.b64 {%o1, _}, %a1;\n",
         2},
        {"mov.b128 {d, d}",
         "    .reg .b128 %q0;\n"
         "    mov.b128 %q0, {%a0, %a1};\n"
         "    mov.b128 {%d1, %d0}, %q0;\n"
         "    mov.b64 {%o0, %o1}, %d0;\n"
         "    mov.b64 {%o2, %o3}, %d1;\n",
         4},
        {"mov.pred",
         "    setp.lt.s64 %p0, %a0, %a1;\n"
         "    mov.pred %p1, %p0;\n"
         "    selp.b32 %o0, 1, 0, %p1;\n",
         1},
        {"mov.v2.b32",
         "    .reg .v2 .b32 %v;\n"
         "    mov.b64 {%t0, %t1}, %a0;\n"
         "    mov.v2.b32 %v, {%t1, %t0};\n"
         "    mov.b32 %o0, %v.x;\n"
         "    mov.b32 %o1, %v.y;\n",
         2},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fid_add(all, "mov", fid_format("%s", rows[i].name),
                fid_format("%s", rows[i].body), "ll", rows[i].words);
}

void fid_memory(struct fid_cases *all)
{
    for (int s = 0; s < 4; s++)
        all_types(all, &spaces[s]);
    modifiers(all);
    shared_modifiers(all);
    addresses(all);
    packing(all);
}
