/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel.h"

/* --- what holds of every graph --- */

static void check_order(const struct kernel *k)
{
    const struct graph *g = &k->graph;

    for (int i = 0; i < g->order_count; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        assert_int_equal(b->pos, i);
        for (int s = 0; s < b->succ_count; s++) {
            int to = b->succ[s].to;

            if (g->blocks[to].pos > i)
                continue;
            /* The one back edge of a loop around the block. */
            assert_true(b->loop >= 0);
            assert_int_equal(g->loops[b->loop].latch, g->order[i]);
            assert_int_equal(g->loops[b->loop].header, to);
        }
        if (i)
            assert_true(graph_dominates(g, b->idom, g->order[i]));
    }
    for (int l = 0; l < g->loop_count; l++) {
        const struct graph_loop *x = &g->loops[l];

        assert_int_equal(g->order[x->first_pos], x->header);
        assert_int_equal(g->order[x->last_pos], x->latch);
        for (int i = 0; i < g->order_count; i++)
            assert_int_equal(graph_in_loop(g, g->order[i], l),
                             i >= x->first_pos && i <= x->last_pos);
    }
}

/* Nobody is passed over: a followed edge leads to the next place where lanes
 * may wait, or before it; and where lanes wait, control comes. */
static void check_schedule(const struct kernel *k)
{
    const struct graph *g = &k->graph;

    for (int i = 0; i < g->order_count; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        if (b->next != GRAPH_NONE) {
            assert_true(g->blocks[b->next].pos > i);
            assert_true(g->blocks[b->next].pending);
        }
        for (int s = 0; s < b->succ_count; s++) {
            const struct graph_edge *e = &b->succ[s];
            int to = g->blocks[e->to].pos;

            if (b->divergent)
                assert_true(e->deferred);
            if (e->deferred) {
                assert_true(b->next != GRAPH_NONE);
                assert_true(g->blocks[b->next].pos <= to);
            } else if (to > i && b->next != GRAPH_NONE) {
                assert_true(to <= g->blocks[b->next].pos);
            }
        }
    }
}

static void check_alike(const struct kernel *k)
{
    const struct graph *g = &k->graph;

    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i], first = g->blocks[block].alike;

        assert_int_equal(g->blocks[first].alike, first);
        assert_true(g->blocks[first].pos <= i);
        assert_true(graph_dominates(g, first, block));
    }
}

static void start(struct kernel *k, const char *body)
{
    kernel_init(k, body, 1);
    assert_int_equal(k->status, KILN_OK);
    check_order(k);
    check_schedule(k);
    check_alike(k);
}

static int is_divergent(const struct kernel *k, unsigned line)
{
    return k->graph.blocks[kernel_block(k, line)].divergent;
}

static int alike(const struct kernel *k, unsigned a, unsigned b)
{
    return k->graph.blocks[kernel_block(k, a)].alike ==
           k->graph.blocks[kernel_block(k, b)].alike;
}

static void is_shape(const struct kernel *k, unsigned line,
                     enum shape_kind kind, int64_t stride)
{
    const struct graph_value *v = kernel_value(k, line);

    assert_int_equal(v->kind_of_shape, kind);
    assert_int_equal(v->stride, stride);
}

/* --- shapes --- */

static void index_of_a_row_is_contiguous(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\n"
              "mov.u32 %r2, %ctaid.x;\n"
              "mov.u32 %r3, %ntid.x;\n"
              "mad.lo.s32 %r4, %r2, %r3, %r1;\n"
              "mul.wide.s32 %rd1, %r4, 4;\n"
              "ld.param.u64 %rd2, [p];\n"
              "add.s64 %rd3, %rd2, %rd1;\n"
              "ld.global.f32 %f1, [%rd3];\n"
              "st.global.f32 [%rd3], %f1;\nret;\n");
    is_shape(&k, 1, SHAPE_STRIDED, 1);
    is_shape(&k, 2, SHAPE_UNIFORM, 0);
    is_shape(&k, 4, SHAPE_STRIDED, 1);
    is_shape(&k, 7, SHAPE_STRIDED, 4);
    is_shape(&k, 8, SHAPE_VARYING, 0);
    kernel_fini(&k);
}

