/* SPDX-License-Identifier: MIT
 *
 * PTX bodies made by the code generator itself.
 */
#include "cpu/jit/calls.h"

#include <string.h>

struct ptx_insn *body_insn(struct body *b, enum ptx_op op, unsigned line,
                           const char *text)
{
    struct ptx_func *f = b->func;
    struct ptx_insn *insns;

    insns = b->bad ? NULL
                   : arena_grow(b->arena, f->insns, f->insn_count, &b->insn_cap,
                                sizeof *insns);
    if (!insns) {
        b->bad = 1;
        return NULL;
    }
    f->insns = insns;
    memset(&insns[f->insn_count], 0, sizeof *insns);
    insns[f->insn_count].op = op;
    insns[f->insn_count].guard = -1;
    insns[f->insn_count].vec = 1;
    insns[f->insn_count].line = line;
    insns[f->insn_count].text = text;
    return &insns[f->insn_count++];
}

struct ptx_insn *body_copy(struct body *b, const struct ptx_insn *from)
{
    struct ptx_insn *insn = body_insn(b, from->op, from->line, from->text);

    if (insn)
        *insn = *from;
    return insn;
}

uint32_t body_reg(struct body *b, enum ptx_type type)
{
    struct ptx_func *f = b->func;
    struct ptx_reg *regs = b->bad ? NULL
                                  : arena_grow(b->arena, f->regs, f->reg_count,
                                               &b->reg_cap, sizeof *regs);

    if (!regs || f->reg_count >= INT32_MAX) {
        b->bad = 1;
        return 0;
    }
    f->regs = regs;
    regs[f->reg_count] =
        (struct ptx_reg){.name = "%call", .type = type, .vec = 1};
    return (uint32_t)f->reg_count++;
}

uint32_t body_label(struct body *b)
{
    struct ptx_func *f = b->func;
    struct ptx_label *labels =
        b->bad ? NULL
               : arena_grow(b->arena, f->labels, f->label_count, &b->label_cap,
                            sizeof *labels);

    if (!labels || f->label_count >= INT32_MAX) {
        b->bad = 1;
        return 0;
    }
    f->labels = labels;
    labels[f->label_count] = (struct ptx_label){.name = "$call"};
    return (uint32_t)f->label_count++;
}

void body_place(struct body *b, uint32_t label)
{
    if (!b->bad)
        b->func->labels[label].insn = b->func->insn_count;
}

void body_jump(struct body *b, uint32_t label, int32_t guard, int negate,
               unsigned line)
{
    struct ptx_insn *insn = body_insn(b, PTX_OP_BRA, line, "bra");

    if (!insn)
        return;
    insn->guard = guard;
    insn->guard_negate = (uint8_t)negate;
    insn->operand_count = 1;
    insn->operands[0].kind = PTX_OPERAND_LABEL;
    insn->operands[0].label = label;
}

void body_local(struct body *b, struct ptx_var *var)
{
    struct ptx_func *f = b->func;
    struct ptx_var **locals =
        b->bad ? NULL
               : arena_grow(b->arena, f->locals, f->local_count, &b->local_cap,
                            sizeof(struct ptx_var *));

    if (!locals || !var) {
        b->bad = 1;
        return;
    }
    f->locals = locals;
    locals[f->local_count++] = var;
}

struct ptx_operand body_reg_operand(uint32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REG, .reg = reg};
}

static enum ptx_type bits_type(unsigned bits)
{
    return bits == 1    ? PTX_PRED
           : bits == 8  ? PTX_B8
           : bits == 16 ? PTX_B16
           : bits == 32 ? PTX_B32
                        : PTX_B64;
}

void body_move(struct body *b, uint32_t to, const struct ptx_operand *from,
               unsigned bits, unsigned line)
{
    struct ptx_insn *insn = body_insn(b, PTX_OP_MOV, line, "mov");

    if (!insn)
        return;
    insn->dst_count = 1;
    insn->operand_count = 2;
    insn->type_count = 1;
    insn->types[0] = bits_type(bits);
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] = *from;
    if (from->kind == PTX_OPERAND_FLOAT)
        insn->types[0] = bits == 64 ? PTX_F64 : PTX_F32;
}
