/* SPDX-License-Identifier: MIT
 *
 * Operands against the rows of forms.def: kinds, counts, and the type rules
 * of PTX ISA 9.4 as ptxas applies them:
 *   - sizes agree; untyped bits agree with anything of their size; signed and
 *     unsigned agree; float and integer do not;
 *   - ld, st and cvt may name a register wider than the instruction's type.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/ptx/check.h"

struct misfit {
    int operand; /* the furthest one that some form could not take */
    char text[160];
};

enum { PAIR = 1, PAIR_NEEDED };
struct pattern {
    const struct form *form;
    const char *at; /* in form->operands */
    char kind;
    char type;
    uint8_t is_dest, wider, pair, optional;
};

/* --- patterns ---------------------------------------------------------- */

/* Read one word, `=r0~|p?`. Returns 0 at the end of the alternative. */
static int next_word(struct pattern *w)
{
    const char *s = w->at;

    while (*s == ' ')
        s++;
    if (*s == '\0' || *s == '/') {
        w->at = s;
        return 0;
    }
    w->is_dest = *s == '=';
    s += w->is_dest;
    w->kind = *s++;
    w->type = '-';
    w->wider = w->pair = w->optional = 0;
    for (; *s && *s != ' '; s++) {
        if (*s == '~')
            w->wider = 1;
        else if (*s == '?')
            w->optional = 1;
        else if (*s == '|')
            w->pair = *++s == 'P' ? PAIR_NEEDED : PAIR;
        else
            w->type = *s;
    }
    w->at = s;
    return 1;
}

static enum ptx_type twice_as_wide(enum ptx_type t)
{
    switch (t) {
    case PTX_U16:
        return PTX_U32;
    case PTX_S16:
        return PTX_S32;
    case PTX_U32:
        return PTX_U64;
    case PTX_S32:
        return PTX_S64;
    default:
        return PTX_NONE;
    }
}

static enum ptx_type type_of(char code, const struct ptx_insn *insn)
{
    switch (code) {
    case 'u':
        return PTX_U32;
    case 's':
        return PTX_S32;
    case 'b':
        return PTX_B32;
    case 'f':
        return PTX_F32;
    case 'h':
        return PTX_B16;
    case 'y':
        return PTX_B8;
    case 'B':
        return PTX_B64;
    case 'q':
        return PTX_B128;
    case 'w':
        return twice_as_wide(insn->types[0]);
    default:
        return code >= '0' && code - '0' < insn->type_count
                   ? insn->types[code - '0']
                   : PTX_NONE;
    }
}

/* --- types ------------------------------------------------------------- */

static int is_int(enum ptx_type_class c)
{
    return c == PTX_CLASS_UINT || c == PTX_CLASS_SINT;
}

int reg_suits(enum ptx_type type, enum ptx_type reg, int wider)
{
    const enum ptx_type_class tc = ptx_type_class(type);
    /* A .f16x2 register is 32 bits to integer instructions. */
    const enum ptx_type_class rc =
        reg == PTX_F16X2 ? PTX_CLASS_BITS : ptx_type_class(reg);
    const unsigned tb = ptx_type_bits(type);
    const unsigned rb = ptx_type_bits(reg);

    if (tc == PTX_CLASS_PRED || rc == PTX_CLASS_PRED)
        return tc == rc;
    if (tc == PTX_CLASS_FLOAT || tc == PTX_CLASS_PACKED) {
        if (reg == type || reg == PTX_F16X2)
            return reg == type || type == PTX_U16X2 || type == PTX_S16X2;
        return rc == PTX_CLASS_BITS && (wider ? rb >= tb : rb == tb);
    }
    if (wider ? rb < tb : rb != tb)
        return 0;
    if (tc == PTX_CLASS_BITS)
        return 1;
    if (tc == PTX_CLASS_OPAQUE)
        return rc == PTX_CLASS_BITS || rc == PTX_CLASS_UINT;
    return rc == PTX_CLASS_BITS || is_int(rc);
}

