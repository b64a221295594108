/* SPDX-License-Identifier: MIT
 *
 * What CUDA C++ takes for granted in device code, for clang without NVIDIA's
 * headers: built-in variables, barriers, warp functions, atomics and the
 * arithmetic that the hardware has. It is part of the library, not a file of
 * the installation. Functions that need a mathematics library (sinf, powf)
 * are not here: a program that calls them does not compile, which is better
 * than a less accurate answer.
 */
#pragma once
#pragma clang system_header

#define __device__             __attribute__((device))
#define __global__             __attribute__((global))
#define __host__               __attribute__((host))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__        __inline__ __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __align__(n)           __attribute__((aligned(n)))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#define KILN_FN static __device__ __inline__ __attribute__((always_inline))

extern "C" __device__ int printf(const char *, ...);

/* ---- built-in variables ----------------------------------------------- */

#define KILN_AXIS(axis, reg)                                                   \
    __declspec(property(get = get_##axis)) unsigned axis;                      \
    static __device__ __inline__                                               \
        __attribute__((always_inline)) unsigned get_##axis()                   \
    {                                                                          \
        return __nvvm_read_ptx_sreg_##reg##_##axis();                          \
    }
#define KILN_INDEX(name, reg)                                                  \
    struct kiln_##name {                                                       \
        KILN_AXIS(x, reg)                                                      \
        KILN_AXIS(y, reg)                                                      \
        KILN_AXIS(z, reg)                                                      \
    };                                                                         \
    extern const __device__ __attribute__((weak)) kiln_##name name

KILN_INDEX(threadIdx, tid);
KILN_INDEX(blockIdx, ctaid);
KILN_INDEX(blockDim, ntid);
KILN_INDEX(gridDim, nctaid);

__device__ const int warpSize = 32;

struct dim3 {
    unsigned x, y, z;
    __device__ constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
};

#define KILN_VECTOR(type, name)                                                \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2                  \
    {                                                                          \
        type x, y;                                                             \
    };                                                                         \
    struct name##3                                                             \
    {                                                                          \
        type x, y, z;                                                          \
    };                                                                         \
    struct __attribute__((                                                     \
        aligned(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)))) name##4       \
    {                                                                          \
        type x, y, z, w;                                                       \
    };                                                                         \
    KILN_FN name##2 make_##name##2(type x, type y)                             \
    {                                                                          \
        return {x, y};                                                         \
    }                                                                          \
    KILN_FN name##3 make_##name##3(type x, type y, type z)                     \
    {                                                                          \
        return {x, y, z};                                                      \
    }                                                                          \
    KILN_FN name##4 make_##name##4(type x, type y, type z, type w)             \
    {                                                                          \
        return {x, y, z, w};                                                   \
    }
KILN_VECTOR(char, char)
KILN_VECTOR(unsigned char, uchar)
KILN_VECTOR(short, short)
KILN_VECTOR(unsigned short, ushort)
KILN_VECTOR(int, int)
KILN_VECTOR(unsigned, uint)
KILN_VECTOR(long long, longlong)
KILN_VECTOR(unsigned long long, ulonglong)
KILN_VECTOR(float, float)
KILN_VECTOR(double, double)

/* ---- barriers and fences ---------------------------------------------- */

/* __syncthreads is known to clang. */
KILN_FN void __syncwarp(unsigned mask = 0xffffffffu)
{
    __nvvm_bar_warp_sync(mask);
}
KILN_FN void __threadfence()
{
    __nvvm_membar_gl();
}
KILN_FN void __threadfence_block()
{
    __nvvm_membar_cta();
}
KILN_FN void __threadfence_system()
{
    __nvvm_membar_sys();
}
KILN_FN void __trap()
{
    asm volatile("trap;");
}

/* ---- warp functions --------------------------------------------------- */

