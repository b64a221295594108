/* SPDX-License-Identifier: MIT
 *
 * The function of one kernel variant: a loop over warps around the kernel's
 * blocks (emit_control.c), and the small tools that all of emit_*.c use.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/align.h"
#include "cpu/jit/emit_wait.h"
#include "cpu/jit/lines.h"

void emit_refuse(struct emit *e, const struct ptx_insn *insn, const char *why)
{
    if (e->status)
        return;
    e->status =
        kiln_fail(e->err, KILN_E_NOT_SUPPORTED,
                  "line %u: %s: the CPU device does not run this instruction"
                  "%s%s",
                  insn->line, insn->text, why ? ": " : "", why ? why : "");
}

LLVMBasicBlockRef emit_new_bb(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->l.ctx, e->fn, name);
}

LLVMValueRef emit_field(struct emit *e, LLVMValueRef base, unsigned offset,
                        LLVMTypeRef type)
{
    LLVMValueRef at = emit_const(e, 64, offset);
    LLVMValueRef p = LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "");

    return LLVMBuildLoad2(e->l.b, type, p, "");
}

void emit_set_field(struct emit *e, unsigned offset, LLVMValueRef v)
{
    LLVMValueRef at = emit_const(e, 64, offset);

    LLVMBuildStore(e->l.b, v,
                   LLVMBuildGEP2(e->l.b, e->i8, e->block, &at, 1, ""));
}

void emit_keep_order(struct emit *e)
{
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(e->l.ctx), NULL, 0, 0);
    char text[] = "", clobbers[] = "~{memory}";

    LLVMBuildCall2(e->l.b, type,
                   LLVMGetInlineAsm(type, text, 0, clobbers,
                                    sizeof clobbers - 1, 1, 0,
                                    LLVMInlineAsmDialectATT, 0),
                   NULL, 0, "");
}

void emit_tell_line(struct emit *e)
{
    emit_set_field(e, offsetof(struct abi_block, line),
                   emit_const(e, 32, e->line));
}

void emit_note_line(struct emit *e)
{
    if (e->scope) /* else the kernel's own code has none either */
        emit_tell_line(e);
}

LLVMValueRef emit_call_engine(struct emit *e, unsigned offset,
                              LLVMTypeRef result, LLVMValueRef *args,
                              LLVMTypeRef *types, unsigned n)
{
    LLVMTypeRef type = LLVMFunctionType(result, types, n, 0);
    LLVMValueRef to = emit_field(e, e->block, offset, e->ptr);

    return LLVMBuildCall2(e->l.b, type, to, args, n, "");
}

LLVMValueRef emit_helper(struct emit *e, const char *name, LLVMTypeRef type,
                         int *fresh)
{
    LLVMValueRef fn = LLVMGetNamedFunction(e->l.module, name);

    *fresh = !fn;
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->l.module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    return fn;
}

/* Lanes of one chunk as the low bits of an i32. */
LLVMValueRef emit_mask_bits(struct emit *e, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->l.ctx, e->lanes);
    LLVMValueRef v = LLVMBuildBitCast(e->l.b, mask, bits, "");

    return LLVMBuildZExt(e->l.b, v, e->i32, "");
}

/* All lanes of a warp as one i32. */
LLVMValueRef emit_warp_bits(struct emit *e, LLVMValueRef const *masks)
{
    LLVMValueRef all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = emit_mask_bits(e, masks[c]);

        v = LLVMBuildShl(e->l.b, v, emit_const(e, 32, c * e->lanes), "");
        all = all ? LLVMBuildOr(e->l.b, all, v, "") : v;
    }
    return all;
}

LLVMValueRef emit_mask_any(struct emit *e, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->l.ctx, e->lanes);
    LLVMValueRef v = LLVMBuildBitCast(e->l.b, mask, bits, "");

    return LLVMBuildICmp(e->l.b, LLVMIntNE, v, LLVMConstNull(bits), "");
}

LLVMValueRef emit_among(struct emit *e, unsigned c, LLVMValueRef p)
{
    return LLVMBuildSelect(e->l.b, e->mask[c], p, LLVMConstNull(e->mask_type),
                           "");
}

LLVMValueRef emit_any(struct emit *e, unsigned c)
{
    if (!e->any[c])
        e->any[c] = emit_mask_any(e, e->mask[c]);
    return e->any[c];
}

