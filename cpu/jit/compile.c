/* SPDX-License-Identifier: MIT
 *
 * PTX text in, a host object out. Parse, lay out, share the variants of the
 * kernels out into units that are compiled each by itself (unit.h), join
 * their objects and the info section.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/abi.h"
#include "cpu/jit/calls.h"
#include "cpu/jit/jit.h"
#include "cpu/jit/unit.h"

struct job {
    const struct jit_request *request;
    struct arena arena;
    struct buffer log;
    struct ptx_module *ptx;
    struct layout layout;
    struct layout_kernel *kernels;
    struct object_kernel *infos;
    uint32_t kernel_count;
    struct machine machine;
    struct unit_variant *variants; /* of all kernels, in their order */
    size_t variant_count;
    struct unit *units;
    size_t unit_count;
};

/* --- what a kernel is --- */

static int is_float_arithmetic(const struct ptx_insn *p)
{
    switch (p->op) {
    case PTX_OP_MOV:
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_SELP:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_ABS:
    case PTX_OP_NEG:
    case PTX_OP_COPYSIGN:
        return 0;
    default:
        return 1;
    }
}

/* Whether the kernel may run under the processor's flush modes: its f32
 * arithmetic is all .ftz, and it has no f64 and no bf16 (which goes by way of
 * f32 and keeps subnormals). Conversions from integers have no subnormal on
 * either side. */
static int runs_flushed(const struct ptx_func *f)
{
    int flushes = 0;

    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *p = &f->insns[i];
        int has_f32 = 0;

        if (p->op == PTX_OP_CVT &&
            ptx_type_class(p->types[1]) != PTX_CLASS_FLOAT &&
            p->types[0] != PTX_F64)
            continue;
        /* .ftz does not reach what a directed rounding makes of a subnormal
         * (lower_cvt.c); the processor's mode would. */
        if (p->op == PTX_OP_CVT && p->types[0] == PTX_F16 &&
            (p->round == PTX_ROUND_RM || p->round == PTX_ROUND_RP))
            return 0;
        for (int t = 0; t < p->type_count; t++) {
            if (p->types[t] == PTX_F64 || p->types[t] == PTX_BF16 ||
                p->types[t] == PTX_BF16X2)
                return 0;
            has_f32 |= p->types[t] == PTX_F32;
        }
        if (!has_f32 || !is_float_arithmetic(p))
            continue;
        if (!ptx_has(p, PTX_MOD_FTZ))
            return 0;
        flushes = 1;
    }
    return flushes;
}

static int reads_tid(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++)
        for (int k = 0; k < f->insns[i].operand_count; k++)
            if (f->insns[i].operands[k].kind == PTX_OPERAND_SREG &&
                f->insns[i].operands[k].sreg == PTX_SREG_TID)
                return 1;
    return 0;
}

static struct object_param *describe_params(struct job *j,
                                            const struct ptx_func *f)
{
    struct object_param *p = arena_array(&j->arena, f->param_count, sizeof *p);

    for (size_t i = 0; p && i < f->param_count; i++)
        p[i] = (struct object_param){.offset = (uint32_t)f->params[i].offset,
                                     .size = (uint32_t)f->params[i].size,
                                     .align = f->params[i].align,
                                     .is_pointer = f->params[i].is_pointer};
    return p;
}

static uint32_t product(const uint32_t v[3])
{
    uint64_t n = 1;

    for (int d = 0; d < 3; d++)
        n *= v[d] ? v[d] : 1;
    return n > ABI_MAX_THREADS ? ABI_MAX_THREADS : (uint32_t)n;
}

/* All but what is known only when it is compiled: see settle(). */
static enum kiln_status describe(struct job *j, const struct layout_kernel *k,
                                 struct object_kernel *out,
                                 struct kiln_error *err)
{
    const struct ptx_func *f = k->func;
    const enum effort effort = effort_of(f);
    const int rows = reads_tid(f) && effort == EFFORT_FULL;
    struct object_variant *v = arena_array(&j->arena, 2, sizeof *v);
    int n = 0;

