/* SPDX-License-Identifier: MIT
 *
 * Choosing a compiler and naming it by what its files hold.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "compile/clang.h"
#include "compile/compile.h"
#include "compile/find.h"
#include "compile/identity.h"
#include "compile/nvrtc.h"

/* Debian's clang is a small program over these. */
static const char *const clang_libraries[] = {"../lib/libclang-cpp.so*",
                                              "../lib/libLLVM*.so*"};

static enum kiln_status add_clang(struct hasher *h, const char *file,
                                  struct kiln_error *err)
{
    char real[PATH_MAX], pattern[PATH_MAX + 32];
    enum kiln_status st;
    char *slash;

    if (!realpath(file, real))
        return kiln_fail(err, KILN_E_FILE, "%s: not found", file);
    st = identity_add(h, real, err);
    slash = strrchr(real, '/');
    for (size_t i = 0; !st && slash && i < 2; i++) {
        glob_t found;

        *slash = '\0';
        snprintf(pattern, sizeof pattern, "%s/%s", real, clang_libraries[i]);
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t k = 0; !st && k < found.gl_pathc; k++)
            st = identity_add(h, found.gl_pathv[k], err);
        globfree(&found);
    }
    hasher_add(h, clang_device_header, clang_device_header_size);
    return st;
}

static enum kiln_status identify(struct compiler *c, struct kiln_error *err)
{
    enum kiln_status st;
    struct hasher *h = hasher_new();

    if (!h)
        return kiln_fail(err, KILN_E_MEMORY, "compiler: out of memory");
    if (c->kind == COMPILER_CLANG) {
        st = add_clang(h, c->file, err);
    } else {
        st = identity_add(h, c->file, err);
        if (!st && *c->builtins)
            st = identity_add(h, c->builtins, err);
    }
    if (st) {
        hasher_free(h);
        return st;
    }
    if (hasher_take(h, &c->identity))
        return kiln_fail(err, KILN_E_MEMORY, "compiler: out of memory");
    return KILN_OK;
}

enum kiln_status compiler_find(const char *wanted, struct compiler *out,
                               struct kiln_error *err)
{
    struct compiler c = {0};
    enum kiln_status st;

    if (!wanted)
        wanted = env_get("KILN_COMPILER");
    if (wanted && strcmp(wanted, "nvrtc") && strcmp(wanted, "clang"))
        return kiln_fail(err, KILN_E_INVALID,
                         "compiler \"%s\": nvrtc or clang expected", wanted);
    /* A file asked for by name is not replaced by another. */
    if (env_get("KILN_NVRTC") && (!wanted || !strcmp(wanted, "nvrtc")) &&
        access(env_get("KILN_NVRTC"), R_OK))
        return kiln_fail(err, KILN_E_NO_COMPILER, "KILN_NVRTC=%s: %s",
                         env_get("KILN_NVRTC"), strerror(errno));
    if ((!wanted || !strcmp(wanted, "nvrtc")) &&
        find_nvrtc(c.file, sizeof c.file)) {
        c.kind = COMPILER_NVRTC;
        find_builtins(c.file, c.builtins, sizeof c.builtins);
        find_toolkit_include(c.file, c.include, sizeof c.include);
    } else if ((!wanted || !strcmp(wanted, "clang")) &&
               find_clang(c.file, sizeof c.file)) {
        c.kind = COMPILER_CLANG;
    } else if (env_get("KILN_CLANG") && (!wanted || strcmp(wanted, "nvrtc"))) {
        return kiln_fail(
            err, KILN_E_NO_COMPILER, "KILN_CLANG=%s: %s", env_get("KILN_CLANG"),
            access(env_get("KILN_CLANG"), X_OK) ? strerror(errno)
                                                : "cannot be read");
    } else if (wanted && !strcmp(wanted, "nvrtc")) {
        return kiln_fail(err, KILN_E_NO_COMPILER,
                         "NVRTC: not found (KILN_NVRTC, CUDA_HOME, the "
                         "loader's path, /usr/local/cuda, Python wheels); "
                         "install cuda-nvrtc or set KILN_NVRTC to "
                         "libnvrtc.so.N");
    } else {
        return kiln_fail(err, KILN_E_NO_COMPILER,
                         "no compiler for CUDA source: neither NVRTC nor "
                         "clang 15 to 22 is found; apt install clang-19, or "
                         "set KILN_NVRTC to libnvrtc.so.N");
    }
    st = identify(&c, err);
    if (!st)
        *out = c;
    return st;
}

enum kiln_status compile_run(const struct compiler *compiler,
                             const struct compile_request *request,
                             struct compile_result *result,
                             struct kiln_error *err)
{
    memset(result, 0, sizeof *result);
    return compiler->kind == COMPILER_NVRTC
               ? nvrtc_run(compiler, request, result, err)
               : clang_run(compiler, request, result, err);
}

void compile_result_fini(struct compile_result *result)
{
    for (size_t i = 0; i < result->symbol_count; i++)
        kiln_release(result->symbols[i]);
    kiln_release(result->symbols);
    buffer_fini(&result->bytes);
    buffer_fini(&result->log);
    memset(result, 0, sizeof *result);
}
