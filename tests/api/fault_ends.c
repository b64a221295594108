/* SPDX-License-Identifier: MIT
 *
 * Faults while other things go on: other streams, other threads of the host,
 * other contexts; too deep a stack; and, with the argument "limit", kernels
 * without an end under KILN_CPU_TIME_LIMIT.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

enum { STREAMS = 4 };

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[2] = {0, 0};\n"
    ".func (.reg .u32 r) depth(.reg .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .u32 %m;\n"
    "    mov.u32 r, 0;\n"
    "    setp.eq.u32 %p, n, 0;\n"
    "@%p ret;\n"
    "    sub.u32 %m, n, 1;\n"
    "    call (r), depth, (%m);\n"
    "    add.u32 r, r, n;\n"
    "    ret;\n"
    "}\n"
    ".global .u32 before = 5;\n"
    ".const .u32 bank[4096] = {1, 2, 3};\n"
    ".global .u32 behind = 6;\n"
    ".visible .entry sum(.param .u64 p)\n"
    "{\n"
    "    .reg .b32 %r<4>;\n"
    "    .reg .b64 %x;\n"
    "    ld.param.u64 %x, [p];\n"
    "    ld.const.u32 %r1, [bank];\n"
    "    ld.const.u32 %r2, [bank+8];\n"
    "    ld.const.u32 %r3, [bank+16380];\n"
    "    add.u32 %r1, %r1, %r2;\n"
    "    add.u32 %r1, %r1, %r3;\n"
    "    ld.global.u32 %r2, [before];\n"
    "    ld.global.u32 %r3, [behind];\n"
    "    st.global.u32 [before], %r3;\n"
    "    st.global.u32 [behind], %r2;\n"
    "    st.global.u32 [%x], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry add(.param .u64 p)\n"
    "{\n"
    "    .reg .b64 %x;\n"
    "    ld.param.u64 %x, [p];\n"
    "    red.global.add.u32 [%x], 1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry null(.param .u64 p)\n"
    "{\n"
    "    .reg .b32 %t;\n"
    "    .reg .b64 %x;\n"
    "    mov.u32 %t, %tid.x;\n"
    "    mul.wide.u32 %x, %t, 4;\n"
    "    st.global.u32 [%x], %t;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry spin(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r;\n"
    "    .reg .b64 %x;\n"
    "    ld.param.u64 %x, [p];\n"
    "L:  ld.volatile.global.u32 %r, [%x];\n"
    "    setp.eq.u32 %p, %r, 0;\n"
    "@%p bra L;\n"
    "    ret;\n"
    "}\n"
    /* thread 37 of 64 calls itself n times, the others three */
    ".visible .entry deep(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %t, %n, %r;\n"
    "    .reg .b64 %x, %y;\n"
    "    ld.param.u64 %x, [p];\n"
    "    ld.param.u32 %n, [n];\n"
    "    mov.u32 %t, %tid.x;\n"
    "    setp.eq.u32 %p, %t, 37;\n"
    "    selp.b32 %n, %n, 3, %p;\n"
    "    call (%r), depth, (%n);\n"
    "    mul.wide.u32 %y, %t, 4;\n"
    "    add.u64 %x, %x, %y;\n"
    "    st.global.u32 [%x], %r;\n"
    "    ret;\n"
    "}\n"
    /* how: 0 free what was never given, 1 free twice, 2 write behind the
     * heap, 3 read what vprintf is given for a text */
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".visible .entry heap(.param .u64 p, .param .u32 how)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %h;\n"
    "    .reg .b64 %x;\n"
    "    .param .b64 n, q, a;\n"
    "    .param .b32 r;\n"
    "    ld.param.u32 %h, [how];\n"
    "    st.param.b64 [n], 100;\n"
    "    call (q), malloc, (n);\n"
    "    ld.param.b64 %x, [q];\n"
    "    st.b32 [%x+96], %h;\n"
    "    setp.eq.u32 %p, %h, 2;\n"
    "@%p bra W;\n"
    "    setp.eq.u32 %p, %h, 3;\n"
    "@%p bra P;\n"
    "    setp.eq.u32 %p, %h, 0;\n"
    "@%p add.u64 %x, %x, 32;\n"
    "    st.param.b64 [n], %x;\n"
    "    call free, (n);\n"
    "    st.param.b64 [n], %x;\n"
    "    call free, (n);\n"
    "    ret;\n"
    "W:  st.b32 [%x+268435456], %h;\n"
    "    ret;\n"
    "P:  st.param.b64 [n], 64;\n"
    "    st.param.b64 [a], 0;\n"
    "    call (r), vprintf, (n, a);\n"
    "    ret;\n"
    "}\n"
    /* --- without an end --- */
    ".visible .entry calls(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r;\n"
    "L:  call (%r), depth, (9);\n"
    "    setp.ne.u32 %p, %r, 0;\n"
    "@%p bra L;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry prints(.param .u64 p)\n"
    "{\n"
    "    .reg .b64 %x;\n"
    "    .param .b64 f, a;\n"
    "    .param .b32 r;\n"
    "    mov.u64 %x, text;\n"
    "    cvta.global.u64 %x, %x;\n"
    "L:  st.param.b64 [f], %x;\n"
    "    st.param.b64 [a], 0;\n"
    "    call (r), vprintf, (f, a);\n"
    "    bra L;\n"
    "}\n"
    /* one warp goes round, the others wait for it */
    ".visible .entry barrier(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %t;\n"
    "    mov.u32 %t, %tid.x;\n"
    "    setp.ge.u32 %p, %t, 32;\n"
    "@%p bra W;\n"
    "L:  add.u32 %t, %t, 1;\n"
    "    bra L;\n"
    "W:  bar.sync 0;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry arrivals(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %b;\n"
    "    .reg .b64 %s;\n"
    "    .shared .align 8 .b64 bar;\n"
    "    mov.u32 %b, bar;\n"
    "    mbarrier.init.shared.b64 [%b], 5000;\n"
    "    mbarrier.arrive.shared.b64 %s, [%b];\n"
    "L:  mbarrier.test_wait.shared.b64 %p, [%b], %s;\n"
    "@!%p bra L;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry lock(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r;\n"
    "    .reg .b64 %x;\n"
    "    ld.param.u64 %x, [p];\n"
    "L:  atom.global.cas.b32 %r, [%x], 0, 1;\n"
    "    setp.ne.u32 %p, %r, 0;\n"
    "@%p bra L;\n"
    "    ret;\n"
    "}\n";