static void load_context(struct emit *e)
{
    unsigned d;

    e->launch = emit_field(e, e->block, 0, e->ptr);
    e->params = emit_field(e, e->launch, 0, e->ptr);
    e->data = emit_field(e, e->launch, 8, e->ptr);
    for (d = 0; d < 3; d++) {
        e->tid[d] = emit_field(e, e->launch, 16 + 8 * d, e->ptr);
        e->nctaid[d] = emit_field(e, e->launch, 40 + 4 * d, e->i32);
        e->ntid[d] = emit_field(e, e->launch, 52 + 4 * d, e->i32);
        e->ctaid[d] = emit_field(e, e->block, 8 + 4 * d, e->i32);
    }
    e->threads = emit_field(e, e->launch, 64, e->i32);
    e->shared = emit_field(e, e->block, 24, e->ptr);
    e->local = emit_field(e, e->block, 32, e->ptr);
    e->local_stride = emit_field(e, e->block, 40, e->i64);
}

void emit_forget(struct emit *e)
{
    struct graph *g = e->g;

    for (int i = 0; i < g->order_count; i++)
        for (unsigned c = 0; g->blocks[g->order[i]].pending && c < e->chunks;
             c++)
            LLVMBuildStore(e->l.b, LLVMConstNull(e->mask_type),
                           e->mask_slot[g->order[i]].at[c]);
    /* A value that is set anew for each warp makes mem2reg look at all blocks
     * once for each slot. What is carried on in vain costs less then. */
    if (e->large)
        return;
    for (int i = 0; i < g->block_count; i++)
        emit_poison(e, &e->alike_slot[i]);
    for (int i = 0; i < g->value_count; i++) {
        emit_poison(e, &e->slot[i]);
        emit_poison(e, &e->exit_slot[i]);
        emit_poison(e, &e->phi_slot[i]);
    }
}

/* The lanes of chunk c that exist. */
static LLVMValueRef existing(struct emit *e, unsigned c)
{
    LLVMValueRef first, t;

    if (e->g->rows) /* whole warps: OBJECT_SHAPE_ROWS */
        return LLVMConstAllOnes(e->mask_type);
    first =
        LLVMBuildAdd(e->l.b, e->zero_warp, emit_const(e, 32, c * e->lanes), "");
    t = LLVMBuildAdd(e->l.b, emit_splat(e, first), e->iota32, "");
    return LLVMBuildICmp(e->l.b, LLVMIntULT, t, emit_splat(e, e->threads), "");
}

/* The block's first warp, before any other: reserved shared memory. */
static void clear_reserved(struct emit *e)
{
    LLVMBasicBlockRef clear = emit_new_bb(e, "clear");
    LLVMBasicBlockRef cleared = emit_new_bb(e, "cleared");
    LLVMTypeRef piece = LLVMVectorType(e->i8, 64);

    LLVMBuildCondBr(
        e->l.b,
        LLVMBuildICmp(e->l.b, LLVMIntEQ, e->warp, emit_const(e, 32, 0), ""),
        clear, cleared);
    LLVMPositionBuilderAtEnd(e->l.b, clear);
    for (uint32_t at = 0; at < e->layout->reserved_size; at += 64) {
        LLVMValueRef to = emit_const(e, 64, e->layout->reserved + at);

        to = LLVMBuildGEP2(e->l.b, e->i8, e->shared, &to, 1, "");
        LLVMSetAlignment(LLVMBuildStore(e->l.b, LLVMConstNull(piece), to), 16);
    }
    LLVMBuildBr(e->l.b, cleared);
    LLVMPositionBuilderAtEnd(e->l.b, cleared);
}

