/* SPDX-License-Identifier: MIT
 *
 * Frames written out: variables that stayed in memory become addresses from
 * the frame pointer, and the steps at each site become loads and stores.
 */
#include <stdlib.h>

#include "cpu/jit/expand.h"

/* --- rewriting: the old instructions, a new list --- */

struct rewrite {
    struct ptx_insn *old;
    size_t count;
    size_t *starts;
};

static int rewrite_begin(struct expand *x, struct rewrite *r)
{
    struct ptx_func *f = x->body.func;

    r->old = f->insns;
    r->count = f->insn_count;
    r->starts = arena_array(x->body.arena, r->count + 1, sizeof *r->starts);
    if (!r->starts) {
        x->body.bad = 1;
        return -1;
    }
    f->insns = NULL;
    f->insn_count = x->body.insn_cap = 0;
    return 0;
}

static void rewrite_end(struct expand *x, struct rewrite *r)
{
    struct ptx_func *f = x->body.func;

    if (x->body.bad)
        return;
    r->starts[r->count] = f->insn_count;
    for (size_t l = 0; l < f->label_count; l++)
        f->labels[l].insn = r->starts[f->labels[l].insn];
}

static void add_offset(struct expand *x, uint32_t to, uint32_t from,
                       int64_t add, unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_ADD, line, "add.s64");

    if (!insn)
        return;
    insn->dst_count = 1;
    insn->operand_count = 3;
    insn->type_count = 1;
    insn->types[0] = PTX_S64;
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] = body_reg_operand(from);
    insn->operands[2] =
        (struct ptx_operand){.kind = PTX_OPERAND_INT, .ival = add};
}

/* --- variables in frames --- */

static int by_var(const void *a, const void *b)
{
    uintptr_t p = (uintptr_t)((const struct framed *)a)->var;
    uintptr_t q = (uintptr_t)((const struct framed *)b)->var;

    return (p > q) - (p < q);
}

static struct framed *framed_of(struct expand *x, const struct ptx_operand *o)
{
    const struct framed key = {.var = o->var};

    if ((o->kind != PTX_OPERAND_VAR && o->kind != PTX_OPERAND_ADDR_VAR) ||
        !x->framed_count)
        return NULL;
    return bsearch(&key, x->framed, x->framed_count, sizeof key, by_var);
}

static void place_used(struct expand *x, const struct ptx_operand *list,
                       unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        struct framed *v = framed_of(x, &list[k]);

        if (list[k].kind == PTX_OPERAND_VECTOR)
            place_used(x, list[k].elems, list[k].count);
        if (!v || v->used)
            continue;
        v->used = 1;
        v->offset = v->frame->size + v->var->align - 1;
        v->offset -= v->offset % (v->var->align ? v->var->align : 1);
        v->frame->size = v->offset + v->var->size;
    }
}

/* The operand, by the frame pointer. */
static void by_pointer(struct expand *x, struct ptx_operand *o, unsigned line)
{
    struct framed *v = framed_of(x, o);
    uint32_t reg;

    if (!v)
        return;
    if (o->kind == PTX_OPERAND_ADDR_VAR) {
        int64_t at = o->ival + (int64_t)v->offset;

        *o = (struct ptx_operand){
            .kind = PTX_OPERAND_ADDR_REG, .reg = v->frame->fp, .ival = at};
        return;
    }
    reg = body_reg(&x->body, PTX_B64);
    add_offset(x, reg, v->frame->fp, o->ival + (int64_t)v->offset, line);
    *o = body_reg_operand(reg);
}

void frames_address_variables(struct expand *x)
{
    struct rewrite r;

    if (x->framed_count)
        qsort(x->framed, x->framed_count, sizeof *x->framed, by_var);
    for (size_t i = 0; i < x->body.func->insn_count; i++)
        place_used(x, x->body.func->insns[i].operands,
                   x->body.func->insns[i].operand_count);
    if (rewrite_begin(x, &r))
        return;
    for (size_t i = 0; i < r.count && !x->body.bad; i++) {
        struct ptx_insn insn = r.old[i];

        r.starts[i] = x->body.func->insn_count;
        for (int k = 0; k < insn.operand_count; k++) {
            struct ptx_operand *o = &insn.operands[k];

            by_pointer(x, o, insn.line);
            /* the elements are this body's own */
            for (int e = 0; o->kind == PTX_OPERAND_VECTOR && e < o->count; e++)
                by_pointer(x, &o->elems[e], insn.line);
        }
        body_copy(&x->body, &insn);
    }
    rewrite_end(x, &r);
}

/* Saved registers lie behind the frame's variables; the sites of a frame
 * share the room. */
void frames_lay_out(struct expand *x)
{
    for (size_t i = 0; i < x->site_count; i++)
        x->sites[i].to->variables = x->sites[i].to->size;
    for (size_t i = 0; i < x->site_count; i++) {
        struct site *s = &x->sites[i];
        uint64_t at = s->from ? s->from->variables : 0;

        for (size_t k = 0; k < s->saved_count; k++) {
            unsigned bytes = frame_bytes_of(x, s->saved[k]);

            at = (at + bytes - 1) & ~(uint64_t)(bytes - 1);
            s->offsets[k] = at;
            at += bytes;
        }
        if (s->from && s->saved_count && at > s->from->size)
            s->from->size = at;
    }
    for (size_t i = 0; i < x->site_count; i++) {
        struct site *s = &x->sites[i];

        s->to->size =
            (s->to->size + FRAME_ALIGN - 1) & ~(uint64_t)(FRAME_ALIGN - 1);
        if (s->to->size > CALL_STACK)
            expand_refuse(x, 0, "a frame of more than 32 KiB in ",
                          x->body.func->name);
    }
}

