/* SPDX-License-Identifier: MIT
 *
 * Types, constants and intrinsic calls for values that are scalars or vectors
 * alike.
 */
#include "cpu/jit/lower_impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_LANES = 128 };

unsigned lower_shape(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type)
                                                       : 0;
}

LLVMTypeRef lower_type(LLVMTypeRef element, unsigned shape)
{
    return shape ? LLVMVectorType(element, shape) : element;
}

LLVMTypeRef lower_element(LLVMTypeRef type)
{
    return lower_shape(type) ? LLVMGetElementType(type) : type;
}

unsigned lower_bits(LLVMTypeRef type)
{
    LLVMTypeRef e = lower_element(type);
    switch (LLVMGetTypeKind(e)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default:
        return LLVMGetIntTypeWidth(e);
    }
}

LLVMTypeRef lower_int_type(const struct lower *l, unsigned bits)
{
    return lower_type(LLVMIntTypeInContext(l->ctx, bits), l->lanes);
}

LLVMTypeRef lower_int_like(const struct lower *l, LLVMValueRef like,
                           unsigned bits)
{
    return lower_type(LLVMIntTypeInContext(l->ctx, bits),
                      lower_shape(LLVMTypeOf(like)));
}

LLVMTypeRef lower_float_like(const struct lower *l, LLVMValueRef like,
                             unsigned bits)
{
    LLVMTypeRef e = bits == 16   ? LLVMHalfTypeInContext(l->ctx)
                    : bits == 32 ? LLVMFloatTypeInContext(l->ctx)
                                 : LLVMDoubleTypeInContext(l->ctx);
    return lower_type(e, lower_shape(LLVMTypeOf(like)));
}

static LLVMValueRef splat(LLVMValueRef v, unsigned shape)
{
    LLVMValueRef lanes[MAX_LANES];
    if (!shape)
        return v;
    assert(shape <= MAX_LANES);
    for (unsigned i = 0; i < shape; i++)
        lanes[i] = v;
    return LLVMConstVector(lanes, shape);
}

LLVMValueRef lower_const(LLVMTypeRef type, uint64_t value)
{
    LLVMTypeRef e = lower_element(type);
    unsigned bits = LLVMGetIntTypeWidth(e);
    if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    return splat(LLVMConstInt(e, value, 0), lower_shape(type));
}

LLVMValueRef lower_real(LLVMTypeRef type, double value)
{
    return splat(LLVMConstReal(lower_element(type), value), lower_shape(type));
}

LLVMValueRef lower_int(const struct lower *l, unsigned bits, uint64_t value)
{
    return lower_const(lower_int_type(l, bits), value);
}

int lower_constant(LLVMValueRef v, uint64_t *out)
{
    unsigned shape = lower_shape(LLVMTypeOf(v));
    if (!LLVMIsConstant(v))
        return 0;
    if (!shape) {
        if (!LLVMIsAConstantInt(v))
            return 0;
        *out = LLVMConstIntGetZExtValue(v);
        return 1;
    }
    LLVMValueRef first = LLVMGetAggregateElement(v, 0);
    if (!first || !LLVMIsAConstantInt(first))
        return 0;
    for (unsigned i = 1; i < shape; i++)
        if (LLVMGetAggregateElement(v, i) != first)
            return 0;
    *out = LLVMConstIntGetZExtValue(first);
    return 1;
}

LLVMValueRef lower_width(struct lower *l, LLVMValueRef v, unsigned bits,
                         int is_signed)
{
    unsigned have = lower_bits(LLVMTypeOf(v));
    if (have == bits)
        return v;
    LLVMTypeRef type = lower_int_like(l, v, bits);
    if (have > bits)
        return LLVMBuildTrunc(l->b, v, type, "");
    return is_signed ? LLVMBuildSExt(l->b, v, type, "")
                     : LLVMBuildZExt(l->b, v, type, "");
}

LLVMValueRef lower_as_int(struct lower *l, LLVMValueRef v)
{
    return cast_(l, v, lower_int_like(l, v, lower_bits(LLVMTypeOf(v))));
}

LLVMValueRef lower_intrinsic(struct lower *l, const char *name,
                             LLVMTypeRef *types, unsigned type_count,
                             LLVMValueRef *args, unsigned arg_count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    assert(id);
    LLVMValueRef f =
        LLVMGetIntrinsicDeclaration(l->module, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(l->ctx, id, types, type_count);
    return LLVMBuildCall2(l->b, type, f, args, arg_count, "");
}

LLVMValueRef lower_call1(struct lower *l, const char *name, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return lower_intrinsic(l, name, &type, 1, &a, 1);
}

LLVMValueRef lower_call2(struct lower *l, const char *name, LLVMValueRef a,
                         LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[2] = {a, b};
    return lower_intrinsic(l, name, &type, 1, args, 2);
}

LLVMValueRef lower_call3(struct lower *l, const char *name, LLVMValueRef a,
                         LLVMValueRef b, LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[3] = {a, b, c};
    return lower_intrinsic(l, name, &type, 1, args, 3);
}

LLVMValueRef lower_source(struct lower_op *o, unsigned i, unsigned bits)
{
    assert(i < o->src_count);
    return lower_width(o->l, o->src[i], bits, 0);
}
