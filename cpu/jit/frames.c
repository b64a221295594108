/* SPDX-License-Identifier: MIT
 *
 * Frames of recursive functions. When a body is whole and its parameters are
 * registers: give the variables that stayed in memory their places, find what
 * is live across each recursive call, and write the saving and restoring out.
 *
 * Liveness looks at a call as at any instruction: the jump to the function's
 * start falls through to the place of return, and the jumps back are not
 * followed. Only what the function writes has to be saved.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/jit/expand.h"

const char frame_enter[] = "call enters", frame_push[] = "call saves";
const char frame_pop[] = "call restores";
const char frame_call[] = "call", frame_return[] = "ret";
const char frame_loop[] = "bra";

enum { MAX_WORDS = 4 << 20, FRAME_ALIGN = 16 };

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

struct frame *frame_new(struct expand *x, struct region *region)
{
    struct frame *f = arena_alloc(x->body.arena, sizeof *f);
    struct ptx_var *stack;

    if (!f) {
        x->body.bad = 1;
        return NULL;
    }
    if (!x->stack) {
        stack = arena_alloc(x->body.arena, sizeof *stack);
        if (!stack) {
            x->body.bad = 1;
            return NULL;
        }
        *stack = (struct ptx_var){.name = "call stack",
                                  .space = PTX_SPACE_LOCAL,
                                  .type = PTX_B8,
                                  .vec = 1,
                                  .is_array = 1,
                                  .align = FRAME_ALIGN,
                                  .size = CALL_STACK};
        x->stack = stack;
        body_local(&x->body, stack);
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

static int is_step(const struct ptx_insn *insn)
{
    return insn->op == PTX_OP_CALL && !insn->call;
}

static struct site *site_of(struct expand *x, const struct ptx_insn *insn)
{
    return &x->sites[insn->operands[0].ival];
}

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

static void address_variables(struct expand *x)
{
    struct rewrite r;

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

/* --- liveness --- */

struct live {
    struct expand *x;
    size_t words, blocks;
    int *block_of; /* by instruction: block that starts there, or -1 */
    size_t *first; /* by block, and the end */
    uint64_t *in;  /* by block */
    uint64_t *row; /* what is live here */
};

static void set(uint64_t *row, uint32_t reg, int on)
{
    if (on)
        row[reg / 64] |= UINT64_C(1) << (reg % 64);
    else
        row[reg / 64] &= ~(UINT64_C(1) << (reg % 64));
}

static void mark(uint64_t *row, const struct ptx_operand *o, int on)
{
    if (o->kind == PTX_OPERAND_REG || (on && o->kind == PTX_OPERAND_ADDR_REG))
        set(row, o->reg, on);
    else if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_ADDR_LIST)
        for (int e = 0; e < o->count; e++)
            mark(row, &o->elems[e], on);
}

/* Backwards over one instruction. */
static void pass(struct live *l, const struct ptx_insn *insn, uint64_t *row)
{
    if (is_step(insn)) {
        const struct site *s = site_of(l->x, insn);
        struct frame *def = insn->text == frame_pop ? s->from : s->to;
        struct frame *use = insn->text == frame_pop ? s->to : s->from;

        if (insn->text == frame_pop)
            memcpy(s->live, row, l->words * sizeof *row);
        if (def)
            set(row, def->fp, 0);
        /* what the call restores is read where it is saved, whatever is
         * written between */
        for (size_t w = 0; insn->text == frame_push && w < l->words; w++)
            row[w] |= s->live[w];
        for (uint32_t r = s->first_kept;
             insn->text == frame_push && r < s->kept_end; r++)
            set(row, r, 0);
        if (use)
            set(row, use->fp, 1);
        return;
    }
    if (insn->text == frame_return)
        mark(row, &insn->operands[1], 1);
    for (int k = 0; k < insn->dst_count && insn->guard < 0; k++)
        mark(row, &insn->operands[k], 0);
    for (int k = insn->dst_count; k < insn->operand_count; k++)
        mark(row, &insn->operands[k], 1);
    if (insn->guard >= 0)
        set(row, (uint32_t)insn->guard, 1);
}

static int is_jump(const struct ptx_insn *insn)
{
    return insn->op == PTX_OP_BRA && insn->text != frame_call &&
           insn->text != frame_return;
}

