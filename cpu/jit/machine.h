/* SPDX-License-Identifier: MIT
 *
 * The host processor for LLVM, and the pipeline from a module to an object.
 */
#ifndef KILN_CPU_JIT_MACHINE_H
#define KILN_CPU_JIT_MACHINE_H

#include "base/status.h"
#include "cpu/jit/effort.h"
#include "cpu/jit/emit.h"
#include "cpu/jit/llvm.h"

struct machine {
    struct emit_target target;
    LLVMTargetMachineRef tm;
    char *cpu, *features; /* owned */
    const char *required; /* what code may use, for the object's info */
    unsigned level;
};

enum kiln_status machine_open(struct machine *m, unsigned level,
                              struct kiln_error *err);
void machine_close(struct machine *m);
void machine_prepare(const struct machine *m, LLVMModuleRef module);
/* Verify, optimise, emit. *object is from kiln_alloc. */
enum kiln_status machine_compile(struct machine *m, LLVMModuleRef module,
                                 enum effort effort, unsigned char **object,
                                 size_t *size, struct kiln_error *err);
const char *machine_identity(void); /* "LLVM 22.1.8" */

#endif