static int constant_suits(enum ptx_type type, const struct ptx_operand *o)
{
    const enum ptx_type_class c = ptx_type_class(type);

    if (o->kind == PTX_OPERAND_INT)
        return c != PTX_CLASS_FLOAT && c != PTX_CLASS_PACKED;
    if (c == PTX_CLASS_BITS)
        return ptx_type_bits(type) == (o->is_f32 ? 32u : 64u);
    return c == PTX_CLASS_FLOAT && ptx_type_bits(type) >= 32;
}

static int sreg_suits(enum ptx_type type, const struct ptx_operand *o)
{
    const enum ptx_type_class c = ptx_type_class(type);
    const unsigned bits = sreg_bits(o->sreg);

    if (o->dim == 3 && sreg_is_vector(o->sreg))
        return 0;
    if (bits == 1)
        return c == PTX_CLASS_PRED;
    if (c != PTX_CLASS_BITS && !is_int(c))
        return 0;
    if (o->sreg == PTX_SREG_GRIDID)
        return ptx_type_bits(type) >= 32;
    /* %tid and its like were of 16 bits once. */
    return ptx_type_bits(type) == bits ||
           (ptx_type_bits(type) == 16 && sreg_is_vector(o->sreg));
}

static int address_suits(const struct check *c, const struct ptx_operand *o)
{
    const struct ptx_reg *r = &c->func->regs[o->reg];
    const enum ptx_type type = r->type;
    const enum ptx_type_class rc = ptx_type_class(type);

    return (r->vec == 1 || o->dim) && (rc == PTX_CLASS_BITS || is_int(rc)) &&
           ptx_type_bits(type) <= 64;
}

/* --- operands ---------------------------------------------------------- */

/* Parts of a register, of one that is written in falling order: .b3210. */
static int part_fits(const struct pattern *w, const struct ptx_operand *o)
{
    const int halves = o->dim >= PTX_PARTS_H;
    const int n = o->dim - (halves ? PTX_PARTS_H : PTX_PARTS_B);
    int64_t last = halves ? 2 : 4;

    if (w->kind == 'z' || w->kind == 'n')
        return o->dim < PTX_PARTS_B;
    if (w->kind != 'Z')
        return 0;
    if (!w->is_dest)
        return o->dim >= PTX_PARTS_B && n == (halves ? 2 : 4);
    for (int i = n; i-- > 0; last = o->ival >> (4 * i) & 15)
        if ((o->ival >> (4 * i) & 15) >= last)
            return 0;
    return 1;
}

static int register_fits(const struct check *c, const struct pattern *w,
                         const struct ptx_operand *o)
{
    const enum ptx_type type = type_of(w->type, c->insn);
    const struct ptx_reg *r = &c->func->regs[o->reg];

    if (r->vec > 1 && (o->dim == 0 || o->dim >= PTX_PART_B0))
        return 0;
    if (o->negate && (o->negate != PTX_NEGATE_MINUS || w->kind != 'n'))
        return 0;
    if (o->dim >= PTX_PART_B0 && !part_fits(w, o))
        return 0;
    if (w->kind == 'y' && ptx_type_class(r->type) == PTX_CLASS_FLOAT)
        return 0;
    if (r->type == PTX_F16X2 && type && !(w->type >= '0' && w->type <= '9'))
        return 0; /* only where the mnemonic names the type */
    return !type || reg_suits(type, r->type, w->wider);
}

static int predicate_fits(const struct check *c, const struct pattern *w,
                          const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_INT)
        return !w->is_dest;
    if (w->is_dest && o->kind == PTX_OPERAND_SINK)
        return w->pair || c->insn->has_pair;
    return o->kind == PTX_OPERAND_REG &&
           c->func->regs[o->reg].type == PTX_PRED && !(w->is_dest && o->negate);
}

/* Elements have one size. Bits among them make bits of all, and where the
 * instruction is of floats, integers do as well. */
