/* SPDX-License-Identifier: MIT
 *
 * What every program may use: directives, special registers, warps, barriers,
 * functions, atomics, address spaces, versions and targets.
 *
 * --print writes the PTX of all of it instead of running it.
 */
#include "checklist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static CUdeviceptr out;
int list_prints;

static const char frame[] =
    ".version %u.%u\n.target sm_%u\n.address_size 64\n%s"
    ".visible .entry k(.param .u64 out)\n%s\n{\n"
    ".reg .b16 %%h<10>;\n.reg .b32 %%r<40>, %%o<4>;\n.reg .b64 %%d<20>;\n"
    ".reg .pred %%p<8>;\n.reg .f32 %%f<8>;\n.reg .f64 %%e<8>;\n"
    "mov.u32 %%o0, 0;\nmov.u32 %%o1, 0;\nmov.u32 %%o2, 0;\nmov.u32 %%o3, 0;\n"
    "%sld.param.u64 %%d19, [out];\nmov.u32 %%r39, %%tid.x;\n"
    "mad.wide.u32 %%d19, %%r39, 16, %%d19;\n"
    "st.global.v4.b32 [%%d19], {%%o0, %%o1, %%o2, %%o3};\nret;\n}\n";

static int run(const struct list_kernel *k, const char *text, uint32_t *found,
               size_t bytes)
{
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log}, *args[] = {&out};
    CUmodule module;
    CUfunction f;
    CUresult r = cuModuleLoadDataEx(&module, text, 2, options, values);

    if (!CHECK_SAYS(!r, "%s: loads (%d) %s", k->name, (int)r, log))
        return -1;
    r = cuModuleGetFunction(&f, module, "k");
    if (!r)
        r = cuMemsetD8_v2(out, 0xee, bytes);
    if (!r)
        r = cuLaunchKernel(f, 1, 1, 1, LIST_THREADS, 1, 1, 0, NULL, args, NULL);
    if (!r)
        r = cuMemcpyDtoH_v2(found, out, bytes);
    cuModuleUnload(module);
    return CHECK_SAYS(!r, "%s: runs (%d)", k->name, (int)r) ? 0 : -1;
}

void list_run(const struct list_kernel *k, list_expect *expect,
              const void *data)
{
    static char text[1 << 18];
    uint32_t found[LIST_THREADS][LIST_WORDS];
    unsigned bad = 0;

    snprintf(text, sizeof text, frame, k->version / 10, k->version % 10,
             k->target, k->module, k->directives, k->body);
    if (list_prints) {
        printf("// %s\n%s", k->name, text);
        return;
    }
    if (run(k, text, found[0], sizeof found))
        return;
    for (unsigned t = 0; t < LIST_THREADS; t++)
        for (unsigned w = 0; w < LIST_WORDS; w++) {
            const uint32_t wanted = expect(data, t, w);

            if (found[t][w] != wanted && bad++ < 2)
                printf("     %s: word %u of thread %u is 0x%x, not 0x%x\n",
                       k->name, w, t, found[t][w], wanted);
        }
    CHECK_SAYS(!bad, "%s: gives what it should", k->name);
}

/* --- rows --- */

struct row {
    struct list_kernel kernel;
    uint32_t want[LIST_WORDS], step[LIST_WORDS];
};

static const struct row rows[] = {
#define ROW(name, version, target, directives, module, body, want, step)       \
    {{name, version, target, directives, module, body}, want, step},
#include "checklist.def"
#undef ROW
};

static uint32_t of_row(const void *data, unsigned t, unsigned w)
{
    const struct row *row = data;

    return row->want[w] + t % 32 * row->step[w];
}

/* --- many of a kind --- */

static void one(const char *name, unsigned version, unsigned target,
                const char *module, const char *body, const uint32_t *want)
{
    struct row row = {.kernel = {name, version, target, "", module, body}};

    memcpy(row.want, want, sizeof row.want);
    list_run(&row.kernel, of_row, &row);
}

