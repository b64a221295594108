/* SPDX-License-Identifier: MIT
 *
 * Reverses each block's part of x through dynamic shared memory: launch with
 * --shared of 4 bytes a thread.
 */
extern __shared__ int held[];

__global__ void reverse(const int *x, int *y)
{
    int t = threadIdx.x;
    int n = blockDim.x;
    int base = blockIdx.x * n;

    held[t] = x[base + t];
    __syncthreads();
    y[base + t] = held[n - 1 - t];
}
