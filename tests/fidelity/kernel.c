/* SPDX-License-Identifier: MIT
 *
 * A case as a PTX kernel: one element a thread. Results are stored by word,
 * all threads' first words first.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cpu/ptx/ptx.h"
#include "fidelity.h"

void *fid_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p) {
        fprintf(stderr, "fidelity: no memory\n");
        exit(2);
    }
    return p;
}

char *fid_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (!text) {
        fprintf(stderr, "fidelity: no memory\n");
        exit(2);
    }
    return text;
}

struct fid_case *fid_add(struct fid_cases *all, const char *family, char *name,
                         char *body, const char *kinds, unsigned words)
{
    struct fid_case *c;

    if (all->count == all->capacity) {
        all->capacity = all->capacity ? all->capacity * 2 : 256;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (!all->items) {
            fprintf(stderr, "fidelity: no memory\n");
            exit(2);
        }
    }
    c = &all->items[all->count++];
    memset(c, 0, sizeof *c);
    c->family = family;
    c->name = name;
    c->body = body;
    snprintf(c->kinds, sizeof c->kinds, "%s", kinds);
    c->words = words;
    c->texts = 1;
    return c;
}

const char *fid_register(char kind)
{
    if (kind == 'p')
        return "pred";
    if (strchr("whg", kind))
        return "b16";
    return strchr("ldFABETCDV", kind) ? "b64" : "b32";
}

static void header(FILE *f)
{
    fprintf(f, ".version 9.0\n.target sm_90\n.address_size 64\n");
}

static void load_operand(FILE *f, const struct fid_case *c, unsigned s)
{
    const char kind = c->kinds[s];
    const char *type = kind == 'p' ? "b32" : fid_register(kind);

    fprintf(f,
            "    .reg .%s %%a%u;\n"
            "    ld.param.u64 %%zd1, [in%u];\n"
            "    mad.wide.u32 %%zd1, %%zi, %u, %%zd1;\n",
            fid_register(kind), s, s,
            strcmp(type, "b16") == 0   ? 2
            : strcmp(type, "b32") == 0 ? 4
                                       : 8);
    if (kind == 'p')
        fprintf(f,
                "    ld.global.b32 %%zt, [%%zd1];\n"
                "    and.b32 %%zt, %%zt, 1;\n"
                "    setp.ne.u32 %%a%u, %%zt, 0;\n",
                s);
    else
        fprintf(f, "    ld.global.%s %%a%u, [%%zd1];\n", type, s);
}

static void kernel(FILE *f, const struct fid_case *c, unsigned number,
                   enum fid_way way)
{
    fprintf(f,
            ".visible .entry k%u(.param .u64 out, .param .u64 scratch,\n"
            "    .param .u32 n",
            number);
    for (unsigned s = 0; s < FID_IN; s++)
        fprintf(f, ", .param .u64 in%u", s);
    fprintf(f,
            ")\n{\n"
            "    .reg .pred %%zp, %%p<16>;\n"
            "    .reg .b16 %%h<24>;\n"
            "    .reg .b32 %%zi, %%zn, %%zt, %%t<48>, %%o<%d>;\n"
            "    .reg .b64 %%zd1, %%zd2, %%m, %%d<24>;\n"
            "    mov.u32 %%zi, %%ctaid.x;\n"
            "    mov.u32 %%zn, %%ntid.x;\n"
            "    mov.u32 %%zt, %%tid.x;\n"
            "%s"
            "    ld.param.u32 %%zn, [n];\n"
            "    setp.ge.u32 %%zp, %%zi, %%zn;\n"
            "    @%%zp exit;\n",
            FID_WORDS,
            way == FID_UNIFORM ? "" : "    mad.lo.u32 %zi, %zi, %zn, %zt;\n");
    if (way == FID_MIXED)
        fprintf(f, "    mov.u32 %%t47, 0;\n"
                   "    add.f32 %%t47, %%t47, %%t47;\n");
    if (c->scratch)
        fprintf(f, "    ld.param.u64 %%m, [scratch];\n"
                   "    mad.wide.u32 %%m, %%zi, 64, %%m;\n");
    for (unsigned s = 0; c->kinds[s]; s++)
        load_operand(f, c, s);
    fprintf(f, "%s", c->body);
    fprintf(f, "    ld.param.u64 %%zd1, [out];\n"
               "    mad.wide.u32 %%zd1, %%zi, 4, %%zd1;\n"
               "    mul.wide.u32 %%zd2, %%zn, 4;\n");
    for (unsigned w = 0; w < c->words; w++)
        fprintf(f,
                "    st.global.b32 [%%zd1], %%o%u;\n"
                "    add.u64 %%zd1, %%zd1, %%zd2;\n",
                w);
    fprintf(f, "    ret;\n}\n");
}

char *fid_module(const struct fid_case *const *cases, size_t count,
                 enum fid_way way)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f) {
        fprintf(stderr, "fidelity: no memory\n");
        exit(2);
    }
    header(f);
    for (size_t i = 0; i < count; i++)
        kernel(f, cases[i], (unsigned)i, way);
    fclose(f);
    return text;
}

int fid_parses(const char *text)
{
    struct arena arena;
    struct ptx_module *module;
    struct kiln_error err = {0};
    enum kiln_status st;

    arena = (struct arena){0};
    st = ptx_parse(text, strlen(text), &arena, &module, NULL, &err);
    arena_fini(&arena);
    if (st && getenv("KILN_FIDELITY_WHY"))
        fprintf(stderr, "%s\n", err.text);
    return st == KILN_OK;
}
