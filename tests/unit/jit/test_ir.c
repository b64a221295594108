/* SPDX-License-Identifier: MIT
 *
 * What kernels become in LLVM's hands: vectors where lanes are contiguous,
 * masks where they part, no gather where a stride is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/jit/jit.h"

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p, .param .u64 q, "
                           ".param .u32 n)\n{\n"
                           ".reg .pred %p<40>;\n.reg .b32 %r<60>;\n"
                           ".reg .b64 %rd<40>;\n.reg .f32 %f<20>;\n"
                           ".shared .align 4 .b8 sh[4096];\n";

/* The IR of the kernel's variant for whole warps, 8 lanes a chunk. */
static char *compile(const char *body)
{
    static char text[1 << 20], ptx[1 << 14];
    struct jit_request q = {
        .struct_size = sizeof q, .ptx = ptx, .level = 4, .target = 121};
    struct jit_result r = {.struct_size = sizeof r};
    struct kiln_error err = {0};
    FILE *to = tmpfile();
    int saved = dup(2);
    enum kiln_status st;
    size_t n;
    char *end, *start;

    assert_non_null(to);
    snprintf(ptx, sizeof ptx, "%s%s}\n", head, body);
    q.size = strlen(ptx);
    setenv("KILN_DUMP", "ir", 1);
    setenv("KILN_CPU_ISA", "avx2", 1);
    fflush(stderr);
    dup2(fileno(to), 2);
    st = jit_compile(&q, &r, &err);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    assert_int_equal(st, KILN_OK);
    free(r.object);
    rewind(to);
    n = fread(text, 1, sizeof text - 1, to);
    text[n] = 0;
    fclose(to);
    start = strstr(text, "@k.rows(");
    assert_non_null(start);
    end = strstr(start, "\n}\n");
    assert_non_null(end);
    *end = 0;
    return start;
}

static void a_row_is_loaded_as_vectors_without_masks(void **state)
{
    const char *ir = compile("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
                             "mov.u32 %r3, %ntid.x;\n"
                             "mad.lo.s32 %r4, %r2, %r3, %r1;\n"
                             "mul.wide.s32 %rd1, %r4, 4;\n"
                             "ld.param.u64 %rd2, [p];\n"
                             "add.s64 %rd3, %rd2, %rd1;\n"
                             "ld.global.f32 %f1, [%rd3];\n"
                             "mul.f32 %f1, %f1, %f1;\n"
                             "st.global.f32 [%rd3], %f1;\nret;\n");

    (void)state;
    assert_non_null(strstr(ir, "load <8 x float>"));
    assert_non_null(strstr(ir, "fmul <8 x float>"));
    assert_null(strstr(ir, "gather"));
    assert_null(strstr(ir, "llvm.masked"));
}

static void a_guarded_row_is_loaded_under_a_mask(void **state)
{
    const char *ir =
        compile("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
                "mov.u32 %r3, %ntid.x;\nld.param.u32 %r5, [n];\n"
                "mad.lo.s32 %r4, %r2, %r3, %r1;\n"
                "setp.ge.s32 %p1, %r4, %r5;\n@%p1 bra END;\n"
                "mul.wide.s32 %rd1, %r4, 4;\nld.param.u64 %rd2, [p];\n"
                "add.s64 %rd3, %rd2, %rd1;\nld.global.f32 %f1, [%rd3];\n"
                "st.global.f32 [%rd3+4], %f1;\nEND: ret;\n");

    (void)state;
    assert_non_null(strstr(ir, "masked.load.v8i32"));
    assert_non_null(strstr(ir, "masked.store.v8i32"));
    assert_null(strstr(ir, "gather"));
    assert_null(strstr(ir, "scatter"));
}