static enum ptx_type element_type(const struct check *c,
                                  const struct ptx_operand *o,
                                  enum ptx_type type)
{
    static const enum ptx_type bits[] = {PTX_B8, PTX_B16, PTX_B32, PTX_B64,
                                         PTX_B128};
    enum ptx_type first = PTX_NONE;
    const int floats = ptx_type_class(type) == PTX_CLASS_FLOAT;
    int mixed = 0;
    int any_bits = 0;

    for (unsigned i = 0; i < o->count; i++) {
        enum ptx_type t;

        if (o->elems[i].kind != PTX_OPERAND_REG)
            continue;
        t = c->func->regs[o->elems[i].reg].type;
        first = first ? first : t;
        if (ptx_type_bits(t) != ptx_type_bits(first))
            return PTX_TYPE_COUNT;
        mixed |= t != first;
        any_bits |= ptx_type_class(t) == PTX_CLASS_BITS;
        if (mixed && !any_bits &&
            (ptx_type_class(t) == PTX_CLASS_FLOAT) !=
                (ptx_type_class(first) == PTX_CLASS_FLOAT))
            return PTX_TYPE_COUNT;
    }
    if (!floats && !(mixed && any_bits))
        return type;
    for (unsigned i = 0; i < 5; i++) {
        if (ptx_type_bits(bits[i]) == ptx_type_bits(type))
            return bits[i];
    }
    return type;
}

/* All elements as single operands; `_` is a destination. */
static int vector_fits(const struct check *c, const struct pattern *w,
                       const struct ptx_operand *o, unsigned count)
{
    const enum ptx_type type = type_of(w->type, c->insn);
    enum ptx_type each;

    if (o->kind == PTX_OPERAND_REG) {
        const struct ptx_reg *r = &c->func->regs[o->reg];

        return r->vec > 1 && r->vec == count && !o->dim &&
               reg_suits(type, r->type, 0);
    }
    if (o->kind == PTX_OPERAND_SREG) /* mov.v4.u32 {...}, %tid */
        return !w->is_dest && count == 4 && o->dim == 3 &&
               sreg_is_vector(o->sreg) &&
               ptx_type_class(type) != PTX_CLASS_FLOAT &&
               (ptx_type_bits(type) == 32 || ptx_type_bits(type) == 16);
    if (o->kind != PTX_OPERAND_VECTOR || (count && o->count != count))
        return 0;
    each = element_type(c, o, type);
    if (each == PTX_TYPE_COUNT)
        return 0;
    for (unsigned i = 0; i < o->count; i++) {
        const struct ptx_operand *e = &o->elems[i];

        if (e->kind == PTX_OPERAND_REG) {
            const struct ptx_reg *r = &c->func->regs[e->reg];

            if (e->negate || (r->vec > 1 && !e->dim) ||
                (each && !reg_suits(each, r->type, w->wider)))
                return 0;
        } else if (w->is_dest ? e->kind != PTX_OPERAND_SINK
                              : (e->kind != PTX_OPERAND_INT &&
                                 e->kind != PTX_OPERAND_FLOAT) ||
                                    (type && !constant_suits(type, e))) {
            return 0;
        }
    }
    return 1;
}

static int value_fits(const struct check *c, const struct pattern *w,
                      const struct ptx_operand *o)
{
    const enum ptx_type type = type_of(w->type, c->insn);

    switch (o->kind) {
    case PTX_OPERAND_REG:
        return w->kind != 'S' && register_fits(c, w, o);
    case PTX_OPERAND_SINK:
        return w->kind == 'R' || w->kind == 'S';
    case PTX_OPERAND_INT:
    case PTX_OPERAND_FLOAT:
        return w->kind && !w->is_dest && strchr("axyzn", w->kind) &&
               (!type || constant_suits(type, o));
    case PTX_OPERAND_SREG:
        return w->kind == 'x' && sreg_suits(type, o);
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_FUNC:
        return (w->kind == 'x' ||
                (w->kind == 'y' && o->kind == PTX_OPERAND_VAR)) &&
               ptx_type_class(type) != PTX_CLASS_FLOAT &&
               ptx_type_bits(type) >= 32;
    default:
        return 0;
    }
}

