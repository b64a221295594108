/* SPDX-License-Identifier: MIT
 *
 * mma.sync: from the mnemonic to the multiplication (mma_write.c). One helper
 * a shape and set of types.
 */
#include "cpu/jit/mma.h"

static const struct shape {
    enum ptx_mod mod;
    unsigned m, k;
} shapes[] = {
    {PTX_MOD_M8N8K4, 8, 4},       {PTX_MOD_M8N8K16, 8, 16},
    {PTX_MOD_M8N8K32, 8, 32},     {PTX_MOD_M8N8K128, 8, 128},
    {PTX_MOD_M16N8K4, 16, 4},     {PTX_MOD_M16N8K8, 16, 8},
    {PTX_MOD_M16N8K16, 16, 16},   {PTX_MOD_M16N8K32, 16, 32},
    {PTX_MOD_M16N8K64, 16, 64},   {PTX_MOD_M16N8K128, 16, 128},
    {PTX_MOD_M16N8K256, 16, 256},
};

static const struct shape *shape_of(const struct ptx_insn *p)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (ptx_has(p, shapes[i].mod))
            return &shapes[i];
    return NULL;
}

static int is_multiplicand(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
    case PTX_BF16:
    case PTX_TF32:
    case PTX_F64:
    case PTX_S8:
    case PTX_U8:
    case PTX_S4:
    case PTX_U4:
    case PTX_B1:
    case PTX_E4M3:
    case PTX_E5M2:
        return 1;
    default:
        return 0;
    }
}

/* The types are D, A, B, C in the text. -1: not one of ours. */
static int read_mma(const struct ptx_insn *p, struct mma *m)
{
    const struct shape *s = shape_of(p);
    unsigned each;

    if (!s || p->type_count != 4 || p->dst_count != 1 ||
        ptx_has(p, PTX_MOD_BLOCK_SCALE))
        return -1;
    *m = (struct mma){.m = s->m,
                      .a = p->types[1],
                      .b = p->types[2],
                      .c = p->types[3],
                      .d = p->types[0],
                      .saturate = ptx_has(p, PTX_MOD_SATFINITE) != 0,
                      .sparse = ptx_has(p, PTX_MOD_SP) ||
                                ptx_has(p, PTX_MOD_SP_ORDERED),
                      .is_and = p->sub == PTX_SUB_AND,
                      .round = p->round};
    if (!is_multiplicand(m->a) || !is_multiplicand(m->b))
        return -1;
    each = 4 * mma_per_register(m->a);
    m->q = s->k / each;
    return m->q && s->k % each == 0 && m->q <= 4 ? 0 : -1;
}

static unsigned bits_of(enum ptx_type t)
{
    return t == PTX_F64 ? 64 : 32;
}

void emit_mma(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    struct matrix_fn fn;
    struct mma m;

    if (ptx_has(p, PTX_MOD_M8N8K4) && p->type_count == 4 &&
        p->types[1] == PTX_F16) {
        mma_quad(e, insn);
        return;
    }
    if (mma_is_scaled(p) &&
        (ptx_has(p, PTX_MOD_BLOCK_SCALE) || read_mma(p, &m))) {
        mma_scaled(e, insn);
        return;
    }
    if (read_mma(p, &m)) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (!mma_can_round(e, &m)) {
        emit_refuse(e, p, "directed rounding of f64 needs AVX-512");
        return;
    }
    if ((m.sparse
             ? mma_sparse(e, insn, &m)
             : matrix_put(e, insn, 1, m.q * m.m / 8, bits_of(m.a), MATRIX_A)) ||
        matrix_put(e, insn, 2, m.q, bits_of(m.b), MATRIX_B) ||
        matrix_put(e, insn, 3, mma_acc_registers(m.c, m.m), bits_of(m.c),
                   MATRIX_C))
        return;
    mma_helper(e, &m, &fn);
    matrix_call(e, &fn, (uint64_t[]){MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D});
    matrix_get(e, insn, 0, mma_acc_registers(m.d, m.m), bits_of(m.d), MATRIX_D);
}
