/* SPDX-License-Identifier: MIT
 *
 * Frames of recursive functions and the regions that they run in, while bodies
 * are put in place. When a body is whole and its parameters are registers: give
 * the variables that stayed in memory their places, find what is live across
 * each recursive call, and write the saving and restoring out.
 */
#include "cpu/jit/expand.h"

const char frame_enter[] = "call enters", frame_push[] = "call saves";
const char frame_pop[] = "call restores";
const char frame_call[] = "call", frame_return[] = "ret";
const char frame_loop[] = "bra", frame_overflow[] = "trap";

static struct region *region_new(struct expand *x)
{
    struct region *r = arena_alloc(x->body.arena, sizeof *r);

    if (!r) {
        x->body.bad = 1;
        return NULL;
    }
    r->state = body_reg(&x->body, PTX_B32);
    r->hub = body_label(&x->body);
    r->begin = body_label(&x->body);
    r->end = body_label(&x->body);
    return r;
}

uint32_t region_target(struct expand *x, struct region *r, uint32_t label)
{
    uint32_t *targets;

    for (size_t i = 0; i < r->target_count; i++)
        if (r->targets[i] == label)
            return (uint32_t)i + 1;
    targets = arena_grow(x->body.arena, r->targets, r->target_count,
                         &r->target_cap, sizeof *targets);
    if (!targets) {
        x->body.bad = 1;
        return 0;
    }
    r->targets = targets;
    targets[r->target_count++] = label;
    return (uint32_t)r->target_count;
}

static void to_hub(struct expand *x, const struct region *r, uint32_t label,
                   const char *as, unsigned line)
{
    size_t at = x->body.func->insn_count;

    body_jump(&x->body, r->hub, -1, 0, line);
    if (x->body.bad)
        return;
    x->body.func->insns[at].text = as;
    x->body.func->insns[at].operands[1].label = label;
}

void region_jump(struct expand *x, struct region *r, uint32_t label,
                 const char *as, unsigned line)
{
    struct ptx_operand number = {.kind = PTX_OPERAND_INT};

    number.ival = region_target(x, r, label);
    body_move(&x->body, r->state, &number, 32, line);
    to_hub(x, r, label, as, line);
}

void region_close(struct expand *x, struct region *r, unsigned line)
{
    struct ptx_operand state = body_reg_operand(r->state);

    body_place(&x->body, r->hub);
    for (size_t k = 0; k < r->target_count && !x->body.bad; k++) {
        const int last = k + 1 == r->target_count;
        uint32_t pred = 0;
        size_t at;

        if (!last) {
            pred = body_reg(&x->body, PTX_PRED);
            expand_equal(x, pred, &state, k + 1, PTX_U32, line);
        }
        at = x->body.func->insn_count;
        body_jump(&x->body, r->targets[k], last ? -1 : (int32_t)pred, 0, line);
        if (!x->body.bad)
            x->body.func->insns[at].text = frame_return;
    }
}

/* The stack, which goes on to the end of local memory, and that end: external
 * variables of that space (layout.c). */
static int stack_new(struct expand *x)
{
    struct ptx_var *v = arena_array(x->body.arena, 2, sizeof *v);

    if (!v)
        return -1;
    v[0] = (struct ptx_var){.name = "call stack",
                            .space = PTX_SPACE_LOCAL,
                            .type = PTX_B8,
                            .vec = 1,
                            .is_extern = 1,
                            .is_array = 1,
                            .align = FRAME_ALIGN,
                            .size = CALL_STACK};
    v[1] = v[0];
    v[1].name = "end of the call stack";
    v[1].size = 0;
    x->stack = &v[0];
    x->stack_end = &v[1];
    body_local(&x->body, &v[0]);
    body_local(&x->body, &v[1]);
    return 0;
}

struct frame *frame_new(struct expand *x, struct region *region)
{
    struct frame *f = arena_alloc(x->body.arena, sizeof *f);

    if (!f || (!x->stack && stack_new(x))) {
        x->body.bad = 1;
        return NULL;
    }
    f->region = region ? region : region_new(x);
    f->fp = body_reg(&x->body, PTX_B64);
    f->ret = body_reg(&x->body, PTX_B32);
    f->entry = body_label(&x->body);
    return f;
}

void frame_own(struct expand *x, struct frame *frame, const struct ptx_var *var)
{
    struct framed *list = arena_grow(x->body.arena, x->framed, x->framed_count,
                                     &x->framed_cap, sizeof *list);

    if (!list) {
        x->body.bad = 1;
        return;
    }
    x->framed = list;
    list[x->framed_count++] = (struct framed){.var = var, .frame = frame};
}

size_t frame_site(struct expand *x, struct frame *from, struct frame *to)
{
    struct site *list = arena_grow(x->body.arena, x->sites, x->site_count,
                                   &x->site_cap, sizeof *list);

    if (!list) {
        x->body.bad = 1;
        return 0;
    }
    x->sites = list;
    list[x->site_count] = (struct site){.from = from, .to = to};
    return x->site_count++;
}

void frame_step(struct expand *x, const char *step, size_t site, unsigned line)
{
    struct ptx_insn *insn = body_insn(&x->body, PTX_OP_CALL, line, step);

    if (!insn)
        return;
    insn->operand_count = 1;
    insn->operands[0].kind = PTX_OPERAND_INT;
    insn->operands[0].ival = (int64_t)site;
}

int frame_is_step(const struct ptx_insn *insn)
{
    return insn->op == PTX_OP_CALL && !insn->call;
}

struct site *frame_site_of(struct expand *x, const struct ptx_insn *insn)
{
    return &x->sites[insn->operands[0].ival];
}

void frames_close(struct expand *x)
{
    if (!x->site_count || x->body.bad)
        return;
    frames_address_variables(x);
    if (!x->body.bad)
        frames_find_saved(x);
    if (!x->body.bad && !x->status)
        frames_lay_out(x);
    if (!x->body.bad && !x->status)
        frames_write_steps(x);
}
