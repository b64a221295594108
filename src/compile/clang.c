/* SPDX-License-Identifier: MIT
 *
 * Source and header go into a private folder that is gone afterwards; the
 * names in messages and the folder of quoted includes are those of the
 * caller's file.
 */
#include "compile/clang.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "compile/diagnose.h"
#include "compile/options.h"
#include "compile/process.h"
#include "compile/symbols.h"
#include "compile/target.h"

enum { TIMEOUT_MS = 60000, TEXT_MAX = 64 << 20 };

static const struct {
    int major, capability, ptx;
} targets[] = {
#define X(major, capability, ptx) {major, capability, ptx},
#include "compile/clang_version.def"
#undef X
};
enum { TARGETS = sizeof targets / sizeof *targets };

struct work {
    char folder[256];
    char source[300], header[300], ptx[300];
};

static enum kiln_status work_open(struct work *w, struct kiln_error *err)
{
    const char *tmp = env_get("TMPDIR");

    if (snprintf(w->folder, sizeof w->folder, "%s/kiln-XXXXXX",
                 tmp ? tmp : "/tmp") >= (int)sizeof w->folder ||
        !mkdtemp(w->folder)) {
        *w->folder = '\0';
        return kiln_fail(err, KILN_E_OS, "a private folder in %s: %s",
                         tmp ? tmp : "/tmp", strerror(errno));
    }
    snprintf(w->source, sizeof w->source, "%s/source.cu", w->folder);
    snprintf(w->header, sizeof w->header, "%s/device.h", w->folder);
    snprintf(w->ptx, sizeof w->ptx, "%s/out.ptx", w->folder);
    return KILN_OK;
}

static void work_close(struct work *w)
{
    if (!*w->folder)
        return;
    unlink(w->source);
    unlink(w->header);
    unlink(w->ptx);
    rmdir(w->folder);
}

/* "Debian clang version 22.1.8 (...)": the release. */
static enum kiln_status ask_version(const char *file, int *major,
                                    struct compile_result *result,
                                    struct kiln_error *err)
{
    const char *argv[] = {file, "--version", NULL};
    struct buffer out = {0};
    const char *at;
    int code = 0;
    enum kiln_status st = process_run(argv, 10000, &out, &code, err);

    if (!st) {
        at = strstr(buffer_str(&out), "clang version ");
        *major = at ? atoi(at + 14) : 0;
        if (!*major || code)
            st = kiln_fail(err, KILN_E_NO_COMPILER, "%s: tells no version",
                           file);
        else
            snprintf(result->compiler, sizeof result->compiler, "clang %.*s",
                     (int)strcspn(at + 14, " \n"), at + 14);
    }
    buffer_fini(&out);
    return st;
}

static enum kiln_status choose(const struct plan *p, int major,
                               struct compile_result *result, int *ptx,
                               struct kiln_error *err)
{
    struct compile_device device = p->request.device;
    const char *arch = p->request.arch;
    struct target target;
    int known[TARGETS];
    size_t count = 0;
    enum kiln_status st;

    /* Elsewhere the device cannot run it, whoever compiles. */
    if (arch && device.runs_sass && !strncmp(arch, "sm_", 3))
        return kiln_fail(err, KILN_E_INVALID,
                         "target %s: clang makes PTX only; compute_%s", arch,
                         arch + 3);
    for (size_t i = 0; i < TARGETS; i++)
        if (targets[i].major <= major)
            known[count++] = targets[i].capability;
    if (!count)
        return kiln_fail(err, KILN_E_NO_COMPILER,
                         "%s: too old, clang 15 or later is needed",
                         result->compiler);
    device.runs_sass = 0;
    st = target_choose(arch, &device, known, count, result->compiler, &target,
                       err);
    if (st)
        return st;
    result->kind = COMPILE_PTX;
    snprintf(result->target, sizeof result->target, "%s", target.name);
    snprintf(result->rule, sizeof result->rule, "%s", target.rule);
    for (size_t i = 0; i < TARGETS; i++)
        if (targets[i].capability == atoi(target.name + 8))
            *ptx = targets[i].ptx;
    return KILN_OK;
}

