/* SPDX-License-Identifier: MIT
 *
 * What the code generator reads: every field of the program that the parser
 * promises, on one small text each.
 */
#include "parsed.h"

static void parse(struct parsed *p, const char *text)
{
    parse_bytes(p, text, strlen(text));
    if (p->status)
        fail_msg("%s", p->err.text);
}

static const struct ptx_func *only(const struct parsed *p)
{
    assert_int_equal(p->module->func_count, 1);
    return p->module->funcs[0];
}

static const struct ptx_insn *insn(const struct parsed *p, size_t i)
{
    const struct ptx_func *f = p->module->funcs[p->module->func_count - 1];

    assert_true(i < f->insn_count);
    return &f->insns[i];
}

static const char *reg_name(const struct parsed *p, const struct ptx_operand *o)
{
    const struct ptx_func *f = p->module->funcs[p->module->func_count - 1];

    assert_int_equal(o->kind, PTX_OPERAND_REG);
    return f->regs[o->reg].name;
}

static void the_header_is_read(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, ".version 8.7\n.target sm_100a, debug\n.address_size 64\n");
    assert_int_equal(p.module->version, 87);
    assert_int_equal(p.module->target, 100);
    assert_int_equal(p.module->target_suffix, 'a');
    assert_int_equal(p.module->debug, 1);
    assert_int_equal(p.module->address_size, 64);
    assert_int_equal(p.module->func_count, 0);
    parsed_fini(&p);
}

static void parameters_are_laid_out_in_their_block(void **state)
{
    struct parsed p;
    const struct ptx_func *f;

    (void)state;
    parse(&p, HEADER ".visible .entry k(.param .u8 a, .param .u64 .ptr .global "
                     ".align 16 b, .param .align 8 .b8 c[20], .param .u16 d)\n"
                     ".maxntid 128, 2\n.reqntid 64\n.minnctapersm 3\n.maxnreg "
                     "40\n{ ret; }");
    f = only(&p);
    assert_true(f->is_entry && f->is_visible && f->has_body);
    assert_int_equal(f->param_count, 4);
    assert_int_equal(f->params[0].offset, 0);
    assert_int_equal(f->params[1].offset, 8);
    assert_int_equal(f->params[2].offset, 16);
    assert_int_equal(f->params[3].offset, 36);
    assert_int_equal(f->param_bytes, 38);
    assert_int_equal(f->params[1].is_pointer, 1);
    assert_int_equal(f->params[1].ptr_space, PTX_SPACE_GLOBAL);
    assert_int_equal(f->params[1].ptr_align, 16);
    assert_int_equal(f->params[1].align, 8);
    assert_int_equal(f->params[2].is_array, 1);
    assert_int_equal(f->params[2].size, 20);
    assert_int_equal(f->params[2].align, 8);
    assert_int_equal(f->maxntid[0], 128);
    assert_int_equal(f->maxntid[1], 2);
    assert_int_equal(f->maxntid[2], 1);
    assert_int_equal(f->reqntid[0], 64);
    assert_int_equal(f->minnctapersm, 3);
    assert_int_equal(f->maxnreg, 40);
    parsed_fini(&p);
}

