/* SPDX-License-Identifier: MIT
 *
 * Queueing kernels, copies and fills. A copy or a fill is a grid too, of
 * pieces that engine functions move, so that it is spread over cores, and so
 * that a bad host pointer becomes an error of the context as well.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

enum { PIECE_BYTES = 512 * 1024, READ_PAST = 16 };

static const uint32_t no_envreg[32];

/* ---- kernels ---- */

static enum kiln_status check_launch(const struct exec_launch *l,
                                     uint64_t *blocks, struct kiln_error *err)
{
    const char *name = l->name ? l->name : "(unnamed)";
    uint64_t threads = 1;

    *blocks = 1;
    for (int d = 0; d < 3; d++) {
        if (!l->grid[d] || !l->block[d])
            return kiln_fail(err, KILN_E_INVALID,
                             "launch of %.100s: grid %u,%u,%u block %u,%u,%u: "
                             "no dimension may be 0",
                             name, l->grid[0], l->grid[1], l->grid[2],
                             l->block[0], l->block[1], l->block[2]);
        if (l->block[d] > ABI_MAX_THREADS)
            threads = UINT32_MAX;
        threads *= l->block[d];
        if (__builtin_mul_overflow(*blocks, (uint64_t)l->grid[d], blocks))
            return kiln_fail(err, KILN_E_INVALID,
                             "launch of %.100s: grid %u,%u,%u is too large",
                             name, l->grid[0], l->grid[1], l->grid[2]);
    }
    if (threads > ABI_MAX_THREADS)
        return kiln_fail(err, KILN_E_INVALID,
                         "launch of %.100s: block %u,%u,%u has more than %d "
                         "threads",
                         name, l->block[0], l->block[1], l->block[2],
                         ABI_MAX_THREADS);
    if ((uint64_t)l->static_shared + l->dynamic_shared > EXEC_MAX_SHARED)
        return kiln_fail(err, KILN_E_INVALID,
                         "launch of %.100s: %u + %u bytes of shared memory, a "
                         "block has at most %d",
                         name, l->static_shared, l->dynamic_shared,
                         EXEC_MAX_SHARED);
    if (*blocks > UINT64_MAX / 2)
        return kiln_fail(err, KILN_E_INVALID,
                         "launch of %.100s: grid %u,%u,%u is too large", name,
                         l->grid[0], l->grid[1], l->grid[2]);
    return KILN_OK;
}

/* What a grid's barrier counts in, as compiled code finds it: a 64-bit
 * address, its upper half in %envreg1 and its lower in %envreg2, of the size
 * in bytes and then a 32-bit counter that starts at 0 in each launch. */
enum { WORKSPACE_BYTES = 64, ENVREGS = 32 };

static const uint32_t *grid_workspace(struct op *op, uint32_t param_bytes)
{
    uint32_t *envreg =
        (uint32_t *)(void *)((unsigned char *)op_extra(op) +
                             ((param_bytes + READ_PAST + 63) & ~63u));
    uint32_t *workspace = envreg + ENVREGS;
    const uint64_t address = (uint64_t)(uintptr_t)workspace;

    workspace[0] = WORKSPACE_BYTES;
    envreg[1] = (uint32_t)(address >> 32);
    envreg[2] = (uint32_t)address;
    return envreg;
}

static void fill_launch(struct op *op, const struct exec_launch *l)
{
    struct abi_launch *a = &op->grid.launch;
    unsigned char *params = op_extra(op);
    static _Atomic uint64_t grid_id;

    if (l->param_bytes)
        memcpy(params, l->params, l->param_bytes);
    a->params = params;
    a->data = l->data;
    for (int d = 0; d < 3; d++) {
        a->tid[d] = tid_column(op->grid.tids, d);
        a->grid[d] = l->grid[d];
        a->block[d] = l->block[d];
    }
    a->threads = l->block[0] * l->block[1] * l->block[2];
    a->warps = (a->threads + ABI_WARP - 1) / ABI_WARP;
    a->static_shared = l->static_shared;
    a->dynamic_shared = l->dynamic_shared;
    a->grid_id =
        atomic_fetch_add_explicit(&grid_id, 1, memory_order_relaxed) + 1;
    a->workers = engine.runners;
    a->envreg =
        op->grid.cooperative ? grid_workspace(op, l->param_bytes) : no_envreg;
}

