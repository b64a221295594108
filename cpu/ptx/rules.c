/* SPDX-License-Identifier: MIT
 *
 * Rules of single instructions that forms.def cannot say: which state space
 * an address may have, what cvt rounds, how wide the parts of a packed value
 * are.
 */
#include <string.h>

#include "cpu/ptx/check.h"

static int has(const struct check *c, enum ptx_mod m)
{
    return ptx_has(c->insn, m);
}

/* --- memory ------------------------------------------------------------ */

static enum kiln_status check_address(const struct check *c,
                                      const struct ptx_operand *o,
                                      enum ptx_space space)
{
    if (o->kind == PTX_OPERAND_ADDR_INT && space != PTX_SPACE_LOCAL)
        return ptx_error(
            c->p, c->insn->line,
            "Immediate addresses allowed only for .local state space");
    if (o->kind == PTX_OPERAND_ADDR_REG &&
        (space == PTX_SPACE_GENERIC || space == PTX_SPACE_GLOBAL) &&
        ptx_type_bits(c->func->regs[o->reg].type) < 64)
        return ptx_error(c->p, c->insn->line,
                         "32-bit address '%.80s' in state space of 64-bit "
                         "addresses in instruction '%s'",
                         c->func->regs[o->reg].name, ptx_op_text(c->insn->op));
    if (o->kind != PTX_OPERAND_ADDR_VAR)
        return KILN_OK;
    if (space == PTX_SPACE_GENERIC ? o->var->space == PTX_SPACE_PARAM ||
                                         o->var->space == PTX_SPACE_CONST
                                   : o->var->space != space)
        return ptx_error(c->p, c->insn->line,
                         "State space mismatch between instruction and address "
                         "in instruction '%s': '%.80s' is in .%s",
                         ptx_op_text(c->insn->op), o->var->name,
                         space_text(o->var->space));
    return KILN_OK;
}

/* What the memory model has to say, and what contradicts what. */
static const char *order_conflict(const struct check *c)
{
    const enum ptx_space space = c->insn->space;
    const int scope = has(c, PTX_MOD_CTA) || has(c, PTX_MOD_GPU) ||
                      has(c, PTX_MOD_SYS) || has(c, PTX_MOD_CLUSTER);
    const int atomic = c->insn->op == PTX_OP_ATOM || c->insn->op == PTX_OP_RED;
    const int ordered = has(c, PTX_MOD_RELAXED) || has(c, PTX_MOD_ACQUIRE) ||
                        has(c, PTX_MOD_RELEASE);
    const int strong = ordered || has(c, PTX_MOD_VOLATILE);
    const int cached = has(c, PTX_MOD_CA) || has(c, PTX_MOD_CG) ||
                       has(c, PTX_MOD_CS) || has(c, PTX_MOD_LU) ||
                       has(c, PTX_MOD_CV) || has(c, PTX_MOD_WB) ||
                       has(c, PTX_MOD_WT);
    const int evict =
        has(c, PTX_MOD_L1_EVICT_NORMAL) || has(c, PTX_MOD_L1_EVICT_FIRST) ||
        has(c, PTX_MOD_L1_EVICT_UNCHANGED) || has(c, PTX_MOD_L1_EVICT_LAST) ||
        has(c, PTX_MOD_L1_NO_ALLOCATE);
    const int evict_l2 = has(c, PTX_MOD_L2_EVICT_NORMAL) ||
                         has(c, PTX_MOD_L2_EVICT_FIRST) ||
                         has(c, PTX_MOD_L2_EVICT_LAST);
    const int prefetch = has(c, PTX_MOD_L2_64B) || has(c, PTX_MOD_L2_128B) ||
                         has(c, PTX_MOD_L2_256B);

    if (ordered && !scope && !atomic)
        return "Scope modifier required";
    if (scope && !ordered && !atomic)
        return "Illegal scope modifier";
    if (has(c, PTX_MOD_MMIO) && !has(c, PTX_MOD_RELAXED))
        return "Modifier '.mmio' requires modifier '.relaxed'";
    if (cached && strong)
        return "Cache operator cannot be combined with memory order";
    if (cached && (evict || evict_l2))
        return "Cache operator cannot be combined with eviction priority";
    if (strong && has(c, PTX_MOD_NC))
        return "Modifier '.nc' cannot be combined with memory order";
    if (strong && space != PTX_SPACE_GENERIC && space != PTX_SPACE_GLOBAL &&
        space != PTX_SPACE_SHARED)
        return "Memory order cannot be applied to the state space";
    if (evict_l2 && c->insn->op != PTX_OP_CP &&
        c->insn->vec * ptx_type_bits(c->insn->types[0]) != 256)
        return "Eviction priority of L2 requires a vector of 256 bits";
    if ((evict || evict_l2 || prefetch || has(c, PTX_MOD_L2_CACHE_HINT)) &&
        space != PTX_SPACE_GENERIC && space != PTX_SPACE_GLOBAL)
        return "State space incorrect for a cache hint";
    return NULL;
}

