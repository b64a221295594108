/* SPDX-License-Identifier: MIT
 *
 * Matrix instructions: a warp multiplies matrices whose elements are the
 * operands as they come, five times 64 bits a lane. The distributions are
 * chosen so that the rule by which products are added shows (values.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fidelity.h"

struct shape {
    const char *text; /* behind mma.sync.aligned */
    char kind;        /* of a and b */
    uint8_t a, b, c;  /* registers of 32 bits, or of 64 for kind D */
    char result;
};
static const struct shape shapes[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", 'A', 4, 2, 4, 'f'},
    {"m16n8k16.row.col.f16.f16.f16.f16", 'A', 4, 2, 2, 'H'},
    {"m16n8k8.row.col.f32.f16.f16.f32", 'A', 2, 1, 4, 'f'},
    {"m16n8k8.row.col.f16.f16.f16.f16", 'A', 2, 1, 2, 'H'},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 'B', 4, 2, 4, 'f'},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 'B', 2, 1, 4, 'f'},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 'T', 4, 2, 4, 'f'},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 'T', 2, 1, 4, 'f'},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 'E', 4, 2, 4, 'f'},
    {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 'V', 4, 2, 4, 'f'},
    {"m16n8k32.row.col.f32.e4m3.e5m2.f32", 'E', 4, 2, 4, 'f'},
    {"m16n8k16.row.col.f32.e4m3.e4m3.f32", 'E', 2, 1, 4, 'f'},
    {"m16n8k32.row.col.f16.e4m3.e4m3.f16", 'E', 4, 2, 2, 'H'},
    {"m8n8k4.row.col.f64.f64.f64.f64", 'D', 1, 1, 2, 'd'},
    {"m8n8k4.row.col.rz.f64.f64.f64.f64", 'D', 1, 1, 2, 'd'},
    {"m8n8k4.row.col.rm.f64.f64.f64.f64", 'D', 1, 1, 2, 'd'},
    {"m8n8k4.row.col.rp.f64.f64.f64.f64", 'D', 1, 1, 2, 'd'},
    {"m16n8k4.row.col.f64.f64.f64.f64", 'D', 2, 1, 4, 'd'},
    {"m16n8k8.row.col.f64.f64.f64.f64", 'D', 4, 2, 4, 'd'},
    {"m16n8k16.row.col.f64.f64.f64.f64", 'D', 8, 4, 4, 'd'},
    {"m16n8k32.row.col.s32.s8.s8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.s32.u8.u8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.s32.s8.u8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.s32.u8.s8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.satfinite.s32.u8.s8.s32", 'l', 4, 2, 4, 0},
    {"m16n8k16.row.col.s32.s8.s8.s32", 'l', 2, 1, 4, 0},
    {"m16n8k16.row.col.satfinite.s32.u8.u8.s32", 'l', 2, 1, 4, 0},
    {"m8n8k16.row.col.s32.s8.s8.s32", 'l', 1, 1, 2, 0},
    {"m8n8k16.row.col.s32.u8.s8.s32", 'l', 1, 1, 2, 0},
    {"m16n8k64.row.col.s32.s4.s4.s32", 'l', 4, 2, 4, 0},
    {"m16n8k64.row.col.satfinite.s32.u4.s4.s32", 'l', 4, 2, 4, 0},
    {"m16n8k32.row.col.s32.u4.u4.s32", 'l', 2, 1, 4, 0},
    {"m8n8k32.row.col.s32.s4.s4.s32", 'l', 1, 1, 2, 0},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 'l', 4, 2, 4, 0},
    {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", 'l', 4, 2, 4, 0},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 'l', 2, 1, 4, 0},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 'l', 1, 1, 2, 0},
    {"m8n8k4.row.col.f32.f16.f16.f32", 'A', 2, 2, 8, 'f'},
    {"m8n8k4.row.row.f16.f16.f16.f16", 'A', 2, 2, 4, 'H'},
};

void fid_list(FILE *f, const char *reg, unsigned from, unsigned count)
{
    fprintf(f, "{");
    for (unsigned i = 0; i < count; i++)
        fprintf(f, "%s%s%u", i ? ", " : "", reg, from + i);
    fprintf(f, "}");
}

/* Registers of 32 bits: %t0... of a0 and a1, %t4... of a2, %t8... of a3 and
 * a4; more are the same with halves exchanged. */
static void words(FILE *f)
{
    fprintf(f, "    mov.b64 {%%t0, %%t1}, %%a0;\n"
               "    mov.b64 {%%t2, %%t3}, %%a1;\n"
               "    mov.b64 {%%t4, %%t5}, %%a2;\n"
               "    mov.b64 {%%t8, %%t9}, %%a3;\n"
               "    mov.b64 {%%t10, %%t11}, %%a4;\n"
               "    mov.b64 {%%t13, %%t12}, %%a3;\n"
               "    mov.b64 {%%t15, %%t14}, %%a4;\n");
}

