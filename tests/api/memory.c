/* SPDX-License-Identifier: MIT
 *
 * Device and host memory, copies and fills of every form, pointer
 * attributes.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { N = 4096 };

static void allocation(void)
{
    CUdeviceptr p = 0, base = 0;
    size_t size = 0, free_bytes = 0, total = 0, pitch = 0;

    OK(cuMemAlloc_v2(&p, 1000));
    CHECK(p && p % 256 == 0);
    OK(cuMemGetAddressRange_v2(&base, &size, p + 999));
    CHECK(base == p && size == 1000);
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(0));
    IS(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemAlloc_v2(NULL, 8), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemAlloc_v2(&p, (size_t)1 << 55), CUDA_ERROR_OUT_OF_MEMORY);
    if (is_kiln) {
        IS(cuMemFree_v2(base), CUDA_ERROR_INVALID_VALUE);
        IS(cuMemFree_v2(0x1234), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    CHECK_SAYS(free_bytes && free_bytes <= total, "%zu of %zu bytes free",
               free_bytes, total);
    OK(cuMemAllocPitch_v2(&p, &pitch, 100, 7, 4));
    CHECK(pitch >= 100 && pitch % 32 == 0);
    OK(cuMemFree_v2(p));
    IS(cuMemAllocPitch_v2(&p, &pitch, 100, 7, 5), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&p, N, CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)p, 5, N);
    CHECK(((unsigned char *)(uintptr_t)p)[N - 1] == 5);
    OK(cuMemFree_v2(p));
}

static void copies(void)
{
    unsigned char *a = malloc(N);
    unsigned char *b = malloc(N);
    CUdeviceptr p = 0, q = 0;

    for (int i = 0; i < N; i++)
        a[i] = (unsigned char)(i * 7);
    OK(cuMemAlloc_v2(&p, N));
    OK(cuMemAlloc_v2(&q, N));
    OK(cuMemcpyHtoD_v2(p, a, N));
    OK(cuMemcpyDtoD_v2(q, p, N));
    OK(cuMemcpyDtoH_v2(b, q, N));
    CHECK(!memcmp(a, b, N));
    memset(b, 0, N);
    OK(cuMemcpyDtoH_v2(b, p + 100, 50));
    CHECK(!memcmp(a + 100, b, 50) && !b[50]);
    OK(cuMemcpyHtoD_v2(p, a, 0));
    OK(cuMemcpy(q, p, 10));
    /* One byte too many, at either end. */
    if (is_kiln) {
        IS(cuMemcpyHtoD_v2(p, a, N + 1), CUDA_ERROR_INVALID_VALUE);
        IS(cuMemcpyDtoH_v2(b, p + 1, N), CUDA_ERROR_INVALID_VALUE);
        IS(cuMemcpyHtoD_v2((uintptr_t)b, a, 8), CUDA_ERROR_INVALID_VALUE);
        IS(cuMemcpyHtoD_v2(p, NULL, 8), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuMemcpyHtoD_v2_ptds(p, a + 1, N - 1));
    OK(cuMemcpyDtoHAsync_v2_ptsz(b, p, N - 1, NULL));
    OK(cuStreamSynchronize_ptsz(NULL));
    CHECK(!memcmp(a + 1, b, N - 1));
    /* Pageable source bytes are taken at the call. */
    memcpy(b, a, N);
    OK(cuMemcpyHtoDAsync_v2(p, b, N, NULL));
    memset(b, 0, N);
    OK(cuMemcpyDtoHAsync_v2(b, p, N, NULL));
    OK(cuStreamSynchronize(NULL));
    CHECK(!memcmp(a, b, N));
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(q));
    free(a);
    free(b);
}

