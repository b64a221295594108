/* SPDX-License-Identifier: MIT
 *
 * One unit: for each of its variants the graph passes and one LLVM function,
 * then LLVM's passes over them.
 */
#include "cpu/jit/unit.h"

#include "base/clock.h"
#include "base/log.h"
#include "cpu/jit/emit.h"
#include "cpu/jit/lines.h"

static enum kiln_status add_variant(LLVMModuleRef llvm, struct unit_variant *v,
                                    const struct unit_module *module,
                                    const struct machine *machine,
                                    enum effort effort, struct kiln_error *err)
{
    struct arena scratch = {0};
    struct graph g = {.arena = &scratch,
                      .module = module->ptx,
                      .func = v->layout->func,
                      .rows = v->rows,
                      .lanes = (int)machine->target.lanes};
    enum kiln_status st = graph_analyse(&g, err);

    if (!st)
        st = emit_kernel(LLVMGetModuleContext(llvm), llvm, &machine->target,
                         v->layout, &g, v->symbol, v->flush, effort,
                         &v->frame_bytes, err);
    v->has_barrier = g.has_barrier;
    v->has_yield = g.has_yield;
    arena_fini(&scratch);
    if (st)
        kiln_prefix(err, "kernel %s", v->layout->func->name);
    return st;
}

static void log_time(const struct unit *u, enum effort effort, uint64_t start)
{
    static const char *const names[EFFORTS] = {"", ", as large", ", as huge"};

    log_line(LOG_DEBUG, "PTX compiler: %s and %zu more: %.1f ms%s",
             u->variants[0].symbol, u->count - 1,
             (double)(clock_ns() - start) * 1e-6, names[effort]);
}

void unit_compile(struct unit *u, const struct unit_module *module,
                  struct machine *machine)
{
    const uint64_t start = clock_ns();
    const int late = start >= module->deadline;
    enum effort effort = late ? EFFORT_HUGE : EFFORT_FULL;
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef llvm = LLVMModuleCreateWithNameInContext("kiln", ctx);
    struct lines lines = {0};
    enum kiln_status st = KILN_OK;
    size_t made = 0;

    machine_prepare(machine, llvm);
    lines_open(&lines, ctx, llvm);
    machine->target.lines = &lines;
    machine->target.checks = module->checks;
    for (size_t i = 0; i < u->count && !st; i++) {
        struct unit_variant *v = &u->variants[i];

        v->skipped = late && v->rows;
        if (v->skipped)
            continue;
        if (v->effort > effort)
            effort = v->effort;
        st = add_variant(llvm, v, module, machine, effort, &u->err);
        made++;
    }
    lines_close(&lines);
    machine->target.lines = NULL;
    if (!st && made)
        st = machine_compile(machine, llvm, effort, &u->object, &u->size,
                             &u->err);
    if (!st)
        log_time(u, effort, start);
    LLVMDisposeModule(llvm);
    LLVMContextDispose(ctx);
    u->status = st;
}