/* Registers of 64 bits: %d0...7 of a, %d8...11 of b, %d12...15 of c. */
static void doubles(FILE *f)
{
    static const char *const from[16] = {
        "%a0", "%a1", "%a4", "%a3", "%a1", "%a0", "%a4", "%a2",
        "%a2", "%a3", "%a4", "%a1", "%a3", "%a4", "%a0", "%a2"};

    for (int i = 0; i < 16; i++)
        fprintf(f, "    mov.b64 %%d%d, %s;\n", i, from[i]);
}

static void multiply(struct fid_cases *all, const struct shape *s)
{
    const int wide = s->kind == 'D', half = s->result == 'H';
    const char c_kind = wide   ? 'D'
                        : half ? s->kind == 'E' ? 'A' : s->kind
                               : 'C';
    char kinds[FID_IN + 1] = {s->kind, s->kind, s->kind, c_kind, c_kind, 0};
    char *body = NULL;
    struct fid_case *c;
    size_t size;
    FILE *f = open_memstream(&body, &size);

    if (!f)
        exit(2);
    if (s->kind == 'l')
        kinds[3] = kinds[4] = 'l';
    if (wide)
        doubles(f);
    else
        words(f);
    fprintf(f, "    mma.sync.aligned.%s ", s->text);
    fid_list(f, wide ? "%d" : "%o", wide ? 16 : 0, s->c);
    fprintf(f, ", ");
    fid_list(f, wide ? "%d" : "%t", 0, s->a);
    fprintf(f, ", ");
    fid_list(f, wide ? "%d" : "%t", wide ? 8 : 4, s->b);
    fprintf(f, ", ");
    fid_list(f, wide ? "%d" : "%t", wide ? 12 : 8, s->c);
    fprintf(f, ";\n");
    for (unsigned i = 0; wide && i < s->c; i++)
        fprintf(f, "    mov.b64 {%%o%u, %%o%u}, %%d%u;\n", 2 * i, 2 * i + 1,
                16 + i);
    fclose(f);
    c = fid_add(all, "mma", fid_format("mma.sync.aligned.%s", s->text), body,
                kinds, wide ? 2u * s->c : s->c);
    c->result = s->result;
}

/* --- matrices in shared memory --- */

/* Each warp has 2 KiB of shared memory at %sm; blocks have two. */
static const char room[] = "    .shared .align 128 .b8 room[8192];\n"
                           "    .reg .b32 %sm, %sl, %lane;\n"
                           "    mov.u32 %lane, %laneid;\n"
                           "    mov.u32 %sl, %tid.x;\n"
                           "    shr.u32 %sl, %sl, 5;\n"
                           "    mov.u32 %sm, room;\n"
                           "    mad.lo.u32 %sm, %sl, 4096, %sm;\n"
                           "    mad.lo.u32 %sl, %lane, 16, %sm;\n";

static void moves(struct fid_cases *all)
{
    static const char *const trans[] = {"", ".trans"};
    static const char *const counts[] = {"{%o0}", "{%o0, %o1}",
                                         "{%o0, %o1, %o2, %o3}"};
    char *body;

    for (int t = 0; t < 2; t++)
        for (int n = 0; n < 3; n++) {
            body = fid_format(
                "%s    st.shared.v2.b64 [%%sl], {%%a0, %%a1};\n"
                "    bar.warp.sync -1;\n"
                "    xor.b32 %%t0, %%lane, 5;\n"
                "    mad.lo.u32 %%sl, %%t0, 16, %%sm;\n"
                "    ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s, [%%sl];\n",
                room, 1 << n, trans[t], counts[n]);
            fid_add(all, "ldmatrix",
                    fid_format("ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16",
                               1 << n, trans[t]),
                    body, "ll", 1u << n)
                ->threads = 64;
            body = fid_format(
                "%s    mov.b64 {%%o0, %%o1}, %%a0;\n"
                "    mov.b64 {%%o2, %%o3}, %%a1;\n"
                "    st.shared.v2.b64 [%%sl], {%%a1, %%a0};\n"
                "    bar.warp.sync -1;\n"
                "    xor.b32 %%t0, %%lane, 5;\n"
                "    mad.lo.u32 %%t0, %%t0, 16, %%sm;\n"
                "    stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%t0], %s;\n"
                "    bar.warp.sync -1;\n"
                "    ld.shared.v4.b32 {%%o0, %%o1, %%o2, %%o3}, [%%sl];\n",
                room, 1 << n, trans[t], counts[n]);
            fid_add(all, "stmatrix",
                    fid_format("stmatrix.sync.aligned.m8n8.x%d%s.shared.b16",
                               1 << n, trans[t]),
                    body, "ll", 4)
                ->threads = 64;
        }
    fid_add(all, "movmatrix",
            fid_format("movmatrix.sync.aligned.m8n8.trans.b16"),
            fid_format("    movmatrix.sync.aligned.m8n8.trans.b16 %%o0, "
                       "%%a0;\n"),
            "i", 1);
}

