/* SPDX-License-Identifier: MIT
 *
 * mma.sp: half of A's elements are zero and are not in its registers; a word
 * of some threads says where the others belong (PTX ISA, "Warp-level matrix
 * instructions for sparse mma"). A is made whole, and multiplied as ever.
 *
 * Items are what an index speaks of: an element, or two of 4 bits. Of each
 * four items two are there, with an index of two bits each; of tf32 one of
 * two, with an index of four bits, 0100 or 1110. One, two or all four of the
 * threads of a quad have the bits of rows g and g + 8. Where items are larger
 * than a byte, each has 16 bits of row g in the lower half of a word, and of
 * row g + 8 in the upper; where they are bytes, it has 32 bits of one of them,
 * in turn. The ISA shows that in pictures; an H200 does so.
 *
 * What is not there must not be multiplied, even by an infinity: of floats it
 * becomes -0, and what is there and -0 becomes +0, which no sum shows.
 */
#include <stdio.h>

#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma.h"

enum { ROWS = 16, DENSE = MATRIX_A, PACKED = MATRIX_A + 1024 };

struct sparse {
    enum ptx_type type;
    unsigned bytes;    /* of an item */
    unsigned items;    /* of a row that are there */
    unsigned selector; /* which threads of a quad speak */
    int one_of_two;    /* tf32 */
};

static int is_integer(enum ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_SINT ||
           ptx_type_class(t) == PTX_CLASS_UINT;
}

/* Item i of row (h, g) in registers: tiles of 8 rows of 16 bytes, those of
 * rows 0 to 7 and of 8 to 15 by turns. */
static LLVMValueRef item_at(struct emit *e, const struct sparse *s,
                            LLVMValueRef regs, LLVMValueRef row, LLVMValueRef i)
{
    struct lower *l = &e->l;
    LLVMValueRef byte = i_mul(l, i, k_int(i, s->bytes)), at;

    at = i_shl(l, i_lshr(l, byte, k_int(byte, 4)), k_int(byte, 8));
    at = i_or(l, at, i_and(l, byte, k_int(byte, 15)));
    at = i_or(l, at, i_shl(l, i_lshr(l, row, k_int(row, 3)), k_int(row, 7)));
    at = i_or(l, at, i_shl(l, i_and(l, row, k_int(row, 7)), k_int(row, 4)));
    return LLVMBuildGEP2(l->b, e->i8, regs, &at, 1, "");
}

/* Where in the whole row item j of the packed one belongs. */
static LLVMValueRef place_of(struct emit *e, const struct sparse *s,
                             LLVMValueRef words, LLVMValueRef row,
                             LLVMValueRef j)
{
    struct lower *l = &e->l;
    unsigned each = s->one_of_two ? 4 : 2, threads = s->items * each / 16;
    LLVMValueRef bit = i_mul(l, j, k_int(j, each)), lane, word, index;
    LLVMValueRef upper = i_lshr(l, row, k_int(row, 3)), thread;

    if (s->bytes == 1) {
        thread = i_lshr(l, bit, k_int(bit, 5));
        thread = i_or(l, i_shl(l, thread, k_int(thread, 1)), upper);
        bit = i_and(l, bit, k_int(bit, 31));
    } else {
        thread = i_lshr(l, bit, k_int(bit, 4));
        bit = i_and(l, bit, k_int(bit, 15));
        bit = i_or(l, bit, i_shl(l, upper, k_int(upper, 4)));
    }
    lane = i_shl(l, i_and(l, row, k_int(row, 7)), k_int(row, 2));
    lane = i_add(l, lane, thread);
    lane = i_add(l, lane, k_int(lane, s->selector * threads));
    word = LLVMBuildLoad2(l->b, e->i32,
                          LLVMBuildGEP2(l->b, e->i32, words, &lane, 1, ""), "");
    index = i_lshr(l, lower_width(l, word, 64, 0), bit);
    if (s->one_of_two) {
        index = i_and(l, i_lshr(l, index, k_int(index, 1)), k_int(index, 1));
        return i_or(l, i_shl(l, j, k_int(j, 1)), index);
    }
    index = i_and(l, index, k_int(index, 3));
    return i_or(l, i_shl(l, i_lshr(l, j, k_int(j, 1)), k_int(j, 2)), index);
}

