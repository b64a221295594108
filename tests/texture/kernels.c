/* SPDX-License-Identifier: MIT
 *
 * One kernel an instruction: point i in, four words out. Kernels that store
 * run in one thread, so that the last of two stores to one place is known.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "texture.h"

struct text {
    char *at;
    size_t size, room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t,
                                                      const char *format, ...)
{
    va_list args;
    int n;

    if (t->room - t->size < 4096) {
        t->room = t->room * 2 + 8192;
        t->at = realloc(t->at, t->room);
        if (!t->at)
            exit(1);
    }
    va_start(args, format);
    n = vsnprintf(t->at + t->size, t->room - t->size, format, args);
    va_end(args);
    t->size += (size_t)n;
}

/* Words 0 to 3 of the point are r4 (a layer) and r5 to r7; 4 to 7 are r8 to
 * r11. The results are r12 to r15. */
static void kernel(struct text *t, const char *name, const char *body)
{
    add(t,
        ".visible .entry %s(.param .u64 object, .param .u64 in,\n"
        "    .param .u64 out, .param .u32 n)\n"
        "{\n"
        "    .reg .pred %%p<4>;\n    .reg .b32 %%r<24>;\n"
        "    .reg .f32 %%f<16>;\n    .reg .b64 %%rd<16>;\n"
        "    .reg .b16 %%h<8>;\n"
        "    ld.param.u64 %%rd1, [object];\n    ld.param.u64 %%rd2, [in];\n"
        "    ld.param.u64 %%rd3, [out];\n    ld.param.u32 %%r1, [n];\n"
        "    mov.u32 %%r2, %%ctaid.x;\n    mov.u32 %%r3, %%ntid.x;\n"
        "    mov.u32 %%r4, %%tid.x;\n"
        "    mad.lo.u32 %%r2, %%r2, %%r3, %%r4;\n"
        "    mov.u32 %%r4, %%nctaid.x;\n    mul.lo.u32 %%r3, %%r3, %%r4;\n"
        "    mov.u32 %%r20, %%r3;\n"
        "LOOP:\n"
        "    setp.ge.u32 %%p1, %%r2, %%r1;\n    @%%p1 bra DONE;\n"
        "    mul.wide.u32 %%rd4, %%r2, 32;\n    add.u64 %%rd4, %%rd2, %%rd4;\n"
        "    ld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%rd4];\n"
        "    ld.global.v4.u32 {%%r8, %%r9, %%r10, %%r11}, [%%rd4+16];\n"
        "    mov.b32 %%f1, %%r5;\n    mov.b32 %%f2, %%r6;\n"
        "    mov.b32 %%f3, %%r7;\n"
        "    mov.u32 %%r12, 0;\n    mov.u32 %%r13, 0;\n"
        "    mov.u32 %%r14, 0;\n    mov.u32 %%r15, 0;\n"
        "%s"
        "    mul.wide.u32 %%rd4, %%r2, 16;\n    add.u64 %%rd4, %%rd3, %%rd4;\n"
        "    st.global.v4.u32 [%%rd4], {%%r12, %%r13, %%r14, %%r15};\n"
        "    add.u32 %%r2, %%r2, %%r20;\n    bra LOOP;\n"
        "DONE:\n    ret;\n}\n",
        name, body);
}

static const char floats_out[] =
    "    mov.b32 %r12, %f4;\n    mov.b32 %r13, %f5;\n"
    "    mov.b32 %r14, %f6;\n    mov.b32 %r15, %f7;\n";

static const struct {
    const char *name;
    const char *integers; /* NULL: floats only */
    const char *floats;
    const char *offsets;
    const char *gradients; /* twice */
} geometries[] = {
    {"1d", "{%r5}", "{%f1}", "{%r8}", "{%f1}"},
    {"2d", "{%r5, %r6}", "{%f1, %f2}", "{%r8, %r9}", "{%f1, %f2}"},
    {"3d", "{%r5, %r6, %r7, %r7}", "{%f1, %f2, %f3, %f3}",
     "{%r8, %r9, %r10, %r10}", "{%f1, %f2, %f3, %f3}"},
    {"a1d", "{%r4, %r5}", "{%r4, %f1}", "{%r8}", "{%f1}"},
    {"a2d", "{%r4, %r5, %r6, %r6}", "{%r4, %f1, %f2, %f2}", "{%r8, %r9}",
     "{%f1, %f2}"},
    {"cube", NULL, "{%f1, %f2, %f3, %f3}", NULL, "{%f1, %f2, %f3, %f3}"},
    {"acube", NULL, "{%r4, %f1, %f2, %f3}", NULL, "{%f1, %f2, %f3, %f3}"},
};
enum { GEOMETRIES = sizeof geometries / sizeof *geometries };

