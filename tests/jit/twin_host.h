/* SPDX-License-Identifier: MIT
 *
 * The host side of twin.h: threads as contexts, their meetings, and main(),
 * which prints what each launch gives (format: run.c).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vector>

#define KERNEL(name) static void name(const u32 *in, u32 *out, int n)
#define FN           static inline
#define CONSTANT     static const
#define SHARED       static

struct dim {
    u32 x, y, z;
};

template <typename T> struct alignas(2 * sizeof(T)) vec2 {
    T x, y;
};
template <typename T>
struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) vec4 {
    T x, y, z, w;
};
typedef vec2<float> float2;
typedef vec4<float> float4;
typedef vec2<u32> uint2;
typedef vec4<u32> uint4;
typedef vec4<u8> uchar4;
typedef vec2<u16> ushort2;
typedef vec4<u16> ushort4;
typedef vec2<double> double2;
typedef vec2<u64> ulonglong2;

enum what { RUNNING, AT_WARP, AT_BLOCK, ENDED };

struct thread {
    ucontext_t context;
    dim tid;
    u32 linear;
    what state;
    u32 mask, op;
    u64 value, result;
};

static std::vector<thread> threads;
static thread *self;
static ucontext_t scheduler;
static dim blockIdx, blockDim, gridDim;
#define threadIdx (self->tid)

static void wait(what state)
{
    self->state = state;
    swapcontext(&self->context, &scheduler);
}

enum {
    SHFL,
    SHFL_UP,
    SHFL_DOWN,
    SHFL_XOR,
    BALLOT,
    MATCH_ANY,
    MATCH_ALL,
    RED_ADD,
    RED_MIN,
    RED_MAX,
    RED_AND,
    RED_OR,
    RED_XOR,
    SYNCWARP
};

/* What lane i of the warp gets; all lanes of its mask have come. */
static u64 meet(const thread *w, u32 i)
{
    u32 mask = w[i].mask, result = 0;
    u32 arg = (u32)(w[i].value >> 32), width = arg >> 16, by = arg & 0xffff;
    int first = 1, from = (int)i;

    switch (w[i].op) {
    case SHFL:
        from = (int)((i & ~(width - 1)) | (by & (width - 1)));
        return (u32)w[from].value;
    case SHFL_UP:
        if ((i & (width - 1)) >= by)
            from -= (int)by;
        return (u32)w[from].value;
    case SHFL_DOWN:
        if ((i & (width - 1)) + by < width)
            from += (int)by;
        return (u32)w[from].value;
    case SHFL_XOR:
        from ^= (int)by;
        if ((u32)from > (i | (width - 1)))
            from = (int)i;
        return (u32)w[from].value;
    default:
        break;
    }
    for (u32 j = 0; j < 32; j++) {
        u32 v;

        if (!(mask >> j & 1))
            continue;
        v = (u32)w[j].value;
        switch (w[i].op) {
        case BALLOT:
            result |= v << j;
            break;
        case MATCH_ANY:
        case MATCH_ALL:
            result |= (u32)(w[j].value == w[i].value) << j;
            break;
        case RED_ADD:
            result += v;
            break;
        case RED_MIN:
            result = first || v < result ? v : result;
            break;
        case RED_MAX:
            result = first || v > result ? v : result;
            break;
        case RED_AND:
            result = first ? v : result & v;
            break;
        case RED_OR:
            result |= v;
            break;
        case RED_XOR:
            result ^= v;
            break;
        }
        first = 0;
    }
    if (w[i].op == MATCH_ALL && result != mask)
        result = 0;
    return result;
}

static u64 warp_op(u32 op, u32 mask, u64 value)
{
    self->op = op;
    self->mask = mask;
    self->value = value;
    wait(AT_WARP);
    return self->result;
}
static u64 pack(u32 v, int by, int width)
{
    return (u64)(((u32)width << 16) | ((u32)by & 0xffff)) << 32 | v;
}
static u32 __shfl_sync(u32 m, u32 v, int src, int w)
{
    return (u32)warp_op(SHFL, m, pack(v, src & 31, w));
}
static u32 __shfl_up_sync(u32 m, u32 v, u32 by, int w)
{
    return (u32)warp_op(SHFL_UP, m, pack(v, (int)by, w));
}
static u32 __shfl_down_sync(u32 m, u32 v, u32 by, int w)
{
    return (u32)warp_op(SHFL_DOWN, m, pack(v, (int)by, w));
}
static u32 __shfl_xor_sync(u32 m, u32 v, int by, int w)
{
    return (u32)warp_op(SHFL_XOR, m, pack(v, by, w));
}
static u32 __ballot_sync(u32 m, int p)
{
    return (u32)warp_op(BALLOT, m, p != 0);
}
static int __any_sync(u32 m, int p)
{
    return warp_op(BALLOT, m, p != 0) != 0;
}
static int __all_sync(u32 m, int p)
{
    return (u32)warp_op(BALLOT, m, p != 0) == m;
}
static u32 __match_any_sync(u32 m, u64 v)
{
    return (u32)warp_op(MATCH_ANY, m, v);
}
static u32 __match_all_sync(u32 m, u64 v, int *p)
{
    u32 r = (u32)warp_op(MATCH_ALL, m, v);

    *p = r != 0;
    return r;
}
static u32 __reduce_add_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_ADD, m, v);
}
static u32 __reduce_min_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_MIN, m, v);
}
static u32 __reduce_max_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_MAX, m, v);
}
static u32 __reduce_and_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_AND, m, v);
}
static u32 __reduce_or_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_OR, m, v);
}
static u32 __reduce_xor_sync(u32 m, u32 v)
{
    return (u32)warp_op(RED_XOR, m, v);
}
static void __syncwarp(u32 m)
{
    warp_op(SYNCWARP, m, 0);
}