static int fits(const struct check *c, const struct pattern *w,
                const struct ptx_operand *o)
{
    switch (w->kind) {
    case 'p':
        return predicate_fits(c, w, o);
    case 'v':
        if (c->insn->vec > 1)
            return vector_fits(c, w, o, c->insn->vec);
        return value_fits(c,
                          &(struct pattern){.kind = w->is_dest ? 'r' : 'a',
                                            .type = w->type,
                                            .wider = w->wider,
                                            .is_dest = w->is_dest},
                          o);
    case 'V':
        return vector_fits(c, w, o, 0);
    case 'X':
        return o->kind == PTX_OPERAND_VECTOR
                   ? vector_fits(c, w, o, 0)
                   : value_fits(c,
                                &(struct pattern){.kind = 'x',
                                                  .type = w->type,
                                                  .wider = w->wider},
                                o);
    case '4':
        return vector_fits(c, w, o, 4);
    case 'i':
        return o->kind == PTX_OPERAND_INT;
    case 'c':
        return ptx_has(c->insn, PTX_MOD_L2_CACHE_HINT) &&
               o->kind == PTX_OPERAND_REG && !o->negate &&
               reg_suits(PTX_B64, c->func->regs[o->reg].type, 0);
    case 'm':
        return o->kind == PTX_OPERAND_ADDR_VAR ||
               o->kind == PTX_OPERAND_ADDR_INT ||
               (o->kind == PTX_OPERAND_ADDR_REG && address_suits(c, o));
    case 'L':
        return o->kind == PTX_OPERAND_ADDR_LIST;
    case 'l':
        return o->kind == PTX_OPERAND_LABEL && !o->negate;
    case 't':
        return o->kind == PTX_OPERAND_TABLE;
    default:
        return value_fits(c, w, o);
    }
}

/* --- saying what is wrong ---------------------------------------------- */

static void describe(const struct check *c, const struct ptx_operand *o,
                     char *text, size_t size)
{
    static const char *const kinds[] = {
        [PTX_OPERAND_SINK] = "'_'",
        [PTX_OPERAND_INT] = "an integer constant",
        [PTX_OPERAND_FLOAT] = "a floating-point constant",
        [PTX_OPERAND_SREG] = "a special register",
        [PTX_OPERAND_LABEL] = "a label",
        [PTX_OPERAND_ADDR_REG] = "an address",
        [PTX_OPERAND_ADDR_VAR] = "an address",
        [PTX_OPERAND_ADDR_INT] = "an address",
        [PTX_OPERAND_ADDR_LIST] = "an address list",
        [PTX_OPERAND_TABLE] = "a table"};

    if (o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDR_REG) {
        const struct ptx_reg *r = &c->func->regs[o->reg];

        snprintf(text, size, "%s'%.40s' of type .%s",
                 o->negate ? "negated " : "", r->name, ptx_type_text(r->type));
    } else if (o->kind == PTX_OPERAND_VECTOR) {
        snprintf(text, size, "a vector of %u", o->count);
    } else if (o->kind == PTX_OPERAND_VAR) {
        snprintf(text, size, "variable '%.40s'", o->var->name);
    } else if (o->kind == PTX_OPERAND_FUNC) {
        snprintf(text, size, "function '%.40s'", o->func->name);
    } else {
        snprintf(text, size, "%s", kinds[o->kind] ? kinds[o->kind] : "?");
    }
}

static const char *expectation(const struct pattern *w)
{
    switch (w->kind) {
    case 'p':
        return "a predicate";
    case 'v':
    case 'V':
    case 'X':
    case '4':
        return "a vector or value";
    case 'i':
        return "an integer constant";
    case 'm':
        return "an address in brackets";
    case 'L':
        return "an address list in brackets";
    case 'l':
        return "a label";
    case 't':
        return "a table of targets";
    case 'c':
        return "a cache policy";
    case 'r':
    case 'R':
    case 'Z':
        return "a register";
    case 'y':
        return "a register or variable";
    default:
        return "a register or constant";
    }
}