/* Windows of shared memory by name, and by whose they are. */
static enum kiln_status check_window(const struct check *c)
{
    const int cluster = has(c, PTX_MOD_SHARED_CLUSTER);

    if (cluster || has(c, PTX_MOD_SHARED_CTA))
        if (c->p->module->version < 78 ||
            (cluster && c->p->module->target < 90))
            return ptx_error(c->p, c->insn->line,
                             "'%.80s' requires PTX ISA .version 7.8 or later%s",
                             c->insn->text,
                             cluster ? " and .target sm_90 or higher" : "");
    return KILN_OK;
}

static enum kiln_status check_order(const struct check *c)
{
    const char *conflict = order_conflict(c);

    if (has(c, PTX_MOD_L2_CACHE_HINT) && c->p->module->version < 74)
        return ptx_error(c->p, c->insn->line,
                         "Modifier '.L2::cache_hint' requires PTX ISA .version "
                         "7.4 or later; found %u.%u",
                         c->p->module->version / 10,
                         c->p->module->version % 10);
    if (has(c, PTX_MOD_L2_CACHE_HINT) && c->p->module->target < 80)
        return ptx_error(c->p, c->insn->line,
                         "Modifier '.L2::cache_hint' requires .target sm_80 or "
                         "higher; found sm_%u",
                         c->p->module->target);
    if (has(c, PTX_MOD_CLUSTER) &&
        (c->p->module->version < 78 || c->p->module->target < 90))
        return ptx_error(c->p, c->insn->line,
                         "Scope '.cluster' requires PTX ISA .version 7.8 and "
                         ".target sm_90 or later for '%.80s'",
                         c->insn->text);
    if (conflict)
        return ptx_error(c->p, c->insn->line, "%s for '%.80s'", conflict,
                         c->insn->text);
    return check_window(c);
}

static enum kiln_status check_width(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const unsigned bits = ptx_type_bits(i->types[0]) * i->vec;

    if (i->vec > 1 && bits > 256)
        return ptx_error(c->p, i->line,
                         "Vector type too large, exceeds 256 bit limit");
    if (bits > 128 && i->types[0] == PTX_B128)
        return ptx_error(c->p, i->line,
                         "Vector type too large, exceeds 128 bit limit");
    if ((i->vec == 8 || (i->vec > 1 && bits > 128)) &&
        c->p->module->target < 100)
        return ptx_error(c->p, i->line,
                         "Feature '256 bit wide load/store' requires .target "
                         "sm_100 or higher");
    if (i->vec > 1 && bits > 128 && i->space != PTX_SPACE_GLOBAL &&
        i->space != PTX_SPACE_GENERIC)
        return ptx_error(c->p, i->line,
                         "Global state space expected for feature '256 bit "
                         "wide load/store'");
    return KILN_OK;
}

