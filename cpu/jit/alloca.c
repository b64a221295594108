/* SPDX-License-Identifier: MIT
 *
 * alloca, stacksave and stackrestore as ordinary instructions: each thread has
 * ALLOCA_BYTES of local memory for them and a register that says where the
 * next piece starts. What a function has taken is free again when it returns,
 * so that one which takes some saves the register first (PTX ISA 9.7.14.13).
 */
#include "cpu/jit/calls.h"
#include "cpu/jit/frames.h"

enum { ALLOCA_BYTES = 16 * 1024, ALLOCA_ALIGN = 16 };

static int is_stack(const struct ptx_insn *insn)
{
    return insn->op == PTX_OP_ALLOCA || insn->op == PTX_OP_STACKSAVE ||
           insn->op == PTX_OP_STACKRESTORE;
}

int alloca_any(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++)
        if (is_stack(&f->insns[i]))
            return 1;
    return 0;
}

/* --- a copy of the body, instruction by instruction --- */

struct copy {
    struct body body;
    struct ptx_func func;
    const struct ptx_func *from;
    size_t *place; /* by old instruction: where it is now */
};

static int begin(struct copy *c, struct arena *arena,
                 const struct ptx_func *from)
{
    *c = (struct copy){.func = *from, .from = from};
    c->body = (struct body){.arena = arena, .func = &c->func};
    c->func.insns = NULL;
    c->func.insn_count = 0;
    c->func.regs = NULL;
    c->func.reg_count = 0;
    c->place = arena_array(arena, from->insn_count + 1, sizeof *c->place);
    c->body.bad = !c->place;
    for (size_t r = 0; r < from->reg_count && !c->body.bad; r++) {
        const uint32_t reg = body_reg(&c->body, from->regs[r].type);

        if (!c->body.bad)
            c->func.regs[reg] = from->regs[r];
    }
    c->func.locals = NULL;
    c->func.local_count = 0;
    for (size_t v = 0; v < from->local_count; v++)
        body_local(&c->body, from->locals[v]);
    return c->body.bad;
}

static int finish(struct copy *c)
{
    struct ptx_label *labels;

    if (c->body.bad)
        return -1;
    labels =
        arena_array(c->body.arena, c->from->label_count + 1, sizeof *labels);
    if (!labels)
        return -1;
    c->place[c->from->insn_count] = c->func.insn_count;
    for (size_t l = 0; l < c->from->label_count; l++) {
        labels[l] = c->from->labels[l];
        labels[l].insn = c->place[labels[l].insn];
    }
    c->func.labels = labels;
    return 0;
}

/* --- functions free what they took --- */

static void add_stack(struct copy *c, enum ptx_op op, uint32_t reg,
                      const struct ptx_insn *like)
{
    struct ptx_insn *insn =
        body_insn(&c->body, op, like->line,
                  op == PTX_OP_STACKSAVE ? "stacksave" : "stackrestore");

    if (!insn)
        return;
    insn->type_count = 1;
    insn->types[0] = PTX_U64;
    insn->dst_count = op == PTX_OP_STACKSAVE;
    insn->operand_count = 1;
    insn->operands[0] = body_reg_operand(reg);
    if (op == PTX_OP_STACKRESTORE) { /* of the lanes that return */
        insn->guard = like->guard;
        insn->guard_negate = like->guard_negate;
    }
}

static int takes_some(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++)
        if (f->insns[i].op == PTX_OP_ALLOCA)
            return 1;
    return 0;
}

enum kiln_status alloca_functions(struct arena *arena, struct ptx_module *m,
                                  struct kiln_error *err)
{
    for (size_t k = 0; k < m->func_count; k++) {
        struct ptx_func *f = m->funcs[k];
        struct copy c;
        uint32_t saved;

        if (f->is_entry || !f->has_body || !takes_some(f))
            continue;
        begin(&c, arena, f);
        saved = body_reg(&c.body, PTX_B64);
        add_stack(&c, PTX_OP_STACKSAVE, saved, &f->insns[0]);
        for (size_t i = 0; i < f->insn_count && !c.body.bad; i++) {
            c.place[i] = c.func.insn_count;
            if (f->insns[i].op == PTX_OP_RET)
                add_stack(&c, PTX_OP_STACKRESTORE, saved, &f->insns[i]);
            body_copy(&c.body, &f->insns[i]);
        }
        if (finish(&c))
            return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
        *f = c.func;
    }
    return KILN_OK;
}

/* --- the kernel --- */

struct stack {
    struct copy copy;
    uint32_t at;    /* register: where the next piece starts */
    uint32_t limit; /* register: the end of the thread's */
};

