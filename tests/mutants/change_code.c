/* SPDX-License-Identifier: MIT
 *
 * Changes of instructions: other mnemonics, modifiers and operands.
 */
#include "mutants.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz/mutate_form.h"

/* --- operands --- */

/* Some operand of an instruction, also inside of a vector; NULL: none. The
 * operands of calls are copied, so that they may change. */
static struct ptx_operand *some_operand(struct mutant *mu, struct ptx_insn *p,
                                        unsigned *index)
{
    struct ptx_operand *o;

    *index = 0;
    if (p->call && p->call->arg_count) {
        struct ptx_call *call = arena_alloc(mu->arena, sizeof *call);
        struct ptx_operand *args =
            arena_array(mu->arena, p->call->arg_count, sizeof *args);

        if (!call || !args)
            return NULL;
        *call = *p->call;
        memcpy(args, call->args, call->arg_count * sizeof *args);
        call->args = args;
        p->call = call;
        *index = 1;
        return &args[rng_below(mu->r, (uint32_t)call->arg_count)];
    }
    if (!p->operand_count)
        return NULL;
    *index = rng_below(mu->r, p->operand_count);
    o = &p->operands[*index];
    if ((o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_ADDR_LIST) &&
        o->count) {
        struct ptx_operand *elems =
            arena_array(mu->arena, o->count, sizeof *elems);

        if (!elems)
            return NULL;
        memcpy(elems, o->elems, o->count * sizeof *elems);
        o->elems = elems;
        o = &elems[rng_below(mu->r, o->count)];
    }
    return o;
}

/* An instruction and an operand of it. */
static struct ptx_operand *pick(struct mutant *mu, struct ptx_insn **insn,
                                unsigned *index)
{
    const size_t at = some_insn(mu);

    if (at >= mu->f->insn_count)
        return NULL;
    *insn = &mu->f->insns[at];
    return some_operand(mu, *insn, index);
}

static int other_register(struct mutant *mu)
{
    struct ptx_insn *p;
    unsigned index;
    struct ptx_operand *o = pick(mu, &p, &index);

    if (!o || (o->kind != PTX_OPERAND_REG && o->kind != PTX_OPERAND_ADDR_REG) ||
        mu->f->regs[o->reg].vec > 1)
        return 0;
    o->reg = some_register(mu, mu->f->regs[o->reg].type);
    return 1;
}

static void make_constant(struct mutant *mu, struct ptx_operand *o,
                          enum ptx_type type)
{
    const int is_float = ptx_type_class(type) == PTX_CLASS_FLOAT;
    const int64_t v = extreme(mu->r);

    *o = (struct ptx_operand){.kind = is_float ? PTX_OPERAND_FLOAT
                                               : PTX_OPERAND_INT,
                              .is_f32 = ptx_type_bits(type) == 32,
                              .ival = v};
    if (is_float && o->is_f32)
        o->fbits = (uint32_t)v;
}

/* Constants, offsets, and registers that become constants. */
static int other_constant(struct mutant *mu)
{
    struct ptx_insn *p;
    unsigned index;
    struct ptx_operand *o = pick(mu, &p, &index);

    if (!o)
        return 0;
    switch (o->kind) {
    case PTX_OPERAND_INT:
    case PTX_OPERAND_ADDR_REG:
    case PTX_OPERAND_ADDR_VAR:
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_INT:
        o->ival = extreme(mu->r);
        return 1;
    case PTX_OPERAND_FLOAT:
        make_constant(mu, o, o->is_f32 ? PTX_F32 : PTX_F64);
        return 1;
    case PTX_OPERAND_REG:
        if (index < p->dst_count)
            return 0;
        make_constant(mu, o,
                      p->type_count && rng_below(mu->r, 2)
                          ? p->types[0]
                          : mu->f->regs[o->reg].type);
        return 1;
    default:
        return 0;
    }
}

static int special_register(struct mutant *mu)
{
    struct ptx_insn *p;
    unsigned index;
    struct ptx_operand *o = pick(mu, &p, &index);

    if (!o || o->kind != PTX_OPERAND_REG || index < p->dst_count)
        return 0;
    *o = (struct ptx_operand){
        .kind = PTX_OPERAND_SREG,
        .sreg = (enum ptx_sreg)(1 + rng_below(mu->r, PTX_SREG_COUNT - 1)),
        .dim = (uint8_t)rng_below(mu->r, 3)};
    return 1;
}

