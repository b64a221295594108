/* SPDX-License-Identifier: MIT
 *
 * A program as PTX text again. Scopes are gone, names are unique, arrays
 * have one dimension; parsing the text gives the same program.
 */
#include <inttypes.h>
#include <string.h>

#include "cpu/ptx/parse.h"

/* --- variables --------------------------------------------------------- */

static unsigned element_bytes(const struct ptx_var *v)
{
    const unsigned n = (ptx_type_bits(v->type) + 7) / 8;

    return n ? n : 1;
}

static void print_ref(const struct ptx_init_ref *r, struct buffer *out)
{
    const char *name = r->var ? r->var->name : r->func->name;

    if (r->size == 1)
        buffer_printf(out, "0x%" PRIx64 "(", UINT64_C(0xff) << r->shift);
    if (r->generic)
        buffer_printf(out, "generic(%s)", name);
    else
        buffer_text(out, name);
    if (r->addend)
        buffer_printf(out, "+%" PRId64, r->addend);
    if (r->size == 1)
        buffer_text(out, ")");
}

static void print_number(const struct ptx_var *v, uint64_t at,
                         struct buffer *out)
{
    uint64_t bits = 0;

    memcpy(&bits, v->init + at, element_bytes(v) < 8 ? element_bytes(v) : 8);
    if (v->type == PTX_F32)
        buffer_printf(out, "0f%08" PRIX64, bits);
    else if (v->type == PTX_F64)
        buffer_printf(out, "0d%016" PRIX64, bits);
    else
        buffer_printf(out, bits < 10 ? "%" PRIu64 : "0x%" PRIx64, bits);
}

/* Elements up to the last that is not zero; addresses are in order. */
static void print_init(const struct ptx_var *v, struct buffer *out)
{
    const unsigned step = element_bytes(v);
    const unsigned item = step * v->vec;
    uint64_t end = v->size;
    size_t ref = 0;
    const int list = v->is_array || v->vec > 1;

    while (end && !v->init[end - 1])
        end--;
    if (v->ref_count && v->refs[v->ref_count - 1].at + step > end)
        end = v->refs[v->ref_count - 1].at + step;
    buffer_text(out, list ? " = {" : " = ");
    for (uint64_t at = 0; at < end; at += step) {
        const int opens = v->is_array && v->vec > 1 && at % item == 0;

        if (at)
            buffer_text(out, opens ? "}, " : ", ");
        buffer_text(out, opens ? "{" : "");
        if (ref < v->ref_count && v->refs[ref].at == at)
            print_ref(&v->refs[ref++], out);
        else
            print_number(v, at, out);
    }
    buffer_text(out, v->is_array && v->vec > 1 && end ? "}" : "");
    buffer_text(out, list ? "}" : "");
}

static void print_declarator(const struct ptx_var *v, struct buffer *out)
{
    const uint64_t item = (uint64_t)element_bytes(v) * v->vec;

    buffer_printf(out, ".%s", space_text(v->space));
    if (v->is_managed)
        buffer_text(out, " .attribute(.managed)");
    if (v->is_unified)
        buffer_text(out, " .attribute(.unified)");
    if (v->align != item)
        buffer_printf(out, " .align %u", v->align);
    if (v->vec > 1)
        buffer_printf(out, " .v%u", v->vec);
    buffer_printf(out, " .%s", ptx_type_text(v->type));
    if (v->is_pointer) {
        buffer_text(out, " .ptr");
        if (v->ptr_space)
            buffer_printf(out, " .%s", space_text(v->ptr_space));
        if (v->ptr_align)
            buffer_printf(out, " .align %u", v->ptr_align);
    }
    buffer_printf(out, " %s", v->name);
    if (v->is_array && v->size)
        buffer_printf(out, "[%" PRIu64 "]", v->size / item);
    else if (v->is_array)
        buffer_text(out, "[]");
}

static void print_linkage(int is_extern, int is_visible, int is_weak,
                          struct buffer *out)
{
    buffer_text(out, is_extern ? ".extern " : "");
    buffer_text(out, is_visible ? ".visible " : "");
    buffer_text(out, is_weak ? ".weak " : "");
}

