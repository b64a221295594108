/* SPDX-License-Identifier: MIT
 *
 * Textures and surfaces: a call of the engine for the active lanes of a warp,
 * with operands and results in rows of memory (struct abi_texture). Objects
 * are numbers in registers; texture, sampler and surface variables of a
 * module would need the API of texture references, and are refused.
 */
#include <stddef.h>
#include <string.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/emit.h"

struct access {
    const struct graph_insn *insn;
    const struct ptx_insn *p;
    struct abi_texture_word what;
    int object; /* its operand; the coordinates' follows */
    unsigned dims;
    unsigned rows; /* of in[], used so far */
};

/* --- memory of the call --- */

static LLVMValueRef area(struct emit *e)
{
    if (!e->texture) {
        e->texture = LLVMBuildAlloca(
            e->top, LLVMArrayType2(e->i8, sizeof(struct abi_texture)), "");
        LLVMSetAlignment(e->texture, 64);
    }
    return e->texture;
}

static void put(struct emit *e, LLVMValueRef v, size_t offset, unsigned c,
                unsigned bytes)
{
    LLVMSetAlignment(
        LLVMBuildStore(e->l.b, v, emit_row(e, area(e), offset, c, bytes)),
        bytes);
}

static LLVMValueRef get(struct emit *e, size_t offset, unsigned c)
{
    LLVMValueRef v = LLVMBuildLoad2(e->l.b, emit_vec(e, e->i32),
                                    emit_row(e, area(e), offset, c, 4), "");

    LLVMSetAlignment(v, 4);
    return v;
}

static size_t row(size_t base, unsigned i)
{
    return base + (size_t)i * ABI_WARP * 4;
}

static LLVMValueRef cast(struct emit *e, LLVMValueRef v, LLVMTypeRef element)
{
    LLVMTypeRef type = emit_vec(e, element);

    return LLVMTypeOf(v) == type ? v
                                 : LLVMBuildIntCast2(e->l.b, v, type, 0, "");
}

/* --- what the text says --- */

static int geometry(struct access *a)
{
    static const struct {
        enum ptx_mod mod;
        enum abi_texture_geometry geometry;
        unsigned dims;
        unsigned coordinates;
    } list[] = {
        {PTX_MOD_GEOM_1D, ABI_TEXTURE_1D, 1, 1},
        {PTX_MOD_GEOM_2D, ABI_TEXTURE_2D, 2, 2},
        {PTX_MOD_GEOM_3D, ABI_TEXTURE_3D, 3, 3},
        {PTX_MOD_GEOM_A1D, ABI_TEXTURE_A1D, 1, 2},
        {PTX_MOD_GEOM_A2D, ABI_TEXTURE_A2D, 2, 3},
        {PTX_MOD_GEOM_CUBE, ABI_TEXTURE_CUBE, 3, 3},
        {PTX_MOD_GEOM_ACUBE, ABI_TEXTURE_ACUBE, 3, 4},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (ptx_has(a->p, list[i].mod)) {
            a->what.geometry = list[i].geometry & 15;
            a->dims = list[i].dims;
            return (int)list[i].coordinates;
        }
    return 0;
}

/* -1: there is no answer for it. */
static int query(const struct ptx_insn *p)
{
    static const struct {
        enum ptx_mod mod;
        int query;
    } list[] = {
        {PTX_MOD_WIDTH, ABI_TEXTURE_WIDTH},
        {PTX_MOD_HEIGHT, ABI_TEXTURE_HEIGHT},
        {PTX_MOD_DEPTH, ABI_TEXTURE_DEPTH},
        {PTX_MOD_ARRAY_SIZE, ABI_TEXTURE_LAYERS},
        {PTX_MOD_NUM_MIPMAP_LEVELS, ABI_TEXTURE_LEVELS},
        {PTX_MOD_NUM_SAMPLES, ABI_TEXTURE_SAMPLES},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (ptx_has(p, list[i].mod))
            return list[i].query;
    return -1;
}

static unsigned elements(const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_VECTOR ? o->count : 1;
}

/* --- operands --- */

static int put_object(struct emit *e, struct access *a)
{
    if (a->p->operands[a->object].kind != PTX_OPERAND_REG) {
        emit_refuse(e, a->p,
                    "a texture, sampler or surface variable; objects are "
                    "taken by their number in a register");
        return -1;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = emit_operand_vector(e, a->insn, a->object, c, 64);

        put(e, cast(e, v, e->i64), offsetof(struct abi_texture, object), c, 8);
    }
    return 0;
}

static int is_value(const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_INT ||
           o->kind == PTX_OPERAND_FLOAT || o->kind == PTX_OPERAND_SREG;
}

/* The first `count` elements of operand k: rows of in[]. The parser takes any
 * list between the brackets. */
static int put_rows(struct emit *e, struct access *a, int k, unsigned count)
{
    const struct ptx_operand *o = &a->p->operands[k];
    int fits = k < a->p->operand_count && elements(o) >= count;

    for (unsigned j = 0; fits && j < count; j++)
        fits = is_value(o->kind == PTX_OPERAND_VECTOR ? &o->elems[j] : o);
    if (!fits) {
        emit_refuse(e, a->p, "coordinates do not fit its geometry");
        return -1;
    }
    for (unsigned j = 0; j < count; j++, a->rows++)
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef v = emit_element_vector(e, a->insn, k, (int)j, c, 32);

            put(e, cast(e, v, e->i32),
                row(offsetof(struct abi_texture, in), a->rows), c, 4);
        }
    return 0;
}

static int is_integer_operand(const struct emit *e, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_VECTOR)
        return 1;
    return o->kind == PTX_OPERAND_INT ||
           (o->kind == PTX_OPERAND_REG &&
            ptx_type_class(e->g->func->regs[o->reg].type) != PTX_CLASS_FLOAT);
}

