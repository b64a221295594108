/* SPDX-License-Identifier: MIT
 *
 * saxpy by cudaLibraryLoadData, on whatever driver the runtime finds. The
 * code is PTX written here ("ptx") or made by NVRTC ("nvrtc"; exit status 77
 * where there is none). A plain program: nothing but the runtime API.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/api.h"

enum { N = 100000, SKIP = 77 };

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y,\n"
    "                      .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n"
    "    .reg .f32 %f<5>;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<8>;\n"
    "    ld.param.f32 %f1, [a];\n"
    "    ld.param.u64 %rd1, [x];\n"
    "    ld.param.u64 %rd2, [y];\n"
    "    ld.param.u32 %r2, [n];\n"
    "    mov.u32 %r3, %ctaid.x;\n"
    "    mov.u32 %r4, %ntid.x;\n"
    "    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.s32 %r1, %r3, %r4, %r5;\n"
    "    setp.ge.s32 %p1, %r1, %r2;\n"
    "    @%p1 bra DONE;\n"
    "    cvta.to.global.u64 %rd3, %rd1;\n"
    "    cvta.to.global.u64 %rd4, %rd2;\n"
    "    mul.wide.s32 %rd5, %r1, 4;\n"
    "    add.s64 %rd6, %rd3, %rd5;\n"
    "    add.s64 %rd7, %rd4, %rd5;\n"
    "    ld.global.f32 %f2, [%rd6];\n"
    "    ld.global.f32 %f3, [%rd7];\n"
    "    fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "    st.global.f32 [%rd7], %f4;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

static const char source[] =
    "extern \"C\" __global__ void saxpy(float a, const float *x, float *y,"
    " int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n";

#define OK(call) ok(call, #call)
static void ok(cudaError_t e, const char *what)
{
    if (e) {
        fprintf(stderr, "%s: %s (%d): %s\n", what, cudaGetErrorName(e), (int)e,
                cudaGetErrorString(e));
        exit(1);
    }
}

static void *symbol(void *lib, const char *name)
{
    void *p = dlsym(lib, name);

    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return p;
}

/* The PTX of `source`, or NULL without NVRTC. */
static char *compile(void)
{
    const char *const options[] = {"-arch=compute_80", "--no-cache"};
    int (*create)(void **, const char *, const char *, int, void *, void *);
    int (*build)(void *, int, const char *const *);
    int (*size_of)(void *, size_t *);
    int (*get)(void *, char *);
    void *lib = dlopen("libnvrtc.so.13", RTLD_NOW);
    void *program = NULL;
    void *p;
    size_t size = 0;
    char *text;

    if (!lib)
        lib = dlopen("/usr/local/cuda/lib64/libnvrtc.so", RTLD_NOW);
    if (!lib)
        return NULL;
    p = symbol(lib, "nvrtcCreateProgram");
    memcpy(&create, &p, sizeof p);
    p = symbol(lib, "nvrtcCompileProgram");
    memcpy(&build, &p, sizeof p);
    p = symbol(lib, "nvrtcGetPTXSize");
    memcpy(&size_of, &p, sizeof p);
    p = symbol(lib, "nvrtcGetPTX");
    memcpy(&get, &p, sizeof p);
    if (create(&program, source, "saxpy.cu", 0, NULL, NULL) ||
        build(program, 2, options) || size_of(program, &size) ||
        !(text = malloc(size)) || get(program, text)) {
        fprintf(stderr, "NVRTC failed\n");
        exit(1);
    }
    return text;
}

static void run(cudaKernel_t kernel)
{
    static float x[N], y[N];
    float a = 3.0f;
    int n = N;
    void *dx = NULL;
    void *dy = NULL;
    void *arguments[] = {&a, &dx, &dy, &n};
    const dim3 grid = {(N + 255) / 256, 1, 1};
    const dim3 block = {256, 1, 1};

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    OK(cudaMalloc(&dx, sizeof x));
    OK(cudaMalloc(&dy, sizeof y));
    OK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    OK(cudaFree(dx));
    OK(cudaFree(dy));
    for (int i = 0; i < N; i++)
        if (y[i] != 3.0f * (float)i + 1.0f) {
            fprintf(stderr, "y[%d] is %g\n", i, (double)y[i]);
            exit(1);
        }
}

int main(int argc, char **argv)
{
    int nvrtc = argc == 2 && !strcmp(argv[1], "nvrtc");
    char *made = nvrtc ? compile() : NULL;
    cudaLibrary_t library;
    cudaKernel_t kernel = NULL;
    cudaError_t e;
    int count = 0;

    if (nvrtc && !made) {
        puts("skipped: no NVRTC");
        return SKIP;
    }
    OK(cudaGetDeviceCount(&count));
    OK(cudaLibraryLoadData(&library, made ? made : ptx, NULL, NULL, 0, NULL,
                           NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "saxpy"));
    run(kernel);
    e = cudaLibraryGetKernel(&kernel, library, "nothing");
    if (e != cudaErrorSymbolNotFound) {
        fprintf(stderr, "a missing name gives %s\n", cudaGetErrorName(e));
        return 1;
    }
    OK(cudaLibraryUnload(library));
    free(made);
    printf("saxpy over %d elements on %d device(s): right\n", N, count);
    return 0;
}