enum kiln_status exec_launch(struct exec_stream *stream,
                             const struct exec_launch *l,
                             struct kiln_error *err)
{
    uint64_t blocks;
    struct op *op = NULL;
    struct grid *grid;
    enum kiln_status st = check_launch(l, &blocks, err);

    if (st)
        goto fail;
    op = op_new(OP_GRID,
                l->param_bytes + READ_PAST + 64 +
                    (l->cooperative ? ENVREGS * 4 + WORKSPACE_BYTES : 0u),
                err);
    if (!op) {
        st = KILN_E_MEMORY;
        goto fail;
    }
    grid = &op->grid;
    grid->tids = tid_get(l->block);
    if (!grid->tids) {
        st = kiln_fail(err, KILN_E_MEMORY, "no memory to queue work");
        goto fail;
    }
    grid->function = l->function;
    grid->flags = l->flags;
    grid->total = blocks;
    grid->cooperative = l->cooperative;
    grid->shared = l->static_shared + l->dynamic_shared;
    grid->local = l->local_bytes;
    grid->frame = l->flags & OBJECT_KERNEL_RESUME ? l->frame_bytes : 0;
    snprintf(grid->name, sizeof grid->name, "%s",
             l->name && *l->name ? l->name : "(unnamed)");
    grid->code = l->code;
    grid->release = l->release;
    grid->owner = l->owner;
    fill_launch(op, l);
    return stream_submit(stream, op, err);
fail:
    op_free(op);
    if (l->release)
        l->release(l->owner);
    return st;
}

/* ---- copies and fills ---- */

/* A grid of n pieces that `move` does; the piece's number is ctaid. */
static struct op *pieces_new(abi_kernel *move, uint64_t n,
                             struct kiln_error *err)
{
    struct op *op = op_new(OP_GRID, 0, err);

    if (!op)
        return NULL;
    op->grid.function = move;
    op->grid.total = n;
    op->grid.launch.grid[0] = (uint32_t)1 << 31;
    op->grid.launch.grid[1] = op->grid.launch.grid[2] = (uint32_t)1 << 16;
    op->grid.launch.threads = op->grid.launch.warps = 1;
    return op;
}

static uint64_t piece_number(const struct abi_block *block)
{
    return block->ctaid[0] + ((uint64_t)block->ctaid[1] << 31);
}

/* One row of bytes, cut into pieces. */
static void copy_row_piece(struct abi_block *block, uint32_t first,
                           uint32_t end)
{
    const struct slot *slot = block->engine;
    const struct exec_copy *c = &slot->op->grid.copy;
    const size_t at = (size_t)piece_number(block) * PIECE_BYTES;
    const size_t n = c->width - at < PIECE_BYTES ? c->width - at : PIECE_BYTES;

    (void)first;
    (void)end;
    memcpy((unsigned char *)c->to + at, (const unsigned char *)c->from + at, n);
}

/* Rows that overlap: one piece, for memmove to order. */
static void move_row(struct abi_block *block, uint32_t first, uint32_t end)
{
    const struct slot *slot = block->engine;
    const struct exec_copy *c = &slot->op->grid.copy;

    (void)first;
    (void)end;
    memmove(c->to, c->from, c->width);
}

static uint64_t rows_a_piece(size_t width)
{
    return width >= PIECE_BYTES ? 1 : PIECE_BYTES / width;
}

static void copy_rows_piece(struct abi_block *block, uint32_t first,
                            uint32_t end)
{
    const struct slot *slot = block->engine;
    const struct exec_copy *c = &slot->op->grid.copy;
    const uint64_t rows = rows_a_piece(c->width);
    uint64_t row = piece_number(block) * rows;

    (void)first;
    (void)end;
    for (uint64_t n = 0; n < rows && row < c->height * c->depth; n++, row++) {
        const uint64_t y = row % c->height;
        const uint64_t z = row / c->height;

        memcpy((unsigned char *)c->to + z * c->to_slice + y * c->to_pitch,
               (const unsigned char *)c->from + z * c->from_slice +
                   y * c->from_pitch,
               c->width);
    }
}