static void a_divergent_loop_carries_a_mask(void **state)
{
    const char *ir =
        compile("mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                "L: mad.lo.u32 %r2, %r2, 3, %r1;\nadd.u32 %r3, %r3, 1;\n"
                "and.b32 %r4, %r2, 31;\nsetp.ne.u32 %p2, %r4, 7;\n"
                "@%p2 bra L;\n"
                "ld.param.u64 %rd2, [p];\nmul.wide.u32 %rd1, %r1, 4;\n"
                "add.s64 %rd3, %rd2, %rd1;\nst.global.u32 [%rd3], %r3;\n"
                "ret;\n");

    (void)state;
    assert_non_null(strstr(ir, "phi <8 x i1>"));
    assert_non_null(strstr(ir, "select <8 x i1>"));
    /* All lanes are there again behind the loop. */
    assert_non_null(strstr(ir, "store <8 x i32>"));
    assert_null(strstr(ir, "llvm.masked"));
}

static void a_tile_product_has_no_gather(void **state)
{
    const char *ir = compile(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, sh;\n"
        "shl.b32 %r4, %r1, 2;\nadd.u32 %r4, %r4, %r3;\n"
        "shl.b32 %r5, %r2, 6;\nadd.u32 %r5, %r5, %r3;\n"
        "add.u32 %r9, %r5, %r4;\nst.shared.u32 [%r9], %r1;\n"
        "bar.sync 0;\nmov.u32 %r6, 0;\nmov.f32 %f1, 0f00000000;\n"
        "L: ld.shared.f32 %f2, [%r5];\nld.shared.f32 %f3, [%r4];\n"
        "fma.rn.f32 %f1, %f2, %f3, %f1;\n"
        "add.u32 %r5, %r5, 4;\nadd.u32 %r4, %r4, 64;\nadd.u32 %r6, %r6, 1;\n"
        "setp.lt.u32 %p1, %r6, 16;\n@%p1 bra L;\n"
        "bar.sync 0;\nst.shared.f32 [%r9], %f1;\nret;\n");

    (void)state;
    assert_non_null(strstr(ir, "llvm.fma.v8f32"));
    assert_null(strstr(ir, "gather"));
    assert_null(strstr(ir, "llvm.masked"));
    assert_null(strstr(ir, "x i1>"));
}

static void a_value_of_each_row_is_one_scalar_load_a_chunk(void **state)
{
    const char *ir = compile(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n"
        "ld.param.u64 %rd1, [p];\nmul.wide.u32 %rd2, %r2, 4;\n"
        "add.s64 %rd2, %rd1, %rd2;\nld.global.u32 %r3, [%rd2];\n"
        "ld.param.u64 %rd3, [q];\nmul.wide.u32 %rd4, %r1, 4;\n"
        "add.s64 %rd4, %rd3, %rd4;\nst.global.u32 [%rd4], %r3;\nret;\n");

    (void)state;
    assert_null(strstr(ir, "gather"));
    assert_non_null(strstr(ir, "load i32"));
}

static void a_wait_for_memory_loads_each_time(void **state)
{
    const char *ir = compile(
        "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\n"
        "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n"
        "L: ld.relaxed.gpu.global.u32 %r2, [%rd2];\n"
        "ld.acquire.gpu.global.u32 %r3, [%rd1];\nadd.u32 %r2, %r2, %r3;\n"
        "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;\n");
    const char *loop = strstr(ir, "b4.line");

    (void)state;
    (void)loop;
    assert_non_null(strstr(ir, "load volatile i32"));
    assert_non_null(strstr(ir, "asm sideeffect \"\", \"~{memory}\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_loaded_as_vectors_without_masks),
        cmocka_unit_test(a_guarded_row_is_loaded_under_a_mask),
        cmocka_unit_test(a_divergent_loop_carries_a_mask),
        cmocka_unit_test(a_tile_product_has_no_gather),
        cmocka_unit_test(a_value_of_each_row_is_one_scalar_load_a_chunk),
        cmocka_unit_test(a_wait_for_memory_loads_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
