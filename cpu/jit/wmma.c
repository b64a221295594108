/* SPDX-License-Identifier: MIT
 *
 * wmma: matrices of 16 by 16 and their like. Which lane holds what of a
 * fragment is not specified (PTX ISA 9.7.14.4); here a fragment is the
 * registers of the mma blocks that the multiplication takes, block after
 * block, so that wmma.mma is a few calls of mma's helper.
 *
 * A register is a tile of 8 lines, rows of A and C or columns of B, of 16
 * bytes each, 32 for f64. The fragments of f16 have 8 registers whatever the
 * shape; where fewer hold all of the matrix they are held more than once.
 */
#include <stdio.h>

#include "cpu/jit/mma.h"

enum { LINES = 8, MOST = 8 };

struct shape {
    enum ptx_mod mod;
    unsigned m, n, k;
};
static const struct shape shapes[] = {
    {PTX_MOD_M16N16K16, 16, 16, 16}, {PTX_MOD_M32N8K16, 32, 8, 16},
    {PTX_MOD_M8N32K16, 8, 32, 16},   {PTX_MOD_M16N16K8, 16, 16, 8},
    {PTX_MOD_M8N8K4, 8, 8, 4},       {PTX_MOD_M8N8K32, 8, 8, 32},
    {PTX_MOD_M8N8K128, 8, 8, 128},
};

static const struct shape *shape_of(const struct ptx_insn *p)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (ptx_has(p, shapes[i].mod))
            return &shapes[i];
    return NULL;
}

/* Rows of one mma. */
static unsigned block_rows(const struct shape *s)
{
    return s->m % 16 ? 8 : 16;
}

/* --- where a fragment's registers lie in its matrix --- */

enum side { SIDE_A, SIDE_B, SIDE_C };

struct fragment {
    enum side side;
    enum ptx_type type;
    const struct shape *s;
    unsigned bits;  /* of an element in memory */
    unsigned count; /* registers that differ */
    unsigned given; /* registers that the fragment has */
    int is_strided; /* a line's elements lie a pitch apart */
    int is_pair;    /* C of 32 bits or more: two registers share a tile, the
                     * even columns and the odd ones */
};

struct tile {
    unsigned line; /* row, or column of B */
    unsigned at;   /* first element in the line */
};

static unsigned element_bits(enum ptx_type t)
{
    return t == PTX_TF32 ? 32 : ptx_type_bits(t);
}

static unsigned register_bits(enum ptx_type t)
{
    return t == PTX_F64 ? 64 : 32;
}

static unsigned per_register(const struct fragment *f)
{
    return register_bits(f->type) / f->bits;
}

/* Elements of a tile's line. */
static unsigned line_length(const struct fragment *f)
{
    return f->is_pair ? 8 : 4 * per_register(f);
}

static void open_fragment(struct fragment *f, enum side side, enum ptx_type t,
                          const struct shape *s, int is_col)
{
    unsigned lines = side == SIDE_B ? s->n : s->m;
    unsigned length = side == SIDE_C ? s->n : s->k;

    *f = (struct fragment){.side = side,
                           .type = t,
                           .s = s,
                           .bits = element_bits(t),
                           .is_strided = (side == SIDE_B) != is_col};
    f->is_pair = side == SIDE_C && f->bits >= 32;
    f->count = lines * length / 32 / per_register(f);
    f->given = t == PTX_F16 && side != SIDE_C ? MOST : f->count;
}

static struct tile tile_of(const struct fragment *f, unsigned reg)
{
    unsigned high = block_rows(f->s) / 8, q, n = line_length(f);
    struct tile t;

    if (f->is_pair)
        reg /= 2;
    switch (f->side) {
    case SIDE_A: /* [block][columns][rows 0, rows 8] */
        q = f->s->k / n;
        t.line = reg / (q * high) * 8 * high + reg % high * 8;
        t.at = reg / high % q * n;
        return t;
    case SIDE_B:
        q = f->s->k / n;
        return (struct tile){reg / q * 8, reg % q * n};
    default: /* [block of rows][block of columns][rows 0, rows 8] */
        q = f->s->n / 8;
        t.line = reg / (q * high) * 8 * high + reg % high * 8;
        t.at = reg / high % q * 8;
        return t;
    }
}