static void a_row_of_a_tile_is_the_same_within_a_chunk(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\n"
              "mov.u32 %r2, %tid.y;\n"
              "shl.b32 %r3, %r2, 7;\n"
              "mov.u32 %r4, sh;\n"
              "add.s32 %r5, %r4, %r3;\n"
              "ld.shared.f32 %f1, [%r5];\n"
              "shl.b32 %r6, %r1, 2;\n"
              "add.s32 %r7, %r5, %r6;\n"
              "ld.shared.f32 %f2, [%r7];\n"
              "fma.rn.f32 %f3, %f1, %f2, %f2;\n"
              "st.shared.f32 [%r7], %f3;\nret;\n");
    is_shape(&k, 5, SHAPE_STRIDED, 0);
    is_shape(&k, 6, SHAPE_STRIDED, 0);
    is_shape(&k, 8, SHAPE_STRIDED, 4);
    is_shape(&k, 10, SHAPE_VARYING, 0);
    kernel_fini(&k);
}

static void a_loop_counter_stays_uniform_in_divergent_code(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\n"
              "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra END;\n"
              "mov.u32 %r2, 0;\n"
              "L: add.u32 %r2, %r2, 1;\n"
              "setp.lt.u32 %p2, %r2, 10;\n@%p2 bra L;\n"
              "END: ret;\n");
    is_shape(&k, 5, SHAPE_UNIFORM, 0);
    assert_true(!k.graph.loops[0].divergent);
    kernel_fini(&k);
}

static void a_value_that_lanes_leave_a_loop_with_varies(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
              "L: add.u32 %r2, %r2, 1;\n"
              "setp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;\n"
              "add.u32 %r3, %r2, 7;\n"
              "st.shared.u32 [%r3], %r3;\nret;\n");
    assert_true(k.graph.loops[0].divergent);
    is_shape(&k, 3, SHAPE_UNIFORM, 0);
    is_shape(&k, 6, SHAPE_VARYING, 0);
    kernel_fini(&k);
}

static void a_choice_of_constants_varies_where_lanes_meet(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 5;\n"
              "mov.u32 %r2, 1;\n@%p1 bra J;\nmov.u32 %r2, 2;\n"
              "J: add.u32 %r3, %r2, 1;\nst.shared.u32 [sh], %r3;\nret;\n");
    is_shape(&k, 6, SHAPE_VARYING, 0);
    kernel_fini(&k);
}

static void zero_extension_is_not_trusted_to_keep_a_stride(void **state)
{
    struct kernel k;

    (void)state;
    /* tid.x - 1 wraps in lane 0. */
    start(&k, "mov.u32 %r1, %tid.x;\nsub.u32 %r2, %r1, 1;\n"
              "cvt.u64.u32 %rd1, %r2;\n"
              "cvt.u64.u32 %rd2, %r1;\n"
              "st.shared.u64 [sh], %rd1;\nst.shared.u64 [sh+8], %rd2;\nret;\n");
    is_shape(&k, 3, SHAPE_VARYING, 0);
    is_shape(&k, 4, SHAPE_STRIDED, 1);
    kernel_fini(&k);
}

static void bits_of_a_float_have_no_known_bound(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %ntid.x;\ncvt.rn.f32.u32 %f1, %r1;\n"
              "mov.b32 %r2, %f1;\nmov.u32 %r3, %tid.x;\n"
              "add.u32 %r4, %r2, %r3;\ncvt.u64.u32 %rd1, %r4;\n"
              "st.shared.u64 [sh], %rd1;\nret;\n");
    is_shape(&k, 6, SHAPE_VARYING, 0);
    kernel_fini(&k);
}

static void a_vote_by_groups_varies(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %laneid;\nand.b32 %r2, %r1, 16;\n"
              "mov.u32 %r3, 65535;\nshl.b32 %r4, %r3, %r2;\n"
              "setp.lt.u32 %p1, %r1, 9;\n"
              "vote.sync.ballot.b32 %r5, %p1, %r4;\n"
              "vote.sync.ballot.b32 %r6, %p1, -1;\n"
              "st.shared.u32 [sh], %r5;\nst.shared.u32 [sh+4], %r6;\nret;\n");
    is_shape(&k, 6, SHAPE_VARYING, 0);
    is_shape(&k, 7, SHAPE_UNIFORM, 0);
    kernel_fini(&k);
}

/* --- control --- */

static void uniform_branches_do_not_part_a_warp(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "ld.param.u32 %r1, [n];\n"
              "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra A;\n"
              "mov.u32 %r2, %tid.x;\n"
              "setp.lt.u32 %p2, %r2, 5;\n@%p2 bra A;\n"
              "st.shared.u32 [sh], %r2;\n"
              "A: st.shared.u32 [sh+4], %r1;\nret;\n");
    assert_false(is_divergent(&k, 1));
    assert_true(is_divergent(&k, 4));
    kernel_fini(&k);
}