static void add_options(struct options *o, const struct plan *p,
                        const struct compiler *c,
                        const struct compile_result *result, int ptx,
                        const struct work *w)
{
    const struct compile_request *r = &p->request;
    const char *slash = strrchr(r->name, '/');

    options_add(o, "%s", c->file);
    options_add(o, "-x");
    options_add(o, "cuda");
    options_add(o, "--cuda-device-only");
    options_add(o, "-nocudainc");
    options_add(o, "-nocudalib");
    /* An empty folder: no toolkit is wanted, nor warned of. */
    options_add(o, "--cuda-path=%s", w->folder);
    options_add(o, "--cuda-gpu-arch=sm_%s", result->target + 8);
    options_add(o, "-Xclang");
    options_add(o, "-target-feature");
    options_add(o, "-Xclang");
    options_add(o, "+ptx%d", ptx);
    options_add(o, "-O2");
    options_add(o, "-fms-extensions");
    options_add(o, "-fno-color-diagnostics");
    options_add(o, "-Wno-unknown-cuda-version");
    if (r->standard)
        options_add(o, "-std=%s", r->standard);
    if (r->max_registers)
        options_add(o, "-maxrregcount=%d", r->max_registers);
    for (size_t i = 0; i < r->define_count; i++)
        options_add(o, "-D%s", r->defines[i]);
    options_add(o, "-iquote");
    options_add(o, "%.*s", slash ? (int)(slash - r->name) : 1,
                slash ? (slash == r->name ? "/" : r->name) : ".");
    for (size_t i = 0; i < r->folder_count; i++)
        options_add(o, "-I%s", r->folders[i]);
    options_add(o, "-include");
    options_add(o, "%s", w->header);
    for (size_t i = 0; i < p->pre_include_count; i++) {
        options_add(o, "-include");
        options_add(o, "%s", p->pre_includes[i]);
    }
    for (size_t i = 0; i < r->extra_count; i++)
        options_add(o, "%s", r->extra[i]);
    options_add(o, "-S");
    options_add(o, "-o");
    options_add(o, "%s", w->ptx);
    options_add(o, "%s", w->source);
}

static enum kiln_status write_inputs(const struct compile_request *r,
                                     size_t name_count, const struct work *w,
                                     struct kiln_error *err)
{
    struct buffer source = {0};
    enum kiln_status st;

    buffer_text(&source, "#line 1 \"");
    for (const char *p = r->name; *p; p++)
        buffer_printf(&source, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    buffer_text(&source, "\"\n");
    buffer_add(&source, r->text, r->text_size);
    if (name_count)
        symbols_ask(&source, r->names, name_count);
    st = source.bad ? kiln_fail(err, KILN_E_MEMORY, "compile: out of memory")
                    : file_write(w->source, source.bytes, source.size, err);
    if (!st)
        st = file_write(w->header, clang_device_header,
                        clang_device_header_size, err);
    buffer_fini(&source);
    return st;
}

/* One call of the compiler; *code is its exit status. */
static enum kiln_status attempt(const struct compile_request *r,
                                size_t name_count, const struct options *o,
                                const struct work *w,
                                struct compile_result *result, int *code,
                                struct kiln_error *err)
{
    enum kiln_status st = write_inputs(r, name_count, w, err);

    if (!st)
        st = process_run(o->items, r->timeout_ms ? r->timeout_ms : TIMEOUT_MS,
                         &result->log, code, err);
    if (!st && !*code)
        st = file_read(w->ptx, TEXT_MAX, &result->bytes, err);
    if (!st && !*code && !result->bytes.size)
        st = kiln_fail(err, KILN_E_INTERNAL, "%s: success with an empty image",
                       result->compiler);
    return st;
}

static enum kiln_status explain(const struct compile_request *r,
                                const struct options *o, const struct work *w,
                                struct compile_result *result,
                                struct kiln_error *err)
{
    struct compile_result plain = {0};
    enum kiln_status st;
    int code = 0;

    if (!strstr(buffer_str(&result->log), SYMBOLS_FILE ":"))
        return diagnose_source(r->name, result->compiler,
                               buffer_str(&result->log), err);
    st = attempt(r, 0, o, w, &plain, &code, err);
    if (!st)
        st = diagnose_plain(r, &plain, !code, result, err);
    compile_result_fini(&plain);
    return st;
}

enum kiln_status clang_run(const struct compiler *compiler,
                           const struct compile_request *request,
                           struct compile_result *result,
                           struct kiln_error *err)
{
    struct arena arena = {0};
    struct options o = {.arena = &arena};
    struct work w = {{0}, {0}, {0}, {0}};
    struct plan p;
    int major = 0, ptx = 0, code = 0;
    enum kiln_status st = ask_version(compiler->file, &major, result, err);

    if (!st)
        st = plan_make(request, compiler, &arena, &p, err);
    if (!st)
        st = choose(&p, major, result, &ptx, err);
    if (!st)
        st = work_open(&w, err);
    if (st)
        goto out;
    add_options(&o, &p, compiler, result, ptx, &w);
    if (o.bad) {
        st = kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
        goto out;
    }
    st = attempt(&p.request, request->name_count, &o, &w, result, &code, err);
    if (!st && code)
        st = explain(&p.request, &o, &w, result, err);
    else if (!st)
        st = symbols_take(&p.request, result, err);
out:
    work_close(&w);
    arena_fini(&arena);
    return st;
}
