/* SPDX-License-Identifier: MIT
 *
 * The .param variables of calls as registers. Where each byte of a variable
 * is only ever loaded and stored as part of the same piece, at constant
 * offsets, every piece becomes a register and every access a move; so values
 * keep their shapes through a call and touch no memory. Other variables stay
 * in local memory.
 */
#include <string.h>

#include "cpu/jit/calls.h"

enum { MAX_PIECES = 64 };

struct piece {
    int64_t at;
    uint8_t bytes;
    uint32_t reg;
};

struct candidate {
    struct piece *pieces;
    size_t count, cap;
    int lost; /* stays in memory */
};

struct scalars {
    struct body *body;
    struct ptx_var *const *vars;
    size_t var_count;
    struct candidate *list; /* one a variable */
};

static struct candidate *candidate_of(const struct scalars *s,
                                      const struct ptx_operand *o)
{
    if ((o->kind != PTX_OPERAND_VAR && o->kind != PTX_OPERAND_ADDR_VAR) ||
        !o->var || o->var->offset >= s->var_count ||
        s->vars[o->var->offset] != o->var)
        return NULL;
    return &s->list[o->var->offset];
}

static unsigned bytes_of(const struct ptx_insn *insn)
{
    return ptx_type_bits(insn->types[0]) / 8;
}

/* The operand that is the address, or -1 when this is no simple access. */
static int address_operand(const struct ptx_insn *insn)
{
    unsigned bits = insn->type_count == 1 ? ptx_type_bits(insn->types[0]) : 0;

    if ((insn->op != PTX_OP_LD && insn->op != PTX_OP_ST) ||
        (bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
        ptx_has(insn, PTX_MOD_VOLATILE) || insn->operand_count != 2)
        return -1;
    return insn->op == PTX_OP_LD ? 1 : 0;
}

static void note_piece(struct scalars *s, struct candidate *c,
                       const struct ptx_var *var, int64_t at, unsigned bytes)
{
    struct piece *pieces;

    if (at < 0 || (uint64_t)at + bytes > var->size) {
        c->lost = 1;
        return;
    }
    for (size_t i = 0; i < c->count; i++) {
        const struct piece *p = &c->pieces[i];

        if (p->at == at && p->bytes == bytes)
            return;
        if (p->at < at + bytes && at < p->at + p->bytes) {
            c->lost = 1;
            return;
        }
    }
    pieces = c->count < MAX_PIECES
                 ? arena_grow(s->body->arena, c->pieces, c->count, &c->cap,
                              sizeof *pieces)
                 : NULL;
    if (!pieces) {
        c->lost = 1;
        return;
    }
    c->pieces = pieces;
    pieces[c->count++] = (struct piece){at, (uint8_t)bytes, 0};
}

static void look_at(struct scalars *s, const struct ptx_insn *insn)
{
    int address = address_operand(insn);

    for (int k = 0; k < insn->operand_count; k++) {
        const struct ptx_operand *o = &insn->operands[k];
        struct candidate *c = candidate_of(s, o);
        unsigned bytes = bytes_of(insn);

        for (int e = 0; e < o->count && (o->kind == PTX_OPERAND_VECTOR ||
                                         o->kind == PTX_OPERAND_ADDR_LIST);
             e++) {
            struct candidate *in = candidate_of(s, &o->elems[e]);

            if (in)
                in->lost = 1;
        }
        if (!c)
            continue;
        if (k != address || o->kind != PTX_OPERAND_ADDR_VAR)
            c->lost = 1;
        for (unsigned e = 0; !c->lost && e < insn->vec; e++)
            note_piece(s, c, o->var, o->ival + (int64_t)(e * bytes), bytes);
    }
}

static uint32_t piece_reg(struct scalars *s, struct candidate *c, int64_t at)
{
    for (size_t i = 0; i < c->count; i++) {
        struct piece *p = &c->pieces[i];

        if (p->at != at)
            continue;
        if (!p->reg) /* register 0 is never one made here: stored plus one */
            p->reg = body_reg(s->body, p->bytes == 8   ? PTX_B64
                                       : p->bytes == 4 ? PTX_B32
                                                       : PTX_B16) +
                     1;
        return p->reg - 1;
    }
    s->body->bad = 1; /* look_at() noted every access */
    return 0;
}

static enum ptx_type int_type(unsigned bits, int is_signed)
{
    switch (bits) {
    case 8:
        return is_signed ? PTX_S8 : PTX_U8;
    case 16:
        return is_signed ? PTX_S16 : PTX_U16;
    case 32:
        return is_signed ? PTX_S32 : PTX_U32;
    default:
        return is_signed ? PTX_S64 : PTX_U64;
    }
}

static void convert(struct body *b, uint32_t to, enum ptx_type to_type,
                    uint32_t from, enum ptx_type from_type, unsigned line)
{
    struct ptx_insn *insn = body_insn(b, PTX_OP_CVT, line, "cvt");

    if (!insn)
        return;
    insn->dst_count = 1;
    insn->operand_count = 2;
    insn->type_count = 2;
    insn->types[0] = to_type;
    insn->types[1] = from_type;
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] = body_reg_operand(from);
}