#define KILN_SHUFFLE(name, builtin, last, operand)                             \
    template <typename T>                                                      \
    KILN_FN T name(unsigned mask, T value, operand by, int width = 32)         \
    {                                                                          \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8,                        \
                      "shuffles move 32 or 64 bits");                          \
        int word[sizeof(T) / 4];                                               \
        __builtin_memcpy(word, &value, sizeof(T));                             \
        for (unsigned i = 0; i < sizeof(T) / 4; i++)                           \
            word[i] =                                                          \
                builtin(mask, word[i], (int)by, ((32 - width) << 8) | last);   \
        __builtin_memcpy(&value, word, sizeof(T));                             \
        return value;                                                          \
    }

KILN_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 0x1f, int)
KILN_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0, unsigned)
KILN_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 0x1f, unsigned)
KILN_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 0x1f, int)

KILN_FN unsigned __ballot_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
KILN_FN int __any_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_any_sync(mask, predicate != 0);
}
KILN_FN int __all_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_all_sync(mask, predicate != 0);
}
KILN_FN unsigned __activemask()
{
    unsigned mask;

    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

/* ---- atomics ---------------------------------------------------------- */

#define KILN_ATOMIC(name, type, builtin)                                       \
    KILN_FN type name(type *at, type value)                                    \
    {                                                                          \
        return builtin(at, value);                                             \
    }
#define KILN_ATOMIC_INT(name, op)                                              \
    KILN_FN int name(int *at, int value)                                       \
    {                                                                          \
        return __nvvm_atom_##op##_gen_i(at, value);                            \
    }                                                                          \
    KILN_FN unsigned name(unsigned *at, unsigned value)                        \
    {                                                                          \
        return __nvvm_atom_##op##_gen_i((int *)at, (int)value);                \
    }                                                                          \
    KILN_FN unsigned long long name(unsigned long long *at,                    \
                                    unsigned long long value)                  \
    {                                                                          \
        return __nvvm_atom_##op##_gen_ll((long long *)at, (long long)value);   \
    }

KILN_ATOMIC_INT(atomicAdd, add)
KILN_ATOMIC_INT(atomicAnd, and)
KILN_ATOMIC_INT(atomicOr, or)
KILN_ATOMIC_INT(atomicXor, xor)
KILN_ATOMIC_INT(atomicExch, xchg)
KILN_ATOMIC(atomicAdd, float, __nvvm_atom_add_gen_f)
KILN_ATOMIC(atomicAdd, double, __nvvm_atom_add_gen_d)
KILN_ATOMIC(atomicMin, int, __nvvm_atom_min_gen_i)
KILN_ATOMIC(atomicMin, unsigned, __nvvm_atom_min_gen_ui)
KILN_ATOMIC(atomicMin, long long, __nvvm_atom_min_gen_ll)
KILN_ATOMIC(atomicMin, unsigned long long, __nvvm_atom_min_gen_ull)
KILN_ATOMIC(atomicMax, int, __nvvm_atom_max_gen_i)
KILN_ATOMIC(atomicMax, unsigned, __nvvm_atom_max_gen_ui)
KILN_ATOMIC(atomicMax, long long, __nvvm_atom_max_gen_ll)
KILN_ATOMIC(atomicMax, unsigned long long, __nvvm_atom_max_gen_ull)
KILN_ATOMIC(atomicInc, unsigned, __nvvm_atom_inc_gen_ui)
KILN_ATOMIC(atomicDec, unsigned, __nvvm_atom_dec_gen_ui)
KILN_FN int atomicSub(int *at, int value)
{
    return atomicAdd(at, -value);
}
KILN_FN unsigned atomicSub(unsigned *at, unsigned value)
{
    return atomicAdd(at, 0u - value);
}
KILN_FN float atomicExch(float *at, float value)
{
    return __builtin_bit_cast(
        float, atomicExch((int *)at, __builtin_bit_cast(int, value)));
}
KILN_FN int atomicCAS(int *at, int expected, int value)
{
    return __nvvm_atom_cas_gen_i(at, expected, value);
}
KILN_FN unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value)
{
    return __nvvm_atom_cas_gen_i((int *)at, (int)expected, (int)value);
}
KILN_FN unsigned long long atomicCAS(unsigned long long *at,
                                     unsigned long long expected,
                                     unsigned long long value)
{
    return __nvvm_atom_cas_gen_ll((long long *)at, (long long)expected,
                                  (long long)value);
}