static void lanes_are_the_same_behind_a_branch(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra A;\n"
              "st.shared.u32 [sh], %r1;\n"
              "A: st.shared.u32 [sh+4], %r1;\nret;\n");
    assert_true(alike(&k, 1, 5));
    assert_false(alike(&k, 1, 4));
    assert_int_equal(k.graph.blocks[kernel_block(&k, 5)].alike,
                     k.graph.order[0]);
    kernel_fini(&k);
}

static void lanes_are_fewer_behind_a_return(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra A;\n"
              "st.shared.u32 [sh], %r1;\nret;\n"
              "A: st.shared.u32 [sh+4], %r1;\nret;\n");
    assert_false(alike(&k, 1, 6));
    kernel_fini(&k);
}

static void lanes_are_the_same_behind_a_divergent_loop(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
              "L: add.u32 %r2, %r2, 1;\n"
              "setp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;\n"
              "st.shared.u32 [sh], %r2;\nret;\n");
    assert_false(alike(&k, 1, 3));
    assert_true(alike(&k, 1, 6));
    kernel_fini(&k);
}

static void a_block_that_continue_skips_has_fewer_lanes(void **state)
{
    struct kernel k;

    (void)state;
    /* The only way out is behind it, so it post-dominates all the same. */
    start(&k, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
              "L: add.u32 %r2, %r2, 1;\n"
              "and.b32 %r3, %r2, %r1;\nsetp.eq.u32 %p1, %r3, 0;\n"
              "@%p1 bra L;\n"
              "st.shared.u32 [sh], %r2;\n"
              "setp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;\n"
              "st.shared.u32 [sh+4], %r2;\nret;\n");
    assert_false(alike(&k, 3, 7));
    assert_true(alike(&k, 1, 10));
    kernel_fini(&k);
}

static void a_uniform_loop_keeps_all_lanes(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
              "L: add.u32 %r2, %r2, 1;\n"
              "and.b32 %r3, %r2, %r1;\nsetp.eq.u32 %p1, %r3, 0;\n"
              "@%p1 bra J;\n"
              "st.shared.u32 [sh], %r2;\n"
              "J: setp.lt.u32 %p2, %r2, 9;\n@%p2 bra L;\n"
              "st.shared.u32 [sh+4], %r2;\nret;\n");
    assert_true(alike(&k, 1, 3));
    assert_false(alike(&k, 1, 7));
    assert_true(alike(&k, 1, 8));
    assert_true(alike(&k, 1, 10));
    kernel_fini(&k);
}

static void loops_nest_and_are_contiguous(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
              "I: mov.u32 %r3, 0;\n"
              "J: add.u32 %r3, %r3, 1;\n"
              "setp.eq.u32 %p3, %r3, %r1;\n@%p3 bra OUT;\n"
              "setp.lt.u32 %p2, %r3, 4;\n@%p2 bra J;\n"
              "add.u32 %r2, %r2, 1;\n"
              "setp.lt.u32 %p2, %r2, 4;\n@%p2 bra I;\n"
              "ret;\n"
              "OUT: st.shared.u32 [sh], %r3;\nret;\n");
    assert_int_equal(k.graph.loop_count, 2);
    assert_int_equal(k.graph.loops[1].parent, 0);
    kernel_fini(&k);
}

static void a_loop_with_two_entries_is_refused_with_its_line(void **state)
{
    struct kernel k;

    (void)state;
    kernel_init(&k,
                "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 5;\n"
                "@%p1 bra B;\n"
                "A: add.u32 %r1, %r1, 1;\n"
                "B: add.u32 %r1, %r1, 2;\n"
                "setp.lt.u32 %p1, %r1, 100;\n@%p1 bra A;\nret;\n",
                1);
    assert_int_equal(k.status, KILN_E_NOT_SUPPORTED);
    kernel_fini(&k);
}

/* --- waiting --- */

static int detours(const struct kernel *k)
{
    int n = 0;

    for (int i = 0; i < k->graph.order_count; i++)
        n += k->graph.blocks[k->graph.order[i]].term == GRAPH_DETOUR;
    return n;
}

static enum graph_waits waits(const struct kernel *k, unsigned line)
{
    const int loop = k->graph.blocks[kernel_block(k, line)].loop;

    assert_true(loop >= 0);
    return (enum graph_waits)k->graph.loops[loop].waits;
}

static void a_loop_that_only_counts_does_not_wait(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, 0;\nmov.u32 %r3, 9;\n"
              "L: add.u32 %r1, %r1, 1;\n"
              "red.shared.add.u32 [sh], 1;\n"
              "ld.volatile.shared.u32 %r2, [sh];\n"
              "setp.lt.u32 %p1, %r1, %r3;\n@%p1 bra L;\n"
              "st.shared.u32 [sh+4], %r2;\nret;\n");
    assert_int_equal(waits(&k, 3), GRAPH_WAITS_NOT);
    assert_false(k.graph.has_yield);
    kernel_fini(&k);
}

