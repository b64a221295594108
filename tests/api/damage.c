/* SPDX-License-Identifier: MIT
 *
 * Damaged images, each before an unmapped page: refused or loaded, never a
 * crash. On the CPU driver only; NVIDIA's crashes on some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"

static unsigned char *fence; /* the first byte that is not mapped */
static size_t room;

static void make_fence(size_t size)
{
    unsigned char *map;

    room = (size + 8191) & ~(size_t)4095;
    map = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + room, 4096, PROT_NONE)) {
        perror("mmap");
        exit(1);
    }
    fence = map + room;
}

/* Put the bytes right before the fence and load them. */
static CUresult load(const void *bytes, size_t size)
{
    CUmodule module = NULL;
    CUresult result;

    memcpy(fence - size, bytes, size);
    result = cuModuleLoadData(&module, fence - size);
    if (!result)
        cuModuleUnload(module);
    return result;
}

static uint32_t next_random(void)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Every cut, then bytes and bits changed at random. */
static void damage(const char *what, const unsigned char *image, size_t size)
{
    unsigned char *copy = malloc(size);
    int taken = 0;
    int tries = 0;

    OK(load(image, size));
    for (size_t n = 1; n < size; n += size / 97 + 1, tries++)
        taken += load(image, n) == CUDA_SUCCESS;
    CHECK_SAYS(!taken, "%s: %d of %d cut ones load", what, taken, tries);
    tries = taken = 0;
    for (; tries < 400; tries++) {
        unsigned changes = 1 + next_random() % 3;

        memcpy(copy, image, size);
        while (changes--)
            copy[next_random() % size] = (unsigned char)next_random();
        taken += load(copy, size) == CUDA_SUCCESS;
    }
    CHECK_SAYS(1, "%s: %d of %d changed ones load", what, taken, tries);
    free(copy);
}

int main(void)
{
    CUcontext context = test_start();
    CUlinkState link;
    void *image = NULL;
    size_t size = 0;

    if (!is_kiln) {
        printf("skip NVIDIA's driver crashes on some damaged images\n");
        return 77;
    }
    test_need_compiler();
    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx_saxpy,
                        strlen(ptx_saxpy) + 1, "unit", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    make_fence(size);
    damage("object", image, size);

    IS(load(ptx_saxpy, strlen(ptx_saxpy)), CUDA_ERROR_INVALID_IMAGE);
    IS(load("\x50\xed\x55\xba", 4), CUDA_ERROR_INVALID_IMAGE);
    IS(load("\x7f"
            "ELF",
            4),
       CUDA_ERROR_INVALID_IMAGE);
    IS(load("", 1), CUDA_ERROR_INVALID_IMAGE);
    OK(cuLinkDestroy(link));
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
