/* SPDX-License-Identifier: MIT
 *
 * KILN_CPU_ISA=avx512|avx2|sse4.2 asks for code for a lesser processor than
 * this one: to make objects that run on more machines, and to test.
 * KILN_DUMP=ir,asm writes what LLVM is given, and the assembly it makes, to
 * standard error.
 */
#include "cpu/jit/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/log.h"
#include "cpu/jit/cut.h"
#include "cpu/jit/masked.h"
#include "cpu/object/object.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void say_fatal(const char *reason)
{
    log_line(LOG_ERROR, "PTX compiler: LLVM gives up: %s", reason);
}

static void start_llvm(void)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInstallFatalErrorHandler(say_fatal);
}

const char *machine_identity(void)
{
    return KILN_CODEGEN;
}

static const struct isa {
    const char *name, *cpu, *features, *required;
    unsigned lanes;
} lesser[] = {
    {"avx512", "skylake-avx512", "",
     "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi2", 16},
    {"avx2", "haswell", "", "avx2,fma,f16c,bmi2", 8},
    {"sse4.2", "nehalem", "", "sse4.2", 4},
};

static int has(const char *feature)
{
    return object_host_has(feature, strlen(feature));
}

static enum kiln_status choose_isa(struct machine *m, struct kiln_error *err)
{
    const char *wanted = env_get("KILN_CPU_ISA");

    for (size_t i = 0; wanted && i < sizeof lesser / sizeof *lesser; i++) {
        if (strcmp(wanted, lesser[i].name))
            continue;
        m->cpu = LLVMCreateMessage(lesser[i].cpu);
        m->features = LLVMCreateMessage(lesser[i].features);
        m->required = lesser[i].required;
        m->target.lanes = lesser[i].lanes;
        m->target.has_avx512 = lesser[i].lanes == 16;
        m->target.has_f16c = lesser[i].lanes >= 8;
        return KILN_OK;
    }
    if (wanted)
        return kiln_fail(err, KILN_E_INVALID,
                         "KILN_CPU_ISA: \"%s\" is not avx512, avx2 or sse4.2",
                         wanted);
    m->cpu = LLVMGetHostCPUName();
    m->features = LLVMGetHostCPUFeatures();
    m->required = object_host_features();
    m->target.has_avx512 =
        has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
    m->target.has_f16c = has("f16c");
    m->target.lanes = m->target.has_avx512        ? 16
                      : has("avx2") && has("fma") ? 8
                                                  : 4;
    return KILN_OK;
}

enum kiln_status machine_open(struct machine *m, unsigned level,
                              struct kiln_error *err)
{
    enum kiln_status st;
    LLVMTargetRef target;
    char *triple, *text = NULL;

    pthread_once(&once, start_llvm);
    st = choose_isa(m, err);
    if (st)
        return st;
    m->target.cpu = m->cpu;
    m->target.features = m->features;
    m->level = level;
    triple = LLVMGetDefaultTargetTriple();
    if (LLVMGetTargetFromTriple(triple, &target, &text)) {
        st =
            kiln_fail(err, KILN_E_JIT_COMPILER, "PTX compiler: LLVM: %s", text);
        LLVMDisposeMessage(text);
    } else {
        m->tm = LLVMCreateTargetMachine(target, triple, m->cpu, m->features,
                                        level ? LLVMCodeGenLevelDefault
                                              : LLVMCodeGenLevelNone,
                                        LLVMRelocPIC, LLVMCodeModelSmall);
        if (!m->tm)
            st = kiln_fail(err, KILN_E_JIT_COMPILER,
                           "PTX compiler: LLVM has no target machine for %s",
                           triple);
    }
    LLVMDisposeMessage(triple);
    if (st)
        machine_close(m);
    return st;
}

void machine_close(struct machine *m)
{
    if (m->tm)
        LLVMDisposeTargetMachine(m->tm);
    if (m->cpu)
        LLVMDisposeMessage(m->cpu);
    if (m->features)
        LLVMDisposeMessage(m->features);
    *m = (struct machine){0};
}

void machine_prepare(const struct machine *m, LLVMModuleRef module)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m->tm);
    char *triple = LLVMGetTargetMachineTriple(m->tm);

    LLVMSetModuleDataLayout(module, layout);
    LLVMSetTarget(module, triple);
    LLVMDisposeMessage(triple);
    LLVMDisposeTargetData(layout);
}

/* Warps were made by hand: no vectoriser, no unroller. What mem2reg leaves
 * of slots is folded before instcombine sees it, which costs the most, and
 * more than linear time where masks are chained. */
