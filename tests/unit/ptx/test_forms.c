/* SPDX-License-Identifier: MIT
 *
 * The tables themselves: every row compiles, every mnemonic has rows, every
 * text is found again under its own name.
 */
#include "parsed.h"

#include "base/alloc.h"
#include "cpu/ptx/parse.h"

static struct parser *parser(struct kiln_error *err)
{
    static struct ptx_module module;
    struct parser *p = kiln_zalloc(sizeof *p);

    assert_non_null(p);
    p->err = err;
    p->module = &module;
    names_init(&p->names);
    return p;
}

static void every_row_compiles_and_every_mnemonic_has_one(void **state)
{
    struct kiln_error err = {0};
    struct parser *p = parser(&err);

    (void)state;
    for (int op = 0; op < PTX_OP_COUNT; op++) {
        const struct form *form;

        if (forms_compile(p, (enum ptx_op)op, &form))
            fail_msg("%s", err.text);
        if ((form == NULL) != (op_is_open((enum ptx_op)op) != 0))
            fail_msg("%s has %s rows", ptx_op_text((enum ptx_op)op),
                     form ? "needless" : "no");
    }
    arena_fini(&p->scratch);
    kiln_release(p);
}

static void texts_are_found_under_their_numbers(void **state)
{
    struct names *names = kiln_zalloc(sizeof *names);

    (void)state;
    assert_non_null(names);
    names_init(names);
    for (int op = 0; op < PTX_OP_COUNT; op++) {
        const char *text = ptx_op_text((enum ptx_op)op);

        assert_int_equal(op_find(text, strlen(text)), op);
    }
    for (int t = 1; t < PTX_TYPE_COUNT; t++) {
        const char *text = ptx_type_text((enum ptx_type)t);

        assert_int_equal(type_find(text, strlen(text)), t);
        assert_true(names_find(names, text, strlen(text)) < 0);
    }
    assert_int_equal(names->items[names_find(names, "ftz", 3)].mod,
                     PTX_MOD_FTZ);
    assert_int_equal(names->items[names_find(names, "row'", 4)].mod,
                     PTX_MOD_B_ROW);
    assert_int_equal(names->items[names_find(names, "v4", 2)].vec, 4);
    assert_true(names_find(names, "hello", 5) < 0);
    kiln_release(names);
}

static void types_know_their_size_and_class(void **state)
{
    (void)state;
    assert_int_equal(ptx_type_bits(PTX_PRED), 1);
    assert_int_equal(ptx_type_bits(PTX_B128), 128);
    assert_int_equal(ptx_type_bits(PTX_F16X2), 32);
    assert_int_equal(ptx_type_class(PTX_S8), PTX_CLASS_SINT);
    assert_int_equal(ptx_type_class(PTX_BF16), PTX_CLASS_FLOAT);
    assert_int_equal(ptx_type_class(PTX_NONE), PTX_CLASS_NONE);
}

/* One line in a kernel; what ptxas 13.0 says to it is written beside it. */
static void lines_are_taken_and_refused_as_by_ptxas(void **state)
{
    static const struct {
        const char *line;
        int taken;
    } lines[] = {
        {"add.f32.rn %f1, %f2, %f3;", 1},
        {"add.f32 %r1, %f2, %f3;", 1}, /* bits agree with float */
        {"add.u32 %r1, 5, 5;", 1},
        {"add.f32 %f1, %f2, 0d3FF0000000000000;", 1},
        {"add.u32 %r1, %r2, -%r3;", 0},
        {"add.f32 %f1, %f2, -0f3F800000;", 0},
        {"ld.global.u8 %rd1, [%rd2];", 1},
        {"ld.global.u8 %f1, [%rd2];", 0},
        {"ld.global.b8 %f1, [%rd2];", 1},
        {"ld.global.f32 %rd1, [%rd2];", 1},
        {"ld.global.f32 %fd1, [%rd2];", 0},
        {"ld.global.b32 %h1, [%rd2];", 0},
        {"ld.global.u32 %r1, [%rd1-4];", 0},
        {"ld.global.u32 %r1, [%rd1+-4];", 1},
        {"ld.global.v2.u32 {%f1, %f2}, [%rd1];", 0},
        {"ld.global.v2.u8 {%h1, %r2}, [%rd1];", 0},
        {"ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd1];", 0},
        {"mov.b32 %r1, 0f3F800000;", 1},
        {"mov.u32 %r1, 0f3F800000;", 0},
        {"mov.b64 %rd1, 0f3F800000;", 0},
        {"mov.u16 %h1, %tid.x;", 1},
        {"mov.u64 %rd1, %tid.x;", 0},
        {"mov.u64 %rd1, {%r1, %r2};", 0},
        {"mov.pred %p1, !%p2;", 1},
        {"and.pred %p1, %p2, 1;", 1},
        {"setp.lt.b32 %p1, %r1, %r2;", 0},
        {"setp.eq.b32 %p1, %f1, %f2;", 1},
        {"setp.lt.u32 _|%p1, %r1, %r2;", 1},
        {"selp.s32 %r1, 1, 0, !%p1;", 1},
        {"shl.b64 %rd1, %rd1, %h1;", 0},
        {"shl.u32 %r1, %r1, 1;", 0},
        {"mul.wide.u32 %r1, %r1, %r2;", 0},
        {"div.f32 %f1, %f2, %f3;", 0},
        {"rcp.approx.ftz.f64 %fd1, %fd2;", 1},
        {"bar.arrive 0;", 0},
        {"barrier.cluster.arrive.release.aligned;", 1},
        {"atom.relaxed.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;", 1},
        {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},"
         " {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
         0},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},"
         " {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
         1},
        {"cvt.sat.s64.u64 %rd1, %rd2;", 1},
        {"cvt.sat.s16.u8 %h1, %h2;", 0},
        {"cvt.f64.f32 %fd1, %f1;", 1},
        {"cvt.rn.f64.f32 %fd1, %f1;", 0},
        {"cvt.rz.u32.f32 %r1, %f1;", 0},
        {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 "
         "[%r1], %r2, [%r3];",
         1},
        {"tcgen05.fence::before_thread_sync;", 1}, /* PTX; refused later */
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct buffer text = {0};
        struct parsed p;

        buffer_add(&text, KERNEL(""), strlen(KERNEL("")) - 2);
        buffer_printf(&text, "%s\n}\n", lines[i].line);
        parse_bytes(&p, (const char *)text.bytes, text.size);
        if ((p.status == KILN_OK) != (lines[i].taken != 0))
            fail_msg("'%s': %s", lines[i].line,
                     p.status ? p.err.text : "taken");
        parsed_fini(&p);
        buffer_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_compiles_and_every_mnemonic_has_one),
        cmocka_unit_test(texts_are_found_under_their_numbers),
        cmocka_unit_test(types_know_their_size_and_class),
        cmocka_unit_test(lines_are_taken_and_refused_as_by_ptxas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
