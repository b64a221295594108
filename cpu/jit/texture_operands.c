/* SPDX-License-Identifier: MIT
 *
 * [object, {x, y}] of texture and surface instructions and of copies by tensor
 * maps, made two operands: the object's register, or the map's address, and the
 * coordinates. The passes behind this one see
 * operands as any other instruction has them.
 */
#include "cpu/jit/calls.h"

static int is_texture(const struct ptx_insn *p)
{
    switch (p->op) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_TXQ:
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_SUQ:
        return 1;
    case PTX_OP_CP:
        return ptx_has(p, PTX_MOD_TENSOR);
    default:
        return 0;
    }
}

int texture_any(const struct ptx_func *f)
{
    for (size_t i = 0; i < f->insn_count; i++)
        if (is_texture(&f->insns[i]))
            return 1;
    return 0;
}

/* A register with the object's number, as an operand of its own. What is no
 * such register stays an address, and is refused where code is made. */
static struct ptx_operand plain(const struct ptx_operand *address)
{
    struct ptx_operand o = *address;

    if (o.kind == PTX_OPERAND_ADDR_REG && !o.ival)
        o.kind = PTX_OPERAND_REG;
    return o;
}

static void take_apart(struct ptx_insn *p)
{
    for (int k = 0; k < p->operand_count; k++) {
        const struct ptx_operand o = p->operands[k];

        if (o.kind == PTX_OPERAND_ADDR_REG && p->op != PTX_OP_CP)
            p->operands[k] = plain(&o);
        if (o.kind != PTX_OPERAND_ADDR_LIST || o.count != 2 ||
            p->operand_count == PTX_MAX_OPERANDS)
            continue;
        for (int i = p->operand_count++; i > k + 1; i--)
            p->operands[i] = p->operands[i - 1];
        p->operands[k] = p->op == PTX_OP_CP ? o.elems[0] : plain(&o.elems[0]);
        p->operands[k + 1] = o.elems[1];
        return;
    }
}

enum kiln_status texture_operands(struct arena *arena, const struct ptx_func *f,
                                  const struct ptx_func **out,
                                  struct kiln_error *err)
{
    struct ptx_func *copy = arena_alloc(arena, sizeof *copy);
    struct ptx_insn *insns = arena_array(arena, f->insn_count, sizeof *insns);

    if (!copy || !insns)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", f->name);
    *copy = *f;
    copy->insns = insns;
    for (size_t i = 0; i < f->insn_count; i++) {
        insns[i] = f->insns[i];
        if (is_texture(&insns[i]))
            take_apart(&insns[i]);
    }
    *out = copy;
    return KILN_OK;
}