static int ends(const struct ptx_insn *insn)
{
    return insn->guard < 0 &&
           (is_jump(insn) || insn->op == PTX_OP_RET ||
            insn->op == PTX_OP_EXIT || insn->op == PTX_OP_TRAP);
}

static int live_open(struct live *l)
{
    struct ptx_func *f = l->x->body.func;
    size_t n = f->insn_count;

    l->words = f->reg_count / 64 + 1;
    l->block_of = arena_array(l->x->body.arena, n + 1, sizeof *l->block_of);
    l->first = arena_array(l->x->body.arena, n + 2, sizeof *l->first);
    if (!l->block_of || !l->first)
        return -1;
    for (size_t i = 0; i < f->label_count; i++)
        l->block_of[f->labels[i].insn] = 1;
    for (size_t i = 0; i < n; i++)
        if (is_jump(&f->insns[i]) || ends(&f->insns[i]))
            l->block_of[i + 1] = 1;
    l->block_of[0] = 1;
    for (size_t i = 0; i < n; i++) {
        if (l->block_of[i])
            l->first[l->blocks] = i;
        l->block_of[i] = l->block_of[i] ? (int)l->blocks++ : -1;
    }
    l->first[l->blocks] = n;
    l->block_of[n] = -1;
    if ((l->blocks + l->x->site_count) * l->words > MAX_WORDS) {
        expand_refuse(l->x, 0, "too many registers in recursive functions of ",
                      f->name);
        return 0;
    }
    for (size_t i = 0; i < l->x->site_count; i++) {
        struct site *s = &l->x->sites[i];

        s->live = arena_array(l->x->body.arena, l->words, sizeof *s->live);
        if (!s->live)
            return -1;
    }
    l->in =
        arena_array(l->x->body.arena, l->blocks * l->words + 1, sizeof *l->in);
    l->row = arena_array(l->x->body.arena, l->words, sizeof *l->row);
    return l->in && l->row ? 0 : -1;
}

/* What is live behind a block, into the row. */
static void live_behind(struct live *l, size_t block)
{
    const struct ptx_func *f = l->x->body.func;
    const struct ptx_insn *last = &f->insns[l->first[block + 1] - 1];

    memset(l->row, 0, l->words * sizeof *l->row);
    if (is_jump(last)) {
        const struct ptx_operand *to =
            &last->operands[last->text == frame_loop ? 1 : 0];
        size_t at = f->labels[to->label].insn;

        for (size_t w = 0; at < f->insn_count && w < l->words; w++)
            l->row[w] |= l->in[(size_t)l->block_of[at] * l->words + w];
    }
    if (!ends(last) && block + 1 < l->blocks)
        for (size_t w = 0; w < l->words; w++)
            l->row[w] |= l->in[(block + 1) * l->words + w];
}

static void live_solve(struct live *l)
{
    const struct ptx_func *f = l->x->body.func;
    int changed = 1;

    while (changed) {
        changed = 0;
        for (size_t b = l->blocks; b-- > 0;) {
            uint64_t *in = l->in + b * l->words;

            live_behind(l, b);
            for (size_t i = l->first[b + 1]; i-- > l->first[b];)
                pass(l, &f->insns[i], l->row);
            if (!memcmp(in, l->row, l->words * sizeof *in))
                continue;
            memcpy(in, l->row, l->words * sizeof *in);
            changed = 1;
        }
    }
}

/* --- what each site saves --- */

/* Registers that are written anywhere in a region. */
static uint64_t *written_in(struct live *l, const struct region *region)
{
    const struct ptx_func *f = l->x->body.func;
    uint64_t *row = arena_array(l->x->body.arena, l->words, sizeof *row);

    for (size_t i = f->labels[region->begin].insn;
         row && i < f->labels[region->end].insn; i++) {
        const struct ptx_insn *insn = &f->insns[i];

        for (int k = 0; k < insn->dst_count; k++)
            mark(row, &insn->operands[k], 1);
        if (is_step(insn)) {
            const struct site *s = site_of(l->x, insn);

            set(row, s->to->fp, 1);
            if (s->from)
                set(row, s->from->fp, 1);
        }
    }
    return row;
}

