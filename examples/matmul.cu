/* SPDX-License-Identifier: MIT
 *
 * C = A B for square row-major matrices, in tiles of 16 by 16 through shared
 * memory. Blocks of 16 by 16 threads; n need not be a multiple of 16.
 */
enum { TILE = 16 };

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[TILE][TILE];
    __shared__ float tb[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;

    for (int k0 = 0; k0 < n; k0 += TILE) {
        ta[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0.0f;
        tb[ty][tx] = col < n && k0 + ty < n ? b[(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            acc += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = acc;
}
