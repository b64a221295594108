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

/* One LLVM module of a unit. */
struct attempt {
    LLVMContextRef ctx;
    LLVMModuleRef llvm;
    size_t made;    /* variants */
    size_t largest; /* LLVM's instructions of one of them */
};

/* All of the unit's variants, but with `any` only those that can not be done
 * without. */
static enum kiln_status attempt_open(struct attempt *a, struct unit *u,
                                     const struct unit_module *module,
                                     struct machine *machine,
                                     enum effort effort, int any)
{
    struct lines lines = {0};
    enum kiln_status st = KILN_OK;

    *a = (struct attempt){.ctx = LLVMContextCreate()};
    a->llvm = LLVMModuleCreateWithNameInContext("kiln", a->ctx);
    machine_prepare(machine, a->llvm);
    lines_open(&lines, a->ctx, a->llvm);
    machine->target.lines = &lines;
    machine->target.checks = module->checks;
    for (size_t i = 0; i < u->count && !st; i++) {
        struct unit_variant *v = &u->variants[i];
        size_t n;

        v->skipped = any && v->rows;
        v->frame_bytes = 0;
        if (v->skipped)
            continue;
        st = add_variant(a->llvm, v, module, machine, effort, &u->err);
        n = st ? 0 : effort_count(LLVMGetNamedFunction(a->llvm, v->symbol));
        if (n > a->largest)
            a->largest = n;
        a->made++;
    }
    lines_close(&lines);
    machine->target.lines = NULL;
    return st;
}

static void attempt_close(struct attempt *a)
{
    LLVMDisposeModule(a->llvm);
    LLVMContextDispose(a->ctx);
}

static enum kiln_status refuse_late(struct unit *u)
{
    const struct ptx_func *f = u->variants[0].layout->func;

    return kiln_fail(&u->err, KILN_E_TIMEOUT,
                     "kernel %s, %zu instructions: not compiled: the time for "
                     "the module, KILN_JIT_LIMIT, was over before its turn",
                     f->name, f->insn_count);
}

void unit_compile(struct unit *u, const struct unit_module *module,
                  struct machine *machine)
{
    const uint64_t start = clock_ns();
    const int late = start >= module->deadline;
    enum effort effort = late ? EFFORT_HUGE : EFFORT_FULL;
    struct attempt a;

    if (start >= module->end) {
        u->status = refuse_late(u);
        return;
    }
    for (size_t i = 0; i < u->count; i++)
        if (u->variants[i].effort > effort)
            effort = u->variants[i].effort;
    u->status = attempt_open(&a, u, module, machine, effort, late);
    if (!u->status && effort_of_made(a.largest) > effort) {
        effort = effort_of_made(a.largest);
        attempt_close(&a);
        u->status = attempt_open(&a, u, module, machine, effort, 1);
    }
    if (!u->status && a.made)
        u->status = machine_compile(machine, a.llvm, effort, &u->object,
                                    &u->size, &u->err);
    if (!u->status)
        log_time(u, effort, start);
    attempt_close(&a);
}
