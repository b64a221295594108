/* SPDX-License-Identifier: MIT
 *
 * Copies of boxes of tensors: cp.async.bulk.tensor of one to five dimensions
 * in both directions, with boxes that lie partly outside, strides between
 * elements and swizzled shared memory, and reductions into tensors; against a
 * reference that walks the box element by element.
 *
 * tensormap N: the Nth box alone.
 */
#include "../api/api.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR = 1 << 18, ROOM = 32768, DIMS = 5 };

struct box {
    const char *name;
    CUtensorMapDataType type;
    unsigned rank;
    uint64_t dims[DIMS];
    unsigned padding; /* bytes behind each row of elements */
    uint32_t box[DIMS], steps[DIMS];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    int32_t at[DIMS];
};

#define U8         CU_TENSOR_MAP_DATA_TYPE_UINT8
#define U16        CU_TENSOR_MAP_DATA_TYPE_UINT16
#define U32        CU_TENSOR_MAP_DATA_TYPE_UINT32
#define U64        CU_TENSOR_MAP_DATA_TYPE_UINT64
#define F16_       CU_TENSOR_MAP_DATA_TYPE_FLOAT16
#define F32_       CU_TENSOR_MAP_DATA_TYPE_FLOAT32
#define BF16_      CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
#define SWIZZLE(n) CU_TENSOR_MAP_SWIZZLE_##n##B
#define NO_SWIZZLE CU_TENSOR_MAP_SWIZZLE_NONE
#define ZEROS      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
#define NANS       CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
#define ONES                                                                   \
    {                                                                          \
        1, 1, 1, 1, 1                                                          \
    }

/* clang-format off */
static const struct box boxes[] = {
    {"a line", U32, 1, {1000}, 0, {64}, ONES, NO_SWIZZLE, ZEROS, {100}},
    {"a line from before its start", U32, 1, {1000}, 0, {64}, ONES,
     NO_SWIZZLE, ZEROS, {-4}},
    {"a line past its end", U16, 1, {1001}, 0, {64}, ONES, NO_SWIZZLE, ZEROS,
     {960}},
    {"nothing of a line", U8, 1, {1000}, 0, {32}, ONES, NO_SWIZZLE, ZEROS,
     {4992}},
    {"a matrix", F32_, 2, {96, 50}, 0, {32, 8}, ONES, NO_SWIZZLE, ZEROS,
     {16, 3}},
    {"a matrix over all four edges", F16_, 2, {40, 30}, 16, {64, 40}, ONES,
     NO_SWIZZLE, ZEROS, {-8, -4}},
    {"a matrix swizzled over 128 bytes", F16_, 2, {256, 64}, 0, {64, 32}, ONES,
     SWIZZLE(128), ZEROS, {64, 16}},
    {"a matrix swizzled over 64 bytes", F16_, 2, {256, 64}, 0, {32, 32}, ONES,
     SWIZZLE(64), ZEROS, {32, 1}},
    {"a matrix swizzled over 32 bytes", F32_, 2, {128, 64}, 0, {8, 32}, ONES,
     SWIZZLE(32), ZEROS, {-4, 40}},
    {"every second and third row", U32, 3, {32, 40, 20}, 0, {16, 8, 9},
     {1, 2, 3, 1, 1}, NO_SWIZZLE, ZEROS, {4, 7, 5}},
    {"rows by fives, not a whole number of them", U16, 2, {64, 60}, 0, {32, 12},
     {1, 5, 1, 1, 1}, NO_SWIZZLE, ZEROS, {0, 52}},
    {"three dimensions", U64, 3, {20, 13, 9}, 32, {8, 4, 3}, ONES, NO_SWIZZLE,
     ZEROS, {14, -2, 7}},
    {"four dimensions", BF16_, 4, {24, 11, 7, 5}, 0, {16, 5, 3, 2}, ONES,
     NO_SWIZZLE, ZEROS, {16, 8, -1, 4}},
    {"five dimensions", U8, 5, {48, 7, 6, 5, 4}, 0, {32, 3, 4, 2, 3}, ONES,
     NO_SWIZZLE, ZEROS, {-16, 5, 3, -1, 2}},
    {"a matrix of f16 with a NaN outside", F16_, 2, {40, 30}, 0, {64, 8}, ONES,
     NO_SWIZZLE, NANS, {8, -4}},
    {"a matrix of bf16 with a NaN outside", BF16_, 2, {40, 30}, 0, {64, 8},
     ONES, NO_SWIZZLE, NANS, {8, -4}},
    {"a matrix of f32 with a NaN outside", F32_, 2, {40, 30}, 0, {64, 8}, ONES,
     NO_SWIZZLE, NANS, {8, -4}},
    {"a line from anywhere", U32, 1, {1000}, 0, {64}, ONES, NO_SWIZZLE, ZEROS,
     {5}},
    {"rows of 32 bytes swizzled over 128", F16_, 2, {256, 64}, 0, {16, 32},
     ONES, SWIZZLE(128), ZEROS, {64, 16}},
};
/* clang-format on */

