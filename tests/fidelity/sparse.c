/* SPDX-License-Identifier: MIT
 *
 * mma.sp: half of A's elements are zero and not there. Where the others are
 * comes from a hash of the thread, nibble by nibble, so that it is what the
 * ISA allows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fidelity.h"

struct shape {
    const char *text; /* behind mma.sp.sync.aligned */
    char kind;        /* of a and b */
    uint8_t a, c;     /* registers of a, and as many of b; of c */
    uint8_t threads;  /* of four that give their indices */
    char result;
};
static const struct shape shapes[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", 'A', 2, 4, 1, 'f'},
    {"m16n8k16.row.col.f16.f16.f16.f16", 'A', 2, 2, 1, 'H'},
    {"m16n8k32.row.col.f32.f16.f16.f32", 'A', 4, 4, 2, 'f'},
    {"m16n8k32.row.col.f16.f16.f16.f16", 'A', 4, 2, 2, 'H'},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 'B', 2, 4, 1, 'f'},
    {"m16n8k32.row.col.f32.bf16.bf16.f32", 'B', 4, 4, 2, 'f'},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 'T', 2, 4, 1, 'f'},
    {"m16n8k16.row.col.f32.tf32.tf32.f32", 'T', 4, 4, 2, 'f'},
    {"m16n8k64.row.col.f32.e4m3.e4m3.f32", 'E', 4, 4, 4, 'f'},
    {"m16n8k64.row.col.f32.e5m2.e5m2.f32", 'V', 4, 4, 4, 'f'},
    {"m16n8k64.row.col.f32.e5m2.e4m3.f32", 'E', 4, 4, 4, 'f'},
    {"m16n8k32.row.col.s32.s8.u8.s32", 'l', 2, 4, 2, 0},
    {"m16n8k32.row.col.satfinite.s32.u8.s8.s32", 'l', 2, 4, 2, 0},
    {"m16n8k64.row.col.s32.u8.u8.s32", 'l', 4, 4, 4, 0},
    {"m16n8k64.row.col.satfinite.s32.s8.s8.s32", 'l', 4, 4, 4, 0},
    {"m16n8k64.row.col.s32.s4.u4.s32", 'l', 2, 4, 2, 0},
    {"m16n8k64.row.col.satfinite.s32.u4.u4.s32", 'l', 2, 4, 2, 0},
    {"m16n8k128.row.col.s32.s4.s4.s32", 'l', 4, 4, 4, 0},
    {"m16n8k128.row.col.satfinite.s32.u4.s4.s32", 'l', 4, 4, 4, 0},
};

/* %t0... of a, %t4... of b, %t8... of c. */
static const char words[] = "    mov.b64 {%t0, %t1}, %a0;\n"
                            "    mov.b64 {%t2, %t3}, %a1;\n"
                            "    mov.b64 {%t4, %t5}, %a2;\n"
                            "    mov.b64 {%t7, %t6}, %a1;\n"
                            "    mov.b64 {%t8, %t9}, %a3;\n"
                            "    mov.b64 {%t10, %t11}, %a4;\n";

/* %t16: two of four kept a nibble (one of two for tf32). */
static void indices(FILE *f, int is_tf32)
{
    fprintf(f, "    mul.lo.u32 %%t17, %%zi, 0x9e3779b1;\n"
               "    shr.u32 %%t18, %%t17, 15;\n"
               "    xor.b32 %%t17, %%t17, %%t18;\n"
               "    mul.lo.u32 %%t17, %%t17, 0x85ebca77;\n"
               "    mov.u32 %%t16, 0;\n");
    for (unsigned i = 0; i < 8; i++)
        fprintf(f,
                "    bfe.u32 %%t18, %%t17, %u, 4;\n"
                "    rem.u32 %%t18, %%t18, %u;\n"
                "    shl.b32 %%t18, %%t18, 2;\n"
                "    shr.u32 %%t18, %u, %%t18;\n"
                "    bfi.b32 %%t16, %%t18, %%t16, %u, 4;\n",
                4 * i, is_tf32 ? 2 : 6, is_tf32 ? 0xe4 : 0xed9c84, 4 * i);
}

static void multiply(struct fid_cases *all, const struct shape *s,
                     const char *order, unsigned selector)
{
    const int half = s->result == 'H';
    const char c_kind = half ? s->kind : 'C';
    char kinds[FID_IN + 1] = {s->kind, s->kind, s->kind, c_kind, c_kind, 0};
    char *body = NULL;
    struct fid_case *c;
    size_t size;
    FILE *f = open_memstream(&body, &size);

    if (!f)
        exit(2);
    if (s->kind == 'l')
        kinds[3] = kinds[4] = 'l';
    fprintf(f, "%s", words);
    indices(f, s->kind == 'T');
    fprintf(f, "    mma.sp%s.sync.aligned.%s ", order, s->text);
    fid_list(f, "%o", 0, s->c);
    fprintf(f, ", ");
    fid_list(f, "%t", 0, s->a);
    fprintf(f, ", ");
    fid_list(f, "%t", 4, s->a);
    fprintf(f, ", ");
    fid_list(f, "%t", 8, s->c);
    fprintf(f, ", %%t16, %u;\n", selector);
    fclose(f);
    c = fid_add(
        all, "mma.sp",
        fid_format("mma.sp%s.sync.aligned.%s, %u", order, s->text, selector),
        body, kinds, s->c);
    c->result = s->result;
}

void fid_sparse(struct fid_cases *all)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned k = 0; k < 4u / shapes[i].threads; k++)
            multiply(all, &shapes[i], (i + k) % 2 ? "::ordered_metadata" : "",
                     k);
}
