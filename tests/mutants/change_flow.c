/* SPDX-License-Identifier: MIT
 *
 * Changes of control flow: instructions taken out, doubled and moved,
 * branches anywhere, calls, barriers where lanes have parted.
 */
#include "mutants.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* Some instructions in a row. */
static size_t span(struct mutant *mu, size_t *at)
{
    const size_t count = mu->f->insn_count;
    size_t n = 1 + rng_below(mu->r, 1u << rng_below(mu->r, 6));

    if (!count)
        return 0;
    *at = some_insn(mu);
    return n < count - *at ? n : count - *at;
}

static int take_out(struct mutant *mu)
{
    size_t at;
    const size_t n = span(mu, &at);

    if (n)
        erase_insns(mu, at, n);
    return n > 0;
}

static int copy_span(struct mutant *mu, int moves)
{
    size_t at, to;
    const size_t n = span(mu, &at);
    struct ptx_insn *kept = arena_array(mu->arena, n, sizeof *kept);

    if (!n || !kept || mu->f->insn_count > 3000)
        return 0;
    memcpy(kept, mu->f->insns + at, n * sizeof *kept);
    if (moves)
        erase_insns(mu, at, n);
    to = rng_below(mu->r, (uint32_t)mu->f->insn_count + 1);
    for (size_t i = 0; i < n; i++)
        if (!insert_insn(mu, to + i, &kept[i]))
            return 0;
    return 1;
}

static int copy(struct mutant *mu)
{
    return copy_span(mu, 0);
}

static int move(struct mutant *mu)
{
    return copy_span(mu, 1);
}

/* A label before an instruction. -1: no memory. */
static int new_label(struct mutant *mu, size_t at)
{
    struct ptx_func *f = mu->f;
    struct ptx_label *labels =
        arena_array(mu->arena, f->label_count + 1, sizeof *labels);
    const char *name = arena_printf(mu->arena, "$new%zu", f->label_count);
    size_t i = 0;

    if (!labels || !name)
        return -1;
    while (i < f->label_count && f->labels[i].insn <= at)
        i++;
    if (i)
        memcpy(labels, f->labels, i * sizeof *labels);
    labels[i] = (struct ptx_label){name, at};
    if (i < f->label_count)
        memcpy(labels + i + 1, f->labels + i,
               (f->label_count - i) * sizeof *labels);
    /* What was behind it has another index now. */
    for (size_t k = 0; k < f->insn_count; k++)
        for (unsigned o = 0; o < f->insns[k].operand_count; o++)
            if (f->insns[k].operands[o].kind == PTX_OPERAND_LABEL &&
                f->insns[k].operands[o].label >= i)
                f->insns[k].operands[o].label++;
    for (size_t k = 0; k < f->table_count; k++) {
        struct ptx_table *t = f->tables[k];
        uint32_t *list = arena_array(mu->arena, t->label_count, sizeof *list);

        if (!list)
            return -1;
        for (size_t n = 0; n < t->label_count; n++)
            list[n] = t->labels[n] + (t->labels[n] >= i);
        t->labels = list;
    }
    f->labels = labels;
    f->label_count++;
    return (int)i;
}

/* A branch from anywhere to anywhere: loops, with several entries too, and
 * code that is not reached. */
static int new_branch(struct mutant *mu)
{
    struct ptx_insn p = {.vec = 1,
                         .guard = -1,
                         .text = rng_below(mu->r, 8) ? "bra" : "bra.uni",
                         .operand_count = 1};
    const size_t count = mu->f->insn_count;
    int label = -1;

    if (mu->f->label_count && rng_below(mu->r, 2))
        label = (int)rng_below(mu->r, (uint32_t)mu->f->label_count);
    else
        label = new_label(mu, rng_below(mu->r, (uint32_t)count + 1));
    if (label < 0)
        return 0;
    p.operands[0] = (struct ptx_operand){.kind = PTX_OPERAND_LABEL,
                                         .label = (uint32_t)label};
    if (rng_below(mu->r, 4)) {
        p.guard = (int32_t)some_register(mu, PTX_PRED);
        p.guard_negate = (uint8_t)rng_below(mu->r, 2);
    }
    return insert_insn(mu, rng_below(mu->r, (uint32_t)count + 1), &p);
}

