/* SPDX-License-Identifier: MIT
 *
 * See jit.h.
 */
#include "jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/jit/lower.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <llvm-c/LLJIT.h>
#pragma GCC diagnostic pop

struct jit {
    struct lower l;
    int avx512;
    LLVMTargetMachineRef machine;
    LLVMOrcLLJITRef lljit;
};

int jit_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static void fatal(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

static LLVMTargetMachineRef host_machine(void)
{
    static int started;
    if (!started) {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        started = 1;
    }
    char *triple = LLVMGetDefaultTargetTriple(), *why = NULL;
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    LLVMTargetRef target;
    if (LLVMGetTargetFromTriple(triple, &target, &why))
        fatal(triple, why);
    LLVMTargetMachineRef m = LLVMCreateTargetMachine(
        target, triple, cpu, features, LLVMCodeGenLevelLess, LLVMRelocPIC,
        LLVMCodeModelDefault);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return m;
}

struct jit *jit_open(unsigned lanes, int flush, int level)
{
    struct jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return NULL;
    jit->machine = host_machine();
    jit->avx512 = level > 1;
    jit->l.ctx = LLVMContextCreate();
    jit->l.module = LLVMModuleCreateWithNameInContext("forms", jit->l.ctx);
    jit->l.b = LLVMCreateBuilderInContext(jit->l.ctx);
    jit->l.lanes = lanes;
    jit->l.flush = flush;
    jit->l.has_avx512 = level > 1;
    jit->l.has_f16c = level > 0;
    char *triple = LLVMGetTargetMachineTriple(jit->machine);
    LLVMSetTarget(jit->l.module, triple);
    LLVMDisposeMessage(triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(jit->machine);
    LLVMSetModuleDataLayout(jit->l.module, layout);
    LLVMDisposeTargetData(layout);
    return jit;
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
}

/* "add.s32 r, r, r" -> "add.s32 %r0, %r1, %r2;" in a kernel. */
static void write_module(const struct form *form, struct buffer *out)
{
    const char *at = strchr(form->text, ' ');
    unsigned n = 0;
    buffer_text(out,
                ".version 9.0\n.target sm_121a\n.address_size 64\n"
                ".visible .entry k()\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n"
                ".reg .b8 %q<9>;\n"
                ".reg .b32 %r<9>;\n.reg .b64 %d<9>;\n");
    buffer_add(out, form->text, (size_t)(at - form->text));
    for (; *at; at++) {
        if (strchr("qhrdp", *at) && !is_word(at[-1]) &&
            (at[1] == '.' || !is_word(at[1])))
            buffer_printf(out, "%%%c%u", *at, n++);
        else
            buffer_add(out, at, 1);
    }
    buffer_text(out, ";\nret;\n}\n");
}

/* An immediate has the width of the instruction's last type; shift amounts,
 * selectors and tables have 32 bits. */
static LLVMValueRef immediate(struct jit *jit, const struct ptx_insn *insn,
                              const struct ptx_operand *o, unsigned i)
{
    unsigned bits = ptx_type_bits(insn->types[insn->type_count - 1]);
    int amount = insn->op == PTX_OP_SHL || insn->op == PTX_OP_SHR ||
                 insn->op == PTX_OP_BFE || insn->op == PTX_OP_BFI;
    if (amount && i > 0)
        bits = 32;
    if (o->kind == PTX_OPERAND_FLOAT)
        return lower_int(&jit->l, bits, o->fbits);
    return lower_int(&jit->l, bits, (uint64_t)o->ival);
}

static LLVMValueRef slot(struct jit *jit, LLVMValueRef base, unsigned n)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(jit->l.ctx);
    unsigned lanes = jit->l.lanes ? jit->l.lanes : 1;
    LLVMValueRef index = LLVMConstInt(i64, n * lanes, 0);
    return LLVMBuildGEP2(jit->l.b, i64, base, &index, 1, "");
}

static LLVMValueRef load(struct jit *jit, LLVMValueRef base, unsigned n,
                         unsigned bits)
{
    LLVMValueRef v = LLVMBuildLoad2(jit->l.b, lower_int_type(&jit->l, 64),
                                    slot(jit, base, n), "");
    LLVMSetAlignment(v, 8);
    if (bits == 64)
        return v;
    return LLVMBuildTrunc(jit->l.b, v, lower_int_type(&jit->l, bits), "");
}

static void store(struct jit *jit, LLVMValueRef base, unsigned n,
                  LLVMValueRef v, unsigned bits)
{
    LLVMTypeRef type = lower_int_type(&jit->l, 64);
    if (LLVMTypeOf(v) != lower_int_type(&jit->l, bits))
        fatal("a result", "not of the width asked for");
    if (bits < 64)
        v = LLVMBuildZExt(jit->l.b, v, type, "");
    LLVMSetAlignment(LLVMBuildStore(jit->l.b, v, slot(jit, base, n)), 8);
}

static enum kiln_status lower_form(struct jit *jit, const struct form *form,
                                   const struct ptx_func *f, LLVMValueRef fn,
                                   struct jit_form *made,
                                   struct kiln_error *err)
{
    const struct ptx_insn *insn = &f->insns[0];
    LLVMValueRef in = LLVMGetParam(fn, 0), out = LLVMGetParam(fn, 1);
    LLVMValueRef src[PTX_MAX_OPERANDS], dst[2] = {NULL, NULL};
    unsigned dst_bits[2] = {0, 0}, n = 0, count = 0;
    for (unsigned i = 0; i < insn->operand_count; i++) {
        const struct ptx_operand *o = &insn->operands[i];
        unsigned bits = o->kind == PTX_OPERAND_REG
                            ? ptx_type_bits(f->regs[o->reg].type)
                            : 0;
        if (i < insn->dst_count)
            dst_bits[i] = bits;
        else if (o->kind == PTX_OPERAND_VECTOR)
            for (unsigned j = 0; j < o->count; j++)
                src[count++] = load(
                    jit, in, n++, ptx_type_bits(f->regs[o->elems[j].reg].type));
        else if (bits)
            src[count++] = load(jit, in, n++, bits);
        else
            src[count++] = immediate(jit, insn, o, i - insn->dst_count);
    }
    jit->l.carry = NULL;
    if (strchr(form->kinds, 'c'))
        jit->l.carry = load(jit, in, n, 1);
    enum kiln_status st = lower_insn(&jit->l, insn, src, dst_bits, dst, err);
    if (st)
        return st;
    for (unsigned i = 0; i < 2; i++) {
        made->dst_bits[i] = dst_bits[i];
        if (dst_bits[i])
            store(jit, out, i, dst[i], dst_bits[i]);
    }
    if (ptx_has(insn, PTX_MOD_CC)) {
        made->dst_bits[2] = 1;
        store(jit, out, 2, jit->l.carry, 1);
    }
    return KILN_OK;
}

static void add_attribute(struct jit *jit, LLVMValueRef fn, const char *name,
                          const char *value)
{
    LLVMAttributeRef a =
        LLVMCreateStringAttribute(jit->l.ctx, name, (unsigned)strlen(name),
                                  value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            a);
}

static LLVMValueRef new_function(struct jit *jit, unsigned index)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(jit->l.ctx, 0);
    LLVMTypeRef params[2] = {ptr, ptr};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(jit->l.ctx), params, 2, 0);
    char name[32];
    snprintf(name, sizeof name, "form%u", index);
    LLVMValueRef fn = LLVMAddFunction(jit->l.module, name, type);
    LLVMPositionBuilderAtEnd(
        jit->l.b, LLVMAppendBasicBlockInContext(jit->l.ctx, fn, "entry"));
    add_attribute(jit, fn, "prefer-vector-width", "512");
    add_attribute(jit, fn, "no-builtins", "true");
    if (jit->l.flush)
        add_attribute(jit, fn, "denormal-fp-math-f32",
                      "preserve-sign,preserve-sign");
    return fn;
}

