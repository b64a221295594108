/* SPDX-License-Identifier: MIT
 *
 * Every kernel through the code generator: calls expanded, graph, LLVM IR,
 * LLVM's verifier; and a seeded share of them the whole way, to an object.
 *
 * A kernel that is refused is tried again without the instruction that was
 * refused, until it is taken or fails for another reason, so that all that
 * is missing is counted and not only what comes first. Bodies that are equal
 * but for the names in them are tried once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "coverage.h"
#include "cpu/jit/calls.h"
#include "cpu/jit/emit.h"
#include "cpu/jit/jit.h"
#include "cpu/jit/machine.h"

enum { MAX_RETRIES = 24 };

struct generator {
    struct coverage *c;
    struct machine machine;
};

struct one { /* kernel */
    struct generator *g;
    struct totals *t;
    uint64_t number;
    const struct ptx_module *m;
    const struct ptx_func *kernel, *flat;
    struct layout *layout;
    struct arena *arena;
};

struct generator *generator_new(struct coverage *c)
{
    struct generator *g = calloc(1, sizeof *g);
    struct kiln_error err;

    if (!g)
        return NULL;
    g->c = c;
    if (machine_open(&g->machine, 0, &err)) {
        fprintf(stderr, "ptx_coverage: %s\n", err.text);
        free(g);
        return NULL;
    }
    return g;
}

void generator_free(struct generator *g)
{
    if (!g)
        return;
    machine_close(&g->machine);
    free(g);
}

/* --- one try --- */

static enum kiln_status emit(struct one *o, const struct ptx_func *f,
                             LLVMContextRef ctx, LLVMModuleRef module, int rows,
                             struct kiln_error *err)
{
    struct arena scratch = {0};
    struct graph g = {.arena = &scratch,
                      .module = o->m,
                      .func = f,
                      .rows = rows,
                      .lanes = (int)o->g->machine.target.lanes};
    struct layout_kernel k;
    uint32_t frame = 0;
    enum kiln_status st = layout_kernel(o->layout, f, &k, err);

    if (!st)
        st = graph_analyse(&g, err);
    if (!st)
        st = emit_kernel(ctx, module, &o->g->machine.target, &k, &g,
                         rows ? "rows" : "any", 0, effort_of(f), &frame, err);
    arena_fini(&scratch);
    return st;
}

static enum kiln_status try_kernel(struct one *o, const struct ptx_func *f,
                                   struct kiln_error *err)
{
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("k", ctx);
    enum kiln_status st;
    char *text = NULL;

    machine_prepare(&o->g->machine, module);
    st = emit(o, f, ctx, module, 1, err);
    if (!st)
        st = emit(o, f, ctx, module, 0, err);
    if (!st && LLVMVerifyModule(module, LLVMReturnStatusAction, &text))
        st = kiln_fail(err, KILN_E_INTERNAL, "invalid IR: %.150s", text);
    LLVMDisposeMessage(text);
    LLVMDisposeModule(module);
    LLVMContextDispose(ctx);
    return st;
}

/* --- what is missing --- */

static void note_refused(struct one *o, const struct ptx_func *f,
                         const char *text, const struct ptx_insn *first,
                         const char *why, uint64_t n)
{
    char example[400], key[160];
    struct buffer b = {0};
    const char *more = strrchr(why, ':');
    const int reason = more && strstr(why, "this instruction:");

    ptx_print_insn(f, first, &b);
    snprintf(example, sizeof example, "%s, %.60s, line %u: %s",
             o->g->c->sources.items[o->number].name, o->kernel->name,
             first->line, buffer_str(&b));
    example[strcspn(example, "\n")] = 0;
    buffer_fini(&b);
    snprintf(key, sizeof key, "%s%s", text, reason ? more : "");
    table_add(&o->g->c->refused, key, n, o->number, example);
}

/* Take the instructions like the one of the error out of the body: a fence
 * stands for each. Returns 0 when the error names none. */
static int without(struct one *o, struct ptx_func *f,
                   const struct kiln_error *err)
{
    const struct ptx_insn *first = NULL;
    unsigned line;
    uint64_t n = 0;
    const char *at = strstr(err->text, "line ");
    const char *text;

    if (err->status != KILN_E_NOT_SUPPORTED || !at ||
        sscanf(at, "line %u: ", &line) != 1)
        return 0;
    at = strstr(at, ": ") + 2;
    for (size_t i = 0; i < f->insn_count && !first; i++)
        if (f->insns[i].line == line && f->insns[i].text &&
            !strncmp(at, f->insns[i].text, strlen(f->insns[i].text)) &&
            at[strlen(f->insns[i].text)] == ':')
            first = &f->insns[i];
    if (!first)
        return 0;
    text = first->text;
    for (size_t i = 0; i < f->insn_count; i++)
        n += !strcmp(f->insns[i].text, text);
    note_refused(o, f, text, first, err->text, n);
    o->t->insns_refused += n;
    for (size_t i = 0; i < f->insn_count; i++) {
        struct ptx_insn *p = &f->insns[i];

        if (strcmp(p->text, text))
            continue;
        *p = (struct ptx_insn){.op = PTX_OP_MEMBAR,
                               .vec = 1,
                               .guard = -1,
                               .line = p->line,
                               .text = "membar.cta"};
    }
    return 1;
}