static void print_var(const struct ptx_var *v, struct buffer *out)
{
    print_linkage(v->is_extern, v->is_visible, v->is_weak, out);
    print_declarator(v, out);
    if (v->init)
        print_init(v, out);
    buffer_text(out, ";\n");
}

/* --- operands ---------------------------------------------------------- */

static void print_operand(const struct ptx_func *f, const struct ptx_operand *o,
                          struct buffer *out);

static void print_offset(int64_t offset, struct buffer *out)
{
    if (offset)
        buffer_printf(out, "+%" PRId64, offset);
}

static void print_register(const struct ptx_func *f,
                           const struct ptx_operand *o, struct buffer *out)
{
    static const char elements[] = "xyzw";

    buffer_text(out, f->regs[o->reg].name);
    if (o->dim >= PTX_PARTS_B) {
        const int halves = o->dim >= PTX_PARTS_H;

        buffer_text(out, halves ? ".h" : ".b");
        for (int i = o->dim - (halves ? PTX_PARTS_H : PTX_PARTS_B); i-- > 0;)
            buffer_printf(out, "%d", (int)(o->ival >> (4 * i) & 15));
    } else if (o->dim >= PTX_PART_H0)
        buffer_printf(out, ".h%d", o->dim - PTX_PART_H0);
    else if (o->dim >= PTX_PART_B0)
        buffer_printf(out, ".b%d", o->dim - PTX_PART_B0);
    else if (o->dim)
        buffer_printf(out, ".%c", elements[(o->dim - 1) & 3]);
}

static void print_special(const struct ptx_operand *o, struct buffer *out)
{
    static const char elements[] = "xyz";

    buffer_printf(out, "%%%s", sreg_text(o->sreg));
    if (sreg_is_numbered(o->sreg))
        buffer_printf(out, "%u%s", o->dim,
                      o->sreg == PTX_SREG_PM_64 ? "_64" : "");
    else if (sreg_is_vector(o->sreg) && o->dim < 3)
        buffer_printf(out, ".%c", elements[o->dim]);
}

static void print_list(const struct ptx_func *f, const struct ptx_operand *o,
                       size_t count, struct buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        buffer_text(out, i ? ", " : "");
        print_operand(f, &o[i], out);
    }
}

/* The inside of the brackets. */
static void print_address(const struct ptx_func *f, const struct ptx_operand *o,
                          struct buffer *out)
{
    if (o->kind == PTX_OPERAND_ADDR_REG) {
        print_register(f, o, out);
        print_offset(o->ival, out);
    } else if (o->kind == PTX_OPERAND_ADDR_VAR) {
        buffer_text(out, o->var->name);
        print_offset(o->ival, out);
    } else {
        buffer_printf(out, "%" PRId64, o->ival);
    }
}

static void print_operand(const struct ptx_func *f, const struct ptx_operand *o,
                          struct buffer *out)
{
    buffer_text(out, o->negate == PTX_NEGATE_MINUS ? "-"
                     : o->negate                   ? "!"
                                                   : "");
    switch (o->kind) {
    case PTX_OPERAND_NONE:
        break;
    case PTX_OPERAND_REG:
        print_register(f, o, out);
        break;
    case PTX_OPERAND_SINK:
        buffer_text(out, "_");
        break;
    case PTX_OPERAND_INT:
        buffer_printf(out, "%" PRId64, o->ival);
        break;
    case PTX_OPERAND_FLOAT:
        buffer_printf(out, o->is_f32 ? "0f%08" PRIX64 : "0d%016" PRIX64,
                      o->fbits);
        break;
    case PTX_OPERAND_SREG:
        print_special(o, out);
        break;
    case PTX_OPERAND_VAR:
        buffer_text(out, o->var->name);
        print_offset(o->ival, out);
        break;
    case PTX_OPERAND_FUNC:
        buffer_text(out, o->func->name);
        break;
    case PTX_OPERAND_LABEL:
        buffer_text(out, f->labels[o->label].name);
        break;
    case PTX_OPERAND_ADDR_REG:
    case PTX_OPERAND_ADDR_VAR:
    case PTX_OPERAND_ADDR_INT:
        buffer_text(out, "[");
        print_address(f, o, out);
        buffer_text(out, "]");
        break;
    case PTX_OPERAND_VECTOR:
        buffer_text(out, "{");
        print_list(f, o->elems, o->count, out);
        buffer_text(out, "}");
        break;
    case PTX_OPERAND_ADDR_LIST:
        buffer_text(out, "[");
        print_address(f, &o->elems[0], out);
        buffer_text(out, ", ");
        print_list(f, o->elems + 1, o->count - 1u, out);
        buffer_text(out, "]");
        break;
    case PTX_OPERAND_TABLE:
        buffer_text(out, o->table->name);
        break;
    }
}