int jit_add(struct jit *jit, const struct form *form, unsigned index,
            struct jit_form *made)
{
    struct buffer text = {0}, log = {0};
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct ptx_module *m = NULL;
    int failed = 1;
    write_module(form, &text);
    enum kiln_status st =
        ptx_parse((const char *)text.bytes, text.size, &arena, &m, &log, &err);
    if (st) {
        fprintf(stderr, "%s: %s\n", form->text, err.text);
        goto out;
    }
    const struct ptx_func *f = m->funcs[0];
    if (!lower_knows(&f->insns[0])) {
        fprintf(stderr, "%s: not known\n", form->text);
        goto out;
    }
    LLVMValueRef fn = new_function(jit, index);
    st = lower_form(jit, form, f, fn, made, &err);
    LLVMBuildRetVoid(jit->l.b);
    made->ready = !st;
    failed = st && (st != KILN_E_NOT_SUPPORTED || jit->avx512);
    if (failed)
        fprintf(stderr, "%s: %s\n", form->text, err.text);
out:
    buffer_fini(&text);
    buffer_fini(&log);
    arena_fini(&arena);
    return failed;
}

void jit_link(struct jit *jit, int optimise)
{
    char *why = NULL;
    if (LLVMVerifyModule(jit->l.module, LLVMReturnStatusAction, &why))
        fatal("verifier", why);
    LLVMDisposeMessage(why);
    if (optimise) {
        LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
        LLVMErrorRef e = LLVMRunPasses(
            jit->l.module,
            "function(instcombine<no-verify-fixpoint>,early-cse,gvn,dce)",
            jit->machine, options);
        if (e)
            fatal("passes", LLVMGetErrorMessage(e));
        LLVMDisposePassBuilderOptions(options);
    }
    if (getenv("KILN_TEST_DUMP"))
        LLVMDumpModule(jit->l.module);
    LLVMMemoryBufferRef object;
    if (LLVMTargetMachineEmitToMemoryBuffer(jit->machine, jit->l.module,
                                            LLVMObjectFile, &why, &object))
        fatal("code generator", why);
    const char *save = getenv("KILN_TEST_OBJECT");
    if (save) {
        FILE *f = fopen(save, "wb");
        if (f) {
            fwrite(LLVMGetBufferStart(object), 1, LLVMGetBufferSize(object), f);
            fclose(f);
        }
    }
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&jit->lljit, NULL);
    if (!e)
        e = LLVMOrcLLJITAddObjectFile(
            jit->lljit, LLVMOrcLLJITGetMainJITDylib(jit->lljit), object);
    if (e)
        fatal("linker", LLVMGetErrorMessage(e));
}

void *jit_find(struct jit *jit, unsigned index)
{
    char name[32];
    LLVMOrcExecutorAddress at;
    snprintf(name, sizeof name, "form%u", index);
    LLVMErrorRef e = LLVMOrcLLJITLookup(jit->lljit, &at, name);
    if (e)
        fatal("linker", LLVMGetErrorMessage(e));
    return (void *)(uintptr_t)at;
}

void jit_close(struct jit *jit)
{
    LLVMErrorRef e = LLVMOrcDisposeLLJIT(jit->lljit);
    if (e)
        LLVMConsumeError(e);
    LLVMDisposeBuilder(jit->l.b);
    LLVMDisposeModule(jit->l.module);
    LLVMContextDispose(jit->l.ctx);
    LLVMDisposeTargetMachine(jit->machine);
    free(jit);
}