/* Behind the coordinates: level or gradients, which change nothing where a
 * texture has one level; offsets in texels; a value to compare with. */
static int put_rest(struct emit *e, struct access *a)
{
    int k = a->object + 2;

    if (ptx_has(a->p, PTX_MOD_LEVEL))
        k++;
    else if (ptx_has(a->p, PTX_MOD_GRAD))
        k += 2;
    if (k < a->p->operand_count && is_integer_operand(e, &a->p->operands[k])) {
        a->what.offset = 1;
        if (put_rows(e, a, k++, a->dims))
            return -1;
    }
    if (k < a->p->operand_count) {
        emit_refuse(e, a->p, "a comparison with a depth texture");
        return -1;
    }
    return 0;
}

/* --- results --- */

static void define_words(struct emit *e, const struct graph_insn *insn)
{
    for (unsigned j = 0; j < elements(&insn->ptx->operands[0]); j++) {
        int value = emit_dst(insn, 0, (int)j);
        LLVMValueRef made[EMIT_MAX_CHUNKS];

        if (value == GRAPH_NONE)
            continue;
        for (unsigned c = 0; c < e->chunks; c++)
            made[c] =
                cast(e, get(e, row(offsetof(struct abi_texture, out), j), c),
                     LLVMIntTypeInContext(e->l.ctx, e->g->values[value].bits));
        emit_define_vectors(e, value, made);
    }
}

/* d|p: whether the texels were there. */
static void define_resident(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS];

    if (insn->ptx->dst_count < 2 || insn->val[1] == GRAPH_NONE)
        return;
    for (unsigned c = 0; c < e->chunks; c++)
        made[c] = cast(e, get(e, row(offsetof(struct abi_texture, out), 4), c),
                       e->i1);
    emit_define_vectors(e, insn->val[1], made);
}

static LLVMValueRef shifted(struct emit *e, LLVMValueRef v, unsigned bits,
                            int left)
{
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(v));
    LLVMValueRef by =
        emit_splat(e, emit_const(e, LLVMGetIntTypeWidth(element), bits));

    if (!bits)
        return v;
    return left ? LLVMBuildShl(e->l.b, v, by, "")
                : LLVMBuildLShr(e->l.b, v, by, "");
}

/* Elements of `bits` each, one behind the other in the result words. */
static void define_elements(struct emit *e, const struct graph_insn *insn,
                            unsigned bits)
{
    const size_t out = offsetof(struct abi_texture, out);
    LLVMTypeRef small = LLVMIntTypeInContext(e->l.ctx, bits);

    for (unsigned j = 0; j < elements(&insn->ptx->operands[0]); j++) {
        int value = emit_dst(insn, 0, (int)j);
        const unsigned at = j * bits;
        LLVMValueRef made[EMIT_MAX_CHUNKS];

        if (value == GRAPH_NONE)
            continue;
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef v = get(e, row(out, at / 32), c);

            v = shifted(e, v, at % 32, 0);
            if (bits == 64) {
                LLVMValueRef high = get(e, row(out, at / 32 + 1), c);

                v = LLVMBuildOr(e->l.b, cast(e, v, e->i64),
                                shifted(e, cast(e, high, e->i64), 32, 1), "");
            }
            v = cast(e, v, small);
            made[c] = cast(
                e, v, LLVMIntTypeInContext(e->l.ctx, e->g->values[value].bits));
        }
        emit_define_vectors(e, value, made);
    }
}

/* The other way round: operand k to data[]. */
static void put_elements(struct emit *e, struct access *a, int k, unsigned bits)
{
    const size_t data = offsetof(struct abi_texture, data);
    LLVMTypeRef small = LLVMIntTypeInContext(e->l.ctx, bits);
    const unsigned n = elements(&a->p->operands[k]);

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef word = NULL;

        for (unsigned j = 0; j < n; j++) {
            LLVMValueRef v =
                emit_element_vector(e, a->insn, k, (int)j, c, bits);
            const unsigned at = j * bits;

            v = cast(e, v, small);
            if (bits == 64) {
                put(e, cast(e, v, e->i32), row(data, at / 32), c, 4);
                put(e, cast(e, shifted(e, v, 32, 0), e->i32),
                    row(data, at / 32 + 1), c, 4);
                continue;
            }
            v = shifted(e, cast(e, v, e->i32), at % 32, 1);
            word = at % 32 ? LLVMBuildOr(e->l.b, word, v, "") : v;
            if ((at + bits) % 32 == 0 || j == n - 1)
                put(e, word, row(data, at / 32), c, 4);
        }
    }
}