static void note(const struct check *c, struct misfit *why, int operand,
                 const struct pattern *w)
{
    const enum ptx_type type = type_of(w->type, c->insn);
    char found[96] = "nothing";

    if (operand <= why->operand)
        return;
    why->operand = operand;
    if (operand < c->insn->operand_count)
        describe(c, &c->insn->operands[operand], found, sizeof found);
    snprintf(why->text, sizeof why->text, "operand %d is %s, expected %s%s%s",
             operand, found, expectation(w), type ? " of type ." : "",
             ptx_type_text(type));
}

static enum kiln_status complain(struct parser *p, const struct check *c,
                                 const struct misfit *why)
{
    const char *op = ptx_op_text(c->insn->op);

    for (unsigned i = 0; i < c->insn->operand_count; i++) {
        const struct ptx_operand *o = &c->insn->operands[i];

        if (o->kind == PTX_OPERAND_SREG && c->insn->op != PTX_OP_MOV)
            return ptx_error(p, c->insn->line,
                             "Special register argument not allowed for "
                             "instruction '%s'",
                             op);
    }
    if (why->operand < 0)
        return ptx_error(p, c->insn->line,
                         "Arguments mismatch for instruction '%s': '%.60s' "
                         "with %u operands",
                         op, c->insn->text, c->insn->operand_count);
    return ptx_error(p, c->insn->line,
                     "Arguments mismatch for instruction '%s': %s", op,
                     why->text);
}

/* --- the whole instruction --------------------------------------------- */

/* One alternative of a form's operands. On success the counts are set. */
static int try_pattern(const struct check *c, struct pattern *w,
                       struct misfit *why)
{
    struct ptx_insn *insn = c->insn;
    unsigned dests = 0;
    int i = 0;

    while (next_word(w)) {
        if (i < insn->operand_count && fits(c, w, &insn->operands[i]) &&
            (w->pair != PAIR_NEEDED || insn->has_pair)) {
            dests += w->is_dest;
            i++;
            if (insn->has_pair && i == 1) {
                const struct pattern pair = {
                    .kind = 'p', .is_dest = 1, .pair = 1};

                if (!w->pair || i >= insn->operand_count ||
                    !fits(c, &pair, &insn->operands[i])) {
                    note(c, why, i, &pair);
                    return 0;
                }
                dests++;
                i++;
            }
        } else if (!w->optional &&
                   (w->kind != 'c' || ptx_has(insn, PTX_MOD_L2_CACHE_HINT))) {
            note(c, why, i, w);
            return 0;
        }
    }
    if (i < insn->operand_count)
        return 0;
    insn->dst_count = (uint8_t)dests;
    return 1;
}

/* `ld.u64 {%rd1}, [a]` is `ld.u64 %rd1, [a]`. */
static void unwrap(struct ptx_insn *insn)
{
    if (insn->op != PTX_OP_LD && insn->op != PTX_OP_LDU &&
        insn->op != PTX_OP_ST && insn->op != PTX_OP_SULD &&
        insn->op != PTX_OP_SUST)
        return;
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (insn->operands[i].kind == PTX_OPERAND_VECTOR &&
            insn->operands[i].count == 1)
            insn->operands[i] = insn->operands[i].elems[0];
    }
}

enum kiln_status check_insn(struct parser *p, struct ptx_insn *insn,
                            const struct shape *shape)
{
    const struct check c = {p, insn, p->func};
    struct misfit why = {-1, ""};

    if (shape->open)
        return KILN_OK;
    if (insn->op == PTX_OP_CALL)
        return KILN_OK; /* call.c has looked */
    unwrap(insn);
    for (unsigned i = 0; i < shape->form_count; i++) {
        struct pattern w = {.form = shape->forms[i],
                            .at = shape->forms[i]->operands};

        for (;;) {
            if (try_pattern(&c, &w, &why))
                return check_rules(&c);
            while (*w.at && *w.at != '/')
                w.at++;
            if (!*w.at)
                break;
            w.at++;
        }
    }
    return complain(p, &c, &why);
}
