/* SPDX-License-Identifier: MIT
 *
 * LLVM's C API, versions 19 to 22, in one include. Every `#if` on LLVM's
 * version stands here.
 */
#ifndef KILN_CPU_JIT_LLVM_H
#define KILN_CPU_JIT_LLVM_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#pragma GCC diagnostic pop

#if LLVM_VERSION_MAJOR < 19 || LLVM_VERSION_MAJOR > 22
#error "LLVM 19 to 22"
#endif

/* Masked loads, stores, gathers and scatters name their alignment by an
 * operand behind the pointer, from 22 on by an attribute of it. */
#define LLVM_MASKED_ALIGN_OPERAND (LLVM_VERSION_MAJOR < 22)

#endif
