/* SPDX-License-Identifier: MIT
 *
 * What generated kernels stand on. One text is compiled twice: as CUDA C++,
 * and by the host's C++ compiler as its twin, in which every thread of a
 * block is a context of its own and warp functions and barriers are
 * meetings, so that nothing of the twin's order of execution is a warp's.
 */
#ifndef TWIN_H
#define TWIN_H

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#ifdef __CUDA_ARCH__
#define KERNEL(name)                                                           \
    extern "C" __global__ void name(const u32 *__restrict__ in, u32 *out, int n)
#define FN            static __device__ __forceinline__
#define CONSTANT      __constant__
#define SHARED        __shared__
#define BITS_F(x)     __float_as_uint(x)
#define F_BITS(x)     __uint_as_float(x)
#define BITS_D(x)     (u64) __double_as_longlong(x)
#define F2I(x)        __float2int_rz(x)
#define F2U(x)        __float2uint_rz(x)
#define D2I(x)        __double2int_rz(x)
#define FMA(a, b, c)  __fmaf_rn(a, b, c)
#define DFMA(a, b, c) __fma_rn(a, b, c)
#define FDIV(a, b)    __fdiv_rn(a, b)
#define FSQRT(a)      __fsqrt_rn(a)
#else
#include "twin_host.h"
#endif

/* NaNs differ in their bits between processors: one stands for all. */
FN u32 fbits(float x)
{
    return x != x ? 0x7fffffffu : BITS_F(x);
}
FN u64 dbits(double x)
{
    return x != x ? 0x7fffffffffffffffull : BITS_D(x);
}
/* A float of moderate size. */
FN float fval(u32 x)
{
    return (float)(s32)(x & 0xffff) * 0.125f - 1000.0f;
}
FN u32 hash(u32 x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* The lanes that exist in this thread's warp. */
FN u32 warp_mask(u32 t, u32 threads)
{
    u32 left = threads - (t & ~31u);

    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}
/* A shuffle from a lane outside the mask is not defined: then 7. */
FN u32 shfl_idx(u32 m, u32 v, u32 src, u32 w, u32 lane)
{
    u32 from = (lane & ~(w - 1)) | (src & (w - 1));
    u32 r = __shfl_sync(m, v, (int)src, (int)w);

    return m >> from & 1 ? r : 7;
}
FN u32 shfl_up(u32 m, u32 v, u32 by, u32 w, u32 lane)
{
    u32 from = (lane & (w - 1)) < by ? lane : lane - by;
    u32 r = __shfl_up_sync(m, v, by, (int)w);

    return m >> from & 1 ? r : 7;
}
FN u32 shfl_down(u32 m, u32 v, u32 by, u32 w, u32 lane)
{
    u32 from = (lane & (w - 1)) + by >= w ? lane : lane + by;
    u32 r = __shfl_down_sync(m, v, by, (int)w);

    return m >> from & 1 ? r : 7;
}
FN u32 shfl_xor(u32 m, u32 v, u32 by, u32 w, u32 lane)
{
    u32 from = lane ^ by, r = __shfl_xor_sync(m, v, (int)by, (int)w);

    if (from > (lane | (w - 1)))
        from = lane;
    return m >> from & 1 ? r : 7;
}
FN u32 safe_div(u32 a, u32 b)
{
    return a / (b | 1);
}
FN s32 safe_sdiv(s32 a, s32 b)
{
    return a / ((b & 0x7fffffff) | 1);
}
FN s32 safe_srem(s32 a, s32 b)
{
    return a % ((b & 0x7fffffff) | 1);
}

#endif
