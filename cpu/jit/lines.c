/* SPDX-License-Identifier: MIT */
#include "cpu/jit/lines.h"

#include <string.h>

static void add_flag(LLVMContextRef ctx, LLVMModuleRef module, const char *name,
                     unsigned value)
{
    LLVMValueRef v =
        LLVMConstInt(LLVMInt32TypeInContext(ctx), value, /* signed */ 0);

    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(v));
}

void lines_open(struct lines *l, LLVMContextRef ctx, LLVMModuleRef module)
{
    static const char name[] = "ptx", producer[] = "kiln";

    add_flag(ctx, module, "Debug Info Version", LLVMDebugMetadataVersion());
    /* the last whose line table has no references to other sections */
    add_flag(ctx, module, "Dwarf Version", 4);
    l->builder = LLVMCreateDIBuilder(module);
    l->file = LLVMDIBuilderCreateFile(l->builder, name, sizeof name - 1, "", 0);
    LLVMDIBuilderCreateCompileUnit(
        l->builder, LLVMDWARFSourceLanguageC99, l->file, producer,
        sizeof producer - 1, 1, "", 0, 0, "", 0,
        LLVMDWARFEmissionLineTablesOnly, 0, 0, 0, "", 0, "", 0);
}

void lines_close(struct lines *l)
{
    LLVMDIBuilderFinalize(l->builder);
    LLVMDisposeDIBuilder(l->builder);
    l->builder = NULL;
}

LLVMMetadataRef lines_function(struct lines *l, LLVMValueRef fn,
                               const char *name)
{
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(
        l->builder, l->file, NULL, 0, LLVMDIFlagZero);
    LLVMMetadataRef scope = LLVMDIBuilderCreateFunction(
        l->builder, l->file, name, strlen(name), "", 0, l->file, 1, type, 0, 1,
        1, LLVMDIFlagZero, 1);

    LLVMSetSubprogram(fn, scope);
    return scope;
}

void lines_at(LLVMBuilderRef b, LLVMContextRef ctx, LLVMMetadataRef scope,
              unsigned line)
{
    LLVMSetCurrentDebugLocation2(
        b, scope ? LLVMDIBuilderCreateDebugLocation(ctx, line, 0, scope, NULL)
                 : NULL);
}