/* --- between memory and a tile --- */

/* Memory has `runs` pieces of consecutive elements, a pitch apart. */
struct runs {
    unsigned count, length;
    unsigned first, at;
};

static struct runs runs_of(const struct fragment *f, struct tile t)
{
    unsigned n = line_length(f);

    return f->is_strided ? (struct runs){n, LINES, t.at, t.line}
                         : (struct runs){LINES, n, t.line, t.at};
}

static LLVMValueRef run_at(struct emit *e, const struct fragment *f,
                           const struct runs *r, unsigned i, LLVMValueRef base,
                           LLVMValueRef pitch)
{
    LLVMValueRef at =
        LLVMBuildMul(e->l.b, pitch, emit_const(e, 64, r->first + i), "");

    at = LLVMBuildAdd(e->l.b, at,
                      emit_const(e, 64, (uint64_t)r->at * f->bits / 8), "");
    return LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "");
}

static LLVMTypeRef run_type(struct emit *e, const struct fragment *f,
                            const struct runs *r)
{
    unsigned bits = f->bits < 8 ? 8 : f->bits;

    return matrix_vec(LLVMIntTypeInContext(e->l.ctx, bits),
                      r->length * f->bits / bits);
}

static void read_runs(struct emit *e, const struct fragment *f,
                      const struct runs *r, const LLVMValueRef *arg,
                      LLVMValueRef room)
{
    LLVMValueRef pitch = matrix_load(e, e->i64, arg[1], 8, 8);
    LLVMValueRef base = matrix_load(e, e->ptr, arg[1], 0, 8);
    LLVMTypeRef type = run_type(e, f, r);

    for (unsigned i = 0; i < r->count; i++)
        matrix_store(
            e, matrix_load(e, type, run_at(e, f, r, i, base, pitch), 0, 1),
            room, (uint64_t)i * r->length * f->bits / 8, 1);
}

static void write_runs(struct emit *e, const struct fragment *f,
                       const struct runs *r, const LLVMValueRef *arg,
                       LLVMValueRef room)
{
    LLVMValueRef pitch = matrix_load(e, e->i64, arg[1], 8, 8);
    LLVMValueRef base = matrix_load(e, e->ptr, arg[1], 0, 8);
    LLVMTypeRef type = run_type(e, f, r);

    for (unsigned i = 0; i < r->count; i++)
        matrix_store(e,
                     matrix_load(e, type, room,
                                 (uint64_t)i * r->length * f->bits / 8, 1),
                     run_at(e, f, r, i, base, pitch), 0, 1);
}

/* Which element of the runs is element `at` of the line. */
static unsigned in_runs(const struct fragment *f, unsigned line, unsigned at)
{
    return f->is_strided ? at * LINES + line : line * line_length(f) + at;
}

/* --- loads --- */

static void load_tile(struct emit *e, const struct fragment *f, unsigned reg,
                      const LLVMValueRef *arg, LLVMValueRef room)
{
    unsigned n = line_length(f), all = n * LINES, index[256], k = 0;
    uint64_t bytes = (uint64_t)LINES * 4 * register_bits(f->type) / 8;
    struct runs r = runs_of(f, tile_of(f, reg));
    LLVMValueRef v;

    if (!f->is_strided && !f->is_pair) { /* a register as it lies there */
        read_runs(e, f, &r, arg, matrix_at(e, arg[0], reg * bytes));
        return;
    }
    read_runs(e, f, &r, arg, room);
    v = matrix_load(e, matrix_vec(LLVMIntTypeInContext(e->l.ctx, f->bits), all),
                    room, 0, 1);
    for (unsigned s = 0; s < (f->is_pair ? 2u : 1u); s++, k = 0) {
        for (unsigned line = 0; line < LINES; line++)
            for (unsigned at = s; at < n; at += f->is_pair ? 2 : 1)
                index[k++] = in_runs(f, line, at);
        matrix_store(e, matrix_shuffle(e, v, NULL, index, k), arg[0],
                     (reg + s) * bytes, 4);
    }
}

