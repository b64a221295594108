/* SPDX-License-Identifier: MIT
 *
 * A parse with all that belongs to it, for the tests of this folder.
 */
#ifndef KILN_TESTS_UNIT_PTX_PARSED_H
#define KILN_TESTS_UNIT_PTX_PARSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/ptx/ptx.h"

struct parsed {
    struct arena arena;
    struct buffer log;
    struct kiln_error err;
    struct ptx_module *module;
    enum kiln_status status;
};

static inline void parse_bytes(struct parsed *p, const char *text, size_t size)
{
    memset(p, 0, sizeof *p);
    p->status = ptx_parse(text, size, &p->arena, &p->module, &p->log, &p->err);
}

static inline void parsed_fini(struct parsed *p)
{
    buffer_fini(&p->log);
    arena_fini(&p->arena);
}

#define HEADER ".version 9.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS                                                              \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; "    \
    ".reg .b64 %rd<9>; .reg .f64 %fd<9>;\n"
#define KERNEL(body)                                                           \
    HEADER                                                                     \
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n" REGISTERS body      \
    "\n}\n"

#endif