/* --- instructions --- */

static void call(struct emit *e, const struct access *a)
{
    uint32_t what;

    memcpy(&what, &a->what, sizeof what);
    emit_tell_line(e);
    emit_call_engine(
        e, offsetof(struct abi_block, texture), LLVMVoidTypeInContext(e->l.ctx),
        (LLVMValueRef[]){e->block, e->warp, emit_const(e, 32, what),
                         emit_warp_bits(e, e->mask), area(e)},
        (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->i32, e->ptr}, 5);
}

static void fetch(struct emit *e, struct access *a)
{
    const struct ptx_insn *p = a->p;
    const int coordinates = geometry(a);

    a->what.op = p->op == PTX_OP_TEX ? ABI_TEXTURE_TEX : ABI_TEXTURE_TLD4;
    a->what.integer = p->types[p->type_count - 1] == PTX_S32;
    a->what.half = p->types[0] == PTX_F16X2;
    a->what.component = ptx_has(p, PTX_MOD_G)                           ? 1
                        : ptx_has(p, PTX_MOD_B)                         ? 2
                        : p->op == PTX_OP_TLD4 && ptx_has(p, PTX_MOD_A) ? 3
                                                                        : 0;
    if (!coordinates || elements(&p->operands[0]) > 4) {
        emit_refuse(e, p, NULL); /* of several samples */
        return;
    }
    if (put_object(e, a) ||
        put_rows(e, a, a->object + 1, (unsigned)coordinates) || put_rest(e, a))
        return;
    call(e, a);
    define_words(e, a->insn);
    define_resident(e, a->insn);
}

static void ask(struct emit *e, struct access *a)
{
    const int what = query(a->p);

    if (what < 0) {
        emit_refuse(e, a->p, NULL);
        return;
    }
    a->what.op = a->p->op == PTX_OP_TXQ ? ABI_TEXTURE_TXQ : ABI_TEXTURE_SUQ;
    a->what.what = (unsigned)what & 15;
    if (put_object(e, a))
        return;
    call(e, a);
    define_words(e, a->insn);
}

static unsigned reduction(const struct ptx_insn *p)
{
    const int is_signed = ptx_type_class(p->types[0]) == PTX_CLASS_SINT;

    switch (p->sub) {
    case PTX_SUB_ADD:
        return ABI_TEXTURE_ADD;
    case PTX_SUB_MIN:
        return is_signed ? ABI_TEXTURE_MIN_S : ABI_TEXTURE_MIN_U;
    case PTX_SUB_MAX:
        return is_signed ? ABI_TEXTURE_MAX_S : ABI_TEXTURE_MAX_U;
    case PTX_SUB_AND:
        return ABI_TEXTURE_AND;
    default:
        return ABI_TEXTURE_OR;
    }
}

static void surface(struct emit *e, struct access *a)
{
    const struct ptx_insn *p = a->p;
    const unsigned bits = ptx_type_bits(p->types[0]);
    const int coordinates = geometry(a);
    const int data = p->op == PTX_OP_SULD ? 0 : a->object + 2;
    const unsigned bytes = bits / 8 * elements(&p->operands[data]);
    const int by_sample = ptx_has(p, PTX_MOD_P);

    a->what.op = p->op == PTX_OP_SULD    ? ABI_TEXTURE_SULD
                 : p->op == PTX_OP_SURED ? ABI_TEXTURE_SURED
                 : by_sample             ? ABI_TEXTURE_SUST_P
                                         : ABI_TEXTURE_SUST;
    a->what.samples = p->op == PTX_OP_SURED && by_sample;
    a->what.bounds = ptx_has(p, PTX_MOD_CLAMP)  ? ABI_TEXTURE_CLAMP
                     : ptx_has(p, PTX_MOD_ZERO) ? ABI_TEXTURE_ZERO
                                                : ABI_TEXTURE_TRAP;
    a->what.bytes = bytes & 63;
    a->what.what = p->op == PTX_OP_SURED ? reduction(p) & 15 : 0;
    if (!coordinates || bytes > 16 ||
        (p->op == PTX_OP_SURED && bits != 32 && bits != 64)) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (put_object(e, a) ||
        put_rows(e, a, a->object + 1, (unsigned)coordinates))
        return;
    if (data)
        put_elements(e, a, data, bits);
    call(e, a);
    if (!data)
        define_elements(e, a->insn, bits);
}

void emit_texture(struct emit *e, const struct graph_insn *insn)
{
    struct access a = {
        .insn = insn, .p = insn->ptx, .object = insn->ptx->dst_count};

    switch (insn->ptx->op) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
        fetch(e, &a);
        return;
    case PTX_OP_TXQ:
    case PTX_OP_SUQ:
        ask(e, &a);
        return;
    default:
        surface(e, &a);
        return;
    }
}