/* --- instructions ------------------------------------------------------ */

static void print_call(const struct ptx_func *f, const struct ptx_call *call,
                       struct buffer *out)
{
    if (call->result_operands && call->result_count) {
        buffer_text(out, "(");
        print_list(f, call->result_operands, call->result_count, out);
        buffer_text(out, "), ");
    }
    print_operand(f, &call->target, out);
    if (call->arg_count || call->prototype) {
        buffer_text(out, ", (");
        print_list(f, call->args, call->arg_count, out);
        buffer_text(out, ")");
    }
    if (call->prototype)
        buffer_printf(out, ", %s", call->prototype->name);
}

void ptx_print_insn(const struct ptx_func *f, const struct ptx_insn *insn,
                    struct buffer *out)
{
    if (insn->guard >= 0)
        buffer_printf(out, "@%s%s ", insn->guard_negate ? "!" : "",
                      f->regs[insn->guard].name);
    buffer_text(out, insn->text);
    buffer_text(out, insn->operand_count || insn->call ? " " : "");
    if (insn->call)
        print_call(f, insn->call, out);
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (i)
            buffer_text(out, i == 1 && insn->has_pair ? "|" : ", ");
        print_operand(f, &insn->operands[i], out);
    }
    buffer_text(out, ";");
}

/* --- functions --------------------------------------------------------- */

static void print_params(const struct ptx_var *list, size_t count,
                         struct buffer *out)
{
    buffer_text(out, "(");
    for (size_t i = 0; i < count; i++) {
        buffer_text(out, i ? ", " : "");
        print_declarator(&list[i], out);
    }
    buffer_text(out, ")");
}

static void print_three(const char *name, const uint32_t *v, struct buffer *out)
{
    if (v[0])
        buffer_printf(out, " .%s %u, %u, %u", name, v[0], v[1], v[2]);
}

static void print_one(const char *name, uint32_t v, struct buffer *out)
{
    if (v)
        buffer_printf(out, " .%s %u", name, v);
}

static void print_header(const struct ptx_func *f, struct buffer *out)
{
    print_linkage(f->is_extern, f->is_visible, f->is_weak, out);
    buffer_text(out, f->is_entry ? ".entry " : ".func ");
    if (f->result_count) {
        print_params(f->results, f->result_count, out);
        buffer_text(out, " ");
    }
    buffer_text(out, f->name);
    print_params(f->params, f->param_count, out);
}

static void print_directives(const struct ptx_func *f, struct buffer *out)
{
    print_three("maxntid", f->maxntid, out);
    print_three("reqntid", f->reqntid, out);
    print_three("reqnctapercluster", f->reqnctapercluster, out);
    print_one("minnctapersm", f->minnctapersm, out);
    print_one("maxnreg", f->maxnreg, out);
    print_one("maxclusterrank", f->maxclusterrank, out);
    buffer_text(out, f->explicitcluster ? " .explicitcluster" : "");
    buffer_text(out, f->noreturn ? " .noreturn" : "");
}

static int is_parameter(const struct ptx_func *f, size_t reg)
{
    for (size_t i = 0; i < f->param_count; i++) {
        if (f->params[i].space == PTX_SPACE_REG && f->params[i].reg == reg)
            return 1;
    }
    for (size_t i = 0; i < f->result_count; i++) {
        if (f->results[i].space == PTX_SPACE_REG && f->results[i].reg == reg)
            return 1;
    }
    return 0;
}

