/* SPDX-License-Identifier: MIT
 *
 * The benchmark's kernels, in CUDA C++ without any include: NVRTC and nvcc
 * take this file as it is (compute_75 or higher), OpenCL takes it behind
 * kernels.cl, which defines the same words. The benchmark cuts it at the
 * comments that begin with "@"; arguments are the buffers, then ints, then
 * floats.
 */
#ifndef __OPENCL_VERSION__
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define SYNC __syncthreads()
#define WARP32
#define TX threadIdx.x
#define TY threadIdx.y
#define BX blockIdx.x
#define BY blockIdx.y
#define BZ blockIdx.z
#define GX (blockIdx.x * blockDim.x + threadIdx.x)
#define GY (blockIdx.y * blockDim.y + threadIdx.y)
#define GSIZE (gridDim.x * blockDim.x)
#define HALF unsigned short
#define GET_HALF(p, i) h2f(p[i])
#define PUT_HALF(p, i, f) p[i] = f2h(f)
#define FILTER_GLOBAL __constant__ float filter[33];
#define FILTER_ARG
DEVICE float h2f(HALF h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
DEVICE HALF f2h(float f) { HALF h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
#endif
/* @saxpy */
KERNEL saxpy(GLOBAL const float *x, GLOBAL float *y, int n, float a) {
    int i = GX;
    if (i < n) y[i] = a * x[i] + y[i];
}
/* @reduce_tree  (block 256, grid-stride; one partial sum a block) */
KERNEL reduce_tree(GLOBAL const float *x, GLOBAL float *out, int n) {
    SHARED float s[256];
    int t = TX;
    float v = 0;
    for (int i = GX; i < n; i += GSIZE) v += x[i];
    s[t] = v;
    SYNC;
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        SYNC;
    }
    if (t == 0) out[BX] = s[0];
}
/* @reduce_shfl  (block 256, grid-stride; warp shuffles, then shared)  SHUFFLE */
WARP32 KERNEL reduce_shfl(GLOBAL const float *x, GLOBAL float *out, int n) {
    SHARED float s[8];
    int t = TX;
    float v = 0;
    for (int i = GX; i < n; i += GSIZE) v += x[i];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) s[t / 32] = v;
    SYNC;
    if (t < 32) {
        v = t < 8 ? s[t] : 0;
        for (int d = 4; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
        if (t == 0) out[BX] = v;
    }
}
/* @sgemm_tiled  (block 16x16) */
KERNEL sgemm_tiled(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int n) {
    SHARED float a[16][16], b[16][16];
    int tx = TX, ty = TY, row = BY * 16 + ty, col = BX * 16 + tx;
    float c = 0;
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = A[row * n + k + tx];
        b[ty][tx] = B[(k + ty) * n + col];
        SYNC;
        for (int j = 0; j < 16; j++) c += a[ty][j] * b[j][tx];
        SYNC;
    }
    C[row * n + col] = c;
}
/* @sgemm_reg  (block 16x16, tile 64x64x16, 4x4 results a thread) */
KERNEL sgemm_reg(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int n) {
    SHARED float a[16][64], b[16][64];
    int tx = TX, ty = TY, t = ty * 16 + tx, row = BY * 64, col = BX * 64;
    float c[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int e = t; e < 1024; e += 256) {
            a[e % 16][e / 16] = A[(row + e / 16) * n + k + e % 16];
            b[e / 64][e % 64] = B[(k + e / 64) * n + col + e % 64];
        }
        SYNC;
        for (int p = 0; p < 16; p++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) c[i][j] += a[p][ty * 4 + i] * b[p][tx * 4 + j];
        SYNC;
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) C[(row + ty * 4 + i) * n + col + tx * 4 + j] = c[i][j];
}
/* @nbody  (block 256; w is the mass) */
KERNEL nbody(GLOBAL const float4 *p, GLOBAL float4 *acc, int n) {
    SHARED float4 s[256];
    float4 me = p[GX];
    float ax = 0, ay = 0, az = 0;
    for (int tile = 0; tile < n; tile += 256) {
        s[TX] = p[tile + TX];
        SYNC;
        for (int j = 0; j < 256; j++) {
            float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = s[j].w * inv * inv * inv;
            ax += w * dx, ay += w * dy, az += w * dz;
        }
        SYNC;
    }
    acc[GX] = make_float4(ax, ay, az, 0);
}
/* @mandelbrot  (block 16x16) */
KERNEL mandelbrot(GLOBAL unsigned *out, int w, int h) {
    int px = GX, py = GY, it = 0;
    if (px >= w || py >= h) return;
    float cx = -2.2f + px * (3.0f / w), cy = -1.5f + py * (3.0f / h), x = 0, y = 0;
    while (it < 512 && x * x + y * y <= 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy, x = t, it++;
    }
    out[py * w + px] = it;
}
/* @transpose  (block 32x8, tile 32x32+1) */
KERNEL transpose(GLOBAL const float *in, GLOBAL float *out, int w, int h) {
    SHARED float s[32][33];
    int tx = TX, ty = TY, bx = BX * 32, by = BY * 32;
    for (int j = ty; j < 32; j += 8) s[j][tx] = in[(by + j) * w + bx + tx];
    SYNC;
    for (int j = ty; j < 32; j += 8) out[(bx + j) * h + by + tx] = s[tx][j];
}
/* @histogram  (block 256, grid-stride over words of four bytes) */
KERNEL histogram(GLOBAL const unsigned *in, GLOBAL unsigned *hist, int n) {
    SHARED unsigned s[256];
    s[TX] = 0;
    SYNC;
    for (int i = GX; i < n; i += GSIZE)
        for (int b = 0; b < 32; b += 8) atomicAdd(&s[in[i] >> b & 255], 1u);
    SYNC;
    atomicAdd(&hist[TX], s[TX]);
}
/* @stencil2d  (block 32x8) */
KERNEL stencil2d(GLOBAL const float *in, GLOBAL float *out, int w, int h) {
    int x = GX, y = GY, i = y * w + x;
    if (x > 0 && x < w - 1 && y > 0 && y < h - 1)
        out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}