static enum kiln_status check_ld(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    enum kiln_status st = check_address(c, &i->operands[1], i->space);

    if (!st && has(c, PTX_MOD_NC) && i->space != PTX_SPACE_GLOBAL)
        st = ptx_error(c->p, i->line, "Modifier '.nc' requires .global space");
    if (!st)
        st = check_order(c);
    return st ? st : check_width(c);
}

static enum kiln_status check_st(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const struct ptx_operand *o = &i->operands[0];
    const struct ptx_func *f = c->func;
    enum kiln_status st = check_address(c, o, i->space);

    if (!st && o->kind == PTX_OPERAND_ADDR_VAR &&
        o->var->space == PTX_SPACE_PARAM && f->param_count &&
        o->var >= f->params && o->var < f->params + f->param_count)
        st = ptx_error(c->p, i->line,
                       "Illegal to write to function input parameter '%.80s'",
                       o->var->name);
    if (!st)
        st = check_order(c);
    return st ? st : check_width(c);
}

static enum kiln_status check_atom(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const int first = i->op == PTX_OP_ATOM;

    enum kiln_status st = check_address(c, &i->operands[first], i->space);

    return st ? st : check_order(c);
}

static enum kiln_status check_addresses(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    /* ptxas takes 32-bit registers as addresses of these. */
    const int any_width = i->op == PTX_OP_LDMATRIX ||
                          i->op == PTX_OP_STMATRIX || i->op == PTX_OP_WMMA;
    enum kiln_status st = i->op == PTX_OP_MULTIMEM ? check_order(c) : KILN_OK;

    for (unsigned k = 0; !st && k < i->operand_count; k++) {
        const enum ptx_operand_kind kind = i->operands[k].kind;

        if ((kind == PTX_OPERAND_ADDR_REG && !any_width) ||
            kind == PTX_OPERAND_ADDR_VAR || kind == PTX_OPERAND_ADDR_INT)
            st = check_address(c, &i->operands[k], i->space);
    }
    return st;
}

/* --- mov --------------------------------------------------------------- */

static unsigned element_bits(const struct check *c, const struct ptx_operand *o,
                             unsigned otherwise)
{
    return o->kind == PTX_OPERAND_REG
               ? ptx_type_bits(c->func->regs[o->reg].type)
               : otherwise;
}

/* {a, b} packs into a type of the elements' size together. */
static enum kiln_status check_packing(const struct check *c,
                                      const struct ptx_operand *v)
{
    const unsigned whole = ptx_type_bits(c->insn->types[0]);
    const unsigned each = v->count ? whole / v->count : 0;
    int fits = (v->count == 2 || v->count == 4) &&
               ptx_type_class(c->insn->types[0]) == PTX_CLASS_BITS;

    for (unsigned i = 0; fits && i < v->count; i++)
        fits = element_bits(c, &v->elems[i], each) == each;
    if (!fits)
        return ptx_error(c->p, c->insn->line,
                         "Arguments mismatch for instruction 'mov': a vector "
                         "of %u does not pack into type .%s",
                         v->count, ptx_type_text(c->insn->types[0]));
    return KILN_OK;
}

static enum kiln_status check_mov(const struct check *c)
{
    const struct ptx_operand *o = c->insn->operands;

    if (c->insn->vec > 1 &&
        c->insn->vec * ptx_type_bits(c->insn->types[0]) > 128)
        return ptx_error(c->p, c->insn->line,
                         "Vector type too large, exceeds 128 bit limit");
    if (c->insn->vec > 1)
        return KILN_OK;
    if (o[0].kind == PTX_OPERAND_VECTOR)
        return check_packing(c, &o[0]);
    if (o[1].kind == PTX_OPERAND_VECTOR)
        return check_packing(c, &o[1]);
    if (o[1].kind == PTX_OPERAND_VAR && o[1].var->space == PTX_SPACE_GLOBAL &&
        ptx_type_bits(c->insn->types[0]) < 64)
        return ptx_error(c->p, c->insn->line,
                         "'%.80s': 32-bit addressing is not supported",
                         c->insn->text);
    return KILN_OK;
}

