/* SPDX-License-Identifier: MIT
 *
 * Escape counts of the Mandelbrot set: a loop from which each lane leaves at
 * its own time. Roundings are written out, so that every compiler and device
 * gives the same counts.
 */
__global__ void mandelbrot(int *out, int width, int height, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;

    if (px >= width || py >= height)
        return;

    float cx = __fmaf_rn(3.0f / 1024.0f, (float)(px * 1024 / width), -2.25f);
    float cy = __fmaf_rn(2.5f / 1024.0f, (float)(py * 1024 / height), -1.25f);
    float x = 0.0f;
    float y = 0.0f;
    int i = 0;

    while (i < limit) {
        float xx = __fmul_rn(x, x);
        float yy = __fmul_rn(y, y);

        if (__fadd_rn(xx, yy) > 4.0f)
            break;
        y = __fmaf_rn(__fmul_rn(2.0f, x), y, cy);
        x = __fadd_rn(__fadd_rn(xx, -yy), cx);
        i++;
    }
    out[py * width + px] = i;
}