/* What they hold is the driver's; what is read twice does not fall. */
static void numbered_registers(void)
{
    char body[16384];
    size_t at = 0;

    for (unsigned i = 0; i < 32; i++)
        at += (size_t)snprintf(body + at, sizeof body - at,
                               "mov.u32 %%r0, %%envreg%u;\n"
                               "mov.u32 %%r1, %%envreg%u;\n"
                               "setp.ne.u32 %%p0, %%r0, %%r1;\n"
                               "@%%p0 mov.u32 %%o0, 1;\n",
                               i, i);
    for (unsigned i = 0; i < 8; i++)
        at += (size_t)snprintf(body + at, sizeof body - at,
                               "mov.u32 %%r0, %%pm%u;\nmov.u32 %%r1, %%pm%u;\n"
                               "sub.u32 %%r1, %%r1, %%r0;\n"
                               "shr.u32 %%r1, %%r1, 31;\n"
                               "or.b32 %%o1, %%o1, %%r1;\n"
                               "mov.u64 %%d0, %%pm%u_64;\n"
                               "mov.u64 %%d1, %%pm%u_64;\n"
                               "setp.gt.u64 %%p0, %%d0, %%d1;\n"
                               "@%%p0 mov.u32 %%o2, 1;\n",
                               i, i, i, i);
    one("%envreg0 to 31, %pm0 to 7", 90, 90, "", body, (uint32_t[4]){0});
}

/* Addresses of local, shared, constant, global and parameter memory, and what
 * isspacep says of each: a bit, a byte for each of its spaces. Parameters
 * are global memory as well. */
static void spaces(void)
{
    static const char *const names[] = {
        "local", "shared", "shared::cta",  "shared::cluster",
        "const", "param",  "param::entry", "global"};
    char body[8192];
    size_t at =
        (size_t)snprintf(body, sizeof body,
                         ".local .align 4 .b32 l;\n.shared .align 4 .b32 s;\n"
                         "mov.u64 %%d0, l;\ncvta.local.u64 %%d0, %%d0;\n"
                         "mov.u64 %%d1, s;\ncvta.shared.u64 %%d1, %%d1;\n"
                         "mov.u64 %%d2, c;\ncvta.const.u64 %%d2, %%d2;\n"
                         "mov.u64 %%d3, g;\ncvta.global.u64 %%d3, %%d3;\n"
                         "mov.b64 %%d4, out;\ncvta.param.u64 %%d4, %%d4;\n");

    for (unsigned i = 0; i < 8; i++)
        for (unsigned a = 0; a < 5; a++)
            at += (size_t)snprintf(
                body + at, sizeof body - at,
                "isspacep.%s %%p0, %%d%u;\nselp.u32 %%r0, %u, 0, %%p0;\n"
                "or.b32 %%o%u, %%o%u, %%r0;\n",
                names[i], a, 1u << (a + i % 4 * 8), i / 4, i / 4);
    one("isspacep", 90, 90,
        ".const .align 4 .u32 c = 1;\n.global .align 4 .u32 g = 1;\n", body,
        (uint32_t[4]){0x02020201, 0x18101004});
}

/* The newest is one that this driver does not know: taken, since it knows
 * every instruction. */
static void versions(void)
{
    static const unsigned known[] = {32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64,
                                     65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                     81, 82, 83, 84, 85, 86, 87, 88, 90, 99};
    static const unsigned targets[] = {30, 32, 35, 37,  50,  52,  53,  60,
                                       61, 62, 70, 72,  75,  80,  86,  87,
                                       88, 89, 90, 100, 103, 110, 120, 121};
    char name[64];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i] > 90 && !is_kiln)
            continue;
        snprintf(name, sizeof name, ".version %u.%u", known[i] / 10,
                 known[i] % 10);
        one(name, known[i],
            known[i] < 60   ? 30
            : known[i] < 75 ? 70
                            : 75,
            "", "mov.u32 %o0, 1;\n", (uint32_t[4]){1});
    }
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (!is_kiln && (targets[i] > 90 || targets[i] < 50))
            continue;
        snprintf(name, sizeof name, ".target sm_%u", targets[i]);
        one(name, targets[i] < 75 ? 63 : 90, targets[i], "",
            "mov.u32 %o0, 1;\n", (uint32_t[4]){1});
    }
}

int main(int argc, char **argv)
{
    list_prints = argc > 1 && !strcmp(argv[1], "--print");
    if (list_prints) {
        is_kiln = 1;
    } else {
        test_start();
        test_need_compiler();
        OK(cuMemAlloc_v2(&out, LIST_THREADS * LIST_WORDS * 4));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        list_run(&rows[i].kernel, of_row, &rows[i]);
    if (is_kiln) /* ptxas takes it for objects to be linked alone */
        one("unified variable", 90, 90,
            ".global .attribute(.unified(19, 95)) .align 4 .u32 v = 8;\n",
            "ld.global.u32 %o0, [v];\n", (uint32_t[4]){8});
    numbered_registers();
    spaces();
    versions();
    list_atomics();
    return list_prints ? 0 : test_end();
}
