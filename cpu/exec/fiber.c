/* SPDX-License-Identifier: MIT
 *
 * Stacks and the switch between them. Sanitizers are told of every switch:
 * AddressSanitizer of the stack's bounds, ThreadSanitizer of its identity.
 */
#include "cpu/exec/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* void fiber_jump(void **save, void *load): the switch itself. */
void fiber_jump(void **save, void *load);
/* Where a fresh fiber starts: r12 holds data, r13 main. */
void fiber_start(void);

#ifndef __x86_64__
#error "cpu/exec/fiber.c: write fiber_jump for this processor"
#endif
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden fiber_jump\n"
        ".globl fiber_jump\n"
        ".type fiber_jump, @function\n"
        "fiber_jump:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size fiber_jump, . - fiber_jump\n"
        ".p2align 4\n"
        ".hidden fiber_start\n"
        ".globl fiber_start\n"
        ".type fiber_start, @function\n"
        "fiber_start:\n"
        "    mov %r12, %rdi\n"
        "    xor %ebp, %ebp\n"
        "    call *%r13\n"
        "    ud2\n"
        ".size fiber_start, . - fiber_start\n"
        ".popsection\n");

enum { SAVED_WORDS = 7 }; /* r15 r14 r13 r12 rbx rbp, return address */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

enum kiln_status fiber_init(struct fiber *fiber, unsigned colour,
                            struct kiln_error *err)
{
    const size_t guard = page_size();
    unsigned char *map =
        mmap(NULL, guard + FIBER_STACK, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_E_MEMORY,
                         "no room for a warp's stack of %d bytes: %m",
                         FIBER_STACK);
    if (mprotect(map, guard, PROT_NONE)) {
        munmap(map, guard + FIBER_STACK);
        return kiln_fail(err, KILN_E_MEMORY,
                         "no guard page for a warp's stack: %m");
    }
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = map + guard;
    fiber->size = FIBER_STACK;
    fiber->top = fiber->stack + FIBER_STACK - (size_t)(colour % 16) * 256;
    return KILN_OK;
}

void fiber_fini(struct fiber *fiber)
{
    if (!fiber->stack)
        return;
#ifdef WITH_TSAN
    if (fiber->thread)
        __tsan_destroy_fiber(fiber->thread);
#endif
    munmap(fiber->stack - page_size(), page_size() + fiber->size);
    memset(fiber, 0, sizeof *fiber);
}

void fiber_reset(struct fiber *fiber, fiber_main *main, void *data)
{
    /* leaves the stack pointer aligned to 16 where fiber_start calls */
    void **frame = (void **)(void *)fiber->top - SAVED_WORDS - 1 - 1;

#ifdef WITH_ASAN
    /* frames left behind by a fault keep their red zones otherwise */
    __asan_unpoison_memory_region(fiber->stack, fiber->size);
#endif
#ifdef WITH_TSAN
    if (fiber->thread)
        __tsan_destroy_fiber(fiber->thread);
    fiber->thread = __tsan_create_fiber(0);
#endif
    memset(frame, 0, (SAVED_WORDS + 2) * sizeof *frame);
    frame[2] = (void *)(uintptr_t)main;        /* r13 */
    frame[3] = data;                           /* r12 */
    frame[6] = (void *)(uintptr_t)fiber_start; /* return address */
    fiber->stack_pointer = frame;
    fiber->fake_stack = NULL;
}

void fiber_adopt(struct fiber *base)
{
    memset(base, 0, sizeof *base);
#ifdef WITH_ASAN
    {
        pthread_attr_t attr;
        void *stack = NULL;
        size_t size = 0;

        if (!pthread_getattr_np(pthread_self(), &attr)) {
            pthread_attr_getstack(&attr, &stack, &size);
            pthread_attr_destroy(&attr);
        }
        base->stack = stack;
        base->size = size;
    }
#endif
#ifdef WITH_TSAN
    base->thread = __tsan_get_current_fiber();
#endif
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(to->thread, 0);
#endif
    fiber_jump(&from->stack_pointer, to->stack_pointer);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void fiber_entered(void)
{
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

int fiber_is_guard(const struct fiber *fiber, const void *address)
{
    const uintptr_t at = (uintptr_t)address;
    const uintptr_t low = (uintptr_t)fiber->stack;

    return low && at < low && at >= low - page_size();
}
