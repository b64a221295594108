/* SPDX-License-Identifier: MIT
 *
 * NVRTC by dlopen. It stays open for the life of the process: a later
 * compilation starts three times faster, and unloading it is not safe.
 */
#include "compile/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compile/diagnose.h"
#include "compile/options.h"
#include "compile/target.h"
#include "image/ptx_header.h"

enum { REQUIRED, OPTIONAL };
enum { OK = 0, OUT_OF_MEMORY = 1, INVALID_OPTION = 5, COMPILATION = 6 };
enum { ARCHS_MAX = 64 };

struct nvrtc {
    int major, minor;
    int archs[ARCHS_MAX];
    size_t arch_count; /* 0: it does not tell */
#define X(name, need, parameters) int(*name) parameters;
#include "compile/nvrtc.def"
#undef X
};

static const struct {
    const char *name;
    int need;
    size_t offset;
} entries[] = {
#define X(name, need, parameters) {#name, need, offsetof(struct nvrtc, name)},
#include "compile/nvrtc.def"
#undef X
};

static enum kiln_status open_library(const struct compiler *c, struct nvrtc *n,
                                     struct kiln_error *err)
{
    void *library;
    int count = 0;

    /* NVRTC seeks its second library by name alone; once that is loaded from
     * beside it, the loader needs no path. */
    if (*c->builtins)
        dlopen(c->builtins, RTLD_LAZY | RTLD_LOCAL);
    library = dlopen(c->file, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return kiln_fail(err, KILN_E_NO_COMPILER, "NVRTC: %s", dlerror());
    memset(n, 0, sizeof *n);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(library, entries[i].name);

        if (!entry && entries[i].need == REQUIRED)
            return kiln_fail(err, KILN_E_NO_COMPILER,
                             "%s: no %s; NVRTC 11.2 or later is needed",
                             c->file, entries[i].name);
        memcpy((char *)n + entries[i].offset, &entry, sizeof entry);
    }
    if (n->nvrtcVersion(&n->major, &n->minor))
        return kiln_fail(err, KILN_E_NO_COMPILER, "%s: tells no version",
                         c->file);
    if (n->nvrtcGetNumSupportedArchs && n->nvrtcGetSupportedArchs &&
        !n->nvrtcGetNumSupportedArchs(&count) && count > 0 &&
        count <= ARCHS_MAX && !n->nvrtcGetSupportedArchs(n->archs))
        n->arch_count = (size_t)count;
    return KILN_OK;
}

static void add_options(struct options *o, const struct nvrtc *n,
                        const struct plan *p, const struct target *target)
{
    const struct compile_request *r = &p->request;

    options_add(o, "--gpu-architecture=%s", target->name);
    if (r->standard)
        options_add(o, "--std=%s", r->standard);
    if (r->max_registers)
        options_add(o, "--maxrregcount=%d", r->max_registers);
    /* Else it asks libcuda for a result of the driver's own cache. */
    if (n->major >= 13)
        options_add(o, "--no-cache");
    for (size_t i = 0; i < r->define_count; i++)
        options_add(o, "-D%s", r->defines[i]);
    for (size_t i = 0; i < r->folder_count; i++)
        options_add(o, "-I%s", r->folders[i]);
    for (size_t i = 0; i < p->pre_include_count; i++)
        options_add(o, "--pre-include=%s", p->pre_includes[i]);
    for (size_t i = 0; i < r->extra_count; i++)
        options_add(o, "%s", r->extra[i]);
}

static void take_log(const struct nvrtc *n, void *program, struct buffer *log)
{
    size_t size = 0;
    char *text;

    if (n->nvrtcGetProgramLogSize(program, &size) || size <= 1)
        return;
    text = kiln_alloc(size);
    if (text && !n->nvrtcGetProgramLog(program, text))
        buffer_add(log, text, strnlen(text, size));
    kiln_release(text);
}

static enum kiln_status take_image(const struct nvrtc *n, void *program,
                                   struct compile_result *result,
                                   struct kiln_error *err)
{
    int machine = result->kind == COMPILE_CUBIN;
    size_t size = 0;
    char *bytes;
    int rc;

    if (machine && (!n->nvrtcGetCUBIN || !n->nvrtcGetCUBINSize))
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "NVRTC %d.%d: makes no machine code", n->major,
                         n->minor);
    rc = machine ? n->nvrtcGetCUBINSize(program, &size)
                 : n->nvrtcGetPTXSize(program, &size);
    bytes = rc ? NULL : kiln_alloc(size + 1);
    if (bytes)
        rc = machine ? n->nvrtcGetCUBIN(program, bytes)
                     : n->nvrtcGetPTX(program, bytes);
    if (bytes && !rc)
        buffer_add(&result->bytes, bytes,
                   machine ? size : strnlen(bytes, size));
    kiln_release(bytes);
    if (rc)
        return kiln_fail(err, KILN_E_INTERNAL, "NVRTC: no image (%d)", rc);
    if (!bytes || result->bytes.bad)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    if (!result->bytes.size)
        return kiln_fail(err, KILN_E_INTERNAL,
                         "NVRTC: success with an empty image");
    return KILN_OK;
}

