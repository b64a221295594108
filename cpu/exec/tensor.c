/* SPDX-License-Identifier: MIT
 *
 * cp.async.bulk.tensor and its reductions: a box of a tensor, element by
 * element, to or from shared memory (PTX ISA 5.5). What lies outside is read
 * as zero, or a NaN of its own, and not written.
 *
 * A call stays in the kernel, as one of textures does: what it touches faults
 * as the kernel's own accesses do.
 */
#include <immintrin.h>
#include <string.h>

#include "cpu/exec/engine.h"
#include "cpu/exec/tensormap.h"
#include "cpu/texture/texture.h"

enum { MXCSR_PLAIN = 0x1f80, MXCSR_FLUSH_ALL = 0x1f80 | 0x8040 };

struct walk {
    const struct tensor_map *map;
    unsigned op, size;
    unsigned char *room; /* shared memory */
    uint64_t none;       /* an element outside */
};

/* --- reductions: each element by itself, atomically --- */

static float bfloat(uint64_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float x;

    memcpy(&x, &wide, sizeof x);
    return x;
}

static uint64_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* To nearest even. */
static uint64_t to_bfloat(float x)
{
    const uint32_t bits = (uint32_t)bits_of(x);

    if (x != x)
        return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static float float_of(uint8_t type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;

    if (type == TENSOR_F16)
        return texel_half((uint16_t)bits);
    if (type == TENSOR_BF16)
        return bfloat(bits);
    memcpy(&x, &low, sizeof x);
    return x;
}

static uint64_t add_floats(uint8_t type, uint64_t a, uint64_t b)
{
    double x, y;
    float sum;

    if (type == TENSOR_F64) {
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&a, &x, sizeof a);
        return a;
    }
    sum = float_of(type, a) + float_of(type, b);
    return type == TENSOR_F16    ? texel_to_half(sum)
           : type == TENSOR_BF16 ? to_bfloat(sum)
                                 : bits_of(sum);
}

static int is_float(uint8_t type)
{
    return type >= TENSOR_F16;
}

static int is_less(uint8_t type, uint64_t a, uint64_t b)
{
    if (is_float(type))
        return float_of(type, a) < float_of(type, b);
    if (type == TENSOR_S32)
        return (int32_t)a < (int32_t)b;
    return type == TENSOR_S64 ? (int64_t)a < (int64_t)b : a < b;
}

/* Of halves a number wins over a NaN. */
static uint64_t least(uint8_t type, uint64_t a, uint64_t b)
{
    if (is_float(type) && float_of(type, a) != float_of(type, a))
        return b;
    return is_less(type, b, a) ? b : a;
}

static uint64_t most(uint8_t type, uint64_t a, uint64_t b)
{
    if (is_float(type) && float_of(type, a) != float_of(type, a))
        return b;
    return is_less(type, a, b) ? b : a;
}

static uint64_t reduced(unsigned op, uint8_t type, uint64_t old, uint64_t x)
{
    switch (op) {
    case ABI_TENSOR_ADD:
        return is_float(type) ? add_floats(type, old, x) : old + x;
    case ABI_TENSOR_MIN:
        return least(type, old, x);
    case ABI_TENSOR_MAX:
        return most(type, old, x);
    case ABI_TENSOR_INC:
        return old >= x ? 0 : old + 1;
    case ABI_TENSOR_DEC:
        return old == 0 || old > x ? x : old - 1;
    case ABI_TENSOR_AND:
        return old & x;
    case ABI_TENSOR_OR:
        return old | x;
    default:
        return old ^ x;
    }
}

