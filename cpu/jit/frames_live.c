/* SPDX-License-Identifier: MIT
 *
 * What is live across each recursive call, and so has to be saved.
 *
 * Liveness looks at a call as at any instruction: the jump to the function's
 * start falls through to the place of return, and the jumps back are not
 * followed. Only what the function writes has to be saved.
 */
#include <string.h>

#include "cpu/jit/expand.h"

enum { MAX_WORDS = 4 << 20 };

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
    if (frame_is_step(insn)) {
        const struct site *s = frame_site_of(l->x, insn);
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
static uint64_t *written_in(struct live *l, struct region *region)
{
    const struct ptx_func *f = l->x->body.func;
    uint64_t *row = region->written;

    if (row)
        return row;
    row = arena_array(l->x->body.arena, l->words, sizeof *row);
    region->written = row;
    for (size_t i = f->labels[region->begin].insn;
         row && i < f->labels[region->end].insn; i++) {
        const struct ptx_insn *insn = &f->insns[i];

        for (int k = 0; k < insn->dst_count; k++)
            mark(row, &insn->operands[k], 1);
        if (frame_is_step(insn)) {
            const struct site *s = frame_site_of(l->x, insn);

            set(row, s->to->fp, 1);
            if (s->from)
                set(row, s->from->fp, 1);
        }
    }
    return row;
}

unsigned frame_bytes_of(const struct expand *x, uint32_t reg)
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
        if (frame_bytes_of(x, reg) > 8)
            expand_refuse(x, line, "128-bit registers across recursion in ",
                          x->body.func->name);
        s->saved[s->saved_count++] = reg;
    }
}

void frames_find_saved(struct expand *x)
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
            choose_saved(&l, frame_site_of(x, &f->insns[i]), f->insns[i].line);
        }
}
