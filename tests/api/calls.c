/* SPDX-License-Identifier: MIT
 *
 * Functions of kernels: calls under divergence, parameters of every kind,
 * and what the driver does for them: printf, assertions, the heap. Results
 * are compared with the same functions on the host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

enum { THREADS = 200, BLOCKS = 3 };

/* --- what is printed, by file descriptor --- */

struct capture {
    int fd, saved;
    char text[8192];
};

static void capture_begin(struct capture *c, int fd)
{
    char name[] = "/tmp/kiln-calls-XXXXXX";
    int file = mkstemp(name);

    fflush(stdout);
    fflush(stderr);
    c->fd = fd;
    c->saved = dup(fd);
    if (file < 0 || c->saved < 0 || dup2(file, fd) < 0) {
        printf("FAIL no file to capture output in\n");
        exit(1);
    }
    unlink(name);
    close(file);
}

static void capture_end(struct capture *c)
{
    ssize_t n;

    fflush(stdout);
    fflush(stderr);
    lseek(c->fd, 0, SEEK_SET);
    n = read(c->fd, c->text, sizeof c->text - 1);
    c->text[n < 0 ? 0 : n] = 0;
    dup2(c->saved, c->fd);
    close(c->saved);
}

/* --- hand-written: shapes that compilers do not make --- */

static const char ptx_hand[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    /* registers for parameters */
    ".func (.reg .u32 r) third(.reg .u32 a, .reg .u32 b)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    setp.gt.u32 %p, a, b;\n"
    "    @%p bra BIG;\n"
    "    add.u32 r, a, 7;\n"
    "    ret;\n"
    "BIG:\n"
    "    mul.lo.u32 r, a, b;\n"
    "    ret;\n"
    "}\n"
    /* returns early from inside a loop, by lane; ends lanes that ask for it */
    ".func (.param .b32 r) loop(.param .b32 n, .param .b64 mark)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<2>;\n"
    "    ld.param.b32 %r1, [n];\n"
    "    ld.param.b64 %rd1, [mark];\n"
    "    mov.u32 %r2, 0;\n"
    "    mov.u32 %r3, 0;\n"
    "AGAIN:\n"
    "    setp.ge.u32 %p1, %r2, %r1;\n"
    "    @%p1 bra DONE;\n"
    "    setp.eq.u32 %p2, %r3, 36;\n"
    "    st.param.b32 [r], 1000;\n"
    "    @%p2 ret;\n"
    "    add.u32 %r3, %r3, %r2;\n"
    "    setp.eq.u32 %p3, %r1, 5;\n"
    "    @%p3 st.global.u32 [%rd1], %r1;\n"
    "    @%p3 exit;\n"
    "    call (%r4), third, (%r3, %r2);\n"
    "    xor.b32 %r3, %r3, 0;\n"
    "    add.u32 %r2, %r2, 1;\n"
    "    bra AGAIN;\n"
    "DONE:\n"
    "    add.u32 %r3, %r3, %r4;\n"
    "    st.param.b32 [r], %r3;\n"
    "    ret;\n"
    "}\n"
    /* a parameter that is indexed */
    ".func (.param .b32 r) pick(.param .align 4 .b8 list[32], .param .b32 k)\n"
    "{\n"
    "    .reg .b32 %r<4>;\n"
    "    .reg .b64 %rd<4>;\n"
    "    ld.param.b32 %r1, [k];\n"
    "    and.b32 %r1, %r1, 7;\n"
    "    mul.wide.u32 %rd1, %r1, 4;\n"
    "    mov.b64 %rd2, list;\n"
    "    add.s64 %rd3, %rd2, %rd1;\n"
    "    ld.param.b32 %r2, [%rd3];\n"
    "    st.param.b32 [r], %r2;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry hand(.param .u64 out, .param .u64 mark)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b32 %r<12>;\n"
    "    .reg .b64 %rd<6>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u64 %rd2, [mark];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "    mul.wide.u32 %rd3, %r4, 4;\n"
    "    add.s64 %rd3, %rd1, %rd3;\n"
    "    rem.u32 %r5, %r3, 13;\n"
    "    mov.u32 %r6, 77;\n"
    "    setp.ne.u32 %p1, %r5, 2;\n"
    "    {\n"
    "    .param .b32 a;\n"
    "    .param .b64 b;\n"
    "    .param .b32 c;\n"
    "    st.param.b32 [a], %r5;\n"
    "    st.param.b64 [b], %rd2;\n"
    "    @%p1 call (c), loop, (a, b);\n"
    "    ld.param.b32 %r9, [c];\n"
    "    @%p1 mov.b32 %r6, %r9;\n"
    "    }\n"
    "    {\n"
    "    .param .align 4 .b8 a[32];\n"
    "    .param .b32 b;\n"
    "    .param .b32 c;\n"
    "    st.param.v2.b32 [a], {%r3, %r4};\n"
    "    st.param.b32 [a+8], %r5;\n"
    "    st.param.b32 [a+12], 9;\n"
    "    st.param.b32 [a+16], %r3;\n"
    "    st.param.b32 [a+20], 11;\n"
    "    st.param.b32 [a+24], %r4;\n"
    "    st.param.b32 [a+28], 13;\n"
    "    st.param.b32 [b], %r6;\n"
    "    call (c), pick, (a, b);\n"
    "    ld.param.b32 %r7, [c];\n"
    "    }\n"
    "    add.u32 %r8, %r6, %r7;\n"
    "    st.global.u32 [%rd3], %r8;\n"
    "    ret;\n"
    "}\n";

static uint32_t host_third(uint32_t a, uint32_t b)
{
    return a > b ? a * b : a + 7;
}

/* -1: the lane has ended. */
static int64_t host_loop(uint32_t n)
{
    uint32_t sum = 0, last = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (sum == 36)
            return 1000;
        sum += i;
        if (n == 5)
            return -1;
        last = host_third(sum, i);
    }
    return (int64_t)(uint32_t)(sum + last);
}