struct tile {
    const char *shape, *a, *d; /* types of a and b, of c and d */
    char kind;
    uint8_t ra, rb, rc;    /* registers */
    uint8_t lda, ldb, ldc; /* elements of a row (a, c), a column (b) */
    char result;
};
static const struct tile tiles[] = {
    {"m16n16k16", "f16", "f32", 'A', 8, 8, 8, 16, 16, 16, 'f'},
    {"m16n16k16", "f16", "f16", 'A', 8, 8, 4, 16, 16, 16, 'H'},
    {"m32n8k16", "f16", "f32", 'A', 8, 8, 8, 16, 16, 8, 'f'},
    {"m8n32k16", "f16", "f32", 'A', 8, 8, 8, 16, 16, 32, 'f'},
    {"m16n16k16", "bf16", "f32", 'B', 4, 4, 8, 16, 16, 16, 'f'},
    {"m16n16k8", "tf32", "f32", 'T', 4, 4, 8, 8, 8, 16, 'f'},
    {"m16n16k16", "s8", "s32", 'l', 2, 2, 8, 16, 16, 16, 0},
    {"m16n16k16", "u8", "s32", 'l', 2, 2, 8, 16, 16, 16, 0},
    {"m8n8k4", "f64", "f64", 'D', 1, 1, 2, 4, 4, 8, 'd'},
};

/* a at %sm, b at 1 KiB, c at 2 KiB, d at 3 KiB of the warp's memory. */
static void tile(struct fid_cases *all, const struct tile *t)
{
    const char c_kind = t->kind == 'l'     ? 'l'
                        : t->kind == 'D'   ? 'D'
                        : t->result == 'H' ? 'A'
                                           : 'C';
    const char *reg = t->kind == 'D' ? "%d" : "%t";
    char kinds[FID_IN + 1] = {t->kind, t->kind, t->kind, t->kind, c_kind, 0};
    char *body = NULL;
    struct fid_case *c;
    size_t size;
    FILE *f = open_memstream(&body, &size);

    if (!f)
        exit(2);
    fprintf(f,
            "%s    st.shared.v2.b64 [%%sl], {%%a0, %%a1};\n"
            "    st.shared.v2.b64 [%%sl+512], {%%a1, %%a0};\n"
            "    st.shared.v2.b64 [%%sl+1024], {%%a2, %%a3};\n"
            "    st.shared.v2.b64 [%%sl+1536], {%%a3, %%a2};\n"
            "    mad.lo.u32 %%t40, %%lane, 32, %%sm;\n"
            "    st.shared.v2.b64 [%%t40+2048], {%%a4, %%a4};\n"
            "    st.shared.v2.b64 [%%t40+2064], {%%a4, %%a4};\n"
            "    mov.b64 %%d0, 0;\n"
            "    st.shared.v2.b64 [%%t40+3072], {%%d0, %%d0};\n"
            "    st.shared.v2.b64 [%%t40+3088], {%%d0, %%d0};\n"
            "    bar.warp.sync -1;\n"
            "    add.u32 %%t41, %%sm, 1024;\n"
            "    add.u32 %%t42, %%sm, 2048;\n"
            "    add.u32 %%t43, %%sm, 3072;\n"
            "    wmma.load.a.sync.aligned.row.%s.shared.%s ",
            room, t->shape, t->a);
    fid_list(f, reg, 0, t->ra);
    fprintf(f, ", [%%sm], %u;\n    wmma.load.b.sync.aligned.col.%s.shared.%s ",
            t->lda, t->shape, t->a);
    fid_list(f, reg, 8, t->rb);
    fprintf(f, ", [%%t41], %u;\n    wmma.load.c.sync.aligned.row.%s.shared.%s ",
            t->ldb, t->shape, t->d);
    fid_list(f, reg, 16, t->rc);
    fprintf(f, ", [%%t42], %u;\n    wmma.mma.sync.aligned.row.col.%s.%s",
            t->ldc, t->shape, t->d);
    if (strcmp(t->a, "f16"))
        fprintf(f, ".%s.%s", t->a, t->a);
    fprintf(f, ".%s ", t->d);
    fid_list(f, reg, 16, t->rc);
    fprintf(f, ", ");
    fid_list(f, reg, 0, t->ra);
    fprintf(f, ", ");
    fid_list(f, reg, 8, t->rb);
    fprintf(f, ", ");
    fid_list(f, reg, 16, t->rc);
    fprintf(f, ";\n    wmma.store.d.sync.aligned.row.%s.shared.%s [%%t43], ",
            t->shape, t->d);
    fid_list(f, reg, 16, t->rc);
    fprintf(f,
            ", %u;\n    bar.warp.sync -1;\n"
            "    ld.shared.v4.b32 {%%o0, %%o1, %%o2, %%o3}, [%%t40+3072];\n"
            "    ld.shared.v4.b32 {%%o4, %%o5, %%o6, %%o7}, [%%t40+3088];\n",
            t->ldc);
    fclose(f);
    c = fid_add(
        all, "wmma",
        fid_format("wmma.mma.sync.aligned.%s.%s.%s", t->shape, t->d, t->a),
        body, kinds, 8);
    c->threads = 64;
    c->result = t->result;
}

void fid_matrix(struct fid_cases *all)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        multiply(all, &shapes[i]);
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        tile(all, &tiles[i]);
    moves(all);
}