/* ---- integers --------------------------------------------------------- */

KILN_FN int __mulhi(int a, int b)
{
    return __nvvm_mulhi_i(a, b);
}
KILN_FN unsigned __umulhi(unsigned a, unsigned b)
{
    return __nvvm_mulhi_ui(a, b);
}
KILN_FN long long __mul64hi(long long a, long long b)
{
    return __nvvm_mulhi_ll(a, b);
}
KILN_FN unsigned long long __umul64hi(unsigned long long a,
                                      unsigned long long b)
{
    return __nvvm_mulhi_ull(a, b);
}
KILN_FN int __mul24(int a, int b)
{
    return __nvvm_mul24_i(a, b);
}
KILN_FN unsigned __umul24(unsigned a, unsigned b)
{
    return __nvvm_mul24_ui(a, b);
}
KILN_FN int __popc(unsigned a)
{
    return __builtin_popcount(a);
}
KILN_FN int __popcll(unsigned long long a)
{
    return __builtin_popcountll(a);
}
KILN_FN int __clz(int a)
{
    return a ? __builtin_clz((unsigned)a) : 32;
}
KILN_FN int __clzll(long long a)
{
    return a ? __builtin_clzll((unsigned long long)a) : 64;
}
KILN_FN int __ffs(int a)
{
    return a ? __builtin_ctz((unsigned)a) + 1 : 0;
}
KILN_FN int __ffsll(long long a)
{
    return a ? __builtin_ctzll((unsigned long long)a) + 1 : 0;
}
KILN_FN unsigned __brev(unsigned a)
{
    return __builtin_bitreverse32(a);
}
KILN_FN unsigned long long __brevll(unsigned long long a)
{
    return __builtin_bitreverse64(a);
}
KILN_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned select)
{
    return __nvvm_prmt(a, b, select);
}
KILN_FN int abs(int a)
{
    return a < 0 ? -a : a;
}
KILN_FN long long llabs(long long a)
{
    return a < 0 ? -a : a;
}

#define KILN_MIN_MAX(type)                                                     \
    KILN_FN type min(type a, type b)                                           \
    {                                                                          \
        return b < a ? b : a;                                                  \
    }                                                                          \
    KILN_FN type max(type a, type b)                                           \
    {                                                                          \
        return a < b ? b : a;                                                  \
    }
KILN_MIN_MAX(int)
KILN_MIN_MAX(unsigned)
KILN_MIN_MAX(long)
KILN_MIN_MAX(unsigned long)
KILN_MIN_MAX(long long)
KILN_MIN_MAX(unsigned long long)

/* ---- floating point --------------------------------------------------- */