static uint64_t negative_zero(const struct sparse *s)
{
    return is_integer(s->type) ? 0 : UINT64_C(1) << (8 * s->bytes - 1);
}

static void fill(struct emit *e, const struct sparse *s, LLVMValueRef to)
{
    unsigned n = MATRIX_TILE / s->bytes;
    LLVMTypeRef type =
        matrix_vec(LLVMIntTypeInContext(e->l.ctx, 8 * s->bytes), n);
    unsigned registers = 2 * 2 * s->items * s->bytes / 16;

    for (unsigned i = 0; i < registers; i++)
        matrix_store(e, lower_const(type, negative_zero(s)), to,
                     (uint64_t)i * MATRIX_TILE, 64);
}

static LLVMValueRef positive(struct emit *e, const struct sparse *s,
                             LLVMValueRef v)
{
    struct lower *l = &e->l;
    LLVMValueRef kept =
        s->type == PTX_TF32 ? i_and(l, v, k_int(v, 0xffffe000)) : v;

    if (is_integer(s->type))
        return v;
    return select_(l, i_cmp(l, LLVMIntEQ, kept, k_int(v, negative_zero(s))),
                   k_int(v, 0), v);
}

/* packed, words, whole */
static void write_whole(struct emit *e, const struct sparse *s,
                        const LLVMValueRef *arg)
{
    LLVMTypeRef item = LLVMIntTypeInContext(e->l.ctx, 8 * s->bytes);
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef t, row, j, v, more;

    fill(e, s, arg[2]);
    before = LLVMGetInsertBlock(e->l.b);
    body = emit_new_bb(e, "item");
    after = emit_new_bb(e, "whole");
    LLVMBuildBr(e->l.b, body);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    t = LLVMBuildPhi(e->l.b, e->i64, "");
    row = LLVMBuildUDiv(e->l.b, t, k_int(t, s->items), "");
    j = LLVMBuildURem(e->l.b, t, k_int(t, s->items), "");
    v = LLVMBuildLoad2(e->l.b, item, item_at(e, s, arg[0], row, j), "");
    LLVMBuildStore(e->l.b, positive(e, s, v),
                   item_at(e, s, arg[2], row, place_of(e, s, arg[1], row, j)));
    more = i_add(&e->l, t, k_int(t, 1));
    LLVMAddIncoming(t, (LLVMValueRef[]){emit_const(e, 64, 0), more},
                    (LLVMBasicBlockRef[]){before, body}, 2);
    more = i_cmp(&e->l, LLVMIntULT, more, k_int(t, ROWS * s->items));
    LLVMBuildCondBr(e->l.b, more, body, after);
    LLVMPositionBuilderAtEnd(e->l.b, after);
}

int mma_sparse(struct emit *e, const struct graph_insn *insn,
               const struct mma *m)
{
    const struct ptx_insn *p = insn->ptx;
    unsigned bits = ptx_type_bits(m->a);
    struct sparse s = {.type = m->a,
                       .bytes = bits < 8 ? 1 : bits / 8,
                       .selector = (unsigned)p->operands[5].ival,
                       .one_of_two = m->a == PTX_TF32};
    struct matrix_fn fn;
    char name[64];

    s.items = 8 * m->q / s.bytes; /* half of what q tiles of rows hold */
    if (matrix_put(e, insn, 1, m->q, 32, PACKED) ||
        matrix_put(e, insn, 4, 1, 32, MATRIX_X))
        return -1;
    snprintf(name, sizeof name, "kiln.mma.sp.%s.%u.%u",
             is_integer(s.type) ? "int" : ptx_type_text(s.type), s.items,
             s.selector);
    if (matrix_begin(e, &fn, name)) {
        write_whole(e, &s, fn.arg);
        matrix_end(e, &fn);
    }
    matrix_call(e, &fn, (uint64_t[]){PACKED, MATRIX_X, DENSE, DENSE});
    return 0;
}