/* --- the steps written out --- */

static struct ptx_insn *access(struct expand *x, enum ptx_op op, uint32_t reg,
                               uint32_t base, uint64_t at, unsigned bytes,
                               unsigned line)
{
    struct ptx_insn *insn = body_insn(
        &x->body, op, line, op == PTX_OP_LD ? "ld.local" : "st.local");
    int store = op == PTX_OP_ST;

    if (!insn)
        return NULL;
    insn->space = PTX_SPACE_LOCAL;
    insn->type_count = 1;
    insn->types[0] = bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : PTX_B16;
    insn->dst_count = (uint8_t)!store;
    insn->operand_count = 2;
    insn->operands[store] = body_reg_operand(reg);
    insn->operands[!store] = (struct ptx_operand){
        .kind = PTX_OPERAND_ADDR_REG, .reg = base, .ival = (int64_t)at};
    return insn;
}

static void pred_to_word(struct expand *x, uint32_t to, uint32_t pred,
                         unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_SELP, line, "selp.b32");

    if (!insn)
        return;
    insn->type_count = 1;
    insn->types[0] = PTX_B32;
    insn->dst_count = 1;
    insn->operand_count = 4;
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] =
        (struct ptx_operand){.kind = PTX_OPERAND_INT, .ival = 1};
    insn->operands[2] = (struct ptx_operand){.kind = PTX_OPERAND_INT};
    insn->operands[3] = body_reg_operand(pred);
}

static int is_pred(const struct expand *x, uint32_t reg)
{
    return ptx_type_bits(x->body.func->regs[reg].type) == 1;
}

static void save(struct expand *x, const struct site *s, unsigned line)
{
    for (size_t k = 0; k < s->saved_count && !x->body.bad; k++) {
        uint32_t reg = s->saved[k];

        if (is_pred(x, reg)) {
            reg = body_reg(&x->body, PTX_B32);
            pred_to_word(x, reg, s->saved[k], line);
        }
        access(x, PTX_OP_ST, reg, s->from->fp, s->offsets[k],
               frame_bytes_of(x, reg), line);
    }
}

static void restore(struct expand *x, const struct site *s, unsigned line)
{
    for (size_t k = 0; k < s->saved_count && !x->body.bad; k++) {
        uint32_t reg = s->saved[k];

        if (is_pred(x, reg)) {
            struct ptx_operand word;

            reg = body_reg(&x->body, PTX_B32);
            access(x, PTX_OP_LD, reg, s->from->fp, s->offsets[k], 4, line);
            word = body_reg_operand(reg);
            expand_equal(x, s->saved[k], &word, 1, PTX_U32, line);
        } else {
            access(x, PTX_OP_LD, reg, s->from->fp, s->offsets[k],
                   frame_bytes_of(x, reg), line);
        }
    }
}

/* A frame that would pass the stack's end: the lane faults. */
static void check_room(struct expand *x, const struct frame *to, unsigned line)
{
    struct ptx_operand end = {.kind = PTX_OPERAND_VAR, .var = x->stack_end};
    uint32_t limit = body_reg(&x->body, PTX_B64);
    uint32_t over = body_reg(&x->body, PTX_PRED);
    struct ptx_insn *insn;

    end.ival = -(int64_t)to->size;
    body_move(&x->body, limit, &end, 64, line);
    insn = body_insn(&x->body, PTX_OP_SETP, line, "setp.gt.u64");
    if (!insn)
        return;
    insn->cmp = PTX_CMP_GT;
    insn->type_count = 1;
    insn->types[0] = PTX_U64;
    insn->dst_count = 1;
    insn->operand_count = 3;
    insn->operands[0] = body_reg_operand(over);
    insn->operands[1] = body_reg_operand(to->fp);
    insn->operands[2] = body_reg_operand(limit);
    insn = body_insn(&x->body, PTX_OP_TRAP, line, frame_overflow);
    if (insn)
        insn->guard = (int32_t)over;
}

static void write_step(struct expand *x, const struct ptx_insn *insn)
{
    const struct site *s = frame_site_of(x, insn);
    unsigned line = insn->line;

    if (insn->text == frame_pop) {
        add_offset(x, s->from->fp, s->to->fp, -(int64_t)s->from->size, line);
        restore(x, s, line);
        return;
    }
    if (insn->text == frame_push)
        save(x, s, line);
    if (s->from) {
        add_offset(x, s->to->fp, s->from->fp, (int64_t)s->from->size, line);
        check_room(x, s->to, line);
    } else {
        struct ptx_operand base = {.kind = PTX_OPERAND_VAR, .var = x->stack};

        body_move(&x->body, s->to->fp, &base, 64, line);
    }
}

void frames_write_steps(struct expand *x)
{
    struct rewrite r;

    if (rewrite_begin(x, &r))
        return;
    for (size_t i = 0; i < r.count && !x->body.bad; i++) {
        r.starts[i] = x->body.func->insn_count;
        if (frame_is_step(&r.old[i]))
            write_step(x, &r.old[i]);
        else
            body_copy(&x->body, &r.old[i]);
    }
    rewrite_end(x, &r);
}