    *out = (struct object_kernel){
        .name = f->name,
        .params = describe_params(j, f),
        .param_count = (uint32_t)f->param_count,
        .param_bytes = f->param_bytes,
        .variants = v,
        .chunk_lanes = j->machine.target.lanes,
        .static_shared = k->static_shared,
        .local_bytes = k->local_bytes,
        .max_threads = f->reqntid[0]   ? product(f->reqntid)
                       : f->maxntid[0] ? product(f->maxntid)
                                       : ABI_MAX_THREADS,
        .maxnreg = j->request->maxnreg ? j->request->maxnreg : f->maxnreg,
        .flags = k->flags | (runs_flushed(f) ? OBJECT_KERNEL_FLUSH : 0)};
    memcpy(out->reqntid, f->reqntid, sizeof out->reqntid);
    if (!v || (f->param_count && !out->params))
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    if (rows)
        v[n++] = (struct object_variant){
            OBJECT_SHAPE_ROWS, arena_printf(&j->arena, "%s.rows", f->name)};
    v[n++] = (struct object_variant){
        OBJECT_SHAPE_ANY, arena_printf(&j->arena, "%s.any", f->name)};
    out->variant_count = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        if (!v[i].symbol)
            return kiln_fail(err, KILN_E_MEMORY, "out of memory");
        j->variants[j->variant_count++] = (struct unit_variant){
            .layout = k,
            .symbol = v[i].symbol,
            .rows = v[i].shape == OBJECT_SHAPE_ROWS,
            .flush = (out->flags & OBJECT_KERNEL_FLUSH) != 0,
            .effort = effort};
    }
    return KILN_OK;
}

/* What the kernel's variants came to. All its variants wait at barriers in
 * the same way, else only the last, which takes any launch, is left. */
static void settle(struct object_kernel *k, const struct unit_variant *made)
{
    const struct unit_variant *any = &made[k->variant_count - 1];
    const int fibers = any->frame_bytes == UINT32_MAX;
    uint32_t frame = any->frame_bytes;

    if (k->variant_count > 1) {
        if (made->skipped || (made->frame_bytes == UINT32_MAX) != fibers) {
            k->variants++;
            k->variant_count--;
        } else if (made->frame_bytes > frame) {
            frame = made->frame_bytes;
        }
    }
    k->flags |= (any->has_barrier ? OBJECT_KERNEL_BARRIER : 0) |
                (any->has_yield ? OBJECT_KERNEL_YIELD : 0);
    if (frame && !fibers) {
        k->flags |= OBJECT_KERNEL_RESUME;
        k->frame_bytes = frame;
    }
}

/* --- units --- */

/* Instructions of a unit of small kernels: LLVM's passes are set up anew for
 * each, and what is in one is in memory at once. */
enum { UNIT_INSNS = 2000 };

/* Small kernels are shared out so that each thread gets some; a kernel that
 * is not small has a unit for each variant. */
static enum kiln_status share_out(struct job *j, struct kiln_error *err)
{
    const unsigned threads = unit_threads();
    size_t total = 0, most, insns = 0;

    j->units = arena_array(&j->arena, j->variant_count, sizeof *j->units);
    if (j->variant_count && !j->units)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; i < j->variant_count; i++)
        total += j->variants[i].layout->func->insn_count;
    most = threads > 1 ? total / (2 * threads) : UNIT_INSNS;
    if (most > UNIT_INSNS)
        most = UNIT_INSNS;
    for (size_t i = 0; i < j->variant_count; i++) {
        struct unit_variant *v = &j->variants[i];
        const size_t n = v->layout->func->insn_count;

        if (!j->unit_count || insns + n > most || v->effort != v[-1].effort) {
            j->units[j->unit_count++].variants = v;
            insns = 0;
        }
        j->units[j->unit_count - 1].count++;
        insns += n;
    }
    return KILN_OK;
}