static int no_destination(struct mutant *mu)
{
    struct ptx_insn *p;
    unsigned index;
    struct ptx_operand *o = pick(mu, &p, &index);

    if (!o || o->kind != PTX_OPERAND_REG || index >= p->dst_count)
        return 0;
    *o = (struct ptx_operand){.kind = PTX_OPERAND_SINK};
    return 1;
}

/* Two operands of one instruction change places. */
static int exchange(struct mutant *mu)
{
    const size_t at = some_insn(mu);
    struct ptx_insn *p;
    struct ptx_operand o;
    uint32_t a, b;

    if (at >= mu->f->insn_count)
        return 0;
    p = &mu->f->insns[at];
    a = rng_below(mu->r, p->operand_count);
    b = rng_below(mu->r, p->operand_count);
    if (a == b)
        return 0;
    o = p->operands[a];
    p->operands[a] = p->operands[b];
    p->operands[b] = o;
    return 1;
}

/* [register] for [variable], and the other way. */
static int other_address(struct mutant *mu)
{
    struct ptx_insn *p;
    unsigned index;
    struct ptx_operand *o = pick(mu, &p, &index);
    const struct ptx_func *f = mu->f;
    uint32_t n;

    if (!o || (o->kind != PTX_OPERAND_ADDR_REG &&
               o->kind != PTX_OPERAND_ADDR_VAR && o->kind != PTX_OPERAND_VAR))
        return 0;
    n = rng_below(mu->r, (uint32_t)(f->local_count + mu->m->var_count +
                                    f->param_count + 1));
    if (o->kind == PTX_OPERAND_ADDR_REG || o->kind == PTX_OPERAND_ADDR_VAR)
        o->kind = PTX_OPERAND_ADDR_VAR;
    if (n < f->local_count)
        o->var = f->locals[n];
    else if ((n -= (uint32_t)f->local_count) < mu->m->var_count)
        o->var = mu->m->vars[n];
    else if ((n -= (uint32_t)mu->m->var_count) < f->param_count)
        o->var = &f->params[n];
    else if (o->kind == PTX_OPERAND_VAR)
        return 0;
    else
        *o = (struct ptx_operand){.kind = PTX_OPERAND_ADDR_REG,
                                  .reg = some_register(mu, PTX_B64),
                                  .ival = o->ival};
    return 1;
}

static int guard(struct mutant *mu)
{
    const size_t at = some_insn(mu);
    struct ptx_insn *p;

    if (at >= mu->f->insn_count)
        return 0;
    p = &mu->f->insns[at];
    if (p->guard >= 0 && rng_below(mu->r, 3) == 0)
        p->guard = -1;
    else if (p->guard >= 0 && rng_below(mu->r, 2))
        p->guard_negate = !p->guard_negate;
    else
        p->guard = (int32_t)some_register(mu, PTX_PRED);
    return 1;
}

/* --- mnemonics --- */

static int set_text(struct mutant *mu, struct ptx_insn *p,
                    const struct buffer *text)
{
    p->text = arena_strndup(mu->arena, buffer_str(text), text->size);
    return p->text != NULL;
}

/* The same operands to something else. */
static int other_mnemonic(struct mutant *mu)
{
    const size_t at = some_insn(mu);
    struct buffer text = {0};
    struct ptx_insn *p;
    int done;

    if (at >= mu->f->insn_count || mu->f->insns[at].call)
        return 0;
    p = &mu->f->insns[at];
    done = form_mnemonic(rng_below(mu->r, 3) ? (int)p->op : -1,
                         p->operand_count, mu->r, &text) &&
           set_text(mu, p, &text);
    buffer_fini(&text);
    return done;
}

/* One word for another: from `at` of text, len bytes. */
static int replace(struct mutant *mu, struct ptx_insn *p, const char *at,
                   size_t len, const char *with)
{
    struct buffer text = {0};
    int done;

    buffer_add(&text, p->text, (size_t)(at - p->text));
    buffer_text(&text, with);
    buffer_text(&text, at + len);
    done = set_text(mu, p, &text);
    buffer_fini(&text);
    return done;
}

/* Some part of a mnemonic between dots, the dot with it. */
static const char *some_word(struct mutant *mu, const struct ptx_insn *p,
                             size_t *len)
{
    const char *found = NULL;
    uint32_t count = 0;

    for (const char *dot = strchr(p->text, '.'); dot;
         dot = strchr(dot + 1, '.'))
        if (rng_below(mu->r, ++count) == 0)
            found = dot;
    if (found)
        *len = 1 + strcspn(found + 1, ". ");
    return found;
}

