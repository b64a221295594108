/* SPDX-License-Identifier: MIT
 *
 * y = a x + y, one element a thread.
 */
__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = a * x[i] + y[i];
}

/* The same for any n and any grid: each thread strides over the array. */
__global__ void saxpy_stride(float a, const float *x, float *y, int n)
{
    int step = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        y[i] = a * x[i] + y[i];
}
