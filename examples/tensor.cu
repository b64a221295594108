/* SPDX-License-Identifier: MIT
 *
 * C = A B on tensor cores, for square matrices of n by n with n a multiple of
 * 32: A by rows, B by columns. A block is one warp and gives 16 rows and 8
 * columns of C, so that the grid is n / 8 by n / 16. The instruction is
 * written out, as the fragments that it takes are: PTX ISA, mma.
 *
 * Sums are exact: bytes into 32 bits, and halves of small whole numbers into
 * floats.
 */

/* a and b: four bytes an int, the lowest first. */
__global__ void matmul_bytes(const int *a, const int *b, int *c, int n)
{
    const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16, col = blockIdx.x * 8, ints = n / 4;
    int d[4] = {0, 0, 0, 0};

    for (int k = 0; k < ints; k += 8) {
        const int *x = a + (row + group) * ints + k + in_group;
        const int *y = b + (col + group) * ints + k + in_group;

        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(x[0]), "r"(x[8 * ints]), "r"(x[4]),
                       "r"(x[8 * ints + 4]), "r"(y[0]), "r"(y[4]));
    }
    for (int i = 0; i < 4; i++)
        c[(row + group + i / 2 * 8) * n + col + in_group * 2 + i % 2] = d[i];
}

/* Two whole numbers of -8 to 7, from the lowest bits, as halves. */
__device__ static unsigned halves(const int *p)
{
    const float low = (float)((p[0] & 15) - 8), high = (float)((p[1] & 15) - 8);
    unsigned both;

    asm("{ .reg .b16 l, h;\n"
        "cvt.rn.f16.f32 l, %1;\ncvt.rn.f16.f32 h, %2;\n"
        "mov.b32 %0, {l, h}; }"
        : "=r"(both)
        : "f"(low), "f"(high));
    return both;
}

__global__ void matmul_halves(const int *a, const int *b, float *c, int n)
{
    const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4;
    const int row = blockIdx.y * 16, col = blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};

    for (int k = 0; k < n; k += 16) {
        const int *x = a + (row + group) * n + k + in_group * 2;
        const int *y = b + (col + group) * n + k + in_group * 2;

        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(halves(x)), "r"(halves(x + 8 * n)),
                       "r"(halves(x + 8)), "r"(halves(x + 8 * n + 8)),
                       "r"(halves(y)), "r"(halves(y + 8)));
    }
    for (int i = 0; i < 4; i++)
        c[(row + group + i / 2 * 8) * n + col + in_group * 2 + i % 2] = d[i];
}