static int other_word(struct mutant *mu)
{
    static const char *const words[] = {
#define MOD(name, text) "." text,
#include "cpu/ptx/modifiers.def"
#undef MOD
        ".rn",     ".rz",    ".rm",    ".rp",  ".rni",   ".rzi",   ".eq",
        ".ne",     ".lt",    ".ge",    ".ltu", ".nan",   ".and",   ".or",
        ".xor",    ".add",   ".min",   ".max", ".cas",   ".exch",  ".inc",
        ".up",     ".down",  ".bfly",  ".idx", ".any",   ".v2",    ".v4",
        ".global", ".local", ".const", "",     ".param", ".shared"};
    const size_t at = some_insn(mu);
    struct ptx_insn *p;
    const char *word;
    size_t len;

    if (at >= mu->f->insn_count)
        return 0;
    p = &mu->f->insns[at];
    word = some_word(mu, p, &len);
    return word &&
           replace(mu, p, word, rng_below(mu->r, 4) ? len : 0,
                   words[rng_below(mu->r, sizeof words / sizeof *words)]);
}

static enum ptx_type type_named(const char *text, size_t len)
{
    for (int t = 1; t < PTX_TYPE_COUNT; t++)
        if (strlen(ptx_type_text((enum ptx_type)t)) == len &&
            !memcmp(ptx_type_text((enum ptx_type)t), text, len))
            return (enum ptx_type)t;
    return PTX_NONE;
}

/* Another type of as many bits, as a rule; the registers with it, sometimes,
 * and everywhere. */
static int other_type(struct mutant *mu)
{
    const size_t at = some_insn(mu);
    const int free_size = rng_below(mu->r, 4) == 0;
    enum ptx_type was, now;
    struct ptx_insn *p;
    char with[24];
    const char *word;
    size_t len;

    if (at >= mu->f->insn_count)
        return 0;
    p = &mu->f->insns[at];
    word = some_word(mu, p, &len);
    was = word ? type_named(word + 1, len - 1) : PTX_NONE;
    if (!was)
        return 0;
    do
        now = (enum ptx_type)(1 + rng_below(mu->r, PTX_TYPE_COUNT - 1));
    while (!free_size && ptx_type_bits(now) != ptx_type_bits(was));
    snprintf(with, sizeof with, ".%s", ptx_type_text(now));
    if (free_size)
        for (unsigned i = 0; i < p->operand_count; i++)
            if (p->operands[i].kind == PTX_OPERAND_REG &&
                mu->f->regs[p->operands[i].reg].type == was)
                p->operands[i].reg = some_register(mu, now);
    return replace(mu, p, word, len, with);
}

/* .v2 for .v4 or the other way, with its operand. */
static int other_width(struct mutant *mu)
{
    const size_t at = some_insn(mu);
    const unsigned wide = 1u << (1 + rng_below(mu->r, 3));
    struct ptx_insn *p;
    struct ptx_operand *o, *elems;
    const char *word;
    char with[8];

    if (at >= mu->f->insn_count)
        return 0;
    p = &mu->f->insns[at];
    word = strstr(p->text, ".v");
    if (p->vec < 2 || !word || p->operand_count < 2)
        return 0;
    o = p->operands[0].kind == PTX_OPERAND_VECTOR ? &p->operands[0]
                                                  : &p->operands[1];
    if (o->kind != PTX_OPERAND_VECTOR || !o->count)
        return 0;
    elems = arena_array(mu->arena, wide, sizeof *elems);
    if (!elems)
        return 0;
    for (unsigned i = 0; i < wide; i++)
        elems[i] = o->elems[i % o->count];
    o->elems = elems;
    o->count = (uint8_t)wide;
    snprintf(with, sizeof with, ".v%u", wide);
    return replace(mu, p, word, 3, with);
}

const struct change changes_code[] = {
    {other_register, 6}, {other_constant, 6}, {special_register, 2},
    {no_destination, 1}, {exchange, 2},       {other_address, 3},
    {guard, 4},          {other_mnemonic, 6}, {other_word, 3},
    {other_type, 4},     {other_width, 2},    {change_new_insn, 10},
    {change_graft, 6}};
const size_t changes_code_count = sizeof changes_code / sizeof *changes_code;
