/* SPDX-License-Identifier: MIT
 *
 * A mutant the whole way: parse, LLVM IR, LLVM's verifier, an object, and the
 * object verified and loaded; and run.
 */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/jit/jit.h"
#include "cpu/object/object.h"

const char *const outcome_names[OUTCOMES] = {
    [MADE] = "made",           [REFUSED] = "refused",
    [NO_LINE] = "no line",     [INTERNAL] = "internal error",
    [NO_LOAD] = "no load",     [BAD_RUN] = "bad run",
    [CRASHED] = "crash",       [HUNG] = "hang",
    [GREW] = "too much memory"};

static enum outcome judge(enum kiln_status st, const char *why)
{
    if (st == KILN_E_INTERNAL || st == KILN_E_JIT_COMPILER)
        return INTERNAL;
    return strstr(why, "line ") ? REFUSED : NO_LINE;
}

enum outcome mutant_compile(const struct buffer *text, struct attempt *a)
{
    const struct jit_request request = {.struct_size = sizeof request,
                                        .ptx = buffer_str(text),
                                        .size = text->size,
                                        .level = a->level,
                                        .target = 999,
                                        .build = a->build ? a->build : ""};
    struct jit_result result = {.struct_size = sizeof result};
    struct kiln_error err = {0};
    struct object_code *code = NULL;
    enum outcome outcome = MADE;
    enum kiln_status st;

    setenv("KILN_CPU_ISA", a->isa, 1);
    setenv("KILN_JIT_SECONDS", a->hurried ? "0" : "1000", 1);
    st = jit_compile(&request, &result, &err);
    a->object_size = result.size;
    if (st)
        outcome = judge(st, err.text);
    if (!st && (object_verify(result.object, result.size, &err) ||
                object_load(result.object, result.size, &code, &err)))
        outcome = NO_LOAD;
    snprintf(a->why, sizeof a->why, "%s", outcome == MADE ? "" : err.text);
    object_unload(code);
    if (outcome == MADE && a->build)
        a->run = run_object(result.object, a->why, sizeof a->why);
    if (a->run == RAN_BADLY)
        outcome = BAD_RUN;
    kiln_release(result.object);
    kiln_release(result.error_log);
    kiln_release(result.info_log);
    return outcome;
}