static void start_warp(struct emit *e)
{
    int entry = e->g->order[0];
    LLVMValueRef mask[EMIT_MAX_CHUNKS];

    e->zero_warp = LLVMBuildShl(e->l.b, e->warp, emit_const(e, 32, 5), "first");
    /* Once for a fresh warp and for all that come back. */
    emit_forget(e);
    for (unsigned c = 0; c < e->chunks; c++) {
        mask[c] = existing(e, c);
        if (e->alike_slot[entry].count)
            LLVMBuildStore(e->l.b, mask[c], e->alike_slot[entry].at[c]);
    }
    if (e->resume) {
        LLVMBasicBlockRef fresh = emit_new_bb(e, "fresh");

        wait_start_warp(e, fresh);
        LLVMPositionBuilderAtEnd(e->l.b, fresh);
    }
    if (e->layout->reserved_size)
        clear_reserved(e);
    for (unsigned c = 0; c < e->chunks; c++)
        LLVMBuildStore(e->l.b, mask[c], e->mask_slot[entry].at[c]);
    LLVMBuildBr(e->l.b, e->body[entry]);
}

static void set_types(struct emit *e, LLVMContextRef ctx)
{
    LLVMValueRef all[64];

    e->i1 = LLVMInt1TypeInContext(ctx);
    e->i8 = LLVMInt8TypeInContext(ctx);
    e->i16 = LLVMInt16TypeInContext(ctx);
    e->i32 = LLVMInt32TypeInContext(ctx);
    e->i64 = LLVMInt64TypeInContext(ctx);
    e->ptr = LLVMPointerTypeInContext(ctx, 0);
    e->lanes = e->target->lanes;
    e->chunks = ABI_WARP / e->lanes;
    e->mask_type = emit_vec(e, e->i1);
    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = LLVMConstInt(e->i32, i, 0);
    e->iota32 = LLVMConstVector(all, e->lanes);
}

static void add_attribute(LLVMContextRef ctx, LLVMValueRef fn, const char *name,
                          const char *value)
{
    LLVMAddAttributeAtIndex(
        fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ctx, name, (unsigned)strlen(name), value,
                                  (unsigned)strlen(value)));
}

static void set_attributes(struct emit *e, LLVMContextRef ctx, int flush)
{
    /* Address 0 faults like any other that is not allocated. Without saying
     * so LLVM takes code that reaches it for unreachable and drops it. */
    static const char *const enums[] = {"nounwind", "null_pointer_is_valid"};

    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++) {
        const unsigned kind =
            LLVMGetEnumAttributeKindForName(enums[i], strlen(enums[i]));

        LLVMAddAttributeAtIndex(e->fn,
                                (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(ctx, kind, 0));
    }
    add_attribute(ctx, e->fn, "target-cpu", e->target->cpu);
    add_attribute(ctx, e->fn, "target-features", e->target->features);
    add_attribute(ctx, e->fn, "no-builtins", "true");
    if (e->target->has_avx512) {
        add_attribute(ctx, e->fn, "prefer-vector-width", "512");
        add_attribute(ctx, e->fn, "min-legal-vector-width", "512");
    }
    if (flush)
        add_attribute(ctx, e->fn, "denormal-fp-math-f32",
                      "preserve-sign,preserve-sign");
}

/* The next of block->ready, out of which it is taken. */
static void claim_warp(struct emit *e, LLVMBasicBlockRef none)
{
    LLVMValueRef ready =
        emit_field(e, e->block, offsetof(struct abi_block, ready), e->i32);
    LLVMBasicBlockRef some = emit_new_bb(e, "claim");
    LLVMTypeRef types[] = {e->i32};
    LLVMValueRef rest, args[] = {ready, LLVMConstInt(e->i1, 1, 0)};

    LLVMBuildCondBr(
        e->l.b,
        LLVMBuildICmp(e->l.b, LLVMIntNE, ready, emit_const(e, 32, 0), ""), some,
        none);
    LLVMPositionBuilderAtEnd(e->l.b, some);
    e->warp = lower_intrinsic(&e->l, "llvm.cttz", types, 1, args, 2);
    rest = LLVMBuildSub(e->l.b, ready, emit_const(e, 32, 1), "");
    emit_set_field(e, offsetof(struct abi_block, ready),
                   LLVMBuildAnd(e->l.b, ready, rest, ""));
}

