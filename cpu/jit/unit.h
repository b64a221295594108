/* SPDX-License-Identifier: MIT
 *
 * A part of a module that is compiled by itself, in an LLVM context of its
 * own: some variants of kernels, to a relocatable object.
 */
#ifndef KILN_CPU_JIT_UNIT_H
#define KILN_CPU_JIT_UNIT_H

#include "cpu/jit/effort.h"
#include "cpu/jit/layout.h"
#include "cpu/jit/machine.h"

struct unit_variant {
    const struct layout_kernel *layout;
    const char *symbol;
    int rows; /* OBJECT_SHAPE_ROWS, else OBJECT_SHAPE_ANY */
    int flush;
    enum effort effort;
    /* Made: */
    int has_barrier, has_yield;
    uint32_t frame_bytes; /* as emit_kernel has it */
    uint8_t skipped;      /* a variant that can be done without was, for time */
};

struct unit {
    struct unit_variant *variants; /* neighbours in the caller's array */
    size_t count;
    unsigned char *object; /* from kiln_alloc; NULL: all were skipped */
    size_t size;
    enum kiln_status status;
    struct kiln_error err;
};

/* What all units of a module share, read only. */
struct unit_module {
    const struct ptx_module *ptx;
    unsigned level;
    int checks;
    uint64_t deadline, end; /* see effort.h */
};

/* Fills in the unit's results and its status. */
void unit_compile(struct unit *u, const struct unit_module *module,
                  struct machine *machine);

/* Compile all units, on several processors where there are more (at most
 * KILN_JIT_THREADS, or as many as the process may use). The error, if any,
 * is that of the first unit in order that has one. */
enum kiln_status unit_compile_all(struct unit *units, size_t count,
                                  const struct unit_module *module,
                                  struct machine *machine,
                                  struct kiln_error *err);
/* How many threads that will take at most. */
unsigned unit_threads(void);

#endif