static void fetches(struct text *t)
{
    char name[64], body[1024];

    for (unsigned i = 0; i < GEOMETRIES; i++) {
        const char *g = geometries[i].name;

        snprintf(name, sizeof name, "tex_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd1, "
                 "%s];\n%s",
                 g, geometries[i].floats, floats_out);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_u32_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v4.u32.f32 {%%r12, %%r13, %%r14, %%r15}, [%%rd1, "
                 "%s];\n",
                 g, geometries[i].floats);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_level_%s", g);
        snprintf(body, sizeof body,
                 "    tex.level.%s.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, "
                 "[%%rd1, %s], %%f2;\n%s",
                 g, geometries[i].floats, floats_out);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_grad_%s", g);
        snprintf(body, sizeof body,
                 "    tex.grad.%s.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, "
                 "[%%rd1, %s], %s, %s;\n%s",
                 g, geometries[i].floats, geometries[i].gradients,
                 geometries[i].gradients, floats_out);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_there_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v4.f32.f32 {%%f4, %%f5, %%f6, _}|%%p2, [%%rd1, "
                 "%s];\n    mov.b32 %%r12, %%f4;\n    mov.b32 %%r13, %%f5;\n"
                 "    mov.b32 %%r14, %%f6;\n    selp.u32 %%r15, 1, 0, %%p2;\n",
                 g, geometries[i].floats);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_f16x2_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v2.f16x2.f32 {%%r12, %%r13}, [%%rd1, %s];\n", g,
                 geometries[i].floats);
        kernel(t, name, body);
        if (!geometries[i].integers)
            continue;
        snprintf(name, sizeof name, "tex_s32_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v4.u32.s32 {%%r12, %%r13, %%r14, %%r15}, [%%rd1, "
                 "%s];\n",
                 g, geometries[i].integers);
        kernel(t, name, body);
        snprintf(name, sizeof name, "tex_offset_%s", g);
        snprintf(body, sizeof body,
                 "    tex.%s.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd1, "
                 "%s], %s;\n%s",
                 g, geometries[i].floats, geometries[i].offsets, floats_out);
        kernel(t, name, body);
    }
}

static void gathers(struct text *t)
{
    static const char *const shapes[][2] = {{"2d", "{%f1, %f2}"},
                                            {"a2d", "{%r4, %f1, %f2, %f2}"},
                                            {"cube", "{%f1, %f2, %f3, %f3}"}};
    char name[64], body[1024];

    for (unsigned s = 0; s < 3; s++)
        for (const char *c = "rgba"; *c; c++) {
            snprintf(name, sizeof name, "tld4_%c_%s", *c, shapes[s][0]);
            snprintf(body, sizeof body,
                     "    tld4.%c.%s.v4.u32.f32 {%%r12, %%r13, %%r14, %%r15}, "
                     "[%%rd1, %s];\n",
                     *c, shapes[s][0], shapes[s][1]);
            kernel(t, name, body);
        }
}

/* Surfaces: registers of each width, as many as .vec says. */
static const struct {
    const char *type, *vec, *list;
} accesses[] = {
    {"b8", "", "{%h1}"},
    {"b8", ".v4", "{%h1, %h2, %h3, %h4}"},
    {"b16", "", "{%h1}"},
    {"b16", ".v2", "{%h1, %h2}"},
    {"b32", "", "{%r12}"},
    {"b32", ".v2", "{%r12, %r13}"},
    {"b32", ".v4", "{%r12, %r13, %r14, %r15}"},
    {"b64", "", "{%rd8}"},
    {"b64", ".v2", "{%rd8, %rd9}"},
};

static void surfaces(struct text *t)
{
    static const char halves_out[] =
        "    cvt.u32.u16 %r12, %h1;\n    cvt.u32.u16 %r13, %h2;\n"
        "    cvt.u32.u16 %r14, %h3;\n    cvt.u32.u16 %r15, %h4;\n";
    static const char halves_in[] =
        "    cvt.u16.u32 %h1, %r8;\n    cvt.u16.u32 %h2, %r9;\n"
        "    cvt.u16.u32 %h3, %r10;\n    cvt.u16.u32 %h4, %r11;\n";
    char name[64], body[2048];

    for (unsigned g = 0; g < 5; g++)
        for (unsigned i = 0; i < sizeof accesses / sizeof *accesses; i++)
            for (unsigned b = 0; b < 2; b++) {
                const char *how = b ? "zero" : "clamp";
                const char *type = accesses[i].type, *vec = accesses[i].vec;
                const int small = type[1] == '8' || type[1] == '1';
                const int wide = type[1] == '6';

                if (g != 1 && i != 4) /* all widths in 2d alone */
                    continue;
                snprintf(name, sizeof name, "suld_%s%s_%s_%s", type,
                         *vec ? vec + 1 : "", how, geometries[g].name);
                snprintf(body, sizeof body,
                         "    mov.u16 %%h1, 0;\n    mov.u16 %%h2, 0;\n"
                         "    mov.u16 %%h3, 0;\n    mov.u16 %%h4, 0;\n"
                         "    mov.u64 %%rd8, 0;\n    mov.u64 %%rd9, 0;\n"
                         "    suld.b.%s%s.%s.%s %s, [%%rd1, %s];\n%s",
                         geometries[g].name, vec, type, how, accesses[i].list,
                         geometries[g].integers,
                         small  ? halves_out
                         : wide ? "    mov.b64 {%r12, %r13}, %rd8;\n"
                                  "    mov.b64 {%r14, %r15}, %rd9;\n"
                                : "");
                kernel(t, name, body);
                snprintf(name, sizeof name, "sust_%s%s_%s_%s", type,
                         *vec ? vec + 1 : "", how, geometries[g].name);
                snprintf(body, sizeof body,
                         "%s    mov.b64 %%rd8, {%%r8, %%r9};\n"
                         "    mov.b64 %%rd9, {%%r10, %%r11};\n"
                         "    mov.u32 %%r12, %%r8;\n    mov.u32 %%r13, %%r9;\n"
                         "    mov.u32 %%r14, %%r10;\n"
                         "    mov.u32 %%r15, %%r11;\n"
                         "    sust.b.%s%s.%s.%s [%%rd1, %s], %s;\n",
                         halves_in, geometries[g].name, vec, type, how,
                         geometries[g].integers, accesses[i].list);
                kernel(t, name, body);
            }
}

