/* SPDX-License-Identifier: MIT
 *
 * Libraries: images apart from contexts, bad ones whose error comes late,
 * kernels launched by their own handle, containers and their wrapper.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static const char ptx_count[] = ".version 7.0\n"
                                ".target sm_70\n"
                                ".address_size 64\n"
                                ".visible .global .align 4 .u32 counter = 5;\n"
                                ".visible .entry k(.param .u64 out)\n"
                                "{\n"
                                "    .reg .b32 %r<3>;\n"
                                "    .reg .b64 %rd<3>;\n"
                                "    ld.param.u64 %rd1, [out];\n"
                                "    ld.global.u32 %r1, [counter];\n"
                                "    st.global.u32 [%rd1], %r1;\n"
                                "    add.u32 %r2, %r1, 1;\n"
                                "    st.global.u32 [counter], %r2;\n"
                                "    ret;\n"
                                "}\n";

static CUresult load(CUlibrary *library, const void *bytes)
{
    return cuLibraryLoadData(library, bytes, NULL, NULL, 0, NULL, NULL, 0);
}

/* Launch by a kernel handle in the current context; what it wrote. */
static unsigned run(CUkernel kernel)
{
    CUdeviceptr out = 0;
    void *args[] = {&out};
    unsigned value = 0;

    OK(cuMemAlloc_v2(&out, 4));
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args,
                      NULL));
    OK(cuMemcpyDtoH_v2(&value, out, 4));
    OK(cuMemFree_v2(out));
    return value;
}