static CUmodule module;

static CUcontext context_new(void)
{
    CUcontext context = NULL;

    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, ptx));
    return context;
}

static void launch(const char *name, CUstream stream, unsigned blocks,
                   unsigned threads, CUdeviceptr p, unsigned n)
{
    void *args[] = {&p, &n};
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, args, NULL));
}

static CUdeviceptr word(void)
{
    CUdeviceptr p = 0;

    OK(cuMemAlloc_v2(&p, 4096));
    OK(cuMemsetD8_v2(p, 0, 4096));
    OK(cuCtxSynchronize());
    return p;
}

/* A context of its own works. */
static void works(void)
{
    CUcontext context = context_new();
    CUdeviceptr p = word();
    unsigned sum = 0;

    launch("add", NULL, 100, 64, p, 0);
    OK(cuMemcpyDtoH_v2(&sum, p, sizeof sum));
    CHECK(sum == 6400);
    OK(cuCtxDestroy_v2(context));
}

/* --- others at the same time --- */

struct waiter {
    pthread_t thread;
    CUcontext context;
    CUstream stream;
    CUdeviceptr p;
    int how;
    CUresult found;
};

static void *wait_for_it(void *data)
{
    struct waiter *w = data;
    unsigned value;

    w->found = cuCtxSetCurrent(w->context);
    if (w->found)
        return NULL;
    switch (w->how % 3) {
    case 0:
        w->found = cuStreamSynchronize(w->stream);
        break;
    case 1:
        w->found = cuMemcpyDtoH_v2(&value, w->p, sizeof value);
        break;
    default:
        w->found = cuCtxSynchronize();
        break;
    }
    return NULL;
}

