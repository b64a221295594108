/* SPDX-License-Identifier: MIT
 *
 * In place of generate.c and choose.c where there is no LLVM.
 */
#include <stdio.h>

#include "coverage.h"
#include "plan.h"

struct generator *generator_new(struct coverage *c)
{
    c->options.code = 0;
    return NULL;
}

void generator_free(struct generator *g)
{
    (void)g;
}

void generate_module(struct generator *g, struct totals *t, uint64_t number,
                     const struct ptx_module *m)
{
    (void)g;
    (void)t;
    (void)number;
    (void)m;
}

int choose_kernels(struct sources *s, unsigned each, uint32_t target,
                   const char *path)
{
    (void)s;
    (void)each;
    (void)target;
    fprintf(stderr, "ptx_coverage: %s: not without the code generator\n", path);
    return -1;
}