static void emit_body(struct emit *e, LLVMBasicBlockRef entry)
{
    LLVMBasicBlockRef warp_bb = emit_new_bb(e, "warp");
    LLVMBasicBlockRef exit_bb = emit_new_bb(e, "exit");
    LLVMValueRef first = LLVMGetParam(e->fn, 1), end = LLVMGetParam(e->fn, 2);
    LLVMValueRef next, more;

    e->ended = emit_new_bb(e, "ended");
    e->done = emit_new_bb(e, "done");
    LLVMPositionBuilderAtEnd(e->l.b, warp_bb);
    if (e->claims)
        claim_warp(e, exit_bb);
    else
        e->warp = LLVMBuildPhi(e->l.b, e->i32, "w");
    emit_set_field(e, offsetof(struct abi_block, warp), e->warp);
    start_warp(e);
    for (int i = 0; i < e->g->order_count && !e->status; i++)
        emit_block(e, e->g->order[i]);
    if (e->status)
        return;
    wait_end_warp(e);
    LLVMPositionBuilderAtEnd(e->l.b, e->done);
    if (e->claims) {
        LLVMBuildBr(e->l.b, warp_bb);
        goto out;
    }
    next = LLVMBuildAdd(e->l.b, e->warp, emit_const(e, 32, 1), "");
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, next, end, "");
    LLVMBuildCondBr(e->l.b, more, warp_bb, exit_bb);
    LLVMAddIncoming(e->warp, (LLVMValueRef[]){first, next},
                    (LLVMBasicBlockRef[]){entry, e->done}, 2);
out:
    LLVMPositionBuilderAtEnd(e->l.b, exit_bb);
    LLVMBuildRetVoid(e->l.b);
    LLVMPositionBuilderAtEnd(e->l.b, entry);
    LLVMBuildBr(e->l.b, warp_bb);
}

/* LLVM follows variables for debuggers, of which there are none, through all
 * loops over and over wherever a function has lines at all. */
static int is_deep(const struct graph *g)
{
    enum { DEEP = 16 };

    for (int i = 0; i < g->loop_count; i++) {
        int depth = 0;

        for (int l = i; l >= 0 && depth <= DEEP; l = g->loops[l].parent)
            depth++;
        if (depth > DEEP)
            return 1;
    }
    return 0;
}

enum kiln_status emit_kernel(LLVMContextRef ctx, LLVMModuleRef module,
                             const struct emit_target *target,
                             const struct layout_kernel *layout,
                             struct graph *g, const char *symbol, int flush,
                             enum effort effort, uint32_t *frame_bytes,
                             struct kiln_error *err)
{
    struct emit e = {.target = target,
                     .layout = layout,
                     .g = g,
                     .large = effort > EFFORT_FULL,
                     .err = err};
    LLVMTypeRef args[3];
    LLVMBasicBlockRef slots, entry;
    enum kiln_status st;

    e.l.ctx = ctx;
    e.l.module = module;
    e.l.flush = flush;
    e.l.has_avx512 = target->has_avx512;
    e.l.has_f16c = target->has_f16c;
    set_types(&e, ctx);
    args[0] = e.ptr;
    args[1] = args[2] = e.i32;
    e.fn = LLVMAddFunction(
        module, symbol,
        LLVMFunctionType(LLVMVoidTypeInContext(ctx), args, 3, 0));
    set_attributes(&e, ctx, flush);
    if (target->lines && !is_deep(g))
        e.scope = lines_function(target->lines, e.fn, g->func->name);
    e.block = LLVMGetParam(e.fn, 0);
    e.l.b = LLVMCreateBuilderInContext(ctx);
    e.top = LLVMCreateBuilderInContext(ctx);
    slots = emit_new_bb(&e, "slots");
    entry = emit_new_bb(&e, "entry");
    LLVMPositionBuilderAtEnd(e.top, slots);
    LLVMPositionBuilderAtEnd(e.l.b, entry);
    load_context(&e);
    e.barrier_result = LLVMBuildAlloca(e.top, e.i32, "");
    st = align_find(g, layout, err);
    if (!st)
        st = emit_make_places(&e);
    if (!st)
        st = wait_plan(&e);
    e.claims = g->has_yield && (e.resume || !g->has_barrier);
    if (!st) {
        emit_body(&e, entry);
        LLVMBuildBr(e.top, entry);
        st = e.status;
        if (g->has_barrier && !e.resume)
            *frame_bytes = UINT32_MAX;
        else if (e.frame_bytes > *frame_bytes)
            *frame_bytes = e.frame_bytes;
    }
    LLVMDisposeBuilder(e.l.b);
    LLVMDisposeBuilder(e.top);
    return st;
}
