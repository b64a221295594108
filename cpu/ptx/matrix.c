/* SPDX-License-Identifier: MIT
 *
 * How many registers the fragments of matrix instructions have (PTX ISA
 * 9.7.14 and 9.7.15): what a warp of 32 threads holds of a matrix, in
 * registers of 32 bits, or of 64 for f64. Two shapes are older than this
 * rule: m8n8k4 of mma, and the f16 factors of wmma, which are held twice.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/ptx/check.h"

struct shape_mnk {
    unsigned m, n, k;
};

/* Of the mnemonic's text, "mma.sync.aligned.m16n8k16..." */
static int shape_of(const struct ptx_insn *i, struct shape_mnk *s)
{
    for (const char *at = strstr(i->text, ".m"); at; at = strstr(at + 1, ".m"))
        if (sscanf(at, ".m%un%uk%u", &s->m, &s->n, &s->k) == 3)
            return 1;
    return 0;
}

/* Bits that an element takes in a fragment. */
static unsigned element_bits(const struct ptx_insn *i, enum ptx_type t)
{
    const unsigned bits = ptx_type_bits(t);

    if (ptx_has(i, PTX_MOD_KIND_F8F6F4) || ptx_has(i, PTX_MOD_KIND_MXF8F6F4))
        return bits < 8 ? 8 : bits;
    return bits;
}

static unsigned registers(const struct ptx_insn *i, unsigned rows,
                          unsigned cols, enum ptx_type t)
{
    const unsigned bits = element_bits(i, t);

    return rows * cols * bits / (bits == 64 ? 32u * 64u : 32u * 32u);
}

static enum kiln_status check_count(const struct check *c, unsigned k,
                                    unsigned count)
{
    const struct ptx_operand *o = &c->insn->operands[k];

    if (k >= c->insn->operand_count || o->kind != PTX_OPERAND_VECTOR ||
        o->count == count || !count)
        return KILN_OK;
    return ptx_error(c->p, c->insn->line,
                     "Argument vector size mismatch for instruction '%.80s': "
                     "operand %u has %u elements, expected %u",
                     c->insn->text, k, o->count, count);
}

/* d, a, b, c */
enum kiln_status check_mma(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const int sparse = ptx_has(i, PTX_MOD_SP) || ptx_has(i, PTX_MOD_SP_ORDERED);
    unsigned counts[4];
    struct shape_mnk s;
    enum kiln_status st = KILN_OK;

    if (i->type_count < 4 || !shape_of(i, &s))
        return KILN_OK;
    counts[0] = registers(i, s.m, s.n, i->types[0]);
    counts[1] = registers(i, s.m, sparse ? s.k / 2 : s.k, i->types[1]);
    counts[2] = registers(i, s.k, s.n, i->types[2]);
    counts[3] = registers(i, s.m, s.n, i->types[3]);
    if (s.m == 8 && s.k == 4 && i->types[1] == PTX_F16) {
        counts[0] = i->types[0] == PTX_F16 ? 4 : 8;
        counts[1] = counts[2] = 2;
        counts[3] = i->types[3] == PTX_F16 ? 4 : 8;
    }
    for (unsigned k = 0; !st && k < 4; k++)
        st = check_count(c, k, counts[k]);
    return st;
}

static unsigned wmma_count(const struct ptx_insn *i, const struct shape_mnk *s,
                           char which, enum ptx_type t)
{
    if (which == 'c')
        return registers(i, s->m, s->n, t);
    if (t == PTX_F16)
        return 8;
    return which == 'a' ? registers(i, s->m, s->k, t)
                        : registers(i, s->k, s->n, t);
}

enum kiln_status check_wmma(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    const int four = i->type_count == 4;
    struct shape_mnk s;
    enum kiln_status st;

    if (!shape_of(i, &s) || !i->type_count)
        return KILN_OK;
    if (ptx_has(i, PTX_MOD_LOAD))
        return check_count(c, 0,
                           wmma_count(i, &s,
                                      ptx_has(i, PTX_MOD_A)   ? 'a'
                                      : ptx_has(i, PTX_MOD_B) ? 'b'
                                                              : 'c',
                                      i->types[0]));
    if (ptx_has(i, PTX_MOD_STORE))
        return check_count(c, 1, wmma_count(i, &s, 'c', i->types[0]));
    st = check_count(c, 0, wmma_count(i, &s, 'c', i->types[0]));
    if (!st)
        st = check_count(c, 1,
                         wmma_count(i, &s, 'a', four ? i->types[1] : PTX_F16));
    if (!st)
        st = check_count(c, 2,
                         wmma_count(i, &s, 'b', four ? i->types[2] : PTX_F16));
    return st ? st
              : check_count(c, 3,
                            wmma_count(i, &s, 'c', i->types[four ? 3 : 1]));
}

/* ldmatrix and stmatrix: .x1 .x2 .x4, twice that for m16n16. */
enum kiln_status check_matrices(const struct check *c)
{
    const struct ptx_insn *i = c->insn;
    unsigned n = ptx_has(i, PTX_MOD_X1) ? 1 : ptx_has(i, PTX_MOD_X2) ? 2 : 4;

    if (strstr(i->text, ".m16n16"))
        n *= 2;
    return check_count(c, i->op == PTX_OP_STMATRIX, n);
}