static int overlaps(const struct exec_copy *c)
{
    const uintptr_t to = (uintptr_t)c->to;
    const uintptr_t from = (uintptr_t)c->from;

    return to < from + c->width && from < to + c->width;
}

enum kiln_status exec_copy(struct exec_stream *stream,
                           const struct exec_copy *copy, struct kiln_error *err)
{
    struct exec_copy c = *copy;
    struct op *op;
    uint64_t rows;

    c.to = constant_writable(c.to);
    c.height = c.height ? c.height : 1;
    c.depth = c.depth ? c.depth : 1;
    if (__builtin_mul_overflow(c.height, c.depth, &rows))
        return kiln_fail(err, KILN_E_INVALID, "copy of %zu by %zu rows",
                         c.height, c.depth);
    if (!c.width)
        return context_error(stream->context, err);
    if (rows > 1) {
        const uint64_t some = rows_a_piece(c.width);

        op = pieces_new(copy_rows_piece, (rows + some - 1) / some, err);
    } else if (overlaps(&c)) {
        op = pieces_new(move_row, 1, err);
    } else {
        op = pieces_new(copy_row_piece,
                        (c.width + PIECE_BYTES - 1) / PIECE_BYTES, err);
    }
    if (op && c.snapshot && rows == 1) {
        op->snapshot = kiln_alloc(c.width);
        if (!op->snapshot) {
            op_free(op);
            return kiln_fail(err, KILN_E_MEMORY,
                             "no memory to keep %zu bytes to copy", c.width);
        }
        memcpy(op->snapshot, c.from, c.width);
        c.from = op->snapshot;
    }
    if (!op)
        return KILN_E_MEMORY;
    op->grid.copy = c;
    return stream_submit(stream, op, err);
}

static void fill_units(unsigned char *to, const struct exec_fill *f, size_t n)
{
    if (f->unit == 1) {
        memset(to, (int)(f->value & 255), n);
    } else if (f->unit == 2) {
        const uint16_t v = (uint16_t)f->value;

        for (size_t i = 0; i < n; i++)
            memcpy(to + i * 2, &v, 2);
    } else {
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * 4, &f->value, 4);
    }
}

static void fill_row_piece(struct abi_block *block, uint32_t first,
                           uint32_t end)
{
    const struct slot *slot = block->engine;
    const struct exec_fill *f = &slot->op->grid.fill;
    const size_t some = PIECE_BYTES / f->unit;
    const size_t at = (size_t)piece_number(block) * some;

    (void)first;
    (void)end;
    fill_units((unsigned char *)f->to + at * f->unit, f,
               f->width - at < some ? f->width - at : some);
}

static void fill_rows_piece(struct abi_block *block, uint32_t first,
                            uint32_t end)
{
    const struct slot *slot = block->engine;
    const struct exec_fill *f = &slot->op->grid.fill;
    const uint64_t rows = rows_a_piece(f->width * f->unit);
    uint64_t row = piece_number(block) * rows;

    (void)first;
    (void)end;
    for (uint64_t n = 0; n < rows && row < f->height; n++, row++)
        fill_units((unsigned char *)f->to + row * f->pitch, f, f->width);
}

enum kiln_status exec_fill(struct exec_stream *stream,
                           const struct exec_fill *fill, struct kiln_error *err)
{
    struct exec_fill f = *fill;
    struct op *op;
    size_t bytes;

    f.to = constant_writable(f.to);
    f.height = f.height ? f.height : 1;
    if ((f.unit != 1 && f.unit != 2 && f.unit != 4) ||
        __builtin_mul_overflow(f.width, (size_t)f.unit, &bytes))
        return kiln_fail(err, KILN_E_INVALID,
                         "fill of %zu units of %u bytes: 1, 2 or 4 expected",
                         f.width, f.unit);
    if (!f.width)
        return context_error(stream->context, err);
    if (f.height > 1) {
        const uint64_t some = rows_a_piece(bytes);

        op = pieces_new(fill_rows_piece, (f.height + some - 1) / some, err);
    } else {
        op = pieces_new(fill_row_piece, (bytes + PIECE_BYTES - 1) / PIECE_BYTES,
                        err);
    }
    if (!op)
        return KILN_E_MEMORY;
    op->grid.fill = f;
    return stream_submit(stream, op, err);
}
