/* SPDX-License-Identifier: MIT */
#include "cpu/jit/access.h"

struct list {
    const struct ptx_insn *p;
    struct access_at *at;
    int count;
};

static void add(struct list *l, int k, enum ptx_space space, uint32_t bytes,
                int writes)
{
    if (k < l->p->operand_count)
        l->at[l->count++] =
            (struct access_at){k, space, bytes, ACCESS_ALL, writes};
}

static void add_copy(struct list *l)
{
    const struct ptx_insn *p = l->p;
    const uint32_t bytes =
        p->operand_count > 2 ? (uint32_t)p->operands[2].ival : 0;

    if (ptx_has(p, PTX_MOD_BULK)) {
        if (p->operand_count < 3 || ptx_has(p, PTX_MOD_PREFETCH))
            return;                       /* a commit or a wait */
        if (ptx_has(p, PTX_MOD_TENSOR)) { /* the engine looks at the map */
            const int is_load = p->space == PTX_SPACE_SHARED;

            add(l, is_load ? 0 : 2, PTX_SPACE_SHARED, 16, is_load);
            if (is_load)
                add(l, 3, PTX_SPACE_SHARED, 8, 1);
            return;
        }
        add(l, 0, p->space, 16, 1);
        add(l, 1, p->space2, 16, 0);
        if (ptx_has(p, PTX_MOD_COMPLETE_TX_BYTES))
            add(l, 3, PTX_SPACE_SHARED, 8, 1);
    } else if (ptx_has(p, PTX_MOD_MBARRIER)) {
        add(l, 0, p->space, 8, 1);
    } else if (bytes == 4 || bytes == 8 || bytes == 16) {
        add(l, 0, PTX_SPACE_SHARED, bytes, 1);
        /* it may take less of the source, or nothing */
        add(l, 1, PTX_SPACE_GLOBAL, bytes, 0);
    }
}

static void add_matrix(struct list *l, int k, int writes)
{
    add(l, k, l->p->space, 16, writes);
    l->at[0].lanes = ptx_has(l->p, PTX_MOD_X4)   ? 32
                     : ptx_has(l->p, PTX_MOD_X2) ? 16
                                                 : 8;
}

/* The sizes that the ISA asks for: of the access as a whole (PTX ISA 5.4,
 * 9.7.9, 9.7.13), 16 bytes for a row of a matrix and in bulk. */
int access_list(const struct graph_insn *insn, struct access_at list[ACCESSES])
{
    const struct ptx_insn *p = insn->ptx;
    struct list l = {.p = p, .at = list};
    const uint32_t bytes =
        p->type_count ? ptx_type_bits(p->types[p->type_count - 1]) / 8 * p->vec
                      : 0;

    if (insn->kind != GRAPH_INSN_PTX)
        return 0;
    switch (p->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        add(&l, 1, p->space, bytes, 0);
        break;
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        add(&l, p->dst_count, p->space, ptx_has(p, PTX_MOD_BULK) ? 8 : bytes,
            1);
        if (ptx_has(p, PTX_MOD_ASYNC))
            add(&l, 2, PTX_SPACE_SHARED, 8, 1);
        break;
    case PTX_OP_CP:
        add_copy(&l);
        break;
    case PTX_OP_MBARRIER:
        if (!ptx_has(p, PTX_MOD_PENDING_COUNT))
            add(&l, p->dst_count, p->space, 8, 1);
        break;
    case PTX_OP_LDMATRIX:
        add_matrix(&l, 1, 0);
        break;
    case PTX_OP_STMATRIX:
        add_matrix(&l, 0, 1);
        break;
    default:
        break;
    }
    return l.count;
}