/* @stencil3d  (block 32x8, a cube of edge w) */
KERNEL stencil3d(GLOBAL const float *in, GLOBAL float *out, int w) {
    int x = GX, y = GY, z = BZ, p = w * w, i = z * p + y * w + x;
    if (x > 0 && x < w - 1 && y > 0 && y < w - 1 && z > 0 && z < w - 1)
        out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w] + in[i - p] + in[i + p]);
}
/* @scan_block  (block 256: inclusive sum in each block, Hillis-Steele, double buffer) */
KERNEL scan_block(GLOBAL const float *in, GLOBAL float *out, int n) {
    SHARED float s[2][256];
    int t = TX, i = GX, cur = 0;
    s[0][t] = i < n ? in[i] : 0;
    SYNC;
    for (int d = 1; d < 256; d <<= 1) {
        s[cur ^ 1][t] = t >= d ? s[cur][t] + s[cur][t - d] : s[cur][t];
        cur ^= 1;
        SYNC;
    }
    if (i < n) out[i] = s[cur][t];
}
/* @spmv_csr  (a thread a row) */
KERNEL spmv_csr(GLOBAL const int *ptr, GLOBAL const int *col, GLOBAL const float *val,
                GLOBAL const float *x, GLOBAL float *y, int rows) {
    int r = GX;
    if (r >= rows) return;
    float v = 0;
    for (int j = ptr[r]; j < ptr[r + 1]; j++) v += val[j] * x[col[j]];
    y[r] = v;
}
/* @bitonic_sort  (block 512 sorts 1024 keys) */
KERNEL bitonic_sort(GLOBAL const unsigned *in, GLOBAL unsigned *out) {
    SHARED unsigned s[1024];
    int t = TX, base = BX * 1024;
    s[t] = in[base + t], s[t + 512] = in[base + t + 512];
    for (int k = 2; k <= 1024; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            SYNC;
            int lo = 2 * t - (t & (j - 1));
            unsigned a = s[lo], b = s[lo + j];
            if ((a > b) == ((lo & k) == 0)) s[lo] = b, s[lo + j] = a;
        }
    SYNC;
    out[base + t] = s[t], out[base + t + 512] = s[t + 512];
}