static void write_load(struct emit *e, const struct fragment *f,
                       const LLVMValueRef *arg)
{
    uint64_t bytes = (uint64_t)LINES * 4 * register_bits(f->type) / 8;
    LLVMValueRef room = matrix_room(e, (uint64_t)LINES * 64);
    LLVMTypeRef whole = matrix_vec(e->i32, (unsigned)bytes / 4);

    for (unsigned reg = 0; reg < f->count; reg += f->is_pair ? 2 : 1)
        load_tile(e, f, reg, arg, room);
    for (unsigned reg = f->count; reg < f->given; reg++)
        matrix_store(e,
                     matrix_load(e, whole, arg[0], reg % f->count * bytes, 64),
                     arg[0], reg * bytes, 64);
}

/* --- stores --- */

static void store_tile(struct emit *e, const struct fragment *f, unsigned reg,
                       const LLVMValueRef *arg, LLVMValueRef room)
{
    unsigned n = line_length(f), all = n * LINES, index[256];
    uint64_t bytes = (uint64_t)LINES * 4 * register_bits(f->type) / 8;
    struct runs r = runs_of(f, tile_of(f, reg));
    LLVMTypeRef element = LLVMIntTypeInContext(e->l.ctx, f->bits);
    LLVMTypeRef type = matrix_vec(element, f->is_pair ? all / 2 : all);
    LLVMValueRef v[2] = {NULL, NULL};

    if (!f->is_strided && !f->is_pair) {
        write_runs(e, f, &r, arg, matrix_at(e, arg[0], reg * bytes));
        return;
    }
    for (unsigned s = 0; s < (f->is_pair ? 2u : 1u); s++)
        v[s] = matrix_load(e, type, arg[0], (reg + s) * bytes, 64);
    for (unsigned line = 0; line < LINES; line++)
        for (unsigned at = 0; at < n; at++)
            index[in_runs(f, line, at)] =
                f->is_pair ? at % 2 * (all / 2) + line * 4 + at / 2
                           : line * n + at;
    matrix_store(e, matrix_shuffle(e, v[0], v[1], index, all), room, 0, 1);
    write_runs(e, f, &r, arg, room);
}

static void write_store(struct emit *e, const struct fragment *f,
                        const LLVMValueRef *arg)
{
    LLVMValueRef room = matrix_room(e, (uint64_t)LINES * 64);

    for (unsigned reg = 0; reg < f->count; reg += f->is_pair ? 2 : 1)
        store_tile(e, f, reg, arg, room);
}

/* --- instructions --- */

/* The address, the same for all lanes, and the pitch in bytes. */
static void put_place(struct emit *e, const struct graph_insn *insn, int k,
                      int stride, const struct fragment *f)
{
    LLVMValueRef area = matrix_area(e), p, pitch;
    unsigned width = f->side == SIDE_B   ? (f->is_strided ? f->s->n : f->s->k)
                     : f->is_strided     ? f->s->m
                     : f->side == SIDE_A ? f->s->k
                                         : f->s->n;
    struct emit_address at;

    emit_address(e, insn, k, &at);
    p = at.ptr[0];
    if (at.shape.kind == SHAPE_VARYING)
        p = LLVMBuildExtractElement(e->l.b, p, emit_const(e, 32, 0), "");
    pitch = stride < insn->ptx->operand_count
                ? LLVMBuildZExt(e->l.b, emit_operand_any(e, insn, stride, 32),
                                e->i64, "")
                : emit_const(e, 64, width);
    pitch = LLVMBuildMul(e->l.b, pitch, emit_const(e, 64, f->bits), "");
    pitch = LLVMBuildLShr(e->l.b, pitch, emit_const(e, 64, 3), "");
    matrix_store(e, p, area, MATRIX_X, 8);
    matrix_store(e, pitch, area, MATRIX_X + 8, 8);
}