static void compare_and_swap_of_what_was_read_waits_briefly(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "ld.shared.u32 %r1, [sh];\nmov.u32 %r4, %tid.x;\n"
              "L: add.u32 %r2, %r1, %r4;\n"
              "atom.shared.cas.b32 %r3, [sh], %r1, %r2;\n"
              "setp.ne.u32 %p1, %r3, %r1;\nmov.u32 %r1, %r3;\n@%p1 bra L;\n"
              "st.shared.u32 [sh+4], %r2;\nret;\n");
    assert_int_equal(waits(&k, 3), GRAPH_WAITS_BRIEFLY);
    assert_int_equal(detours(&k), 0);
    kernel_fini(&k);
}

static void
a_flag_that_one_thread_awaits_before_a_barrier_parts_nobody(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra B;\n"
              "L: ld.volatile.shared.u32 %r2, [sh];\n"
              "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\n"
              "B: bar.sync 0;\nst.shared.u32 [sh+4], %r1;\nret;\n");
    assert_int_equal(waits(&k, 4), GRAPH_WAITS_FOR_OTHERS);
    assert_int_equal(detours(&k), 0);
    kernel_fini(&k);
}

static void the_holder_of_a_lock_runs_on_in_the_loop_of_the_others(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, 0;\n"
              "L: atom.shared.cas.b32 %r2, [sh], 0, 1;\n"
              "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
              "st.shared.u32 [sh+4], %r1;\n"
              "atom.shared.exch.b32 %r3, [sh], 0;\n"
              "bar.warp.sync -1;\n"
              "st.shared.u32 [sh+8], %r1;\nret;\n");
    assert_int_equal(detours(&k), 1);
    assert_int_equal(k.graph.blocks[kernel_block(&k, 5)].loop,
                     k.graph.blocks[kernel_block(&k, 2)].loop);
    assert_int_equal(k.graph.blocks[kernel_block(&k, 7)].loop, GRAPH_NONE);
    kernel_fini(&k);
}

static void
both_sides_of_a_branch_are_one_loop_where_one_awaits_the_other(void **state)
{
    struct kernel k;

    (void)state;
    start(&k, "mov.u32 %r1, %laneid;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
              "st.volatile.shared.u32 [sh], %r1;\nret;\n"
              "W: ld.volatile.shared.u32 %r2, [sh];\n"
              "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\n"
              "st.shared.u32 [sh+4], %r2;\nret;\n");
    assert_true(detours(&k) > 0);
    assert_int_equal(k.graph.blocks[kernel_block(&k, 4)].loop,
                     k.graph.blocks[kernel_block(&k, 6)].loop);
    kernel_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_of_a_row_is_contiguous),
        cmocka_unit_test(a_row_of_a_tile_is_the_same_within_a_chunk),
        cmocka_unit_test(a_loop_counter_stays_uniform_in_divergent_code),
        cmocka_unit_test(a_value_that_lanes_leave_a_loop_with_varies),
        cmocka_unit_test(a_choice_of_constants_varies_where_lanes_meet),
        cmocka_unit_test(zero_extension_is_not_trusted_to_keep_a_stride),
        cmocka_unit_test(bits_of_a_float_have_no_known_bound),
        cmocka_unit_test(a_vote_by_groups_varies),
        cmocka_unit_test(uniform_branches_do_not_part_a_warp),
        cmocka_unit_test(lanes_are_the_same_behind_a_branch),
        cmocka_unit_test(lanes_are_fewer_behind_a_return),
        cmocka_unit_test(lanes_are_the_same_behind_a_divergent_loop),
        cmocka_unit_test(a_block_that_continue_skips_has_fewer_lanes),
        cmocka_unit_test(a_uniform_loop_keeps_all_lanes),
        cmocka_unit_test(loops_nest_and_are_contiguous),
        cmocka_unit_test(a_loop_with_two_entries_is_refused_with_its_line),
        cmocka_unit_test(a_loop_that_only_counts_does_not_wait),
        cmocka_unit_test(compare_and_swap_of_what_was_read_waits_briefly),
        cmocka_unit_test(
            a_flag_that_one_thread_awaits_before_a_barrier_parts_nobody),
        cmocka_unit_test(
            the_holder_of_a_lock_runs_on_in_the_loop_of_the_others),
        cmocka_unit_test(
            both_sides_of_a_branch_are_one_loop_where_one_awaits_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