KILN_FN float fminf(float a, float b)
{
    return __nvvm_fmin_f(a, b);
}
KILN_FN float fmaxf(float a, float b)
{
    return __nvvm_fmax_f(a, b);
}
KILN_FN double fmin(double a, double b)
{
    return __nvvm_fmin_d(a, b);
}
KILN_FN double fmax(double a, double b)
{
    return __nvvm_fmax_d(a, b);
}
KILN_FN float min(float a, float b)
{
    return fminf(a, b);
}
KILN_FN float max(float a, float b)
{
    return fmaxf(a, b);
}
KILN_FN double min(double a, double b)
{
    return fmin(a, b);
}
KILN_FN double max(double a, double b)
{
    return fmax(a, b);
}
KILN_FN float fabsf(float a)
{
    return __builtin_fabsf(a);
}
KILN_FN double fabs(double a)
{
    return __builtin_fabs(a);
}
KILN_FN float sqrtf(float a)
{
    return __nvvm_sqrt_rn_f(a);
}
KILN_FN double sqrt(double a)
{
    return __nvvm_sqrt_rn_d(a);
}
KILN_FN float rsqrtf(float a)
{
    return __nvvm_rsqrt_approx_f(a);
}
KILN_FN float fmaf(float a, float b, float c)
{
    return __nvvm_fma_rn_f(a, b, c);
}
KILN_FN double fma(double a, double b, double c)
{
    return __nvvm_fma_rn_d(a, b, c);
}
KILN_FN float floorf(float a)
{
    return __builtin_floorf(a);
}
KILN_FN float ceilf(float a)
{
    return __builtin_ceilf(a);
}
KILN_FN float truncf(float a)
{
    return __builtin_truncf(a);
}
KILN_FN float rintf(float a)
{
    return __builtin_rintf(a);
}
KILN_FN double floor(double a)
{
    return __builtin_floor(a);
}
KILN_FN double ceil(double a)
{
    return __builtin_ceil(a);
}
KILN_FN double trunc(double a)
{
    return __builtin_trunc(a);
}
KILN_FN double rint(double a)
{
    return __builtin_rint(a);
}
KILN_FN float copysignf(float a, float b)
{
    return __builtin_copysignf(a, b);
}

/* One rounding each: the compiler may not contract these. LLVM before 17
 * turns its own functions of that meaning back into plain arithmetic. */
#define KILN_ROUNDED(name, type, constraint, instruction)                      \
    KILN_FN type name(type a, type b)                                          \
    {                                                                          \
        type r;                                                                \
                                                                               \
        asm(instruction " %0, %1, %2;"                                         \
            : "=" constraint(r)                                                \
            : constraint(a), constraint(b));                                   \
        return r;                                                              \
    }
KILN_ROUNDED(__fadd_rn, float, "f", "add.rn.f32")
KILN_ROUNDED(__fsub_rn, float, "f", "sub.rn.f32")
KILN_ROUNDED(__fmul_rn, float, "f", "mul.rn.f32")
KILN_ROUNDED(__dadd_rn, double, "d", "add.rn.f64")
KILN_ROUNDED(__dsub_rn, double, "d", "sub.rn.f64")
KILN_ROUNDED(__dmul_rn, double, "d", "mul.rn.f64")
KILN_FN float __fdiv_rn(float a, float b)
{
    return __nvvm_div_rn_f(a, b);
}
KILN_FN float __fmaf_rn(float a, float b, float c)
{
    return __nvvm_fma_rn_f(a, b, c);
}
KILN_FN float __fsqrt_rn(float a)
{
    return __nvvm_sqrt_rn_f(a);
}
KILN_FN double __fma_rn(double a, double b, double c)
{
    return __nvvm_fma_rn_d(a, b, c);
}

/* The hardware's own approximations, as the names promise. */
KILN_FN float __sinf(float a)
{
    return __nvvm_sin_approx_f(a);
}
KILN_FN float __cosf(float a)
{
    return __nvvm_cos_approx_f(a);
}
KILN_FN float __expf(float a)
{
    return __nvvm_ex2_approx_f(a * 1.4426950408889634f);
}
KILN_FN float __logf(float a)
{
    return __nvvm_lg2_approx_f(a) * 0.6931471805599453f;
}
KILN_FN float __fdividef(float a, float b)
{
    return __nvvm_div_approx_f(a, b);
}

KILN_FN int __float_as_int(float a)
{
    return __builtin_bit_cast(int, a);
}
KILN_FN unsigned __float_as_uint(float a)
{
    return __builtin_bit_cast(unsigned, a);
}
KILN_FN float __int_as_float(int a)
{
    return __builtin_bit_cast(float, a);
}
KILN_FN float __uint_as_float(unsigned a)
{
    return __builtin_bit_cast(float, a);
}
KILN_FN int __float2int_rn(float a)
{
    return __nvvm_f2i_rn(a);
}
KILN_FN int __float2int_rz(float a)
{
    return __nvvm_f2i_rz(a);
}

template <typename T> KILN_FN T __ldg(const T *at)
{
    return *at;
}
