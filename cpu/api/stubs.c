/* SPDX-License-Identifier: MIT
 *
 * Every documented name is exported, also where there is no function behind
 * it yet: a weak definition here, which a real one elsewhere replaces at link
 * time. They lie in a section of their own, so that cuGetProcAddress can tell
 * a stub from a function by its address.
 *
 * A stub takes no arguments: on the ABIs Kiln runs on the caller removes
 * them.
 */
#include <stdatomic.h>

#include "cpu/api/api.h"

/* The log is told once a name: some programs ask for ever. */
#define ENTRY(symbol, name, version, thread)                                   \
    API_EXPORT __attribute__((weak, section("kiln_stubs"))) CUresult symbol(   \
        void);                                                                 \
    CUresult symbol(void)                                                      \
    {                                                                          \
        static atomic_flag said = ATOMIC_FLAG_INIT;                            \
                                                                               \
        return atomic_flag_test_and_set(&said) ? CUDA_ERROR_NOT_SUPPORTED      \
                                               : api_unsupported(#symbol);     \
    }
#include "cpu/api/entry.def"
#undef ENTRY