static void an_instruction_knows_types_modifiers_and_line(void **state)
{
    struct parsed p;
    const struct ptx_insn *i;

    (void)state;
    parse(&p, KERNEL("cvt.rn.sat.f32.s64 %f1, %rd2;\n\n"
                     "setp.lo.and.u32 %p1|%p2, %r1, -3, !%p3;\n"
                     "@!%p1 ld.global.nc.L1::no_allocate.v4.f32 "
                     "{%f1, _, %f3, %f4}, [%rd1+-16];\n"
                     "mul.lo.s32 %r1, %r2, 0x10;"));
    i = insn(&p, 0);
    assert_int_equal(i->op, PTX_OP_CVT);
    assert_int_equal(i->type_count, 2);
    assert_int_equal(i->types[0], PTX_F32);
    assert_int_equal(i->types[1], PTX_S64);
    assert_int_equal(i->round, PTX_ROUND_RN);
    assert_true(ptx_has(i, PTX_MOD_SAT));
    assert_false(ptx_has(i, PTX_MOD_FTZ));
    assert_int_equal(i->guard, -1);
    assert_int_equal(i->line, 7);
    assert_string_equal(i->text, "cvt.rn.sat.f32.s64");
    i = insn(&p, 1);
    assert_int_equal(i->line, 9);
    assert_int_equal(i->cmp, PTX_CMP_LO);
    assert_false(ptx_has(i, PTX_MOD_LO));
    assert_int_equal(i->sub, PTX_SUB_AND);
    assert_int_equal(i->has_pair, 1);
    assert_int_equal(i->dst_count, 2);
    assert_int_equal(i->operand_count, 5);
    assert_int_equal(i->operands[3].kind, PTX_OPERAND_INT);
    assert_int_equal(i->operands[3].ival, -3);
    assert_int_equal(i->operands[4].negate, 1);
    i = insn(&p, 2);
    assert_int_equal(i->space, PTX_SPACE_GLOBAL);
    assert_int_equal(i->vec, 4);
    assert_int_equal(i->guard_negate, 1);
    assert_true(i->guard >= 0);
    assert_int_equal(i->operands[0].kind, PTX_OPERAND_VECTOR);
    assert_int_equal(i->operands[0].count, 4);
    assert_int_equal(i->operands[0].elems[1].kind, PTX_OPERAND_SINK);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_ADDR_REG);
    assert_int_equal(i->operands[1].ival, -16);
    assert_true(ptx_has(i, PTX_MOD_NC));
    i = insn(&p, 3);
    assert_true(ptx_has(i, PTX_MOD_LO));
    assert_int_equal(i->cmp, PTX_CMP_NONE);
    assert_int_equal(i->dst_count, 1);
    assert_int_equal(i->vec, 1);
    parsed_fini(&p);
}

static void choices_have_fields_of_their_own(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, KERNEL("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n"
                     "vote.sync.uni.pred %p1, %p2, -1;\n"
                     "atom.global.cas.b32 %r1, [%rd1], 0, %r3;\n"
                     "cvt.rpi.f32.f32 %f1, %f2;\n"
                     "bra.uni L;\nL: cvta.to.shared.u64 %rd1, %rd2;\n"
                     "cp.async.ca.shared.global [%r1], [%rd1], 16;"));
    assert_int_equal(insn(&p, 0)->sub, PTX_SUB_SHFL_BFLY);
    assert_int_equal(insn(&p, 1)->sub, PTX_SUB_UNI);
    assert_int_equal(insn(&p, 2)->sub, PTX_SUB_CAS);
    assert_int_equal(insn(&p, 3)->round, PTX_ROUND_RPI);
    assert_true(ptx_has(insn(&p, 4), PTX_MOD_UNI));
    assert_true(ptx_has(insn(&p, 5), PTX_MOD_TO));
    assert_int_equal(insn(&p, 5)->space, PTX_SPACE_SHARED);
    assert_int_equal(insn(&p, 6)->space, PTX_SPACE_SHARED);
    assert_int_equal(insn(&p, 6)->space2, PTX_SPACE_GLOBAL);
    parsed_fini(&p);
}

static void operands_of_every_kind_are_resolved(void **state)
{
    struct parsed p;
    const struct ptx_insn *i;

    (void)state;
    parse(&p, HEADER ".global .align 8 .b8 g[16];\n.func f() { ret; }\n"
                     ".visible .entry k(.param .u64 a)\n{\n" REGISTERS
                     "mov.u64 %rd1, g+8;\nmov.u64 %rd1, f;\n"
                     "ld.param.u64 %rd1, [a];\nmov.u32 %r1, %ctaid.y;\n"
                     "mov.u32 %r1, %envreg7;\nmov.f32 %f1, 0f3F800000;\n"
                     "mov.f64 %fd1, 0d4000000000000000;\n"
                     "mov.f64 %fd1, 2.0;\nld.local.u32 %r1, [64];\n"
                     "add.u32 %r1, %r1, WARP_SZ - 1;\n}");
    i = insn(&p, 0);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_VAR);
    assert_string_equal(i->operands[1].var->name, "g");
    assert_int_equal(i->operands[1].ival, 8);
    i = insn(&p, 1);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_FUNC);
    assert_string_equal(i->operands[1].func->name, "f");
    i = insn(&p, 2);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_ADDR_VAR);
    assert_ptr_equal(i->operands[1].var, &p.module->funcs[1]->params[0]);
    i = insn(&p, 3);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_SREG);
    assert_int_equal(i->operands[1].sreg, PTX_SREG_CTAID);
    assert_int_equal(i->operands[1].dim, 1);
    i = insn(&p, 4);
    assert_int_equal(i->operands[1].sreg, PTX_SREG_ENVREG);
    assert_int_equal(i->operands[1].dim, 7);
    i = insn(&p, 5);
    assert_int_equal(i->operands[1].kind, PTX_OPERAND_FLOAT);
    assert_int_equal(i->operands[1].is_f32, 1);
    assert_int_equal(i->operands[1].fbits, 0x3F800000);
    assert_int_equal(insn(&p, 6)->operands[1].fbits, UINT64_C(1) << 62);
    assert_int_equal(insn(&p, 7)->operands[1].fbits, UINT64_C(1) << 62);
    assert_int_equal(insn(&p, 7)->operands[1].is_f32, 0);
    assert_int_equal(insn(&p, 8)->operands[1].kind, PTX_OPERAND_ADDR_INT);
    assert_int_equal(insn(&p, 8)->operands[1].ival, 64);
    assert_int_equal(insn(&p, 9)->operands[2].ival, 31);
    parsed_fini(&p);
}