#define SWAP(bits)                                                             \
    static void reduce##bits(const struct walk *w, void *to, uint64_t x)       \
    {                                                                          \
        uint##bits##_t *p = to, old = __atomic_load_n(p, __ATOMIC_RELAXED);    \
                                                                               \
        while (!__atomic_compare_exchange_n(                                   \
            p, &old, (uint##bits##_t)reduced(w->op, w->map->type, old, x), 0,  \
            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))                               \
            ;                                                                  \
    }
SWAP(16)
SWAP(32)
SWAP(64)
#undef SWAP

static void reduce(const struct walk *w, void *to, const void *from)
{
    uint64_t x = 0;

    memcpy(&x, from, w->size);
    if (w->size == 8)
        reduce64(w, to, x);
    else if (w->size == 4)
        reduce32(w, to, x);
    else
        reduce16(w, to, x);
}

/* --- the box --- */

/* Pieces of 16 bytes change places, by the number of the 128 bytes that they
 * are in (PTX ISA 5.5.7). */
static size_t swizzled(const struct walk *w, size_t at)
{
    return w->map->swizzle
               ? at ^ ((at >> 7 & ((1u << w->map->swizzle) - 1)) << 4)
               : at;
}

static void element(const struct walk *w, size_t at, unsigned char *in_tensor)
{
    unsigned char *in_room = w->room + swizzled(w, at);

    if (w->op == ABI_TENSOR_LOAD)
        memcpy(in_room, in_tensor ? (const void *)in_tensor : &w->none,
               w->size);
    else if (!in_tensor)
        return;
    else if (w->op == ABI_TENSOR_STORE)
        memcpy(in_tensor, in_room, w->size);
    else
        reduce(w, in_tensor, in_room);
}

/* A line of the box along dimension 0; from: where it would begin in the
 * tensor, whether it is in it or not. The bytes in shared memory. */
static size_t line(const struct walk *w, size_t at, int64_t x, int inside,
                   uint64_t from)
{
    const struct tensor_map *m = w->map;

    for (unsigned i = 0; i < m->box[0]; i++, at += w->size) {
        const int64_t here = x + i;

        element(
            w, at,
            inside && here >= 0 && here <= (int64_t)m->last[0]
                ? (unsigned char *)(uintptr_t)(from + (uint64_t)here * w->size)
                : NULL);
    }
    return at;
}

/* All lines, dimension 1 fastest. */
static size_t box(const struct walk *w, const int32_t *first)
{
    const struct tensor_map *m = w->map;
    uint32_t i[TENSOR_DIMS] = {0};
    size_t at = 0;

    for (;;) {
        uint64_t from = m->address;
        int inside = 1;
        unsigned d;

        for (d = 1; d < m->rank; d++) {
            const int64_t x = first[d] + (int64_t)i[d];

            inside &= x >= 0 && x <= (int64_t)m->last[d];
            from += (uint64_t)x * m->strides[d - 1];
        }
        at = line(w, at, first[0], inside, from);
        for (d = 1; d < m->rank && (i[d] += m->steps[d]) >= m->box[d]; d++)
            i[d] = 0;
        if (d >= m->rank)
            return at;
    }
}

static int is_sound(const struct tensor_map *m, unsigned rank)
{
    return m->magic == TENSOR_MAP_MAGIC && m->rank == rank && rank &&
           rank <= TENSOR_DIMS && tensor_size(m->type);
}

static int can_reduce(unsigned op, const struct tensor_map *m)
{
    if (op == ABI_TENSOR_LOAD || op == ABI_TENSOR_STORE)
        return 1;
    if (tensor_size(m->type) < 2 || m->type == TENSOR_U16)
        return 0;
    return !is_float(m->type) || op == ABI_TENSOR_ADD || op == ABI_TENSOR_MIN ||
           op == ABI_TENSOR_MAX;
}

void tensor_call(struct abi_block *block, uint32_t warp, uint32_t what,
                 uint32_t mask, struct abi_tensor *args)
{
    struct slot *slot = block->engine;
    const unsigned mxcsr = _mm_getcsr();
    const unsigned op = what % ABI_TENSOR_RANK, rank = what / ABI_TENSOR_RANK;

    slot->serving = 1;
    for (; mask; mask &= mask - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(mask);
        const struct tensor_map *m =
            (const struct tensor_map *)(uintptr_t)args->map[lane];
        struct walk w = {
            .map = m, .op = op, .room = (void *)(uintptr_t)args->shared[lane]};
        int32_t first[TENSOR_DIMS];

        if (!is_sound(m, rank) || !can_reduce(op, m))
            fault_call(block, warp, ABI_FAULT_TENSOR, args->map[lane]);
        for (unsigned d = 0; d < TENSOR_DIMS; d++)
            first[d] = args->at[d][lane];
        w.size = tensor_size(m->type);
        if (m->fill_nan)
            w.none = w.size == 2 ? 0x7ff7 : 0x7ff7fff7;
        /* sums of f32 in global memory flush, those of halves do not */
        _mm_setcsr(m->type == TENSOR_F32 ? MXCSR_FLUSH_ALL : MXCSR_PLAIN);
        args->bytes[lane] = (uint32_t)box(&w, first);
    }
    _mm_setcsr(mxcsr);
    slot->serving = 0;
}