static enum kiln_status compile_kernels(struct job *j, struct kiln_error *err)
{
    const struct unit_module module = {.ptx = j->ptx,
                                       .level = j->request->level,
                                       .checks = j->request->checks != 0,
                                       .deadline = effort_deadline(),
                                       .end = effort_end()};
    const struct unit_variant *made;
    enum kiln_status st = KILN_OK;

    j->variants = arena_array(&j->arena, 2 * (size_t)j->kernel_count,
                              sizeof *j->variants);
    if (j->kernel_count && !j->variants)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < j->kernel_count; i++)
        st = describe(j, &j->kernels[i], &j->infos[i], err);
    if (!st)
        st = share_out(j, err);
    if (!st)
        st = unit_compile_all(j->units, j->unit_count, &module, &j->machine,
                              err);
    made = j->variants;
    for (size_t i = 0; !st && i < j->kernel_count; i++) {
        const uint32_t count = j->infos[i].variant_count;

        settle(&j->infos[i], made);
        made += count;
    }
    return st;
}

/* LLVM's time grows faster than the number of blocks. */
static enum kiln_status check_size(const struct ptx_func *f, size_t *total,
                                   struct kiln_error *err)
{
    const struct effort_size n = effort_size(f);

    *total += n.insns;
    if (n.insns > EFFORT_MOST_INSNS || n.branches > EFFORT_MOST_BRANCHES ||
        n.loops > EFFORT_MOST_LOOPS)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "kernel %s with all that it calls: %zu instructions, "
                         "%zu branches, %zu loops; %d, %d, %d at most: make it "
                         "several kernels",
                         f->name, n.insns, n.branches, n.loops,
                         EFFORT_MOST_INSNS, EFFORT_MOST_BRANCHES,
                         EFFORT_MOST_LOOPS);
    if (*total > EFFORT_MOST_OF_MODULE)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "kernel %s: it and those before it have %zu "
                         "instructions with all that they call, %d at most: "
                         "make the module several",
                         f->name, *total, EFFORT_MOST_OF_MODULE);
    return KILN_OK;
}

static enum kiln_status lay_out(struct job *j, struct kiln_error *err)
{
    size_t total = 0;
    enum kiln_status st;

    j->layout.arena = &j->arena;
    j->layout.module = j->ptx;
    st = layout_module(&j->layout, err);
    j->kernels = arena_array(&j->arena, j->ptx->func_count, sizeof *j->kernels);
    j->infos = arena_array(&j->arena, j->ptx->func_count, sizeof *j->infos);
    if (!st && j->ptx->func_count && (!j->kernels || !j->infos))
        st = kiln_fail(err, KILN_E_MEMORY, "out of memory");
    if (!st)
        st = alloca_functions(&j->arena, j->ptx, err);
    for (size_t i = 0; !st && i < j->ptx->func_count; i++) {
        const struct ptx_func *f = j->ptx->funcs[i];

        if (!f->is_entry || !f->has_body)
            continue;
        if (calls_any(f))
            st = calls_expand(&j->arena, j->ptx, f, &f, err);
        if (!st)
            st = check_size(f, &total, err);
        if (!st && alloca_any(f))
            st = alloca_expand(&j->arena, f, &f, err);
        if (!st && texture_any(f))
            st = texture_operands(&j->arena, f, &f, err);
        if (!st)
            st = layout_kernel(&j->layout, f, &j->kernels[j->kernel_count++],
                               err);
    }
    return st;
}

/* --- the info section --- */

static enum kiln_status write_info(const struct job *j, struct buffer *out,
                                   struct kiln_error *err)
{
    struct object_info info = {
        .abi = ABI_VERSION,
        .ptx_version = j->ptx->version,
        .target = j->ptx->target,
        .build = j->request->build ? j->request->build : "",
        .codegen = machine_identity(),
        .cpu = j->machine.target.cpu,
        .features = j->machine.required,
        .kernels = j->infos,
        .kernel_count = j->kernel_count,
        .variables = j->layout.variables,
        .variable_count = j->layout.variable_count,
        .data_size = j->layout.data_size,
        .data_align = j->layout.data_align,
        .data_init = j->layout.data_init,
        .data_init_size = j->layout.data_init ? j->layout.data_size : 0,
        .refs = j->layout.refs,
        .ref_count = j->layout.ref_count,
    };
    object_info_write(&info, out);
    return out->bad ? kiln_fail(err, KILN_E_MEMORY, "out of memory") : KILN_OK;
}

