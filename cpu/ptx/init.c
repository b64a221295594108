/* SPDX-License-Identifier: MIT
 *
 * Initialisers: numbers, nested braces, and addresses of variables and
 * functions in all their spellings: x, x+4, generic(x)+4, 0xff00(x).
 */
#include <string.h>

#include "cpu/ptx/parse.h"

/* All initialisers of a module together; a bound on what a short text can
 * make the parser allocate. */
static const uint64_t largest_init = UINT64_C(1) << 28;

struct init {
    struct ptx_var *var;
    unsigned element;     /* bytes */
    uint64_t strides[10]; /* elements in one item of each level */
    unsigned levels;
    int open; /* the outermost level has no bound */
    unsigned char *bytes;
    size_t cap;
    uint64_t used; /* bytes */
    int nonzero;
    struct ptx_init_ref *refs;
    size_t ref_count, ref_cap;
};

static enum kiln_status reserve(struct parser *p, struct init *in,
                                uint64_t bytes)
{
    size_t cap = in->cap ? in->cap : 256;
    unsigned char *grown;

    if (bytes > in->used)
        in->used = bytes;
    if (bytes <= in->cap)
        return KILN_OK;
    while (cap < bytes)
        cap *= 2;
    p->init_bytes += cap;
    if (p->init_bytes > largest_init)
        return ptx_fatal(p, p->lx.token.line,
                         "Initialisers of more than %llu bytes",
                         (unsigned long long)largest_init);
    grown = arena_alloc(&p->scratch, cap);
    if (!grown)
        return ptx_no_memory(p);
    if (in->cap)
        memcpy(grown, in->bytes, in->cap);
    in->bytes = grown;
    in->cap = cap;
    return KILN_OK;
}

static enum kiln_status mismatch(struct parser *p, const struct init *in)
{
    return ptx_error(p, p->lx.token.line,
                     "Initializer of '%.100s' does not fit type '.%s'",
                     in->var->name, ptx_type_text(in->var->type));
}

/* A number as the element's bytes. */
static enum kiln_status put(struct parser *p, struct init *in, uint64_t at_byte,
                            const struct constant *v)
{
    const enum ptx_type type = in->var->type;
    const enum ptx_type_class c = ptx_type_class(type);
    uint64_t bits = v->bits;
    enum kiln_status st;

    if (v->kind == PTX_OPERAND_INT && c == PTX_CLASS_FLOAT &&
        (type == PTX_F32 || type == PTX_F64) && bits)
        return mismatch(p, in);
    if (v->kind == PTX_OPERAND_FLOAT) {
        float f;
        double d;

        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &bits, sizeof f);
        if (type == PTX_F32 && !v->is_f32) {
            f = (float)d;
            bits = 0;
            memcpy(&bits, &f, sizeof f);
        } else if (type == PTX_F64 && v->is_f32) {
            d = (double)f;
            memcpy(&bits, &d, sizeof d);
        } else if (type != PTX_F32 && type != PTX_F64 &&
                   !(c == PTX_CLASS_BITS &&
                     in->element == (v->is_f32 ? 4 : 8))) {
            return mismatch(p, in);
        }
    }
    st = reserve(p, in, at_byte + in->element);
    if (st)
        return st;
    if (in->element < 8) /* only what is kept counts: a u32 of 1 << 32 is 0 */
        bits &= (UINT64_C(1) << 8 * in->element) - 1;
    in->nonzero |= bits != 0;
    memcpy(in->bytes + at_byte, &bits, in->element < 8 ? in->element : 8);
    return KILN_OK;
}

/* The sub-range of the address: the byte that mask 0xff << n selects. */
static enum kiln_status apply_mask(struct parser *p, struct ptx_init_ref *ref,
                                   uint64_t mask)
{
    unsigned shift = 0;

    while (shift < 56 && mask >> shift != 0xff)
        shift += 8;
    if (mask >> shift != 0xff || mask != UINT64_C(0xff) << shift)
        return ptx_error(p, p->lx.token.line,
                         "Mask 0x%llx selects no byte of an address",
                         (unsigned long long)mask);
    ref->shift = (uint8_t)shift;
    ref->size = 1;
    return KILN_OK;
}