static void hand(void)
{
    uint32_t found[THREADS * BLOCKS], mark = 0;
    CUdeviceptr out, marked;
    void *args[] = {&out, &marked};
    CUmodule m;
    CUfunction f = test_function(ptx_hand, "hand", &m);
    int bad = 0;

    OK(cuMemAlloc_v2(&out, sizeof found));
    OK(cuMemAlloc_v2(&marked, 4));
    memset(found, 0xee, sizeof found);
    OK(cuMemcpyHtoD_v2(out, found, sizeof found));
    OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(found, out, sizeof found));
    OK(cuMemcpyDtoH_v2(&mark, marked, 4));
    for (uint32_t i = 0; i < THREADS * BLOCKS; i++) {
        const uint32_t t = i % THREADS, n = t % 13;
        const int64_t r = n == 0   ? -2 /* %r4 of loop was never written */
                          : n == 2 ? 77
                                   : host_loop(n);
        const uint32_t list[8] = {t, i, n, 9, t, 11, i, 13};

        if (r == -2)
            continue;
        bad += found[i] !=
               (r < 0 ? 0xeeeeeeee : (uint32_t)r + list[(uint32_t)r & 7]);
    }
    CHECK_SAYS(!bad, "hand-written calls: %d wrong", bad);
    CHECK(mark == 5);
    OK(cuMemFree_v2(out));
    OK(cuMemFree_v2(marked));
    OK(cuModuleUnload(m));
}

/* --- made by nvcc: calls.cu --- */

struct mixed {
    int a;
    float b;
    double c;
    char d;
};