static void labels_resolve_forwards_backwards_and_by_scope(void **state)
{
    struct parsed p;
    const struct ptx_func *f;

    (void)state;
    parse(&p, KERNEL("TOP: bra END;\n{ bra IN; IN: bra TOP; }\n"
                     "{ IN: bra IN; }\nEND: ret;"));
    f = only(&p);
    assert_int_equal(f->label_count, 4);
    assert_int_equal(f->labels[insn(&p, 0)->operands[0].label].insn, 4);
    assert_int_equal(f->labels[insn(&p, 1)->operands[0].label].insn, 2);
    assert_int_equal(f->labels[insn(&p, 2)->operands[0].label].insn, 0);
    assert_int_equal(f->labels[insn(&p, 3)->operands[0].label].insn, 3);
    parsed_fini(&p);
}

static void scopes_shadow_registers(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, KERNEL("mov.u32 %r1, 1;\n{ .reg .b32 %r<3>; mov.u32 %r1, 2; }\n"
                     "{ .reg .b32 %r1; mov.u32 %r1, 3; }\nmov.u32 %r1, 4;"));
    assert_int_equal(insn(&p, 0)->operands[0].reg,
                     insn(&p, 3)->operands[0].reg);
    assert_int_not_equal(insn(&p, 0)->operands[0].reg,
                         insn(&p, 1)->operands[0].reg);
    assert_int_not_equal(insn(&p, 1)->operands[0].reg,
                         insn(&p, 2)->operands[0].reg);
    assert_string_equal(reg_name(&p, &insn(&p, 0)->operands[0]), "%r1");
    assert_string_not_equal(reg_name(&p, &insn(&p, 1)->operands[0]), "%r1");
    parsed_fini(&p);
}

static void only_registers_in_use_exist(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, HEADER ".visible .entry k()\n{ .reg .b32 %r<1000000>;\n"
                     "mov.u32 %r999, %r7; ret; }");
    assert_int_equal(only(&p)->reg_count, 2);
    assert_int_equal(only(&p)->regs[0].type, PTX_B32);
    assert_string_equal(only(&p)->regs[0].name, "%r999");
    parsed_fini(&p);
}

static void initialisers_are_bytes_and_places(void **state)
{
    static const uint8_t expected[] = {1, 0, 2, 0, 0xff, 0xff, 0, 0};
    struct parsed p;
    const struct ptx_var *v;

    (void)state;
    parse(&p, HEADER ".func f() { ret; }\n.global .u16 a[4] = {1, 2, -1};\n"
                     ".global .u64 b[3] = {a+2, generic(a), f};\n"
                     ".global .u8 c[2] = {0xFF00(a+1), 7};\n"
                     ".global .u32 zero[4] = {0};\n"
                     ".extern .shared .align 16 .b8 dyn[];\n"
                     ".const .f32 half = 0.5;\n");
    assert_int_equal(p.module->var_count, 6);
    v = p.module->vars[0];
    assert_int_equal(v->size, sizeof expected);
    assert_memory_equal(v->init, expected, sizeof expected);
    v = p.module->vars[1];
    assert_int_equal(v->ref_count, 3);
    assert_ptr_equal(v->refs[0].var, p.module->vars[0]);
    assert_int_equal(v->refs[0].addend, 2);
    assert_int_equal(v->refs[1].at, 8);
    assert_int_equal(v->refs[1].generic, 1);
    assert_int_equal(v->refs[1].size, 8);
    assert_ptr_equal(v->refs[2].func, p.module->funcs[0]);
    v = p.module->vars[2];
    assert_int_equal(v->refs[0].size, 1);
    assert_int_equal(v->refs[0].shift, 8);
    assert_int_equal(v->refs[0].addend, 1);
    assert_int_equal(v->init[1], 7);
    assert_null(p.module->vars[3]->init);
    v = p.module->vars[4];
    assert_true(v->is_extern && v->is_array);
    assert_int_equal(v->size, 0);
    assert_int_equal(v->align, 16);
    assert_memory_equal(p.module->vars[5]->init, "\0\0\0\x3f", 4);
    parsed_fini(&p);
}