/* The units' objects and the info section as one object, sealed. */
static enum kiln_status join(struct job *j, struct jit_result *result,
                             struct kiln_error *err)
{
    struct object_part *parts =
        arena_array(&j->arena, j->unit_count, sizeof *parts);
    struct buffer info = {0}, whole = {0};
    enum kiln_status st;
    size_t n = 0;

    if (j->unit_count && !parts)
        return kiln_fail(err, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; i < j->unit_count; i++)
        if (j->units[i].object)
            parts[n++] =
                (struct object_part){j->units[i].object, j->units[i].size};
    st = write_info(j, &info, err);
    if (!st)
        st = object_join(parts, n, info.bytes, info.size, &whole, err);
    if (!st)
        st = object_seal(whole.bytes, whole.size, err);
    buffer_fini(&info);
    if (st) {
        buffer_fini(&whole);
        return st;
    }
    result->object = whole.bytes;
    result->size = whole.size;
    return KILN_OK;
}

/* --- the whole --- */

static enum kiln_status check_request(struct job *j, struct kiln_error *err)
{
    const struct jit_request *r = j->request;
    const struct ptx_module *m = j->ptx;

    if (r->max_version && m->version > r->max_version) {
        buffer_printf(&j->log,
                      "ptx, line 1; fatal   : Unsupported .version %u.%u; "
                      "this driver takes up to %u.%u\n",
                      m->version / 10, m->version % 10, r->max_version / 10,
                      r->max_version % 10);
        return kiln_fail(err, KILN_E_PTX_VERSION,
                         "PTX .version %u.%u, this driver takes up to %u.%u",
                         m->version / 10, m->version % 10, r->max_version / 10,
                         r->max_version % 10);
    }
    if (r->target && m->target > r->target) {
        buffer_printf(&j->log,
                      "ptx; fatal   : .target sm_%u is higher than this "
                      "device's sm_%u\n",
                      m->target, r->target);
        return kiln_fail(err, KILN_E_PTX,
                         "PTX .target sm_%u, this device is sm_%u", m->target,
                         r->target);
    }
    if (m->address_size && m->address_size != 64)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         ".address_size %u, this device has 64-bit addresses",
                         m->address_size);
    return KILN_OK;
}

static enum kiln_status run(struct job *j, struct jit_result *result,
                            struct kiln_error *err)
{
    enum kiln_status st;

    st = ptx_parse(j->request->ptx, j->request->size, &j->arena, &j->ptx,
                   &j->log, err);
    if (!st)
        st = check_request(j, err);
    if (!st)
        st = lay_out(j, err);
    if (!st)
        st = machine_open(&j->machine, j->request->level, err);
    if (st)
        return st;
    st = compile_kernels(j, err);
    if (!st)
        st = join(j, result, err);
    for (size_t i = 0; i < j->unit_count; i++)
        kiln_release(j->units[i].object);
    machine_close(&j->machine);
    return st;
}

enum kiln_status jit_compile(const struct jit_request *request,
                             struct jit_result *result, struct kiln_error *err)
{
    struct job j = {.request = request};
    struct kiln_error own = {0};
    enum kiln_status st;

    if (!err)
        err = &own;
    result->object = NULL;
    result->size = 0;
    result->error_log = NULL;
    result->info_log = NULL;
    st = run(&j, result, err);
    if (st) {
        if (!j.log.size)
            buffer_printf(&j.log, "ptx; error   : %s\n", err->text);
        result->error_log = kiln_strdup(buffer_str(&j.log));
    }
    buffer_fini(&j.log);
    arena_fini(&j.arena);
    return st;
}