static int host_collatz(int n)
{
    int steps = 0;

    if (n < 1)
        return -1;
    while (n != 1) {
        if (steps > 60)
            return -2;
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

static struct mixed host_step(int i, struct mixed s, const float *p)
{
    struct mixed r = s;

    r.a += i;
    if (i & 1) {
        r.b = p[i % 4];
        return r;
    }
    r.c += 2 + host_collatz(i);
    r.d = (char)(signed char)(i - 20);
    return r;
}

static int host_structs(int i, const float *p)
{
    struct mixed s = {i, 1.5f, 2.0, 'a'};
    struct mixed r = host_step(i, s, p);
    int sum = 0;

    r = host_step(r.a, r, p);
    for (int k = 0; k < 1 + (i & 7); k++)
        sum += (i + k * k) * (k + 1);
    return r.a + (int)(r.b * 8) + (int)r.c + r.d + sum + host_collatz(i);
}

static void structs(const char *ptx)
{
    const float p[4] = {0.5f, 3.25f, -7.0f, 100.0f};
    int found[THREADS * BLOCKS], n = THREADS * BLOCKS - 5, bad = 0;
    CUdeviceptr out, table;
    void *args[] = {&out, &table, &n};
    CUmodule m;
    CUfunction f = test_function(ptx, "structs", &m);

    OK(cuMemAlloc_v2(&out, sizeof found));
    OK(cuMemAlloc_v2(&table, sizeof p));
    OK(cuMemcpyHtoD_v2(table, p, sizeof p));
    OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(found, out, sizeof found));
    for (int i = 0; i < n; i++)
        bad += found[i] != host_structs(i, p);
    CHECK_SAYS(!bad, "functions of structs: %d wrong", bad);
    OK(cuMemFree_v2(out));
    OK(cuMemFree_v2(table));
    OK(cuModuleUnload(m));
}

static const char printed[] =
    "0  0.00 text|ab    |A%\n"
    "3  0.75 text|ab    |D%\n"
    "6  1.50 text|ab    |G%\n"
    "4000000000 ff 0XFF 10 -5000000000 18446744073709551615 4464    42|42   |"
    "+42|00042\n"
    "1.234568e+04 0.0001 0x1p+0 abc      7 (nil)\n"
    "plain\n"
    "7\n";

static void prints(const char *ptx)
{
    static struct capture c;
    CUdeviceptr text;
    void *args[] = {&text};
    CUmodule m;
    CUfunction f = test_function(ptx, "print_all", &m);
    size_t early;

    OK(cuMemAlloc_v2(&text, 8));
    OK(cuMemcpyHtoD_v2(text, "text", 5));
    capture_begin(&c, 1);
    cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, NULL, args, NULL);
    usleep(is_kiln ? 200000 : 0);
    early = (size_t)lseek(1, 0, SEEK_END);
    cuCtxSynchronize();
    capture_end(&c);
    CHECK_SAYS(!strcmp(c.text, printed), "printed: %s",
               strcmp(c.text, printed) ? c.text : "as meant");
    if (is_kiln)
        CHECK(early == 0); /* nothing before the host waits */
    OK(cuMemFree_v2(text));
    OK(cuModuleUnload(m));
}

static void heap(const char *ptx)
{
    int found[256], bad = 0;
    CUdeviceptr out;
    void *args[] = {&out};
    CUmodule m;
    CUfunction f = test_function(ptx, "heap", &m), much = NULL;

    OK(cuModuleGetFunction(&much, m, "too_much"));
    OK(cuMemAlloc_v2(&out, sizeof found));
    for (int round = 0; round < 20; round++) {
        OK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
        OK(cuMemcpyDtoH_v2(found, out, sizeof found));
        for (int i = 0; i < 256; i++) {
            const int n = 1 + i % 50;

            bad += found[i] != i * (n * (n - 1) / 2);
        }
    }
    CHECK_SAYS(!bad, "the heap: %d wrong", bad);
    OK(cuLaunchKernel(much, 1, 1, 1, 40, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(found, out, sizeof found));
    bad = 0;
    for (int i = 0; i < 40; i++)
        bad += found[i] != 1;
    CHECK(!bad);
    OK(cuMemFree_v2(out));
    OK(cuModuleUnload(m));
}

static void assertion(const char *ptx)
{
    static struct capture c;
    int limit = -1;
    void *args[] = {&limit};
    CUmodule m;
    CUfunction f = test_function(ptx, "check", &m);
    CUresult result;

    OK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    limit = 37;
    capture_begin(&c, 2);
    cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL);
    result = cuCtxSynchronize();
    capture_end(&c);
    IS(result, CUDA_ERROR_ASSERT);
    CHECK_SAYS(strstr(c.text, "check(int): block: [0,0,0], thread: [37,0,0] "
                              "Assertion `(int)threadIdx.x != limit` "
                              "failed.\n") != NULL,
               "said: %s", c.text);
    IS(cuCtxSynchronize(), CUDA_ERROR_ASSERT);
}

/* --- what is refused --- */

static const char ptx_unknown[] = ".version 7.0\n"
                                  ".target sm_70\n"
                                  ".address_size 64\n"
                                  ".extern .func nobody(.param .b32 a);\n"
                                  ".visible .entry k()\n"
                                  "{\n"
                                  "    .param .b32 a;\n"
                                  "    st.param.b32 [a], 1;\n"
                                  "    call nobody, (a);\n"
                                  "    ret;\n"
                                  "}\n";

static void unknown(void)
{
    CUmodule m;

    IS(cuModuleLoadData(&m, ptx_unknown), CUDA_ERROR_INVALID_PTX);
}

int main(void)
{
    CUcontext context = test_start();
    char *ptx = test_read_file(TEST_DATA "/calls.ptx");

    test_need_compiler();
    hand();
    structs(ptx);
    prints(ptx);
    heap(ptx);
    unknown();
    assertion(ptx); /* the context is lost */
    cuCtxDestroy_v2(context);
    free(ptx);
    return test_end();
}
