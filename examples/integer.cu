/* SPDX-License-Identifier: MIT
 *
 * Integer arithmetic in 32 and 64 bits. Row r of out holds one result a
 * thread; b is never zero.
 */
__global__ void integer32(const int *x, const int *y, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;

    int a = x[i];
    int b = y[i] | 1;
    unsigned ua = a;
    unsigned ub = b;
    int s = b & 31;

    out[0 * n + i] = a + b;
    out[1 * n + i] = a - b;
    out[2 * n + i] = a * b;
    out[3 * n + i] = a / (b == -1 ? 1 : b);
    out[4 * n + i] = a % (b == -1 ? 1 : b);
    out[5 * n + i] = ua / ub;
    out[6 * n + i] = ua % ub;
    out[7 * n + i] = ua << s;
    out[8 * n + i] = ua >> s;
    out[9 * n + i] = a >> s;
    out[10 * n + i] = __mulhi(a, b);
    out[11 * n + i] = __umulhi(ua, ub);
    out[12 * n + i] = __popc(ua);
    out[13 * n + i] = __clz(a);
    out[14 * n + i] = __brev(ua);
    out[15 * n + i] = __ffs(a);
    out[16 * n + i] = (a & b) ^ (a | ~b);
    out[17 * n + i] = min(a, b);
    out[18 * n + i] = max(ua, ub);
    out[19 * n + i] = abs(a);
    out[20 * n + i] = (short)a * (short)b + (signed char)(a >> 3);
    out[21 * n + i] = a < b ? 1u : ua < ub ? 2u : 3u;
}

__global__ void integer64(const long long *x, const long long *y,
                          unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;

    long long a = x[i];
    long long b = y[i] | 1;
    unsigned long long ua = a;
    unsigned long long ub = b;
    int s = (int)(b & 63);

    out[0 * n + i] = a + b;
    out[1 * n + i] = a - b;
    out[2 * n + i] = a * b;
    out[3 * n + i] = a / (b == -1 ? 1 : b);
    out[4 * n + i] = a % (b == -1 ? 1 : b);
    out[5 * n + i] = ua / ub;
    out[6 * n + i] = ua % ub;
    out[7 * n + i] = ua << s;
    out[8 * n + i] = ua >> s;
    out[9 * n + i] = a >> s;
    out[10 * n + i] = __mul64hi(a, b);
    out[11 * n + i] = __umul64hi(ua, ub);
    out[12 * n + i] = __popcll(ua);
    out[13 * n + i] = __clzll(a);
    out[14 * n + i] = __brevll(ua);
    out[15 * n + i] = __ffsll(a);
    out[16 * n + i] = (a & b) ^ (a | ~b);
    out[17 * n + i] = min(a, b);
    out[18 * n + i] = max(ua, ub);
    out[19 * n + i] = (long long)(int)a * (int)b;
    out[20 * n + i] = (unsigned long long)(unsigned)a * (unsigned)b;
    out[21 * n + i] = a < b ? 1u : ua < ub ? 2u : 3u;
}
