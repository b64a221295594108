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
#include "cpu/api/api.h"

#define ENTRY(symbol, name, version, thread)                                   \
    API_EXPORT __attribute__((weak, section("kiln_stubs"))) CUresult symbol(   \
        void);                                                                 \
    CUresult symbol(void)                                                      \
    {                                                                          \
        return api_unsupported(#symbol);                                       \
    }
#include "cpu/api/entry.def"
#undef ENTRY