static unsigned char tensor[TENSOR], room[ROOM], before[TENSOR];
static CUdeviceptr tensor_at, room_at;

static unsigned size_of(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
        return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
        return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
        return 8;
    default:
        return 4;
    }
}

/* --- the reference --- */

static uint64_t outside(const struct box *b)
{
    if (b->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
        return 0;
    return size_of(b->type) == 2 ? 0x7ff7 : 0x7ff7fff7;
}

static size_t swizzled(const struct box *b, size_t at)
{
    switch (b->swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B:
        return at ^ ((at >> 7 & 1) << 4);
    case CU_TENSOR_MAP_SWIZZLE_64B:
        return at ^ ((at >> 7 & 3) << 4);
    case CU_TENSOR_MAP_SWIZZLE_128B:
        return at ^ ((at >> 7 & 7) << 4);
    default:
        return at;
    }
}

static void strides_of(const struct box *b, uint64_t *strides)
{
    strides[0] = size_of(b->type);
    strides[1] = (b->dims[0] * strides[0] + b->padding + 15) / 16 * 16;
    for (unsigned d = 2; d < DIMS; d++)
        strides[d] = strides[d - 1] * b->dims[d - 1];
}

/* For each element of the box in order: where it is in shared memory, and in
 * the tensor, -1 outside. The bytes of it all. */
typedef void visit_fn(const struct box *b, size_t in_room, int64_t in_tensor);

static size_t walk_box(const struct box *b, visit_fn *visit)
{
    const unsigned size = size_of(b->type);
    uint32_t counts[DIMS], i[DIMS] = {0};
    uint64_t strides[DIMS];
    size_t at = 0;

    strides_of(b, strides);
    for (unsigned d = 0; d < DIMS; d++) {
        const uint32_t step = d && d < b->rank ? b->steps[d] : 1;

        counts[d] = d < b->rank ? (b->box[d] + step - 1) / step : 1;
    }
    for (;; at += size) {
        int64_t from = 0;
        unsigned d;

        for (d = 0; d < b->rank; d++) {
            const int64_t x =
                b->at[d] + (int64_t)i[d] * (d ? (int64_t)b->steps[d] : 1);

            if (x < 0 || x >= (int64_t)b->dims[d])
                break;
            from += x * (int64_t)strides[d];
        }
        visit(b, swizzled(b, at), d < b->rank ? -1 : from);
        for (d = 0; d < DIMS && ++i[d] == counts[d]; d++)
            i[d] = 0;
        if (d == DIMS)
            return at + size;
    }
}

static unsigned char expected[ROOM];

static void load_element(const struct box *b, size_t in_room, int64_t in_tensor)
{
    const uint64_t none = outside(b);

    memcpy(expected + in_room,
           in_tensor < 0 ? (const void *)&none : tensor + in_tensor,
           size_of(b->type));
}

static void count_element(const struct box *b, size_t in_room,
                          int64_t in_tensor)
{
    (void)b;
    (void)in_room;
    (void)in_tensor;
}

static void store_element(const struct box *b, size_t in_room,
                          int64_t in_tensor)
{
    if (in_tensor >= 0)
        memcpy(before + in_tensor, room + in_room, size_of(b->type));
}

static void add_element(const struct box *b, size_t in_room, int64_t in_tensor)
{
    uint32_t sum, x;

    (void)b;
    if (in_tensor < 0)
        return;
    memcpy(&sum, before + in_tensor, 4);
    memcpy(&x, room + in_room, 4);
    sum += x;
    memcpy(before + in_tensor, &sum, 4);
}

/* --- kernels --- */

static const char head[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 room,\n"
    " .param .u32 bytes, .param .u32 c0, .param .u32 c1, .param .u32 c2,\n"
    " .param .u32 c3, .param .u32 c4)\n{\n"
    ".shared .align 1024 .b8 space[32768];\n.shared .align 8 .b64 barrier;\n"
    ".reg .b32 %%r<20>;\n.reg .b64 %%x<10>;\n.reg .pred %%p<4>;\n"
    "ld.param.u64 %%x0, [room];\nld.param.u32 %%r0, [bytes];\n"
    "ld.param.u32 %%r10, [c0];\nld.param.u32 %%r11, [c1];\n"
    "ld.param.u32 %%r12, [c2];\nld.param.u32 %%r13, [c3];\n"
    "ld.param.u32 %%r14, [c4];\nmov.b64 %%x1, map;\n"
    "cvta.param.u64 %%x1, %%x1;\nmov.u32 %%r1, space;\n"
    "mov.u32 %%r2, barrier;\nmov.u32 %%r3, %%tid.x;\n"
    "setp.eq.u32 %%p0, %%r3, 0;\nshl.b32 %%r4, %%r3, 2;\n"
    "@%%p0 mbarrier.init.shared.b64 [%%r2], 1;\n"
    "fence.mbarrier_init.release.cluster;\nmov.u32 %%r5, %%r4;\n"
    "FILL: add.u32 %%r6, %%r1, %%r5;\ncvt.u64.u32 %%x2, %%r5;\n"
    "add.u64 %%x2, %%x0, %%x2;\nld.global.u32 %%r7, [%%x2];\n"
    "st.shared.u32 [%%r6], %%r7;\nadd.u32 %%r5, %%r5, 512;\n"
    "setp.lt.u32 %%p1, %%r5, 32768;\n@%%p1 bra FILL;\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\n";

static const char take[] =
    "@%%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%%r2], %%r0;\n"
    "@%%p0 cp.async.bulk.tensor.%ud.shared::cluster.global.tile"
    ".mbarrier::complete_tx::bytes [%%r1], [%%x1, {%s}], [%%r2];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %%p2, [%%r2], 0;\n@!%%p2 bra W;\n"
    "mov.u32 %%r5, %%r4;\n"
    "OUT: add.u32 %%r6, %%r1, %%r5;\ncvt.u64.u32 %%x2, %%r5;\n"
    "add.u64 %%x2, %%x0, %%x2;\nld.shared.u32 %%r7, [%%r6];\n"
    "st.global.u32 [%%x2], %%r7;\nadd.u32 %%r5, %%r5, 512;\n"
    "setp.lt.u32 %%p1, %%r5, 32768;\n@%%p1 bra OUT;\nret;\n}\n";

static const char give[] =
    "@!%%p0 bra OUT;\n"
    "cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group "
    "[%%x1, {%s}], [%%r1];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nOUT: ret;\n}\n";

static const char reduce[] =
    "@!%%p0 bra OUT;\n"
    "cp.reduce.async.bulk.tensor.%ud.global.shared::cta.add.tile.bulk_group "
    "[%%x1, {%s}], [%%r1];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nOUT: ret;\n}\n";

static CUresult encode(const struct box *b, CUtensorMap *map)
{
    uint64_t strides[DIMS];

    strides_of(b, strides);
    return cuTensorMapEncodeTiled(
        map, b->type, b->rank, (void *)(uintptr_t)tensor_at, b->dims,
        strides + 1, b->box, b->steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        b->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, b->fill);
}

/* Room goes in, is copied one way, and comes back with the tensor. */
static int run(const struct box *b, const char *body)
{
    static const char *const lists[] = {
        "%r10", "%r10, %r11", "%r10, %r11, %r12", "%r10, %r11, %r12, %r13",
        "%r10, %r11, %r12, %r13, %r14"};
    static char text[8192];
    CUtensorMap map;
    uint32_t bytes = (uint32_t)walk_box(b, count_element);
    int32_t at[DIMS];
    void *args[] = {&map,   &room_at, &bytes, &at[0],
                    &at[1], &at[2],   &at[3], &at[4]};
    CUmodule module;
    CUfunction f;
    size_t end;

    memcpy(at, b->at, sizeof at);
    end = put(text, 0, sizeof text, head);
    put(text, end, sizeof text, body, b->rank, lists[b->rank - 1]);
    if (!OK(encode(b, &map)) || !OK(cuModuleLoadData(&module, text)))
        return -1;
    if (!OK(cuModuleGetFunction(&f, module, "k")) ||
        !OK(cuMemcpyHtoD_v2(tensor_at, tensor, TENSOR)) ||
        !OK(cuMemcpyHtoD_v2(room_at, room, ROOM)) ||
        !OK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, args, NULL)) ||
        !OK(cuMemcpyDtoH_v2(room, room_at, ROOM)) ||
        !OK(cuMemcpyDtoH_v2(tensor, tensor_at, TENSOR)))
        return -1;
    return cuModuleUnload(module) != 0;
}