static void late_errors(void)
{
    char log[1000] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUjit_option unknown = (CUjit_option)99;
    CUlibraryOption bad = (CUlibraryOption)9;
    CUcontext context;
    CUlibrary l = NULL;
    CUkernel k = NULL;
    CUmodule m = NULL;
    void *none = NULL;

    OK(cuLibraryLoadData(&l, ptx_syntax_error, options, values, 2, NULL, NULL,
                         0));
    CHECK_SAYS(*log, "the log is filled by the load: %s", log);
    IS(cuLibraryGetKernel(&k, l, "k"), CUDA_ERROR_INVALID_PTX);
    IS(cuLibraryGetModule(&m, l), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate_v2(&context, 0, 0));
    IS(cuLibraryGetModule(&m, l), CUDA_ERROR_INVALID_PTX);
    OK(cuCtxDestroy_v2(context));
    OK(cuLibraryUnload(l));
    OK(load(&l, "no image at all"));
    IS(cuLibraryGetKernel(&k, l, "k"), CUDA_ERROR_INVALID_IMAGE);
    OK(cuLibraryUnload(l));
    IS(cuLibraryLoadData(&l, ptx_count, &unknown, &none, 1, NULL, NULL, 0),
       CUDA_ERROR_INVALID_VALUE);
    IS(cuLibraryLoadData(&l, ptx_count, NULL, NULL, 0, &bad, &none, 1),
       CUDA_ERROR_INVALID_VALUE);
    IS(load(&l, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load(NULL, ptx_count), CUDA_ERROR_INVALID_VALUE);
    IS(cuLibraryLoadFromFile(&l, "/no/such/file", NULL, NULL, 0, NULL, NULL, 0),
       CUDA_ERROR_FILE_NOT_FOUND);
    IS(cuLibraryUnload(NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void names(CUlibrary l)
{
    CUkernel k = NULL, again = NULL, all[2] = {NULL};
    CUlibrary of = NULL;
    const char *name = NULL;
    unsigned count = 0;
    size_t offset = 9, size = 0;
    int value = 0;

    OK(cuLibraryGetKernel(&k, l, "k"));
    OK(cuLibraryGetKernel(&again, l, "k"));
    CHECK(k == again);
    IS(cuLibraryGetKernel(&k, l, "nothing"), CUDA_ERROR_NOT_FOUND);
    IS(cuLibraryGetKernel(&k, l, "counter"), CUDA_ERROR_NOT_FOUND);
    IS(cuLibraryGetKernel(&k, l, ""), CUDA_ERROR_NOT_FOUND);
    IS(cuLibraryGetKernel(&k, l, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuLibraryGetKernel(&k, NULL, "k"), CUDA_ERROR_INVALID_HANDLE);
    if (cuLibraryGetKernelCount) {
        OK(cuLibraryGetKernelCount(&count, l));
        CHECK(count == 1);
        OK(cuLibraryEnumerateKernels(all, 2, l));
        CHECK(all[0] == again);
    }
    if (cuKernelGetName) {
        OK(cuKernelGetName(&name, again));
        CHECK(name && !strcmp(name, "k"));
    }
    if (cuKernelGetLibrary) {
        OK(cuKernelGetLibrary(&of, again));
        CHECK(of == l);
    }
    if (cuKernelGetParamInfo) {
        CUcontext context;

        IS(cuKernelGetParamInfo(again, 0, &offset, &size),
           CUDA_ERROR_INVALID_CONTEXT);
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuKernelGetParamInfo(again, 0, &offset, &size));
        CHECK(offset == 0 && size == 8);
        IS(cuKernelGetParamInfo(again, 1, &offset, &size),
           CUDA_ERROR_INVALID_VALUE);
        OK(cuCtxDestroy_v2(context));
    }
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, again, 0));
    CHECK(value > 0);
}

static void contexts(void)
{
    CUcontext a, b;
    CUlibrary l = NULL;
    CUkernel k = NULL;
    CUfunction fa = NULL, fb = NULL, again = NULL;
    CUmodule ma = NULL, mb = NULL, of = NULL;
    CUdeviceptr ga = 0, gb = 0;
    size_t size = 0;
    int value = 0;

    OK(load(&l, ptx_count)); /* no context exists */
    OK(cuLibraryGetKernel(&k, l, "k"));
    IS(cuKernelGetFunction(&fa, k), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuLibraryGetGlobal(&ga, &size, l, "counter"),
       CUDA_ERROR_INVALID_CONTEXT);
    names(l);
    OK(cuCtxCreate_v2(&a, 0, 0));
    CHECK(run(k) == 5);
    OK(cuKernelGetFunction(&fa, k));
    CHECK((void *)fa != (void *)k);
    OK(cuLibraryGetGlobal(&ga, &size, l, "counter"));
    CHECK(size == 4);
    IS(cuLibraryGetGlobal(&gb, &size, l, "nothing"), CUDA_ERROR_NOT_FOUND);
    IS(cuLibraryGetGlobal(&gb, &size, l, "k"), CUDA_ERROR_INVALID_VALUE);
    IS(cuLibraryGetManaged(&gb, &size, l, "counter"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryGetModule(&ma, l));
    OK(cuFuncGetModule(&of, fa));
    CHECK(of == ma);
    IS(cuFuncGetModule(&of, (CUfunction)k), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleGetFunction(&again, ma, "k"));
    CHECK(again == fa);
    IS(cuModuleUnload(ma), CUDA_ERROR_NOT_PERMITTED);
    OK(cuCtxCreate_v2(&b, 0, 0));
    CHECK(run(k) == 5); /* variables of its own */
    OK(cuKernelGetFunction(&fb, k));
    CHECK(fa != fb);
    OK(cuLibraryGetModule(&mb, l));
    CHECK(ma != mb);
    OK(cuLibraryGetGlobal(&gb, NULL, l, "counter"));
    CHECK(ga != gb);
    IS(cuLaunchKernel(fa, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
       CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSetCurrent(a));
    CHECK(run(k) == 6);
    OK(cuCtxDestroy_v2(b));
    CHECK(run(k) == 7);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            65536, k, 0));
    OK(cuFuncGetAttribute(&value,
                          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fa));
    CHECK(value == 65536);
    OK(cuLibraryUnload(l));
    if (is_kiln) {
        IS(cuLibraryUnload(l), CUDA_ERROR_INVALID_HANDLE);
        IS(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
           CUDA_ERROR_INVALID_HANDLE);
    }
    OK(cuCtxDestroy_v2(a));
    while (!cuCtxPopCurrent_v2(&a))
        ;
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    memcpy(at, &value, (size_t)bytes);
}

/* A fat binary with one uncompressed PTX image; returns its size. */
static size_t container(unsigned char *out, const char *ptx, unsigned sm)
{
    size_t text = (strlen(ptx) + 8) & ~(size_t)7;

    memset(out, 0, 16 + 80 + text);
    put(out, 0xBA55ED50, 4);
    put(out + 4, 1, 2);
    put(out + 6, 16, 2);
    put(out + 8, 80 + text, 8);
    put(out + 16, 1, 2); /* PTX */
    put(out + 18, 0x0101, 2);
    put(out + 20, 80, 4);         /* header, with the options block */
    put(out + 24, text, 8);       /* payload */
    put(out + 36, 64, 4);         /* where the options block is */
    put(out + 40, 0x00070000, 4); /* minor 0, major 7 */
    put(out + 44, sm, 4);
    put(out + 56, 0x11, 8); /* 64 bit, Linux */
    put(out + 80, 72, 4);   /* options: an empty text behind this */
    memcpy(out + 96, ptx, strlen(ptx));
    return 16 + 80 + text;
}

static void containers(void)
{
    struct {
        uint32_t magic, version;
        const void *data;
        const void *rest;
    } wrapper = {0x466243B1, 1, NULL, NULL};
    unsigned char *image = malloc(8192);
    CUcontext context;
    CUlibrary l = NULL;
    CUkernel k = NULL;
    CUmodule m = NULL;

    OK(cuCtxCreate_v2(&context, 0, 0));
    container(image, ptx_count, 70);
    wrapper.data = image;
    OK(load(&l, image));
    OK(cuLibraryGetKernel(&k, l, "k"));
    CHECK(run(k) == 5);
    OK(cuLibraryUnload(l));
    OK(load(&l, &wrapper));
    OK(cuLibraryGetKernel(&k, l, "k"));
    CHECK(run(k) == 5);
    OK(cuLibraryUnload(l));
    OK(cuModuleLoadData(&m, image));
    OK(cuModuleUnload(m));
    OK(cuModuleLoadFatBinary(&m, image));
    OK(cuModuleUnload(m));
    IS(cuModuleLoadData(&m, &wrapper), CUDA_ERROR_INVALID_IMAGE);
    container(image, ptx_count, 200); /* for a later device */
    IS(cuModuleLoadData(&m, image), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(image);
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    CUcontext context = test_start();

    test_need_compiler();
    OK(cuCtxDestroy_v2(context));
    if (!cuLibraryLoadData) {
        printf("skip this driver has no libraries\n");
        return 77;
    }
    late_errors();
    contexts();
    containers();
    return test_end();
}