static void load_or_store(struct emit *e, const struct graph_insn *insn,
                          const struct shape *s)
{
    const struct ptx_insn *p = insn->ptx;
    int is_store = ptx_has(p, PTX_MOD_STORE);
    enum side side = ptx_has(p, PTX_MOD_A)   ? SIDE_A
                     : ptx_has(p, PTX_MOD_B) ? SIDE_B
                                             : SIDE_C;
    struct matrix_fn fn;
    struct fragment f;
    char name[64];

    open_fragment(&f, side, p->types[0], s, ptx_has(p, PTX_MOD_COL));
    put_place(e, insn, is_store ? 0 : 1, 2, &f);
    if (is_store &&
        matrix_put(e, insn, 1, f.given, register_bits(f.type), MATRIX_C))
        return;
    snprintf(name, sizeof name, "kiln.wmma.%s.%c.m%un%uk%u.%s%s",
             is_store ? "store" : "load", "abc"[side], s -> m, s -> n, s -> k,
             ptx_type_text(f.type), f.is_strided ? ".strided" : "");
    if (matrix_begin(e, &fn, name)) {
        if (is_store)
            write_store(e, &f, fn.arg);
        else
            write_load(e, &f, fn.arg);
        matrix_end(e, &fn);
    }
    matrix_call(e, &fn, (uint64_t[MATRIX_ARGS]){MATRIX_C, MATRIX_X});
    if (!is_store)
        matrix_get(e, insn, 0, f.given, register_bits(f.type), MATRIX_C);
}

static void multiply(struct emit *e, const struct graph_insn *insn,
                     const struct shape *s)
{
    const struct ptx_insn *p = insn->ptx;
    int all_named = p->type_count == 4;
    struct mma m = {.m = block_rows(s),
                    .a = all_named ? p->types[1] : PTX_F16,
                    .b = all_named ? p->types[2] : PTX_F16,
                    .c = p->types[p->type_count - 1],
                    .d = p->types[0],
                    .saturate =
                        ptx_has(p, PTX_MOD_SATFINITE) && p->types[0] == PTX_S32,
                    .is_and = p->sub == PTX_SUB_AND,
                    .small_blocks = all_named && p->types[1] == PTX_TF32,
                    .round = p->round};
    struct fragment a, b, c, d;
    struct matrix_fn fn;

    if (!mma_can_round(e, &m)) {
        emit_refuse(e, p, "directed rounding of f64 needs AVX-512");
        return;
    }
    open_fragment(&a, SIDE_A, m.a, s, 0);
    open_fragment(&b, SIDE_B, m.b, s, 0);
    open_fragment(&c, SIDE_C, m.c, s, 0);
    open_fragment(&d, SIDE_C, m.d, s, 0);
    m.q = s->k / 4 / mma_per_register(m.a);
    if (matrix_put(e, insn, 1, a.given, register_bits(m.a), MATRIX_A) ||
        matrix_put(e, insn, 2, b.given, register_bits(m.b), MATRIX_B) ||
        matrix_put(e, insn, 3, c.given, register_bits(m.c), MATRIX_C))
        return;
    mma_helper(e, &m, &fn);
    for (unsigned i = 0; i < s->m / m.m; i++)
        for (unsigned j = 0; j < s->n / 8; j++) {
            uint64_t block = i * (s->n / 8) + j;
            uint64_t tile = MATRIX_TILE * (m.a == PTX_F64 ? 2 : 1);
            uint64_t at[MATRIX_ARGS] = {
                MATRIX_A + i * m.q * (m.m / 8) * tile,
                MATRIX_B + j * m.q * tile,
                MATRIX_C + block * mma_acc_registers(m.c, m.m) * tile,
                MATRIX_D + block * mma_acc_registers(m.d, m.m) * tile};

            matrix_call(e, &fn, at);
        }
    matrix_get(e, insn, 0, d.given, register_bits(m.d), MATRIX_D);
}

void emit_wmma(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    const struct shape *s = shape_of(p);
    int is_mma = ptx_has(p, PTX_MOD_MMA);

    if (!s || !p->type_count || (is_mma && p->operand_count != 4)) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (is_mma)
        multiply(e, insn, s);
    else
        load_or_store(e, insn, s);
}