/* A loop that counts around some instructions. */
static int new_loop(struct mutant *mu)
{
    const uint32_t counter = some_register(mu, PTX_B32);
    const uint32_t stop = some_register(mu, PTX_PRED);
    size_t at;
    const size_t n = span(mu, &at);
    const int label = n ? new_label(mu, at) : -1;
    char text[200];

    if (label < 0)
        return 0;
    snprintf(text, sizeof text, "@%.60s bra %.60s", mu->f->regs[stop].name,
             mu->f->labels[label].name);
    if (!insert_text(mu, at + n, text))
        return 0;
    snprintf(text, sizeof text, "setp.lt.u32 %.60s, %.60s, %u",
             mu->f->regs[stop].name, mu->f->regs[counter].name,
             rng_below(mu->r, 10));
    if (!insert_text(mu, at + n, text))
        return 0;
    snprintf(text, sizeof text, "add.u32 %.60s, %.60s, 1",
             mu->f->regs[counter].name, mu->f->regs[counter].name);
    return insert_text(mu, at + n, text);
}

static int other_target(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    uint32_t count = 0;
    struct ptx_operand *found = NULL;

    for (size_t i = 0; i < f->insn_count; i++)
        for (unsigned k = 0; k < f->insns[i].operand_count; k++)
            if (f->insns[i].operands[k].kind == PTX_OPERAND_LABEL &&
                rng_below(mu->r, ++count) == 0)
                found = &f->insns[i].operands[k];
    if (!found)
        return 0;
    found->label = rng_below(mu->r, (uint32_t)f->label_count);
    return 1;
}

/* A label to another place. */
static int move_label(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    size_t i, low, high;

    if (!f->label_count)
        return 0;
    i = rng_below(mu->r, (uint32_t)f->label_count);
    low = i ? f->labels[i - 1].insn : 0;
    high = i + 1 < f->label_count ? f->labels[i + 1].insn : f->insn_count;
    f->labels[i].insn = low + rng_below(mu->r, (uint32_t)(high - low) + 1);
    return 1;
}

/* What waits, ends or asks other lanes, wherever. */
static int new_word(struct mutant *mu)
{
    static const char *const words[] = {"bar.sync 0",
                                        "bar.sync 1, 64",
                                        "bar.arrive 2, 64",
                                        "barrier.sync 0",
                                        "bar.warp.sync 0xffffffff",
                                        "bar.warp.sync 1",
                                        "exit",
                                        "ret",
                                        "ret.uni",
                                        "trap",
                                        "brkpt",
                                        "membar.gl",
                                        "fence.acq_rel.gpu",
                                        "nanosleep.u32 100",
                                        "griddepcontrol.wait",
                                        "cp.async.wait_all",
                                        "barrier.cluster.arrive",
                                        "barrier.cluster.wait",
                                        "pmevent 1",
                                        "discard.global.L2 [0], 128"};
    const uint32_t n = sizeof words / sizeof *words;
    const size_t at = rng_below(mu->r, (uint32_t)mu->f->insn_count + 1);
    char text[160];

    if (rng_below(mu->r, 2)) {
        snprintf(text, sizeof text, "@%s%.60s %s",
                 rng_below(mu->r, 2) ? "!" : "", register_name(mu, PTX_PRED),
                 words[rng_below(mu->r, n)]);
        return insert_text(mu, at, text);
    }
    return insert_text(mu, at, words[rng_below(mu->r, n)]);
}

/* --- calls --- */