/* --- cvt --------------------------------------------------------------- */

static int is_float(enum ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_FLOAT;
}

static int rounds_to_int(enum ptx_round r)
{
    return r >= PTX_ROUND_RNI;
}

static enum kiln_status illegal_rounding(const struct check *c)
{
    return ptx_error(c->p, c->insn->line,
                     c->insn->round
                         ? "Illegal rounding modifier for instruction '%.80s'"
                         : "Rounding modifier required for instruction '%.80s'",
                     c->insn->text);
}

/* A float's order by precision, so that a conversion that loses nothing is
 * told from one that rounds. */
static unsigned precision(enum ptx_type t)
{
    switch (t) {
    case PTX_F64:
        return 52;
    case PTX_F32:
        return 23;
    case PTX_F16:
        return 10;
    case PTX_BF16:
        return 7;
    default:
        return 0;
    }
}

/* Whether every value of integer type a is one of d: nothing to saturate. */
static int holds_all(enum ptx_type d, enum ptx_type a)
{
    const int ds = ptx_type_class(d) == PTX_CLASS_SINT;
    const int as = ptx_type_class(a) == PTX_CLASS_SINT;

    if (ds == as)
        return ptx_type_bits(d) >= ptx_type_bits(a);
    return ds && ptx_type_bits(d) > ptx_type_bits(a);
}

/* Plain conversions of one value; those of packed and tiny floats have rows
 * that say all. PTX ISA 9.7.9.21 (cvt). */
static enum kiln_status check_cvt(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const enum ptx_type d = i->types[0];
    const enum ptx_type a = i->types[1];
    const enum ptx_round r = i->round;

    if (has(c, PTX_MOD_PACK) || i->type_count != 2 ||
        ptx_type_class(d) == PTX_CLASS_PACKED ||
        ptx_type_class(a) == PTX_CLASS_PACKED || d == PTX_TF32)
        return KILN_OK;
    if (has(c, PTX_MOD_FTZ) && d != PTX_F32 && a != PTX_F32)
        return ptx_error(c->p, i->line,
                         "Illegal modifier '.ftz' for instruction '%.80s'",
                         i->text);
    if (!is_float(d) && !is_float(a) && !r && has(c, PTX_MOD_SAT) &&
        holds_all(d, a))
        return ptx_error(c->p, i->line,
                         "Illegal modifier '.sat' for instruction '%.80s'",
                         i->text);
    if (!is_float(d) && !is_float(a))
        return r ? illegal_rounding(c) : KILN_OK;
    if (!is_float(d)) /* float -> int */
        return rounds_to_int(r) ? KILN_OK : illegal_rounding(c);
    if (!is_float(a)) /* int -> float */
        return r && !rounds_to_int(r) ? KILN_OK : illegal_rounding(c);
    if (d == a)
        return r && !rounds_to_int(r) ? illegal_rounding(c) : KILN_OK;
    if ((d == PTX_F16 && a == PTX_BF16) || (d == PTX_BF16 && a == PTX_F16))
        return rounds_to_int(r) ? illegal_rounding(c) : KILN_OK;
    if (precision(d) < precision(a))
        return r && !rounds_to_int(r) ? KILN_OK : illegal_rounding(c);
    return r && !(d == PTX_BF16 || a == PTX_BF16) ? illegal_rounding(c)
                                                  : KILN_OK;
}

