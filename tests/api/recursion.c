/* SPDX-License-Identifier: MIT
 *
 * Functions of kernels that call themselves, each other, and through
 * pointers, against the same functions on the host.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api.h"

enum { THREADS = 130, BLOCKS = 5, ALL = THREADS * BLOCKS };

/* --- the same for the host --- */

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

/* Two that call each other, from two places. */
static int odd(int n, float *trace);
static int even(int n, float *trace)
{
    *trace += (float)n * 0.5f;
    if (n == 0)
        return 1;
    return n % 3 ? odd(n - 1, trace) : 3 + odd(n - 1, trace);
}
static int odd(int n, float *trace)
{
    *trace *= 1.25f;
    if (n == 0)
        return 0;
    return even(n - 1, trace) + (n & 4);
}

/* Arrays in each frame, and pointers to a caller's. */
static int walk(int *above, int depth, int seed)
{
    int own[4];
    int sum = 0;

    for (int k = 0; k < 4; k++)
        own[k] = seed * (k + 1) + depth;
    if (above)
        above[depth & 3] += own[1];
    if (depth > 0)
        for (int k = 0; k < 1 + (seed & 1); k++)
            sum += walk(own, depth - 1, seed + k);
    for (int k = 0; k < 4; k++)
        sum += own[k] * (k + 3);
    return sum;
}

static int twice(int a)
{
    return 2 * a;
}
static int square(int a)
{
    if (a > 100)
        return -1;
    return a * a;
}
static int halve(int a)
{
    return a / 2;
}
typedef int function(int);
static function *table[4] = {twice, square, fib, halve};

static int apply(function *f, int a, int times)
{
    for (int k = 0; k < times; k++)
        a = f(a) & 15;
    return a;
}

static int *run(const char *ptx, const char *name, int n, int each)
{
    const size_t bytes = (size_t)ALL * (size_t)each * sizeof(int);
    int *found = calloc(1, bytes);
    CUdeviceptr out = 0;
    void *args[] = {&out, &n};
    CUmodule m;
    CUfunction f = test_function(ptx, name, &m);

    if (!found)
        exit(1);
    OK(cuMemAlloc_v2(&out, bytes));
    OK(cuMemsetD8_v2(out, 0, bytes));
    OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(found, out, bytes));
    OK(cuMemFree_v2(out));
    OK(cuModuleUnload(m));
    return found;
}

static int fib_of(int i)
{
    return fib(i % 13);
}

static int ackermann_of(int i)
{
    return (int)ackermann((unsigned)i % 3, (unsigned)i % 5);
}

static int parity_of(int i)
{
    float trace = (float)i * 0.125f;
    int e = even(i % 17, &trace) * 1000;

    e += odd(i % 11, &trace);
    return e + (int)trace;
}

static int walk_of(int i)
{
    return walk(NULL, i % 6, i % 29);
}

static int area_of(int i)
{
    const int h = i % 7;

    return i % 3 == 0   ? i * h * 10 + 4
           : i % 3 == 1 ? (i + 1) * h / 2 * 10 + 3
                        : 1;
}

static void compare(const char *ptx, const char *name, int host(int))
{
    const int n = ALL - 7;
    int *found = run(ptx, name, n, 1), bad = 0;

    for (int i = 0; i < ALL; i++)
        bad += found[i] != (i < n ? host(i) : 0);
    CHECK_SAYS(!bad, "%s: %d wrong", name, bad);
    free(found);
}

static void indirect(const char *ptx)
{
    const int n = ALL - 7;
    int *found = run(ptx, "indirect", n, 2), bad = 0;

    for (int i = 0; i < n; i++)
        bad += found[2 * i] != table[i & 3](i % 12) ||
               found[2 * i + 1] !=
                   apply(i % 5 ? table[(i / 4) & 3] : halve, i % 16, i % 4);
    CHECK_SAYS(!bad, "through pointers: %d wrong", bad);
    free(found);
}

/* --- hand-written: what compilers do not make --- */