/* A variable for an argument or a result, as wide as the parameter. */
static const char *argument(struct mutant *mu, const struct ptx_var *of)
{
    struct ptx_func *f = mu->f;
    struct ptx_var **locals =
        arena_array(mu->arena, f->local_count + 1, sizeof(struct ptx_var *));
    struct ptx_var *v = arena_alloc(mu->arena, sizeof *v);

    if (of->space == PTX_SPACE_REG)
        return register_name(mu, of->type);
    if (!locals || !v)
        return NULL;
    *v = *of;
    v->space = PTX_SPACE_PARAM;
    v->is_pointer = 0;
    v->name = arena_printf(mu->arena, "arg%zu", f->local_count);
    if (f->local_count)
        memcpy(locals, f->locals, f->local_count * sizeof *locals);
    locals[f->local_count++] = v;
    f->locals = locals;
    return v->name;
}

static int add_arguments(struct mutant *mu, const struct ptx_var *list,
                         size_t count, struct buffer *out)
{
    buffer_text(out, "(");
    for (size_t i = 0; i < count; i++) {
        const char *name = argument(mu, &list[i]);

        if (!name)
            return 0;
        buffer_printf(out, "%s%s", i ? ", " : "", name);
    }
    buffer_text(out, ")");
    return 1;
}

/* A call of a function of the module, this one too. */
static int new_call(struct mutant *mu)
{
    const struct ptx_func *g = NULL;
    uint32_t count = 0;
    struct buffer text = {0};
    int done;

    for (size_t i = 0; i < mu->m->func_count; i++)
        if (!mu->m->funcs[i]->is_entry && rng_below(mu->r, ++count) == 0)
            g = mu->m->funcs[i];
    if (!g)
        return 0;
    if (rng_below(mu->r, 3) == 0)
        buffer_printf(&text, "@%s ", register_name(mu, PTX_PRED));
    buffer_text(&text, rng_below(mu->r, 4) ? "call " : "call.uni ");
    done = !g->result_count ||
           add_arguments(mu, g->results, g->result_count, &text);
    buffer_printf(&text, "%s%s", g->result_count ? ", " : "", g->name);
    if (done && g->param_count) {
        buffer_text(&text, ", ");
        done = add_arguments(mu, g->params, g->param_count, &text);
    }
    if (done)
        done =
            insert_text(mu, rng_below(mu->r, (uint32_t)mu->f->insn_count + 1),
                        buffer_str(&text));
    buffer_fini(&text);
    return done;
}

/* A call of another function with the same arguments. */
static int other_callee(struct mutant *mu)
{
    struct ptx_insn *found = NULL;
    struct ptx_call *call = arena_alloc(mu->arena, sizeof *call);
    uint32_t count = 0;

    for (size_t i = 0; i < mu->f->insn_count; i++)
        if (mu->f->insns[i].call && rng_below(mu->r, ++count) == 0)
            found = &mu->f->insns[i];
    if (!found || !call)
        return 0;
    *call = *found->call;
    call->target = (struct ptx_operand){
        .kind = PTX_OPERAND_FUNC,
        .func = mu->m->funcs[rng_below(mu->r, (uint32_t)mu->m->func_count)]};
    found->call = call;
    return 1;
}

/* A table with other targets. */
static int other_table(struct mutant *mu)
{
    struct ptx_func *f = mu->f;
    struct ptx_table *t;
    uint32_t *list;
    const size_t count = 1 + rng_below(mu->r, 8);

    if (!f->table_count || !f->label_count)
        return 0;
    t = f->tables[rng_below(mu->r, (uint32_t)f->table_count)];
    list = arena_array(mu->arena, count, sizeof *list);
    if (!t->label_count || !list)
        return 0;
    for (size_t i = 0; i < count; i++)
        list[i] = rng_below(mu->r, (uint32_t)f->label_count);
    t->labels = list;
    t->label_count = count;
    return 1;
}

const struct change changes_flow[] = {
    {take_out, 5}, {copy, 5},         {move, 5},       {new_branch, 8},
    {new_loop, 5}, {other_target, 4}, {move_label, 3}, {new_word, 5},
    {new_call, 5}, {other_callee, 2}, {other_table, 2}};
const size_t changes_flow_count = sizeof changes_flow / sizeof *changes_flow;