static enum kiln_status check_cp(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const int64_t size = i->operand_count > 2 ? i->operands[2].ival : 0;
    enum kiln_status st;

    if (has(c, PTX_MOD_BULK) || i->operand_count < 3)
        return KILN_OK;
    if (i->space != PTX_SPACE_SHARED || i->space2 != PTX_SPACE_GLOBAL)
        return ptx_error(c->p, i->line,
                         "State space incorrect for instruction 'cp.async'");
    if (size != 16 && (has(c, PTX_MOD_CG) || (size != 4 && size != 8)))
        return ptx_error(c->p, i->line,
                         "Argument 2 of instruction 'cp.async': unexpected "
                         "value '%lld', expected to be %s",
                         (long long)size,
                         has(c, PTX_MOD_CG) ? "16" : "4, 8 or 16");
    if (i->operand_count > 3 && i->operands[3].kind == PTX_OPERAND_INT &&
        (uint64_t)i->operands[3].ival > (uint64_t)size)
        return ptx_error(c->p, i->line,
                         "Argument 3 of instruction 'cp.async': value '%lld' "
                         "out of range, expected to be in range [0..%lld]",
                         (long long)i->operands[3].ival, (long long)size);
    st = check_address(c, &i->operands[0], PTX_SPACE_SHARED);
    return st ? st : check_address(c, &i->operands[1], PTX_SPACE_GLOBAL);
}

/* --- the rest ---------------------------------------------------------- */

static enum kiln_status check_bar(const struct check *c)
{
    const struct ptx_operand *o = c->insn->operands;
    const int first = has(c, PTX_MOD_RED);

    if (has(c, PTX_MOD_WARP) || has(c, PTX_MOD_CLUSTER))
        return KILN_OK;
    /* ptxas reads it as a number of 32 bits. */
    if (o[first].kind == PTX_OPERAND_INT && (uint32_t)o[first].ival > 15)
        return ptx_error(c->p, c->insn->line,
                         "Barrier number '%lld' out of range, expected to be "
                         "in range [0..15]",
                         (long long)o[first].ival);
    if (c->insn->operand_count > first + 1 &&
        o[first + 1].kind == PTX_OPERAND_INT &&
        (o[first + 1].ival < 0 || o[first + 1].ival % 32 ||
         (has(c, PTX_MOD_ARRIVE) && !o[first + 1].ival)))
        return ptx_error(c->p, c->insn->line,
                         "Number of threads participating in barrier must be "
                         "a multiple of the warp size; found %lld",
                         (long long)o[first + 1].ival);
    return KILN_OK;
}

/* An operand that can have one value, or those from least to most by step. */
static enum kiln_status check_value(const struct check *c, unsigned k,
                                    int64_t least, int64_t most, int64_t step)
{
    const struct ptx_operand *o = &c->insn->operands[k];

    if (k >= c->insn->operand_count || o->kind != PTX_OPERAND_INT ||
        (o->ival >= least && o->ival <= most && o->ival % step == 0))
        return KILN_OK;
    return ptx_error(c->p, c->insn->line,
                     "Argument %u of instruction '%.60s': unexpected value "
                     "'%lld', expected to be in [%lld..%lld], a multiple of "
                     "%lld",
                     k, c->insn->text, (long long)o->ival, (long long)least,
                     (long long)most, (long long)step);
}

static enum kiln_status check_field(const struct check *c)
{
    const unsigned first = c->insn->op == PTX_OP_BFE ? 2 : 3;
    enum kiln_status st = check_value(c, first, 0, 255, 1);

    return st ? st : check_value(c, first + 1, 0, 255, 1);
}

static enum kiln_status check_alloca(const struct check *c)
{
    const struct ptx_operand *o = &c->insn->operands[2];

    if (c->insn->operand_count > 2 &&
        (o->ival <= 0 || (o->ival & (o->ival - 1))))
        return ptx_error(c->p, c->insn->line,
                         "Alignment %lld of 'alloca' is no power of two",
                         (long long)o->ival);
    return KILN_OK;
}

static enum kiln_status check_isspacep(const struct check *c)
{
    const struct ptx_operand *o = &c->insn->operands[1];

    if (o->kind == PTX_OPERAND_REG &&
        ptx_type_bits(c->func->regs[o->reg].type) < 32)
        return ptx_error(c->p, c->insn->line,
                         "Arguments mismatch for instruction 'isspacep': "
                         "'%.60s' is no address",
                         c->func->regs[o->reg].name);
    return KILN_OK;
}

