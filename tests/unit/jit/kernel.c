/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { HEAD_LINES = 10 };

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p, .param .u64 q, "
                           ".param .u32 n)\n{\n"
                           ".reg .pred %p<40>;\n.reg .b32 %r<60>;\n"
                           ".reg .b64 %rd<40>;\n.reg .f32 %f<20>;\n"
                           ".shared .align 4 .b8 sh[4096];\n";

void kernel_init(struct kernel *k, const char *body, int rows)
{
    size_t size = sizeof head + strlen(body) + 8;
    char *text = malloc(size);
    struct ptx_module *module = NULL;
    struct buffer log = {0};

    assert_non_null(text);
    *k = (struct kernel){0};
    snprintf(text, size, "%s%s}\n", head, body);
    /* The module borrows the text: it lives in the arena. */
    {
        char *copy = arena_alloc(&k->arena, size);

        assert_non_null(copy);
        memcpy(copy, text, size);
        free(text);
        text = copy;
    }
    k->status =
        ptx_parse(text, strlen(text), &k->arena, &module, &log, &k->err);
    if (k->status)
        print_message("%s\n", buffer_str(&log));
    assert_int_equal(k->status, KILN_OK);
    buffer_fini(&log);
    k->graph = (struct graph){.arena = &k->arena,
                              .module = module,
                              .func = module->funcs[0],
                              .rows = rows,
                              .lanes = 16};
    k->status = graph_analyse(&k->graph, &k->err);
}

void kernel_fini(struct kernel *k)
{
    arena_fini(&k->arena);
}

int kernel_block(const struct kernel *k, unsigned line)
{
    const struct graph *g = &k->graph;

    for (int i = 0; i < g->order_count; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        if (b->insn_count && b->insns[0].ptx->line == line + HEAD_LINES)
            return g->order[i];
    }
    fail_msg("no block starts at line %u", line);
    return 0;
}

const struct graph_value *kernel_value(const struct kernel *k, unsigned line)
{
    const struct graph *g = &k->graph;
    int found = GRAPH_NONE;

    for (int i = 0; i < g->order_count; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        for (int n = 0; n < b->insn_count; n++)
            if (b->insns[n].ptx->line == line + HEAD_LINES &&
                b->insns[n].val[0] != GRAPH_NONE)
                found = b->insns[n].val[0];
    }
    if (found == GRAPH_NONE)
        fail_msg("no value is made at line %u", line);
    return &g->values[found];
}