static void formatted(struct text *t)
{
    static const char *const reductions[] = {
        "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32",
        "max.s32", "min.u64", "max.s64", "and.b32", "or.b32"};
    char name[64], body[1024];

    for (unsigned b = 0; b < 2; b++) {
        const char *how = b ? "zero" : "clamp";

        for (unsigned v = 1; v <= 4; v *= 2) {
            snprintf(name, sizeof name, "sustp_v%u_%s_2d", v, how);
            snprintf(body, sizeof body,
                     "    sust.p.2d%s.b32.%s [%%rd1, {%%r5, %%r6}], %s;\n",
                     v == 1   ? ""
                     : v == 2 ? ".v2"
                              : ".v4",
                     how,
                     v == 1   ? "{%r8}"
                     : v == 2 ? "{%r8, %r9}"
                              : "{%r8, %r9, %r10, %r11}");
            kernel(t, name, body);
        }
        for (unsigned i = 0; i < sizeof reductions / sizeof *reductions; i++) {
            const char *r = reductions[i];
            char *dot;

            snprintf(name, sizeof name, "sured_%s_%s_2d", r, how);
            dot = strchr(name, '.');
            *dot = '_';
            snprintf(body, sizeof body,
                     "    mov.b64 %%rd8, {%%r8, %%r9};\n"
                     "    sured.b.%.*s.2d%s.%s [%%rd1, {%%r5, %%r6}], %s;\n",
                     (int)strcspn(r, "."), r, strchr(r, '.'), how,
                     strstr(r, "64") ? "%rd8" : "%r8");
            kernel(t, name, body);
        }
        snprintf(name, sizeof name, "suredp_add_%s_2d", how);
        snprintf(body, sizeof body,
                 "    sured.p.add.2d.b32.%s [%%rd1, {%%r5, %%r6}], %%r8;\n",
                 how);
        kernel(t, name, body);
    }
}

/* A query a kernel, and a module, since a driver may refuse some. */
static const struct {
    const char *op, *what;
} queries[] = {
    {"txq", "width"},
    {"txq", "height"},
    {"txq", "depth"},
    {"txq", "array_size"},
    {"txq", "num_mipmap_levels"},
    {"txq", "num_samples"},
    {"txq", "channel_data_type"},
    {"txq", "channel_order"},
    {"txq", "normalized_coords"},
    {"txq", "filter_mode"},
    {"txq", "addr_mode_0"},
    {"suq", "width"},
    {"suq", "height"},
    {"suq", "depth"},
    {"suq", "array_size"},
    {"suq", "channel_data_type"},
    {"suq", "channel_order"},
    {"suq", "memory_layout"},
};
enum { QUERIES = sizeof queries / sizeof *queries };

const char *kernels_query(unsigned i)
{
    static char name[QUERIES][40];

    if (i >= QUERIES)
        return NULL;
    snprintf(name[i], sizeof *name, "%s_%s", queries[i].op, queries[i].what);
    return name[i];
}

char *kernels_text(unsigned group)
{
    static void (*const groups[])(struct text *) = {fetches, gathers, surfaces,
                                                    formatted};
    enum { GROUPS = sizeof groups / sizeof *groups };
    struct text t = {0};
    char body[128];

    if (group >= GROUPS + QUERIES)
        return NULL;
    add(&t, ".version 8.1\n.target sm_80\n.address_size 64\n");
    if (group < GROUPS) {
        groups[group](&t);
        return t.at;
    }
    snprintf(body, sizeof body, "    %s.%s.b32 %%r12, [%%rd1];\n",
             queries[group - GROUPS].op, queries[group - GROUPS].what);
    kernel(&t, kernels_query(group - GROUPS), body);
    return t.at;
}