static void randomise(unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t bits = random_bits();

        memcpy(to + i, &bits, 8);
    }
}

static size_t first_difference(const unsigned char *a, const unsigned char *b,
                               size_t n)
{
    size_t i = 0;

    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static void same(const struct box *b, const char *what,
                 const unsigned char *found, const unsigned char *wanted,
                 size_t n)
{
    const size_t at = first_difference(found, wanted, n);

    if (at < n)
        printf("     byte %zu is %02x, not %02x\n", at, found[at], wanted[at]);
    CHECK_SAYS(at == n, "%s of %s", what, b->name);
}

static void try_box(const struct box *b)
{
    randomise(tensor, TENSOR);
    randomise(room, ROOM);
    memcpy(expected, room, ROOM);
    walk_box(b, load_element);
    if (!run(b, take))
        same(b, "copy to shared memory", room, expected, ROOM);
    randomise(room, ROOM);
    memcpy(before, tensor, TENSOR);
    walk_box(b, store_element);
    if (!run(b, give))
        same(b, "copy to global memory", tensor, before, TENSOR);
    if (b->type != CU_TENSOR_MAP_DATA_TYPE_UINT32)
        return;
    memcpy(before, tensor, TENSOR);
    walk_box(b, add_element);
    if (!run(b, reduce))
        same(b, "sum in global memory", tensor, before, TENSOR);
}

/* What is no tensor map is refused when it is made. */
static void arguments(void)
{
    const struct box good = boxes[4];
    struct box b;
    CUtensorMap map;

#define REFUSED(change)                                                        \
    b = good;                                                                  \
    change;                                                                    \
    IS(encode(&b, &map), CUDA_ERROR_INVALID_VALUE)
    OK(encode(&good, &map));
    REFUSED(b.rank = 0);
    REFUSED(b.rank = 6);
    REFUSED(b.box[1] = 0);
    REFUSED(b.box[1] = 257);
    REFUSED(b.box[0] = 3);
    REFUSED(b.steps[1] = 0);
    REFUSED(b.steps[1] = 9);
    REFUSED(b.dims[1] = 0);
    REFUSED(b.dims[1] = ((uint64_t)1 << 32) + 1);
    REFUSED(b.swizzle = CU_TENSOR_MAP_SWIZZLE_64B);
    REFUSED(b.type = U32; b.fill = NANS);
    REFUSED(b.type = (CUtensorMapDataType)99);
    tensor_at += 4;
    REFUSED((void)0);
    tensor_at -= 4;
#undef REFUSED
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;

    test_start();
    test_need_compiler();
    OK(cuMemAlloc_v2(&tensor_at, TENSOR));
    OK(cuMemAlloc_v2(&room_at, ROOM));
    arguments();
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (!only || i == strtoul(only, NULL, 10))
            try_box(&boxes[i]);
    return test_end();
}