static enum kiln_status ref_offset(struct parser *p, struct ptx_init_ref *ref)
{
    struct constant v;
    enum kiln_status st;

    if (!accept(p, '+'))
        return KILN_OK;
    st = parse_constant(p, &v);
    if (st)
        return st;
    if (v.kind != PTX_OPERAND_INT)
        return ptx_fatal(p, p->lx.token.line, "Integer offset expected");
    ref->addend = (int64_t)((uint64_t)ref->addend + v.bits);
    return KILN_OK;
}

static enum kiln_status ref_symbol(struct parser *p, struct ptx_init_ref *ref)
{
    const struct token name = p->lx.token;
    struct found f;
    enum kiln_status st;

    if (!at(p, TOKEN_NAME))
        return ptx_expected(p, "a variable or function");
    st = symbol_lookup(p, name.text, name.len, &f);
    if (st)
        return st;
    if (!f.found || (f.kind != BIND_VAR && f.kind != BIND_FUNC))
        return ptx_fatal(p, name.line, "Unknown symbol '%.*s'",
                         (int)(name.len < 100 ? name.len : 100), name.text);
    if (f.kind == BIND_VAR)
        ref->var = f.binding->var;
    else
        ref->func = f.binding->func;
    next(p);
    return KILN_OK;
}

/* name, generic(name) */
static enum kiln_status ref_base(struct parser *p, struct ptx_init_ref *ref)
{
    enum kiln_status st;

    if (at_text(p, "generic")) {
        next(p);
        ref->generic = 1;
        st = expect(p, '(', "'('");
        if (!st)
            st = ref_symbol(p, ref);
        return st ? st : expect(p, ')', "')'");
    }
    return ref_symbol(p, ref);
}

/* name+4, generic(name)+4; inside a mask as well. */
static enum kiln_status ref_name(struct parser *p, struct ptx_init_ref *ref)
{
    enum kiln_status st = ref_base(p, ref);

    return st ? st : ref_offset(p, ref);
}

static enum kiln_status put_ref(struct parser *p, struct init *in,
                                const struct ptx_init_ref *ref)
{
    struct ptx_init_ref *refs = arena_grow(p->arena, in->refs, in->ref_count,
                                           &in->ref_cap, sizeof *refs);
    const enum ptx_type_class c = ptx_type_class(in->var->type);

    if (!refs)
        return ptx_no_memory(p);
    in->refs = refs;
    refs[in->ref_count++] = *ref;
    if ((c != PTX_CLASS_UINT && c != PTX_CLASS_BITS) ||
        ref->size > in->element || (ref->size != 1 && ref->size < 4))
        return mismatch(p, in);
    return reserve(p, in, ref->at + in->element);
}

static enum kiln_status scalar(struct parser *p, struct init *in,
                               uint64_t at_byte)
{
    struct ptx_init_ref ref = {0};
    struct constant v;
    enum kiln_status st;

    ref.at = at_byte;
    ref.size = (uint8_t)(in->element < 8 ? in->element : 8);
    if (!at_constant(p)) {
        st = ref_name(p, &ref);
        return st ? st : put_ref(p, in, &ref);
    }
    st = parse_constant(p, &v);
    if (st || !accept(p, '('))
        return st ? st : put(p, in, at_byte, &v);
    if (v.kind != PTX_OPERAND_INT)
        return ptx_expected(p, "an integer mask");
    st = ref_name(p, &ref);
    if (!st)
        st = expect(p, ')', "')'");
    if (!st)
        st = apply_mask(p, &ref, v.bits);
    return st ? st : put_ref(p, in, &ref);
}

