/* SPDX-License-Identifier: MIT
 *
 * OpenCL C: the words that kernels.cu is written in; its kernels follow, with
 * the same groups and the same local tiles. Those marked SHUFFLE need
 * cl_khr_subgroup_shuffle and a sub-group size of 32: PoCL 3.1 has no
 * sub-groups at all, so there the benchmark leaves them out.
 */
#define KERNEL kernel void
#define DEVICE static
#define GLOBAL global
#define LOCAL local
#define SHARED local
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define WARP32 __attribute__((intel_reqd_sub_group_size(32)))
#define TX (int)get_local_id(0)
#define TY (int)get_local_id(1)
#define BX (int)get_group_id(0)
#define BY (int)get_group_id(1)
#define BZ (int)get_group_id(2)
#define GX (int)get_global_id(0)
#define GY (int)get_global_id(1)
#define GSIZE (int)get_global_size(0)
#define HALF half
#define GET_HALF(p, i) vload_half(i, p)
#define PUT_HALF(p, i, f) vstore_half(f, i, p)
#define FILTER_GLOBAL
#define FILTER_ARG constant float *filter,
#define rsqrtf rsqrt
#define sqrtf sqrt
#define expf exp
#define logf log
#define fabsf fabs
#define fmaxf fmax
#define make_float4(x, y, z, w) (float4)(x, y, z, w)
#define atomicAdd atomic_add
#define __shfl_down_sync(mask, v, d) sub_group_shuffle(v, (get_sub_group_local_id() + (d)) % 32)
#define __shfl_xor_sync(mask, v, d) sub_group_shuffle(v, get_sub_group_local_id() ^ (d))