static void note_failed(struct one *o, const struct kiln_error *err)
{
    char key[300], example[300];
    size_t n = 0;

    /* Numbers and names differ; the sentence is what counts. */
    for (const char *s = err->text; *s && n + 1 < sizeof key; s++) {
        if (*s >= '0' && *s <= '9') {
            if (!n || key[n - 1] != '#')
                key[n++] = '#';
        } else {
            key[n++] = *s;
        }
    }
    key[n] = 0;
    snprintf(example, sizeof example, "%s, %.100s: %.120s",
             o->g->c->sources.items[o->number].name, o->kernel->name,
             err->text);
    table_add(&o->g->c->failed, key, 1, o->number, example);
}

static int take_body(struct one *o)
{
    struct kiln_error err = {0};
    struct ptx_func copy = *o->flat;
    enum kiln_status st = try_kernel(o, o->flat, &err);
    const int good = !st;

    if (st) {
        copy.insns = arena_array(o->arena, copy.insn_count, sizeof *copy.insns);
        if (!copy.insns)
            return 0;
        memcpy(copy.insns, o->flat->insns,
               copy.insn_count * sizeof *copy.insns);
    }
    for (int i = 0; st && i < MAX_RETRIES && without(o, &copy, &err); i++)
        st = try_kernel(o, &copy, &err);
    if (st)
        note_failed(o, &err);
    return good;
}

/* --- objects --- */

/* The module with one kernel left, as text, the whole way. */
static void make_object(struct one *o)
{
    struct jit_request request = {.struct_size = sizeof request,
                                  .level = 4,
                                  .target = 999,
                                  .build = "coverage"};
    struct jit_result result = {.struct_size = sizeof result};
    struct ptx_module alone = *o->m;
    struct buffer text = {0};
    struct kiln_error err = {0};
    struct object_code *code = NULL;
    enum kiln_status st;

    alone.func_count = 0;
    alone.funcs = arena_array(o->arena, o->m->func_count, sizeof *alone.funcs);
    for (size_t i = 0; alone.funcs && i < o->m->func_count; i++)
        if (!o->m->funcs[i]->is_entry || o->m->funcs[i] == o->kernel)
            alone.funcs[alone.func_count++] = o->m->funcs[i];
    ptx_print(&alone, &text);
    request.ptx = buffer_str(&text);
    request.size = text.size;
    st = jit_compile(&request, &result, &err);
    if (!st)
        st = object_verify(result.object, result.size, &err);
    if (!st)
        st = object_load(result.object, result.size, &code, &err);
    o->t->objects++;
    o->t->objects_good += !st;
    o->t->object_bytes += result.size;
    if (st)
        table_add(&o->g->c->no_object, err.text, 1, o->number,
                  o->g->c->sources.items[o->number].name);
    object_unload(code);
    kiln_release(result.object);
    kiln_release(result.error_log);
    buffer_fini(&text);
}

static int is_chosen(const struct generator *g, const struct hash *key)
{
    uint64_t v;

    memcpy(&v, key->bytes + 8, sizeof v);
    v = (v ^ g->c->options.seed) * UINT64_C(0x9e3779b97f4a7c15);
    return (v >> 32) % 10000 < g->c->options.objects;
}

/* --- all kernels --- */

static int one_kernel(struct one *o)
{
    struct kiln_error err = {0};
    struct hash key;
    int good = 0;

    o->flat = o->kernel;
    if (calls_any(o->kernel) &&
        calls_expand(o->arena, o->m, o->kernel, &o->flat, &err)) {
        note_failed(o, &err);
        return 0;
    }
    if (texture_any(o->flat) &&
        texture_operands(o->arena, o->flat, &o->flat, &err)) {
        note_failed(o, &err);
        return 0;
    }
    if (body_digest(o->flat, &key))
        return 0;
    if (seen_find(&o->g->c->kernels, &key, &good))
        return good;
    good = take_body(o);
    if (!seen_add(&o->g->c->kernels, &key, good))
        return good;
    o->t->bodies++;
    o->t->bodies_taken += (uint64_t)good;
    if (good && is_chosen(o->g, &key))
        make_object(o);
    return good;
}

void generate_module(struct generator *g, struct totals *t, uint64_t number,
                     const struct ptx_module *m)
{
    struct arena arena = {0};
    struct layout layout = {.arena = &arena, .module = m};
    struct kiln_error err = {0};
    struct one o = {.g = g, .t = t, .number = number, .m = m};
    int all = 1;

    if (layout_module(&layout, &err)) {
        o.kernel = &(struct ptx_func){.name = "the module"};
        note_failed(&o, &err);
        /* Not to be loaded by itself, on any device. */
        t->to_link += strstr(err.text, "extern") != NULL;
        all = 0;
    }
    for (size_t i = 0; !err.status && i < m->func_count; i++) {
        struct arena own = {0};
        struct layout mine = layout;

        if (!m->funcs[i]->is_entry || !m->funcs[i]->has_body)
            continue;
        mine.arena = o.arena = &own;
        o.layout = &mine;
        o.kernel = m->funcs[i];
        t->kernels++;
        if (one_kernel(&o))
            t->kernels_taken++;
        else
            all = 0;
        arena_fini(&own);
    }
    t->generated += (uint64_t)all;
    arena_fini(&arena);
}