static enum kiln_status take_symbols(const struct nvrtc *n, void *program,
                                     const struct compile_request *r,
                                     struct compile_result *result,
                                     struct kiln_error *err)
{
    if (!r->name_count)
        return KILN_OK;
    result->symbols = kiln_array(NULL, r->name_count, sizeof(char *));
    if (!result->symbols)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    for (size_t i = 0; i < r->name_count; i++) {
        const char *symbol = NULL;
        int rc = n->nvrtcGetLoweredName(program, r->names[i], &symbol);

        if (rc || !symbol)
            return kiln_fail(err, KILN_E_NOT_FOUND,
                             "name \"%s\": NVRTC has no symbol for it (%d)",
                             r->names[i], rc);
        result->symbols[i] = kiln_strdup(symbol);
        if (!result->symbols[i])
            return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
        result->symbol_count = i + 1;
    }
    return KILN_OK;
}

/* One call of the compiler; *rc is its answer. */
static enum kiln_status attempt(const struct nvrtc *n, const struct plan *p,
                                const char *text, const struct options *o,
                                size_t name_count,
                                struct compile_result *result, int *rc,
                                struct kiln_error *err)
{
    const struct compile_request *r = &p->request;
    enum kiln_status st = KILN_OK;
    void *program = NULL;

    *rc = n->nvrtcCreateProgram(&program, text, r->name, 0, NULL, NULL);
    if (*rc)
        return kiln_fail(err, KILN_E_INTERNAL, "NVRTC: no program (%d)", *rc);
    for (size_t i = 0; i < name_count && !*rc; i++)
        *rc = n->nvrtcAddNameExpression(program, r->names[i]);
    if (*rc) {
        st = kiln_fail(err, KILN_E_INVALID, "NVRTC: names not taken (%d)", *rc);
        goto out;
    }
    *rc = n->nvrtcCompileProgram(program, (int)o->count, o->items);
    take_log(n, program, &result->log);
    if (*rc == OK) {
        st = take_image(n, program, result, err);
        if (!st && name_count)
            st = take_symbols(n, program, r, result, err);
    }
out:
    n->nvrtcDestroyProgram(&program);
    return st;
}

/* A program that does not compile with the names wanted: whether it does
 * without them tells which of the two is wrong. */
static enum kiln_status explain(const struct nvrtc *n, const struct plan *p,
                                const char *text, const struct options *o,
                                struct compile_result *result, int rc,
                                struct kiln_error *err)
{
    const struct compile_request *r = &p->request;
    struct compile_result plain = {.kind = COMPILE_PTX};
    enum kiln_status st;

    if (rc == OUT_OF_MEMORY)
        return kiln_fail(err, KILN_E_MEMORY, "%s: NVRTC ran out of memory",
                         r->name);
    if (rc == INVALID_OPTION)
        return diagnose_option(r->name, result->compiler,
                               buffer_str(&result->log), err);
    if (rc != COMPILATION)
        return kiln_fail(err, KILN_E_INTERNAL, "%s: NVRTC failed (%d)", r->name,
                         rc);
    if (!r->name_count || !strstr(buffer_str(&result->log), "__nv_name_map"))
        return diagnose_source(r->name, result->compiler,
                               buffer_str(&result->log), err);
    st = attempt(n, p, text, o, 0, &plain, &rc, err);
    if (!st)
        st = diagnose_plain(r, &plain, rc == OK, result, err);
    compile_result_fini(&plain);
    return st;
}

enum kiln_status nvrtc_run(const struct compiler *compiler,
                           const struct compile_request *request,
                           struct compile_result *result,
                           struct kiln_error *err)
{
    struct arena arena = {0};
    struct options o = {.arena = &arena};
    struct nvrtc n;
    struct plan p;
    struct target target;
    char *text = NULL;
    int rc = 0;
    enum kiln_status st = open_library(compiler, &n, err);

    if (st)
        return st;
    snprintf(result->compiler, sizeof result->compiler, "NVRTC %d.%d", n.major,
             n.minor);
    st = plan_make(request, compiler, &arena, &p, err);
    if (!st)
        st = target_choose(p.request.arch, &request->device, n.archs,
                           n.arch_count, result->compiler, &target, err);
    if (st)
        goto out;
    result->kind = target.kind;
    snprintf(result->target, sizeof result->target, "%s", target.name);
    snprintf(result->rule, sizeof result->rule, "%s", target.rule);
    add_options(&o, &n, &p, &target);
    text = kiln_strndup(request->text, request->text_size);
    if (!text || o.bad) {
        st = kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
        goto out;
    }
    for (size_t i = 0; i < o.count; i++)
        log_line(LOG_DEBUG, "NVRTC option %s", o.items[i]);
    st = attempt(&n, &p, text, &o, request->name_count, result, &rc, err);
    if (!st && rc != OK)
        st = explain(&n, &p, text, &o, result, rc, err);
out:
    kiln_release(text);
    arena_fini(&arena);
    return st;
}