static const char *const pipelines[EFFORTS] = {
    [EFFORT_FULL] =
        "function(mem2reg,early-cse<memssa>,simplifycfg,"
        "instcombine<no-verify-fixpoint>,loop-mssa(licm),gvn,instsimplify,"
        "simplifycfg,adce)",
    [EFFORT_LARGE] = ("function(mem2reg,early-cse<memssa>,simplifycfg,"
                      "loop-mssa(licm),instsimplify,simplifycfg,adce)"),
    [EFFORT_HUGE] = "function(mem2reg,early-cse,simplifycfg,adce)",
};

/* Instructions of a block that is not cut. */
static const unsigned longest[EFFORTS] = {
    [EFFORT_FULL] = 512, [EFFORT_LARGE] = 256, [EFFORT_HUGE] = 512};

static int dumps(const char *what)
{
    const char *list = env_get("KILN_DUMP");

    return list && strstr(list, what);
}

static void dump_ir(LLVMModuleRef module, const char *when)
{
    char *text = LLVMPrintModuleToString(module);

    fprintf(stderr, "; --- %s\n%s", when, text);
    LLVMDisposeMessage(text);
}

/* AVX2 has masked loads and stores, no scatter, and gathers that are slower
 * than loads one by one on much of what has it. */
static struct masked_isa masked_of(const struct emit_target *t)
{
    return t->has_avx512   ? (struct masked_isa){8, 32}
           : t->lanes == 8 ? (struct masked_isa){32, 0}
                           : (struct masked_isa){0, 0};
}

static enum kiln_status optimise(struct machine *m, LLVMModuleRef module,
                                 enum effort effort, struct kiln_error *err)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef bad = LLVMRunPasses(
        module, m->level ? pipelines[effort] : "function(mem2reg)", m->tm,
        options);
    enum kiln_status st = KILN_OK;

    if (bad) {
        char *text = LLVMGetErrorMessage(bad);

        st = kiln_fail(err, KILN_E_INTERNAL, "PTX compiler: %s", text);
        LLVMDisposeErrorMessage(text);
    }
    LLVMDisposePassBuilderOptions(options);
    return st;
}

static void dump_asm(struct machine *m, LLVMModuleRef module)
{
    LLVMModuleRef copy = LLVMCloneModule(module);
    LLVMMemoryBufferRef text = NULL;
    char *bad = NULL;

    if (!LLVMTargetMachineEmitToMemoryBuffer(m->tm, copy, LLVMAssemblyFile,
                                             &bad, &text)) {
        fwrite(LLVMGetBufferStart(text), 1, LLVMGetBufferSize(text), stderr);
        LLVMDisposeMemoryBuffer(text);
    }
    LLVMDisposeMessage(bad);
    LLVMDisposeModule(copy);
}

enum kiln_status machine_compile(struct machine *m, LLVMModuleRef module,
                                 enum effort effort, unsigned char **object,
                                 size_t *size, struct kiln_error *err)
{
    LLVMMemoryBufferRef made = NULL;
    const struct masked_isa isa = masked_of(&m->target);
    enum kiln_status st;
    char *text = NULL;

    if (dumps("raw"))
        dump_ir(module, "before optimisation");
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text)) {
        st = kiln_fail(err, KILN_E_INTERNAL, "PTX compiler: invalid IR: %s",
                       text);
        LLVMDisposeMessage(text);
        return st;
    }
    LLVMDisposeMessage(text);
    text = NULL;
    st = optimise(m, module, effort, err);
    if (st)
        return st;
    cut_blocks(module, longest[effort]);
    masked_lower(module, &isa, effort > EFFORT_FULL);
    if (dumps("ir"))
        dump_ir(module, "optimised");
    if (dumps("asm"))
        dump_asm(m, module);
    if (LLVMTargetMachineEmitToMemoryBuffer(m->tm, module, LLVMObjectFile,
                                            &text, &made)) {
        st = kiln_fail(err, KILN_E_INTERNAL, "PTX compiler: LLVM: %s", text);
        LLVMDisposeMessage(text);
        return st;
    }
    *size = LLVMGetBufferSize(made);
    *object = kiln_alloc(*size);
    if (*object)
        memcpy(*object, LLVMGetBufferStart(made), *size);
    else
        st = kiln_fail(err, KILN_E_MEMORY, "out of memory");
    LLVMDisposeMemoryBuffer(made);
    return st;
}