static void rectangles(void)
{
    unsigned char host[16 * 10];
    unsigned char back[16 * 10] = {0};
    CUdeviceptr p;
    size_t pitch;
    CUDA_MEMCPY2D c = {0};
    CUDA_MEMCPY3D box = {0};
    int same = 1;

    for (int i = 0; i < 160; i++)
        host[i] = (unsigned char)i;
    OK(cuMemAllocPitch_v2(&p, &pitch, 16, 10, 4));
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host;
    c.srcPitch = 16;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = p;
    c.dstPitch = pitch;
    c.WidthInBytes = 16;
    c.Height = 10;
    OK(cuMemcpy2D_v2(&c));
    /* Back: rows 2 to 5, columns 3 to 9, to (1, 1). */
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = p;
    c.srcPitch = pitch;
    c.srcXInBytes = 3;
    c.srcY = 2;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = back;
    c.dstPitch = 16;
    c.dstXInBytes = 1;
    c.dstY = 1;
    c.WidthInBytes = 7;
    c.Height = 4;
    OK(cuMemcpy2D_v2(&c));
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 16; x++) {
            int inside = y >= 1 && y < 5 && x >= 1 && x < 8;

            same &=
                back[y * 16 + x] == (inside ? host[(y + 1) * 16 + x + 2] : 0);
        }
    CHECK_SAYS(same, "a rectangle comes back, and nothing else");
    c.srcPitch = 4;
    IS(cuMemcpy2D_v2(&c), CUDA_ERROR_INVALID_VALUE);
    /* A box of 2 slices of 3 rows of 4 bytes out of slices of 5 rows. */
    memset(back, 0, sizeof back);
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = host;
    box.srcPitch = 16;
    box.srcHeight = 5;
    box.srcXInBytes = 2;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.dstDevice = p;
    box.dstPitch = 4;
    box.dstHeight = 3;
    box.WidthInBytes = 4;
    box.Height = 3;
    box.Depth = 2;
    OK(cuMemcpy3D_v2(&box));
    OK(cuMemcpyDtoH_v2(back, p, 24));
    same = 1;
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            same &=
                !memcmp(back + (z * 3 + y) * 4, host + (z * 5 + y) * 16 + 2, 4);
    CHECK_SAYS(same, "a box comes back");
    OK(cuMemFree_v2(p));
}

static void fills(void)
{
    uint32_t back[64];
    CUdeviceptr p;

    OK(cuMemAlloc_v2(&p, sizeof back));
    OK(cuMemsetD8_v2(p, 0x5a, sizeof back));
    OK(cuMemsetD16_v2(p + 4, 0x1234, 2));
    OK(cuMemsetD32_v2(p + 8, 0xdeadbeef, 2));
    OK(cuMemcpyDtoH_v2(back, p, sizeof back));
    CHECK(back[0] == 0x5a5a5a5a && back[1] == 0x12341234);
    CHECK(back[2] == 0xdeadbeef && back[3] == 0xdeadbeef);
    CHECK(back[4] == 0x5a5a5a5a);
    OK(cuMemsetD2D32_v2(p, 32, 7, 2, 4));
    OK(cuMemcpyDtoH_v2(back, p, sizeof back));
    CHECK(back[0] == 7 && back[1] == 7 && back[2] == 0xdeadbeef);
    CHECK(back[8] == 7 && back[24] == 7 && back[32] == 0x5a5a5a5a);
    IS(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    if (is_kiln)
        IS(cuMemsetD8_v2(p, 0, sizeof back + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD8Async(p, 1, 4, NULL));
    OK(cuMemcpyDtoH_v2(back, p, 4));
    CHECK(back[0] == 0x01010101);
    OK(cuMemFree_v2(p));
}

static void host_memory(void)
{
    CUdeviceptr d = 0;
    void *p = NULL;
    void *own = aligned_alloc(4096, 8192);
    unsigned type = 0;

    OK(cuMemAllocHost_v2(&p, 1000));
    memset(p, 3, 1000);
    OK(cuMemHostGetDevicePointer_v2(&d, p, 0));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
    CHECK(type == CU_MEMORYTYPE_HOST);
    OK(cuMemFreeHost(p));
    if (is_kiln)
        IS(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(own, 8192, 0));
    IS(cuMemHostRegister_v2(own, 8192, 0),
       CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(own));
    IS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    free(own);
}

static void pointers(CUcontext context)
{
    CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_CONTEXT,
                                  CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned type = 9;
    CUcontext of = NULL;
    size_t size = 9;
    void *out[] = {&type, &of, &size};
    CUdeviceptr p;
    int local = 0;

    OK(cuMemAlloc_v2(&p, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 99));
    CHECK(type == CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    CHECK(of == context);
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p));
    CHECK(size == 100);
    IS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                             (uintptr_t)&local),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttributes(3, what, out, (uintptr_t)&local));
    CHECK(type == 0 && of == NULL);
    OK(cuMemFree_v2(p));
}

static void pool(void)
{
    CUmemoryPool pool_handle = NULL;
    uint64_t before = 0, now = 0;
    CUdeviceptr p = 0;

    OK(cuDeviceGetDefaultMemPool(&pool_handle, 0));
    OK(cuMemPoolGetAttribute(pool_handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                             &before));
    OK(cuMemAllocAsync(&p, 1 << 20, NULL));
    OK(cuMemsetD8Async(p, 1, 1 << 20, NULL));
    OK(cuMemPoolGetAttribute(pool_handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                             &now));
    CHECK(now >= before + (1 << 20));
    OK(cuMemFreeAsync(p, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemPoolGetAttribute(pool_handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                             &now));
    CHECK(now == before);
}

int main(void)
{
    CUcontext context = test_start();

    allocation();
    copies();
    rectangles();
    fills();
    host_memory();
    pointers(context);
    pool();
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