static unsigned reg_bits(const struct scalars *s, uint32_t reg)
{
    return ptx_type_bits(s->body->func->regs[reg].type);
}

static void store_piece(struct scalars *s, uint32_t piece,
                        const struct ptx_operand *from, unsigned bits,
                        unsigned line)
{
    unsigned have = from->kind == PTX_OPERAND_REG ? reg_bits(s, from->reg) : 0;
    unsigned keep = bits == 8 ? 16 : bits;

    if (have && have != bits)
        convert(s->body, piece, int_type(keep, 0), from->reg,
                int_type(bits == 8 ? 8 : have, 0), line);
    else
        body_move(s->body, piece, from, keep, line);
}

/* sN types extend their sign, others zeros (PTX ISA 9.4.1). */
static void load_piece(struct scalars *s, uint32_t piece,
                       const struct ptx_operand *to, enum ptx_type type,
                       unsigned line)
{
    unsigned bits = ptx_type_bits(type), want;
    int is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    struct ptx_operand from = body_reg_operand(piece);

    if (to->kind != PTX_OPERAND_REG)
        return;
    want = reg_bits(s, to->reg);
    if (want == bits)
        body_move(s->body, to->reg, &from, bits, line);
    else
        convert(s->body, to->reg, int_type(want, is_signed), piece,
                int_type(bits, is_signed), line);
}

static void guard_from(struct body *b, size_t first,
                       const struct ptx_insn *insn)
{
    for (size_t i = first; !b->bad && i < b->func->insn_count; i++) {
        b->func->insns[i].guard = insn->guard;
        b->func->insns[i].guard_negate = insn->guard_negate;
    }
}

static void rewrite(struct scalars *s, const struct ptx_insn *insn)
{
    int address = address_operand(insn);
    size_t first = s->body->func->insn_count;
    struct candidate *c =
        address >= 0 ? candidate_of(s, &insn->operands[address]) : NULL;

    if (!c || c->lost) {
        body_copy(s->body, insn);
        return;
    }
    for (unsigned e = 0; e < insn->vec && !s->body->bad; e++) {
        const struct ptx_operand *o = &insn->operands[!address];
        uint32_t piece = piece_reg(
            s, c, insn->operands[address].ival + (int64_t)(e * bytes_of(insn)));

        if (o->kind == PTX_OPERAND_VECTOR)
            o = &o->elems[e];
        if (insn->op == PTX_OP_LD)
            load_piece(s, piece, o, insn->types[0], insn->line);
        else
            store_piece(s, piece, o, ptx_type_bits(insn->types[0]), insn->line);
    }
    guard_from(s->body, first, insn);
}

void calls_scalars(struct body *b, struct ptx_var *const *vars, size_t count)
{
    struct ptx_func *f = b->func;
    struct ptx_insn *old = f->insns;
    size_t old_count = f->insn_count;
    struct scalars s = {.body = b, .vars = vars, .var_count = count};
    size_t *starts = arena_array(b->arena, old_count + 1, sizeof *starts);

    s.list = arena_array(b->arena, count + 1, sizeof *s.list);
    if (!starts || !s.list) {
        b->bad = 1;
        return;
    }
    for (size_t i = 0; i < old_count; i++)
        look_at(&s, &old[i]);
    f->insns = NULL;
    f->insn_count = b->insn_cap = 0;
    for (size_t i = 0; i < old_count && !b->bad; i++) {
        starts[i] = f->insn_count;
        rewrite(&s, &old[i]);
    }
    starts[old_count] = f->insn_count;
    for (size_t l = 0; !b->bad && l < f->label_count; l++)
        f->labels[l].insn = starts[f->labels[l].insn];
}