/* Kernels wait on some streams, host threads for them; one faults. */
static void others_wait(void)
{
    CUcontext context = context_new();
    struct waiter w[STREAMS];
    CUdeviceptr p = word();
    CUstream bad;

    for (int i = 0; i < STREAMS; i++) {
        w[i] = (struct waiter){.context = context, .p = p, .how = i};
        OK(cuStreamCreate(&w[i].stream, i == 1 ? 0 : CU_STREAM_NON_BLOCKING));
        launch("spin", w[i].stream, 3, 64, p, 0);
        launch("add", w[i].stream, 3, 64, p + 64, 0);
    }
    for (int i = 0; i < STREAMS; i++)
        CHECK(!pthread_create(&w[i].thread, NULL, wait_for_it, &w[i]));
    usleep(20000);
    OK(cuStreamCreate(&bad, CU_STREAM_NON_BLOCKING));
    launch("null", bad, 1, 32, 0, 0);
    IS(cuStreamSynchronize(bad), CUDA_ERROR_ILLEGAL_ADDRESS);
    for (int i = 0; i < STREAMS; i++) {
        pthread_join(w[i].thread, NULL);
        IS(w[i].found, CUDA_ERROR_ILLEGAL_ADDRESS);
        IS(cuStreamQuery(w[i].stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    OK(cuCtxDestroy_v2(context));
    works();
}

/* Every thread of many blocks, on several streams. */
static void all_at_once(void)
{
    CUcontext context = context_new();
    CUdeviceptr null = 0;
    void *args[] = {&null};
    CUstream s[STREAMS];
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, "null"));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < STREAMS; i++) {
        const CUresult found =
            cuLaunchKernel(f, 1000, 1, 1, 256, 1, 1, 0, s[i], args, NULL);

        /* it may have come to light by then */
        CHECK_SAYS(!found || (i && found == CUDA_ERROR_ILLEGAL_ADDRESS),
                   "launch %d: %s", i, result_name(found));
    }
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(context));
    works();
}

/* The context is destroyed under it; another one's kernels go on. */
static void destroyed(void)
{
    CUcontext good = context_new();
    CUmodule module_of_good = module;
    CUdeviceptr p = word(), unlock;
    const unsigned one = 1;
    unsigned sum = 0;
    CUcontext bad;
    CUstream side;

    OK(cuMemAlloc_v2(&unlock, 4));
    OK(cuMemsetD32_v2(unlock, 0, 1));
    OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    launch("spin", NULL, 2, 64, unlock, 0);
    launch("add", NULL, 10, 64, p, 0);
    for (int i = 0; i < 10; i++) {
        bad = context_new();
        launch("null", NULL, 50, 64, 0, 0);
        OK(cuCtxDestroy_v2(bad));
    }
    OK(cuCtxSetCurrent(good));
    module = module_of_good;
    IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuMemcpyHtoDAsync_v2(unlock, &one, sizeof one, side));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&sum, p, sizeof sum));
    CHECK(sum == 640);
    OK(cuCtxDestroy_v2(good));
}

/* --- other memory --- */

static const char said[] = "fault_ends.log";

/* What the driver says of the last fault. */
static void check_said(const char *words)
{
    char text[4096];
    FILE *f = fopen(said, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    CHECK_SAYS(strstr(text, words) != NULL, "\"%s\" in: %s", words, text);
}

static void heap(void)
{
    static const struct {
        const char *line, *said;
    } cases[] = {{"call free, (n)", "thread (0,0,0), PTX line"},
                 {"call free, (n)", "free of 0x"},
                 {"W:", "not allocated"},
                 {"vprintf, (n", "thread (0,0,0), PTX line"}};

    for (unsigned how = 0; how < 4; how++) {
        CUcontext context = context_new();
        const char *at = strstr(ptx, cases[how].line);
        char words[40];
        int line = 1;

        /* the second free */
        if (how == 1)
            at = strstr(at + 1, cases[how].line);
        for (const char *c = ptx; c < at; c++)
            line += *c == '\n';
        snprintf(words, sizeof words, "PTX line %d:", line);
        CHECK(freopen(said, "w", stderr) != NULL);
        launch("heap", NULL, 2, 40, 0, how);
        IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        fflush(stderr);
        check_said(words);
        check_said(cases[how].said);
        OK(cuCtxDestroy_v2(context));
    }
    unlink(said);
    works();
}

/* Host memory that was not registered, where the device says that it can. */
static void host_memory(void)
{
    CUcontext context = context_new();
    unsigned *p = calloc(1024, sizeof *p);
    int can = 0;

    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                            0));
    CHECK(can == 1);
    launch("add", NULL, 10, 64, (CUdeviceptr)(uintptr_t)p, 0);
    OK(cuCtxSynchronize());
    CHECK(p && *p == 640);
    free(p);
    OK(cuCtxDestroy_v2(context));
}