/* In order, so that the indices stay; eight names a line. */
static void print_registers(const struct ptx_func *f, struct buffer *out)
{
    size_t i = 0;

    while (i < f->reg_count && is_parameter(f, i))
        i++;
    while (i < f->reg_count) {
        const struct ptx_reg *first = &f->regs[i];

        buffer_text(out, "\t.reg ");
        if (first->vec > 1)
            buffer_printf(out, ".v%u ", first->vec);
        buffer_printf(out, ".%s %s", ptx_type_text(first->type), first->name);
        for (i++;
             i < f->reg_count && &f->regs[i] < first + 8 &&
             f->regs[i].type == first->type && f->regs[i].vec == first->vec;
             i++)
            buffer_printf(out, ", %s", f->regs[i].name);
        buffer_text(out, ";\n");
    }
}

static void print_table(const struct ptx_func *f, const struct ptx_table *t,
                        struct buffer *out)
{
    const struct ptx_func *proto = t->prototype;

    buffer_printf(out, "%s: ", t->name);
    if (t->label_count) {
        buffer_text(out, ".branchtargets ");
        for (size_t i = 0; i < t->label_count; i++)
            buffer_printf(out, "%s%s", i ? ", " : "",
                          f->labels[t->labels[i]].name);
    } else if (t->func_count) {
        buffer_text(out, ".calltargets ");
        for (size_t i = 0; i < t->func_count; i++)
            buffer_printf(out, "%s%s", i ? ", " : "", t->funcs[i]->name);
    } else {
        buffer_text(out, ".callprototype ");
        if (proto->result_count)
            print_params(proto->results, proto->result_count, out);
        buffer_text(out, " _ ");
        print_params(proto->params, proto->param_count, out);
        buffer_text(out, proto->noreturn ? " .noreturn" : "");
    }
    buffer_text(out, ";\n");
}

static void print_body(const struct ptx_func *f, struct buffer *out)
{
    size_t label = 0;

    print_registers(f, out);
    for (size_t i = 0; i < f->local_count; i++) {
        buffer_text(out, "\t");
        print_var(f->locals[i], out);
    }
    for (size_t i = 0; i < f->table_count; i++)
        print_table(f, f->tables[i], out);
    for (size_t i = 0; i <= f->insn_count; i++) {
        while (label < f->label_count && f->labels[label].insn == i)
            buffer_printf(out, "%s:\n", f->labels[label++].name);
        if (i < f->insn_count) {
            buffer_text(out, "\t");
            ptx_print_insn(f, &f->insns[i], out);
            buffer_text(out, "\n");
        }
    }
}

void ptx_print(const struct ptx_module *m, struct buffer *out)
{
    buffer_printf(out, ".version %u.%u\n.target sm_%u", m->version / 10,
                  m->version % 10, m->target);
    if (m->target_suffix)
        buffer_printf(out, "%c", m->target_suffix);
    buffer_printf(out, "%s%s\n.address_size %u\n\n",
                  m->texmode_independent ? ", texmode_independent" : "",
                  m->debug ? ", debug" : "", m->address_size);
    /* Every function first, so that any may name any. */
    for (size_t i = 0; i < m->func_count; i++) {
        print_header(m->funcs[i], out);
        if (!m->funcs[i]->has_body)
            print_directives(m->funcs[i], out);
        buffer_text(out, ";\n");
    }
    for (size_t i = 0; i < m->var_count; i++)
        print_var(m->vars[i], out);
    for (size_t i = 0; i < m->func_count; i++) {
        if (!m->funcs[i]->has_body)
            continue;
        buffer_text(out, "\n");
        print_header(m->funcs[i], out);
        print_directives(m->funcs[i], out);
        buffer_text(out, "\n{\n");
        print_body(m->funcs[i], out);
        buffer_text(out, "}\n");
    }
    for (size_t i = 0; i < m->func_count; i++) {
        if (m->funcs[i]->alias)
            buffer_printf(out, ".alias %s, %s;\n", m->funcs[i]->name,
                          m->funcs[i]->alias->name);
    }
}