static const char ptx_hand[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    /* registers as parameters; predicates and a loop around a call that only
     * some rounds make; lanes that end inside */
    ".func (.reg .u32 r) tree(.reg .u32 n, .reg .u32 stop)\n"
    "{\n"
    "    .reg .pred %p<6>;\n"
    "    .reg .b16 %h<3>;\n"
    "    .reg .b32 %r<8>;\n"
    "    setp.eq.u32 %p1, stop, 1;\n"
    "    setp.eq.and.u32 %p1, n, 3, %p1;\n"
    "    @%p1 exit;\n"
    "    cvt.u16.u32 %h1, n;\n"
    "    and.b32 %r5, n, 2;\n"
    "    setp.ne.u32 %p2, %r5, 0;\n"
    "    mov.u32 %r1, 0;\n"
    "    mov.u32 %r2, 1;\n"
    "AGAIN:\n"
    "    setp.ge.u32 %p3, %r1, n;\n"
    "    @%p3 bra DONE;\n"
    "    and.b32 %r3, %r1, 1;\n"
    "    setp.eq.u32 %p4, %r3, 0;\n"
    "    sub.u32 %r4, n, 2;\n"
    "    max.s32 %r4, %r4, 0;\n"
    "    mov.u32 %r6, 5;\n"
    "    @%p4 call (%r6), tree, (%r4, stop);\n"
    "    add.u32 %r2, %r2, %r6;\n"
    "    add.u32 %r1, %r1, 1;\n"
    "    bra AGAIN;\n"
    "DONE:\n"
    "    @%p2 mul.lo.u32 %r2, %r2, 3;\n"
    "    cvt.u32.u16 %r7, %h1;\n"
    "    add.u32 r, %r2, %r7;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry trees(.param .u64 out, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r<8>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r7, [n];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "    setp.ge.u32 %p, %r1, %r7;\n"
    "    @%p exit;\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.s64 %rd1, %rd1, %rd2;\n"
    "    rem.u32 %r4, %r1, 9;\n"
    "    rem.u32 %r5, %r1, 7;\n"
    "    call (%r6), tree, (%r4, %r5);\n"
    "    st.global.u32 [%rd1], %r6;\n"
    "    ret;\n"
    "}\n"
    /* an indexed branch */
    ".visible .entry cases(.param .u64 out, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r<8>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r7, [n];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "    setp.ge.u32 %p, %r1, %r7;\n"
    "    @%p exit;\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.s64 %rd1, %rd1, %rd2;\n"
    "    rem.u32 %r4, %r1, 5;\n"
    "    mov.u32 %r6, %r1;\n"
    "TOP:\n"
    "    T: .branchtargets A, B, C, B, END;\n"
    "    brx.idx %r4, T;\n"
    "A:\n"
    "    add.u32 %r6, %r6, 100;\n"
    "    add.u32 %r4, %r4, 1;\n"
    "    bra TOP;\n"
    "B:\n"
    "    mul.lo.u32 %r6, %r6, 3;\n"
    "    add.u32 %r4, %r4, 1;\n"
    "    bra TOP;\n"
    "C:\n"
    "    xor.b32 %r6, %r6, 85;\n"
    "    mov.u32 %r4, 3;\n"
    "    bra TOP;\n"
    "END:\n"
    "    st.global.u32 [%rd1], %r6;\n"
    "    ret;\n"
    "}\n";

/* *ended: the lane has. */
static unsigned tree(unsigned n, unsigned stop, int *ended)
{
    unsigned sum = 1;

    if (n == 3 && stop == 1)
        *ended = 1;
    for (unsigned i = 0; i < n && !*ended; i++)
        sum += i & 1 ? 5 : tree(n < 2 ? 0 : n - 2, stop, ended);
    return (n & 2 ? sum * 3 : sum) + n;
}

static int tree_of(int i)
{
    int ended = 0;
    unsigned r = tree((unsigned)i % 9, (unsigned)i % 7, &ended);

    return ended ? 0 : (int)r;
}

static int case_of(int i)
{
    unsigned v = (unsigned)i;

    for (unsigned k = v % 5; k < 4; k++)
        v = k == 0 ? v + 100 : k == 2 ? v ^ 85 : v * 3;
    return (int)v;
}

/* --- what would grow without end --- */

/* A chain of functions that each call the one before twice. */
static void refuses(const char *what, const char *body)
{
    enum { DEPTH = 40 };
    char *ptx = calloc(1, 32768);
    size_t n = 0;
    CUmodule m;
    CUresult result;

    if (!ptx)
        exit(1);
    n += (size_t)sprintf(ptx,
                         ".version 7.0\n.target sm_70\n"
                         ".address_size 64\n"
                         ".func f0() { %s }\n",
                         body);
    for (int i = 1; i < DEPTH; i++)
        n += (size_t)sprintf(ptx + n, ".func f%d() { call f%d; call f%d; }\n",
                             i, i - 1, i - 1);
    sprintf(ptx + n, ".visible .entry k() { call f%d; ret; }\n", DEPTH - 1);
    result = cuModuleLoadData(&m, ptx);
    CHECK_SAYS(result == CUDA_ERROR_NOT_SUPPORTED, "%s: %s", what,
               result_name(result));
    free(ptx);
}

static void too_large(void)
{
    refuses("too many instructions", "membar.cta;");
    refuses("too many calls of nothing", "");
}

/* Too deep is an error of the context, not the end of the process. */
static void forever(const char *ptx)
{
    CUdeviceptr out = 0;
    void *args[] = {&out};
    CUmodule m;
    CUfunction f = test_function(ptx, "forever", &m);

    OK(cuMemAlloc_v2(&out, 64));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize() != CUDA_SUCCESS);
}

int main(void)
{
    CUcontext context = test_start();
    char *ptx = test_read_file(TEST_DATA "/recursion.ptx");

    test_need_compiler();
    compare(ptx, "fibs", fib_of);
    compare(ptx, "ackermanns", ackermann_of);
    compare(ptx, "parities", parity_of);
    compare(ptx, "walks", walk_of);
    compare(ptx, "virtuals", area_of);
    indirect(ptx);
    compare(ptx_hand, "trees", tree_of);
    compare(ptx_hand, "cases", case_of);
    if (is_kiln) /* ptxas takes its time over it */
        too_large();
    forever(ptx); /* the context is lost */
    cuCtxDestroy_v2(context);
    free(ptx);
    return test_end();
}