static void a_declaration_and_its_definition_are_one(void **state)
{
    struct parsed p;
    const struct ptx_func *f;

    (void)state;
    parse(&p, HEADER ".extern .global .u32 x;\n"
                     ".func (.param .b32 r) f(.param .b32 a);\n"
                     ".global .u64 px = x;\n"
                     ".func (.param .b32 r) g(.param .b32 a) {\n"
                     ".param .b32 r0;\ncall (r0), f, (a);\nret; }\n"
                     ".global .u32 x = 3;\n"
                     ".func (.param .b32 r) f(.param .b32 b) { ret; }\n");
    assert_int_equal(p.module->func_count, 2);
    assert_int_equal(p.module->var_count, 2);
    f = p.module->funcs[0];
    assert_string_equal(f->name, "f");
    assert_int_equal(f->has_body, 1);
    assert_ptr_equal(p.module->funcs[1]->insns[0].call->target.func, f);
    assert_int_equal(p.module->vars[0]->is_extern, 0);
    assert_ptr_equal(p.module->vars[1]->refs[0].var, p.module->vars[0]);
    parsed_fini(&p);
}

static void calls_carry_their_lists(void **state)
{
    struct parsed p;
    const struct ptx_call *call;

    (void)state;
    parse(&p, HEADER ".func (.param .b32 r) f(.param .b32 a, .param .b64 b);\n"
                     ".visible .entry k()\n{\n" REGISTERS
                     ".param .b32 p0; .param .b64 p1; .param .b32 r0;\n"
                     "call.uni (r0), f, (p0, p1);\n"
                     "proto: .callprototype (.param .b32 _) _ (.param .b32 _, "
                     ".param .b64 _);\n"
                     "call (r0), %rd1, (p0, p1), proto;\n}");
    call = insn(&p, 0)->call;
    assert_non_null(call);
    assert_int_equal(call->target.kind, PTX_OPERAND_FUNC);
    assert_int_equal(call->result_count, 1);
    assert_string_equal(call->results[0]->name, "r0");
    assert_int_equal(call->arg_count, 2);
    assert_int_equal(call->args[1].kind, PTX_OPERAND_VAR);
    assert_string_equal(call->args[1].var->name, "p1");
    call = insn(&p, 1)->call;
    assert_int_equal(call->target.kind, PTX_OPERAND_REG);
    assert_int_equal(call->prototype->prototype->param_count, 2);
    assert_int_equal(call->prototype->prototype->is_prototype, 1);
    parsed_fini(&p);
}

static void an_error_names_its_line_and_all_are_logged(void **state)
{
    const char *text = KERNEL("add.u32 %r1, %f1, %r2;\nfoo.u32 %r1;\nret;");
    struct parsed p;

    (void)state;
    parse_bytes(&p, text, strlen(text));
    assert_int_equal(p.status, KILN_E_PTX);
    assert_int_equal(p.err.status, KILN_E_PTX);
    assert_memory_equal(p.err.text, "line 7: ", 8);
    assert_non_null(strstr(p.err.text, "'%f1' of type .f32"));
    assert_non_null(strstr(buffer_str(&p.log), "ptx, line 7; error : "));
    assert_non_null(strstr(buffer_str(&p.log), "ptx, line 8; error : "));
    parsed_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_is_read),
        cmocka_unit_test(parameters_are_laid_out_in_their_block),
        cmocka_unit_test(an_instruction_knows_types_modifiers_and_line),
        cmocka_unit_test(choices_have_fields_of_their_own),
        cmocka_unit_test(operands_of_every_kind_are_resolved),
        cmocka_unit_test(labels_resolve_forwards_backwards_and_by_scope),
        cmocka_unit_test(scopes_shadow_registers),
        cmocka_unit_test(only_registers_in_use_exist),
        cmocka_unit_test(initialisers_are_bytes_and_places),
        cmocka_unit_test(a_declaration_and_its_definition_are_one),
        cmocka_unit_test(calls_carry_their_lists),
        cmocka_unit_test(an_error_names_its_line_and_all_are_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