static enum kiln_status braces(struct parser *p, struct init *in,
                               unsigned level, uint64_t base)
{
    const uint64_t end =
        level == 0 && in->open ? UINT64_MAX / 64 : base + in->strides[level];
    uint64_t pos = base;
    enum kiln_status st = expect(p, '{', "'{'");

    while (!st && !at(p, '}')) {
        if (pos >= end)
            return ptx_fatal(p, p->lx.token.line,
                             "Too many initializers for '%.100s'",
                             in->var->name);
        if (at(p, '{')) {
            if (level + 1 >= in->levels)
                return ptx_expected(p, "a constant");
            st = braces(p, in, level + 1, pos);
            pos += in->strides[level + 1];
        } else if (level + 1 < in->levels) {
            return ptx_expected(p, "'{'");
        } else {
            st = scalar(p, in, pos * in->element);
            pos++;
        }
        if (!st && !accept(p, ','))
            break;
    }
    return st ? st : expect(p, '}', "'}'");
}

/* Samplers and textures describe themselves; their handles come from the
 * driver. */
static enum kiln_status skip_opaque(struct parser *p)
{
    unsigned depth = 0;

    do {
        if (at(p, '{'))
            depth++;
        else if (at(p, '}') && depth)
            depth--;
        if (at(p, TOKEN_END) || at(p, TOKEN_BAD) || at(p, ';'))
            return ptx_expected(p, "'}'");
        next(p);
    } while (depth);
    return KILN_OK;
}

static enum kiln_status settle(struct parser *p, struct init *in)
{
    struct ptx_var *v = in->var;
    unsigned char *bytes;

    if (in->open) {
        const uint64_t item = in->strides[1] * in->element;

        v->size = item ? (in->used + item - 1) / item * item : 0;
    }
    v->refs = in->refs;
    v->ref_count = in->ref_count;
    if (!in->nonzero && !in->ref_count)
        return KILN_OK;
    p->init_bytes += v->size;
    if (p->init_bytes > largest_init)
        return ptx_fatal(p, v->line, "Initialisers of more than %llu bytes",
                         (unsigned long long)largest_init);
    bytes = arena_alloc(p->arena, v->size ? v->size : 1);
    if (!bytes)
        return ptx_no_memory(p);
    if (in->bytes)
        memcpy(bytes, in->bytes, in->used < v->size ? in->used : v->size);
    v->init = bytes;
    return KILN_OK;
}

enum kiln_status parse_initialiser(struct parser *p, struct ptx_var *var,
                                   int open, const uint64_t *dims,
                                   unsigned dim_count)
{
    struct init in = {0};
    enum kiln_status st;

    if (ptx_type_class(var->type) == PTX_CLASS_OPAQUE)
        return skip_opaque(p);
    if (var->space != PTX_SPACE_GLOBAL && var->space != PTX_SPACE_CONST)
        return ptx_fatal(p, var->line,
                         "Initializer of '%.100s' not allowed in state space "
                         "'.%s'",
                         var->name, space_text(var->space));
    if (var->is_extern)
        return ptx_fatal(p, var->line, "Initializer of external '%.100s'",
                         var->name);
    in.var = var;
    in.element = (ptx_type_bits(var->type) + 7) / 8;
    in.open = open;
    /* strides[i]: elements of one item at level i, outermost first; a vector
     * is one more level. */
    in.levels = dim_count + (var->vec > 1);
    in.strides[in.levels] = 1;
    if (var->vec > 1)
        in.strides[in.levels - 1] = var->vec;
    for (unsigned i = dim_count; i-- > 0;)
        in.strides[i] = in.strides[i + 1] * dims[i];
    if (in.levels && at(p, '{'))
        st = braces(p, &in, 0, 0);
    else if (in.levels)
        return ptx_expected(p, "'{'");
    else
        st = scalar(p, &in, 0);
    return st ? st : settle(p, &in);
}
