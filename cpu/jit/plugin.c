/* SPDX-License-Identifier: MIT
 *
 * What the driver finds in the plugin.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "cpu/jit/jit.h"
#include "cpu/jit/machine.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT jit_compile_fn kiln_ptxjit_compile;
EXPORT jit_result_free_fn kiln_ptxjit_result_free;
EXPORT jit_identity_fn kiln_ptxjit_identity;

enum kiln_status kiln_ptxjit_compile(const struct jit_request *request,
                                     struct jit_result *result,
                                     struct kiln_error *err)
{
    log_level_warned(request->log_warned);
    return jit_compile(request, result, err);
}

void kiln_ptxjit_result_free(struct jit_result *result)
{
    kiln_release(result->object);
    kiln_release(result->error_log);
    kiln_release(result->info_log);
    result->object = NULL;
    result->error_log = NULL;
    result->info_log = NULL;
}

const char *kiln_ptxjit_identity(void)
{
    return machine_identity();
}
