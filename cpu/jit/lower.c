/* SPDX-License-Identifier: MIT
 *
 * Finds an instruction's row in lower.def, runs its lowering and extends the
 * result to the destination registers. A modifier that a row does not list
 * makes the row not fit: nothing is ignored silently.
 */
#include "cpu/jit/lower_rules.h"

#include <assert.h>

/* Modifiers that rows may name; all others fit no row. */
/* clang-format off */
#define LOWER_MOD_MAP(X)                                                       \
    X(FTZ) X(SAT) X(SATFINITE) X(RELU) X(LO) X(HI) X(WIDE) X(APPROX) X(FULL)   \
    X(CC) X(NAN_) X(XORSIGN) X(ABS) X(SHIFTAMT) X(CLAMP) X(WRAP) X(L) X(R)     \
    X(PACK) X(PO) X(SHR7) X(SHR15) X(F4E) X(B4E) X(RC8) X(ECL) X(ECR)          \
    X(RC16) X(FINITE) X(INFINITE) X(NUMBER) X(NOTANUMBER) X(NORMAL)            \
    X(SUBNORMAL) X(OOB)
/* clang-format on */

enum {
#define LOWER_MOD_INDEX(name) INDEX_##name,
    LOWER_MOD_MAP(LOWER_MOD_INDEX)
#undef LOWER_MOD_INDEX
        INDEX_COUNT
};
_Static_assert(INDEX_COUNT <= 63, "one word of modifiers");

static const enum ptx_mod known_mods[] = {
#define LOWER_MOD_NAME(name) PTX_MOD_##name,
    LOWER_MOD_MAP(LOWER_MOD_NAME)
#undef LOWER_MOD_NAME
};

#define M(name) (UINT64_C(1) << INDEX_##name)
#define T(name) (UINT64_C(1) << PTX_##name)
#define T_INT   (T(U16) | T(U32) | T(U64) | T(S16) | T(S32) | T(S64))
#define T_INT8  (T(U8) | T(S8))
#define T_INT4  (T(U4) | T(S4) | T(U2) | T(S2))
#define T_BITS  (T(B16) | T(B32) | T(B64))
#define T_FLOAT (T(F32) | T(F64))
#define T_HALF1 (T(F16) | T(BF16))
#define T_HALF2 (T(F16X2) | T(BF16X2))
#define T_HALF  (T_HALF1 | T_HALF2)
#define T_FP8   (T(E4M3X2) | T(E5M2X2) | T(E2M3X2) | T(E3M2X2) | T(E2M1X2))
#define T_FP8X4 (T(E4M3X4) | T(E5M2X4) | T(E2M3X4) | T(E3M2X4) | T(E2M1X4))
#define R(name) (1u << PTX_ROUND_##name)
#define R_NONE  R(NONE)
#define R_RN    (R(NONE) | R(RN))
#define R_FLOAT (R_RN | R(RZ) | R(RM) | R(RP))
#define R_INT   (R(RNI) | R(RZI) | R(RMI) | R(RPI))

struct rule {
    enum ptx_op op;
    uint64_t first;
    uint64_t second;
    uint64_t mods;
    unsigned rounds;
    lower_fn *fn;
};

static const struct rule rules[] = {
#define RULE(op, first, second, mods, rounds, fn)                              \
    {PTX_OP_##op, first, second, mods, rounds, lower_##fn},
#include "cpu/jit/lower.def"
#undef RULE
};

/* The instruction's modifiers as M() bits; 0 from `ok` if some have none. */
static uint64_t modifiers(const struct ptx_insn *insn, int *ok)
{
    uint64_t left[3] = {insn->mods[0], insn->mods[1], insn->mods[2]};
    uint64_t r = 0;
    for (unsigned i = 0; i < INDEX_COUNT; i++) {
        unsigned m = known_mods[i];
        if (!ptx_has(insn, (enum ptx_mod)m))
            continue;
        r |= UINT64_C(1) << i;
        left[m / 64] &= ~(UINT64_C(1) << (m % 64));
    }
    *ok = !(left[0] | left[1] | left[2]);
    return r;
}

static const struct rule *find(const struct ptx_insn *insn)
{
    int ok;
    uint64_t mods = modifiers(insn, &ok);
    if (!ok || insn->vec > 1)
        return NULL;
    /* A third type is the .b32 of cvt.pack or the second source's of a video
     * instruction, an integer of 32 bits. */
    if (insn->type_count > 2 && !(mods & M(PACK)) && insn->op < PTX_OP_VADD)
        return NULL;
    uint64_t first = UINT64_C(1) << insn->types[0];
    uint64_t second = UINT64_C(1) << insn->types[1];
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *r = &rules[i];
        if (r->op != insn->op || !(r->first & first) || mods & ~r->mods)
            continue;
        if (insn->type_count > 1 ? !(r->second & second) : r->second != 0)
            continue;
        if (r->rounds & 1u << insn->round)
            return r;
    }
    return NULL;
}

int lower_knows(const struct ptx_insn *insn)
{
    return find(insn) != NULL;
}

static enum kiln_status refuse(const struct ptx_insn *insn, const char *why,
                               struct kiln_error *err)
{
    const char *name = insn->text ? insn->text : ptx_op_text(insn->op);
    return kiln_fail(err, KILN_E_NOT_SUPPORTED, "line %u: %s: %s", insn->line,
                     name, why);
}

/* Elements of {a, b, e, f} are sources of their own. */
static unsigned count_sources(const struct ptx_insn *insn)
{
    unsigned n = 0;
    for (int k = insn->dst_count; k < insn->operand_count; k++)
        n += insn->operands[k].kind == PTX_OPERAND_VECTOR
                 ? insn->operands[k].count
                 : 1;
    return n;
}

enum kiln_status lower_insn(struct lower *l, const struct ptx_insn *insn,
                            const LLVMValueRef *src, const unsigned *dst_bits,
                            LLVMValueRef *dst, struct kiln_error *err)
{
    const struct rule *r = find(insn);
    if (!r)
        return refuse(insn, "not supported by the CPU device", err);
    struct lower_op o = {.l = l,
                         .insn = insn,
                         .src = src,
                         .src_count = count_sources(insn),
                         .type = insn->types[0]};
    LLVMValueRef v = r->fn(&o);
    if (!v)
        return refuse(insn, o.why ? o.why : "not supported", err);
    /* The types of cvt.pack are those of the parts; the whole is .b32. */
    int is_signed = lower_signed(o.type) && !ptx_has(insn, PTX_MOD_PACK);
    if (dst_bits[0])
        dst[0] = lower_width(l, v, dst_bits[0], is_signed);
    if (insn->dst_count > 1 && dst_bits[1]) {
        assert(o.second);
        dst[1] = lower_width(l, o.second, dst_bits[1], 0);
    }
    return KILN_OK;
}