static struct ptx_insn *add(struct stack *s, const struct ptx_insn *like,
                            enum ptx_op op, const char *text, uint32_t to,
                            const struct ptx_operand *a,
                            const struct ptx_operand *b)
{
    struct ptx_insn *insn = body_insn(&s->copy.body, op, like->line, text);

    if (!insn)
        return NULL;
    insn->type_count = 1;
    insn->types[0] = PTX_U64;
    insn->dst_count = 1;
    insn->operand_count = b ? 3 : 2;
    insn->operands[0] = body_reg_operand(to);
    insn->operands[1] = *a;
    if (b)
        insn->operands[2] = *b;
    return insn;
}

static struct ptx_operand number(int64_t v)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_INT, .ival = v};
}

static void set(struct stack *s, const struct ptx_insn *like, uint32_t to,
                const struct ptx_operand *from)
{
    struct ptx_insn *insn;

    body_move(&s->copy.body, to, from, 64, like->line);
    if (s->copy.body.bad)
        return;
    insn = &s->copy.func.insns[s->copy.func.insn_count - 1];
    insn->guard = like->guard;
    insn->guard_negate = like->guard_negate;
}

/* p = at rounded up; at = p + size; beyond the limit the lane traps. */
static void take(struct stack *s, const struct ptx_insn *insn)
{
    struct body *b = &s->copy.body;
    const int64_t align = insn->operand_count > 2 && insn->operands[2].ival > 0
                              ? insn->operands[2].ival
                              : 8;
    const uint32_t p = body_reg(b, PTX_B64), end = body_reg(b, PTX_B64);
    const uint32_t over = body_reg(b, PTX_PRED);
    struct ptx_operand at = body_reg_operand(s->at), x, y = number(align - 1);
    struct ptx_insn *made;

    add(s, insn, PTX_OP_ADD, "add", p, &at, &y);
    x = body_reg_operand(p);
    y = number(-align);
    made = add(s, insn, PTX_OP_AND, "and", p, &x, &y);
    if (made)
        made->types[0] = PTX_B64;
    y = insn->operands[1];
    add(s, insn, PTX_OP_ADD, "add", end, &x, &y);
    /* a size that does not fit wraps, or passes the limit */
    x = body_reg_operand(end);
    y = body_reg_operand(s->limit);
    made = add(s, insn, PTX_OP_SETP, "setp.gt", over, &x, &y);
    if (made)
        made->cmp = PTX_CMP_GT;
    if (insn->guard >= 0 && made) { /* only where it is taken at all */
        made->sub = PTX_SUB_AND;
        made->operand_count = 4;
        made->operands[3] = body_reg_operand((uint32_t)insn->guard);
        made->operands[3].negate = insn->guard_negate;
    }
    made = body_insn(b, PTX_OP_TRAP, insn->line, frame_overflow);
    if (made)
        made->guard = (int32_t)over;
    x = body_reg_operand(p);
    set(s, insn, insn->operands[0].reg, &x);
    x = body_reg_operand(end);
    set(s, insn, s->at, &x);
}

static int is_wide(const struct ptx_insn *insn)
{
    return ptx_type_bits(insn->types[0]) == 64;
}

static void start(struct stack *s, struct ptx_var *var)
{
    struct ptx_operand at = {.kind = PTX_OPERAND_VAR, .var = var};
    struct body *b = &s->copy.body;

    *var = (struct ptx_var){.name = "alloca",
                            .space = PTX_SPACE_LOCAL,
                            .type = PTX_B8,
                            .vec = 1,
                            .is_array = 1,
                            .align = ALLOCA_ALIGN,
                            .size = ALLOCA_BYTES};
    body_local(b, var);
    s->at = body_reg(b, PTX_B64);
    s->limit = body_reg(b, PTX_B64);
    body_move(b, s->at, &at, 64, 0);
    at.ival = ALLOCA_BYTES;
    body_move(b, s->limit, &at, 64, 0);
}

enum kiln_status alloca_expand(struct arena *arena, const struct ptx_func *f,
                               const struct ptx_func **out,
                               struct kiln_error *err)
{
    struct ptx_var *var = arena_alloc(arena, sizeof *var);
    struct stack *s = arena_alloc(arena, sizeof *s);

    if (!var || !s || begin(&s->copy, arena, f))
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    start(s, var);
    for (size_t i = 0; i < f->insn_count && !s->copy.body.bad; i++) {
        const struct ptx_insn *insn = &f->insns[i];
        struct ptx_operand at = body_reg_operand(s->at);

        s->copy.place[i] = s->copy.func.insn_count;
        if (is_stack(insn) && !is_wide(insn))
            return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                             "line %u: %s: the addresses of this device have "
                             "64 bits",
                             insn->line, insn->text);
        if (insn->op == PTX_OP_ALLOCA)
            take(s, insn);
        else if (insn->op == PTX_OP_STACKSAVE)
            set(s, insn, insn->operands[0].reg, &at);
        else if (insn->op == PTX_OP_STACKRESTORE)
            set(s, insn, s->at, &insn->operands[0]);
        else
            body_copy(&s->copy.body, insn);
    }
    if (finish(&s->copy))
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    *out = &s->copy.func;
    return KILN_OK;
}