static unsigned bytes_of(const struct expand *x, uint32_t reg)
{
    unsigned bits = ptx_type_bits(x->body.func->regs[reg].type);

    return bits == 1 ? 4 : bits < 16 ? 2 : bits / 8;
}

static void choose_saved(struct live *l, struct site *s, unsigned line)
{
    struct expand *x = l->x;
    uint64_t *written = written_in(l, s->to->region);
    size_t n = 0;

    if (!written) {
        x->body.bad = 1;
        return;
    }
    for (size_t w = 0; w < l->words; w++) {
        l->row[w] &= written[w];
        n += (size_t)__builtin_popcountll(l->row[w]);
    }
    s->saved = arena_array(x->body.arena, n + 1, sizeof *s->saved);
    s->offsets = arena_array(x->body.arena, n + 1, sizeof *s->offsets);
    if (!s->saved || !s->offsets) {
        x->body.bad = 1;
        return;
    }
    for (uint32_t reg = 0; reg < x->body.func->reg_count; reg++) {
        if (!(l->row[reg / 64] >> (reg % 64) & 1) ||
            (s->from && reg == s->from->fp) ||
            (reg >= s->first_kept && reg < s->kept_end))
            continue;
        if (bytes_of(x, reg) > 8)
            expand_refuse(x, line, "128-bit registers across recursion in ",
                          x->body.func->name);
        s->saved[s->saved_count++] = reg;
    }
}

static void find_saved(struct expand *x)
{
    struct live l = {.x = x};
    const struct ptx_func *f = x->body.func;

    if (live_open(&l)) {
        x->body.bad = 1;
        return;
    }
    if (x->status)
        return;
    live_solve(&l);
    for (size_t b = 0; b < l.blocks && !x->body.bad; b++)
        for (size_t i = l.first[b]; i < l.first[b + 1]; i++) {
            if (f->insns[i].text != frame_pop)
                continue;
            live_behind(&l, b);
            for (size_t k = l.first[b + 1]; k-- > i + 1;)
                pass(&l, &f->insns[k], l.row);
            choose_saved(&l, site_of(x, &f->insns[i]), f->insns[i].line);
        }
}

/* Saved registers lie behind the frame's variables; the sites of a frame
 * share the room. */
static void lay_out_frames(struct expand *x)
{
    for (size_t i = 0; i < x->site_count; i++)
        x->sites[i].to->variables = x->sites[i].to->size;
    for (size_t i = 0; i < x->site_count; i++) {
        struct site *s = &x->sites[i];
        uint64_t at = s->from ? s->from->variables : 0;

        for (size_t k = 0; k < s->saved_count; k++) {
            unsigned bytes = bytes_of(x, s->saved[k]);

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
        access(x, PTX_OP_ST, reg, s->from->fp, s->offsets[k], bytes_of(x, reg),
               line);
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
                   bytes_of(x, reg), line);
        }
    }
}

/* A frame that would pass the stack's end: the lane faults. */
static void check_room(struct expand *x, const struct frame *to, unsigned line)
{
    struct ptx_operand end = {.kind = PTX_OPERAND_VAR, .var = x->stack};
    uint32_t limit = body_reg(&x->body, PTX_B64);
    uint32_t over = body_reg(&x->body, PTX_PRED);
    struct ptx_insn *insn;

    end.ival = (int64_t)(CALL_STACK - to->size);
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
    insn = body_insn(&x->body, PTX_OP_TRAP, line, "trap");
    if (insn)
        insn->guard = (int32_t)over;
}

static void write_step(struct expand *x, const struct ptx_insn *insn)
{
    const struct site *s = site_of(x, insn);
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

static void write_steps(struct expand *x)
{
    struct rewrite r;

    if (rewrite_begin(x, &r))
        return;
    for (size_t i = 0; i < r.count && !x->body.bad; i++) {
        r.starts[i] = x->body.func->insn_count;
        if (is_step(&r.old[i]))
            write_step(x, &r.old[i]);
        else
            body_copy(&x->body, &r.old[i]);
    }
    rewrite_end(x, &r);
}

void frames_close(struct expand *x)
{
    if (!x->site_count || x->body.bad)
        return;
    address_variables(x);
    if (!x->body.bad)
        find_saved(x);
    if (!x->body.bad && !x->status)
        lay_out_frames(x);
    if (!x->body.bad && !x->status)
        write_steps(x);
}
