/* SPDX-License-Identifier: MIT
 *
 * The names that cuGetProcAddress does not find though the driver exports
 * them: one a line, in order, for unsupported.txt.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"

static const char *const names[] = {
#define ENTRY(symbol, name, version, thread) #name,
#include "cpu/api/entry.def"
#undef ENTRY
};

int main(void)
{
    const char *last = "";

    test_open();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *f = NULL;

        if (strcmp(names[i], last) &&
            cuGetProcAddress_v2(names[i], &f, CUDA_VERSION, 0, NULL))
            puts(names[i]);
        last = names[i];
    }
    return 0;
}