/* Kernels cannot write constants; everything else can. */
static void constants(void)
{
    CUcontext context = context_new();
    CUdeviceptr p = word(), bank = 0, at = 0;
    unsigned found = 0, four[4] = {10, 0, 30, 0};
    size_t size = 0;

    OK(cuModuleGetGlobal_v2(&bank, &size, module, "bank"));
    CHECK(size == 16384);
    launch("sum", NULL, 1, 1, p, 0);
    OK(cuMemcpyDtoH_v2(&found, p, sizeof found));
    CHECK(found == 1 + 3);
    OK(cuMemcpyHtoD_v2(bank, four, sizeof four));
    OK(cuMemsetD32_v2(bank + 16380, 100, 1));
    launch("sum", NULL, 1, 1, p, 0);
    OK(cuMemcpyDtoH_v2(&found, p, sizeof found));
    CHECK(found == 10 + 30 + 100);
    OK(cuMemcpyDtoD_v2(bank + 16380, bank, 4));
    OK(cuMemcpyDtoD_v2(p + 8, bank, 16));
    launch("sum", NULL, 1, 1, p, 0);
    OK(cuMemcpyDtoH_v2(&found, p, sizeof found));
    CHECK(found == 10 + 30 + 10);
    OK(cuMemcpyDtoH_v2(&found, p + 16, sizeof found));
    CHECK(found == 30);
    OK(cuModuleGetGlobal_v2(&at, NULL, module, "behind"));
    OK(cuMemcpyDtoH_v2(&found, at, sizeof found));
    CHECK(found == 5); /* changed places three times with `before` */
    OK(cuCtxDestroy_v2(context));
}

/* --- the stack --- */

static void deep(size_t limit, unsigned n, CUresult wanted)
{
    CUcontext context = context_new();
    CUdeviceptr p = word();
    unsigned found[64] = {0}, bad = 0;

    if (limit)
        OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, limit));
    launch("deep", NULL, 1, 64, p, n);
    IS(cuCtxSynchronize(), wanted);
    if (!wanted) {
        OK(cuMemcpyDtoH_v2(found, p, sizeof found));
        for (unsigned t = 0; t < 64; t++)
            bad += found[t] != (t == 37 ? n * (n + 1) / 2 : 6);
        CHECK_SAYS(!bad, "%u calls deep: %u threads find another sum", n, bad);
    }
    OK(cuCtxDestroy_v2(context));
}

static void stack(void)
{
    deep(0, 100, CUDA_SUCCESS);
    /* a frame has 16 bytes at least */
    deep(0, 3000, CUDA_ERROR_LAUNCH_FAILED);
    deep(200 << 10, 3000, CUDA_SUCCESS);
    deep(200 << 10, 20000, CUDA_ERROR_LAUNCH_FAILED);
    deep(64, 100, CUDA_SUCCESS);
    CHECK(freopen(said, "w", stderr) != NULL);
    deep(0, 1000000, CUDA_ERROR_LAUNCH_FAILED);
    fflush(stderr);
    check_said("kernel deep, block (0,0,0), thread (37,0,0), PTX line");
    check_said("stack overflow");
    unlink(said);
}

/* --- without an end --- */

static void limits(void)
{
    static const struct {
        const char *name;
        unsigned blocks, threads;
    } cases[] = {{"calls", 1, 1},     {"calls", 5, 64},   {"prints", 1, 1},
                 {"prints", 2, 64},   {"barrier", 2, 96}, {"arrivals", 2, 64},
                 {"arrivals", 1, 32}, {"lock", 3, 64},    {"spin", 40, 64}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUcontext context = context_new();
        CUdeviceptr p = word();
        CUresult found;

        launch(cases[i].name, NULL, cases[i].blocks, cases[i].threads, p, 0);
        found = cuCtxSynchronize();
        CHECK_SAYS(found == CUDA_ERROR_LAUNCH_TIMEOUT,
                   "%s of %u blocks of %u: %s", cases[i].name, cases[i].blocks,
                   cases[i].threads, result_name(found));
        IS(cuStreamQuery(NULL), CUDA_ERROR_LAUNCH_TIMEOUT);
        OK(cuCtxDestroy_v2(context));
    }
    works();
}

int main(int argc, char **argv)
{
    CUcontext context;

    setenv("KILN_LOG", "info", 1);
    context = test_start();
    if (!is_kiln) {
        printf("skip one process cannot go on after a fault on a GPU\n");
        return 77;
    }
    test_need_compiler();
    OK(cuCtxDestroy_v2(context));
    if (argc > 1 && !strcmp(argv[1], "limit")) {
        limits();
        return test_end();
    }
    others_wait();
    all_at_once();
    destroyed();
    heap();
    host_memory();
    constants();
    stack();
    return test_end();
}