static u32 block_count, block_and, block_or;
static void __syncthreads()
{
    self->value = 0;
    wait(AT_BLOCK);
}
static int __syncthreads_count(int p)
{
    self->value = p != 0;
    wait(AT_BLOCK);
    return (int)block_count;
}
static int __syncthreads_and(int p)
{
    self->value = p != 0;
    wait(AT_BLOCK);
    return (int)block_and;
}
static int __syncthreads_or(int p)
{
    self->value = p != 0;
    wait(AT_BLOCK);
    return (int)block_or;
}

/* --- arithmetic that the host spells otherwise --- */

template <typename To, typename From> static To bits(From x)
{
    To to;

    static_assert(sizeof to == sizeof x, "same size");
    memcpy(&to, &x, sizeof to);
    return to;
}
#define BITS_F(x) bits<u32>((float)(x))
#define F_BITS(x) bits<float>((u32)(x))
#define BITS_D(x) bits<u64>((double)(x))
static s32 to_int(double x)
{
    return x != x               ? 0
           : x <= -2147483648.0 ? (s32)0x80000000
           : x >= 2147483647.0  ? 0x7fffffff
                                : (s32)x;
}
static u32 F2U(float x)
{
    return x != x || x <= 0 ? 0 : x >= 4294967296.0f ? 0xffffffffu : (u32)x;
}
#define F2I(x)        to_int((float)(x))
#define D2I(x)        to_int(x)
#define FMA(a, b, c)  fmaf(a, b, c)
#define DFMA(a, b, c) fma(a, b, c)
#define FDIV(a, b)    ((float)(a) / (float)(b))
#define FSQRT(a)      sqrtf(a)
static int __popc(u32 x)
{
    return __builtin_popcount(x);
}
static int __clz(int x)
{
    return x ? __builtin_clz((u32)x) : 32;
}
static int __ffs(int x)
{
    return __builtin_ffs(x);
}
static u32 __brev(u32 x)
{
    u32 r = 0;

    for (int i = 0; i < 32; i++)
        r |= (x >> i & 1) << (31 - i);
    return r;
}
static u32 __umulhi(u32 a, u32 b)
{
    return (u32)((u64)a * b >> 32);
}
static int __mulhi(int a, int b)
{
    return (int)((s64)a * b >> 32);
}
static u64 __umul64hi(u64 a, u64 b)
{
    return (u64)((unsigned __int128)a * b >> 64);
}
static u32 __byte_perm(u32 x, u32 y, u32 s)
{
    u64 v = (u64)y << 32 | x;
    u32 r = 0;

    for (int i = 0; i < 4; i++)
        r |= (u32)(v >> (s >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
    return r;
}
static u32 __funnelshift_l(u32 lo, u32 hi, u32 s)
{
    return (u32)(((u64)hi << 32 | lo) << (s & 31) >> 32);
}
static u32 __funnelshift_r(u32 lo, u32 hi, u32 s)
{
    return (u32)(((u64)hi << 32 | lo) >> (s & 31));
}
template <typename T> static T min(T a, T b)
{
    return a < b ? a : b;
}
template <typename T> static T max(T a, T b)
{
    return a > b ? a : b;
}

#define ATOMIC(name, expression)                                               \
    template <typename T> static T name(T *p, T x)                             \
    {                                                                          \
        T old = *p;                                                            \
        *p = expression;                                                       \
        return old;                                                            \
    }
ATOMIC(atomicAdd, (T)(old + x))
ATOMIC(atomicSub, (T)(old - x))
ATOMIC(atomicMin, x < old ? x : old)
ATOMIC(atomicMax, x > old ? x : old)
ATOMIC(atomicAnd, old &x)
ATOMIC(atomicOr, old | x)
ATOMIC(atomicXor, old ^ x)
ATOMIC(atomicExch, x)
ATOMIC(atomicInc, old >= x ? 0 : old + 1)
ATOMIC(atomicDec, (old == 0 || old > x) ? x : old - 1)
template <typename T> static T atomicCAS(T *p, T from, T to)
{
    T old = *p;

    if (old == from)
        *p = to;
    return old;
}

/* --- running a launch --- */

typedef void kernel_fn(const u32 *in, u32 *out, int n);

static kernel_fn *current;
static const u32 *current_in;
static u32 *current_out;
static int current_n;

static void enter()
{
    current(current_in, current_out, current_n);
    self->state = ENDED;
    swapcontext(&self->context, &scheduler);
}

static bool release_warp(u32 first, u32 end)
{
    thread *w = &threads[first];
    bool any = false;

    for (u32 i = 0; first + i < end; i++) {
        bool all = w[i].state == AT_WARP;
        u32 mask = w[i].mask;

        for (u32 j = 0; all && j < 32; j++)
            if (mask >> j & 1)
                all = first + j < end && w[j].state == AT_WARP &&
                      w[j].mask == mask && w[j].op == w[i].op;
        if (!all)
            continue;
        for (u32 j = 0; j < 32; j++)
            if (mask >> j & 1)
                w[j].result = meet(w, j);
        for (u32 j = 0; j < 32; j++)
            if (mask >> j & 1)
                w[j].state = RUNNING;
        any = true;
    }
    return any;
}

static bool release_block()
{
    u32 live = 0;

    block_count = 0;
    for (thread &t : threads) {
        if (t.state == ENDED)
            continue;
        if (t.state != AT_BLOCK)
            return false;
        live++;
        block_count += (u32)t.value;
    }
    block_and = block_count == live;
    block_or = block_count != 0;
    for (thread &t : threads)
        if (t.state == AT_BLOCK)
            t.state = RUNNING;
    return live != 0;
}

static void run_block()
{
    static std::vector<std::vector<char>> stacks(1024);
    u32 count = blockDim.x * blockDim.y * blockDim.z, t = 0;

    threads.resize(count);
    for (u32 z = 0; z < blockDim.z; z++)
        for (u32 y = 0; y < blockDim.y; y++)
            for (u32 x = 0; x < blockDim.x; x++, t++) {
                thread *th = &threads[t];

                th->tid = {x, y, z};
                th->linear = t;
                th->state = RUNNING;
                stacks[t].resize(32 << 10);
                getcontext(&th->context);
                th->context.uc_stack.ss_sp = stacks[t].data();
                th->context.uc_stack.ss_size = stacks[t].size();
                th->context.uc_link = &scheduler;
                makecontext(&th->context, enter, 0);
            }
    for (bool going = true; going;) {
        going = false;
        for (thread &th : threads)
            if (th.state == RUNNING) {
                self = &th;
                swapcontext(&scheduler, &th.context);
                going = true;
            }
        for (u32 w = 0; w < count; w += 32)
            going |= release_warp(w, min(w + 32, count));
        if (!going)
            going = release_block();
    }
    for (thread &th : threads)
        if (th.state != ENDED) {
            fprintf(stderr, "twin: threads wait for ever\n");
            exit(2);
        }
}

enum { IN_WORDS = 4096, HEAD = 64, EACH = 21 };

static u64 digest(const u32 *p, size_t n)
{
    u64 h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static void launch(const char *name, kernel_fn *fn, dim grid, dim block,
                   u32 seed, const char *out_file)
{
    size_t total =
        (size_t)grid.x * grid.y * grid.z * block.x * block.y * block.z;
    size_t words = HEAD + EACH * total;
    static std::vector<u32> in(IN_WORDS);
    std::vector<u32> out(words + 16);
    u32 x = seed;

    for (u32 i = 0; i < IN_WORDS; i++) {
        x = x * 1664525 + 1013904223;
        in[i] = x ^ x >> 13;
    }
    for (size_t i = 0; i < words; i++)
        out[i] = i < HEAD ? 0 : 0xa5a50000u + (u32)i;
    current = fn;
    current_in = in.data();
    current_out = (u32 *)(((uintptr_t)out.data() + 63) & ~(uintptr_t)63);
    if (current_out != out.data())
        memmove(current_out, out.data(), words * sizeof(u32));
    current_n = (int)total;
    gridDim = grid;
    blockDim = block;
    for (u32 z = 0; z < grid.z; z++)
        for (u32 y = 0; y < grid.y; y++)
            for (u32 b = 0; b < grid.x; b++) {
                blockIdx = {b, y, z};
                run_block();
            }
    if (out_file) {
        FILE *f = fopen(out_file, "wb");

        fwrite(current_out, sizeof(u32), words, f);
        fclose(f);
    }
    printf("%s %u %u %u %u %u %u %u %016llx\n", name, grid.x, grid.y, grid.z,
           block.x, block.y, block.z, seed, digest(current_out, words));
}

#define TWIN_MAIN                                                              \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        const char *only = argc > 1 ? argv[1] : NULL;                          \
        int at = argc > 2 ? atoi(argv[2]) : -1;                                \
        const char *file = argc > 3 ? argv[3] : NULL;                          \
        int i = 0;
#define TWIN_LAUNCH(name, gx, gy, gz, bx, by, bz, seed)                        \
    if ((!only || !strcmp(only, #name)) && (at < 0 || at == i))                \
        launch(#name, name, {gx, gy, gz}, {bx, by, bz}, seed, file);           \
    i++;
#define TWIN_END                                                               \
    return 0;                                                                  \
    }
