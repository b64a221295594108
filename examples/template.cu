/* SPDX-License-Identifier: MIT
 *
 * Template kernels: ask for an instance as C++ writes it, for example
 * 'axpy<float>', 'axpy<double>' or 'ns::scale<int,4>'.
 */
template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = a * x[i] + y[i];
}

namespace ns
{
/* Each thread scales N neighbours by N. */
template <typename T, int N> __global__ void scale(T *x, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;

    for (int k = 0; k < N; k++)
        if (i + k < n)
            x[i + k] *= N;
}
}