static enum kiln_status check_bulk(const struct check *c)
{
    enum kiln_status st = check_value(c, 1, 0, INT64_MAX, 8);

    return st ? st : check_value(c, 2, 0, 0, 1);
}

/* Addresses of 32 bits where the device has none. */
static enum kiln_status check_cvta(const struct check *c)
{
    if (ptx_type_bits(c->insn->types[0]) == 32)
        return ptx_error(c->p, c->insn->line,
                         "'%.80s': 32-bit addressing is not supported",
                         c->insn->text);
    return KILN_OK;
}

static enum kiln_status check_sync_needed(const struct check *c)
{
    if (!has(c, PTX_MOD_SYNC) && c->p->module->target >= 70 &&
        c->p->module->version >= 64)
        return ptx_error(c->p, c->insn->line,
                         "Instruction '%s' without '.sync' is not supported on "
                         ".target sm_70 and higher from PTX ISA version 6.4",
                         ptx_op_text(c->insn->op));
    return KILN_OK;
}

static enum kiln_status
check_both(enum kiln_status first,
           enum kiln_status (*second)(const struct check *c),
           const struct check *c)
{
    return first ? first : second(c);
}

/* An order needs a scope, but for .acquire and .release that are implied; a
 * phase is 0 or 1. */
static enum kiln_status check_mbarrier(const struct check *c)
{
    const int order = has(c, PTX_MOD_ACQUIRE) || has(c, PTX_MOD_RELEASE) ||
                      has(c, PTX_MOD_RELAXED);
    const int scope = has(c, PTX_MOD_CTA) || has(c, PTX_MOD_CLUSTER);

    if (order != scope)
        return ptx_error(c->p, c->insn->line,
                         order ? "Scope modifier required for '%.80s'"
                               : "Memory order required for '%.80s'",
                         c->insn->text);
    if (order && c->p->module->version < 80)
        return ptx_error(c->p, c->insn->line,
                         "Memory order of '%.80s' requires PTX ISA .version "
                         "8.0 or later",
                         c->insn->text);
    return has(c, PTX_MOD_PARITY) ? check_value(c, 2, 0, 1, 1) : KILN_OK;
}

enum kiln_status check_rules(const struct check *c)
{
    switch (c->insn->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        return check_ld(c);
    case PTX_OP_ST:
        return has(c, PTX_MOD_BULK) ? check_bulk(c) : check_st(c);
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        return check_atom(c);
    case PTX_OP_MOV:
        return check_mov(c);
    case PTX_OP_CVT:
        return check_cvt(c);
    case PTX_OP_CP:
        return check_cp(c);
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        return check_bar(c);
    case PTX_OP_DISCARD:
    case PTX_OP_APPLYPRIORITY:
        return check_value(c, 1, 128, 128, 1);
    case PTX_OP_FENCE:
        if (has(c, PTX_MOD_CLUSTER) && c->p->module->target < 90)
            return check_order(c);
        return check_value(c, 1, 128, 128, 1);
    case PTX_OP_BFE:
    case PTX_OP_BFI:
        return check_field(c);
    case PTX_OP_ALLOCA:
        return check_alloca(c);
    case PTX_OP_ISSPACEP:
        return check_isspacep(c);
    case PTX_OP_PMEVENT:
        return check_value(c, 0, 0, has(c, PTX_MOD_MASK) ? 65535 : 15, 1);
    case PTX_OP_CVTA:
        return check_cvta(c);
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
        return check_sync_needed(c);
    case PTX_OP_MMA:
        return check_mma(c);
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
        return check_both(check_addresses(c), check_matrices, c);
    case PTX_OP_WMMA:
        return check_both(check_addresses(c), check_wmma, c);
    case PTX_OP_MBARRIER:
        return check_both(check_addresses(c), check_mbarrier, c);
    case PTX_OP_MULTIMEM:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
        return check_addresses(c);
    default:
        return KILN_OK;
    }
}
