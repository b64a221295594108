/* SPDX-License-Identifier: MIT
 *
 * From a signal to an error of the context.
 *
 * A kernel runs on a fiber's stack with slot->in_kernel set. When it raises
 * SIGSEGV, SIGBUS, SIGFPE or SIGILL, the handler (on the thread's alternate
 * stack, since the fault may be the fiber's own stack running over) notes the
 * facts and rewrites the interrupted registers: the thread resumes in
 * fault_landing(), at the top of the same fiber's stack, which switches back to
 * the runner as if the kernel had returned. The frames below are forgotten; a
 * kernel holds no locks. Nothing is unwound and nothing async-unsafe is done
 * in the handler.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "cpu/exec/engine.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof signals[0], ALT_STACK = 64 * 1024 };

/* Whom signals that are not a kernel's go to. */
static struct sigaction previous[SIGNALS];
static pthread_mutex_t handlers = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t stack_key;
static int key_made;

/* The handler reads it, so it must not be allocated at first use. */
static _Thread_local struct slot *here
    __attribute__((tls_model("initial-exec")));
static _Thread_local int has_stack __attribute__((tls_model("initial-exec")));
static _Thread_local int passing __attribute__((tls_model("initial-exec")));

void fault_landing(struct slot *slot)
{
    slot->in_kernel = 0;
    fiber_switch(&slot->fibers[slot->current], &slot->base);
    __builtin_trap(); /* a forgotten fiber is never switched to */
}

void fault_stopped(struct slot *slot)
{
    slot->fault.source = FAULT_STOPPED;
    fault_landing(slot);
}

static void divert(struct slot *slot, ucontext_t *context)
{
    greg_t *regs = context->uc_mcontext.gregs;
    const uintptr_t top = (uintptr_t)slot->fibers[slot->current].top;

    regs[REG_RIP] = (greg_t)(uintptr_t)fault_landing;
    regs[REG_RDI] = (greg_t)(uintptr_t)slot;
    regs[REG_RSP] = (greg_t)(top - 512 - 8); /* as after a call */
    regs[REG_RBP] = 0;
    regs[REG_EFL] &= ~(greg_t)0x40400; /* direction, alignment check */
}

/* As if there were no handler: the instruction is repeated, and then it ends
 * the process; a signal that was sent is sent again. */
static void default_action(int signal, const siginfo_t *info)
{
    const struct sigaction none = {.sa_handler = SIG_DFL};

    sigaction(signal, &none, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction *old = &previous[0];

    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == signal)
            old = &previous[i];
    if (passing) {
        /* a handler that was put over ours, and under it again by rearm(),
         * has passed it back: neither knows better */
        default_action(signal, info);
        return;
    }
    passing = 1;
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(signal, info, context);
    else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
        old->sa_handler(signal);
    else if (old->sa_handler == SIG_DFL || info->si_code > 0)
        default_action(signal, info);
    passing = 0;
}

/* ThreadSanitizer takes a signal between two fibers for either's. */
__attribute__((no_sanitize("thread"))) static void
on_signal(int signal, siginfo_t *info, void *context)
{
    struct slot *slot = here;
    const int saved = errno;

    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &engine) {
        if (slot && slot->in_kernel && atomic_load(&slot->op->grid.stop)) {
            slot->fault.source = FAULT_STOPPED;
            divert(slot, context);
        }
    } else if (slot && slot->in_kernel && info->si_code > 0) {
        const ucontext_t *c = context;

        slot->fault.source = FAULT_SIGNAL;
        slot->fault.signal = signal;
        slot->fault.code = info->si_code;
        slot->fault.address = (uint64_t)(uintptr_t)info->si_addr;
        slot->fault.is_write = (c->uc_mcontext.gregs[REG_ERR] & 2) != 0;
        slot->fault.fiber = slot->current;
        slot->fault.warp = slot->block.warp;
        slot->fault.ip = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
        divert(slot, context);
    } else {
        pass_on(signal, info, context);
    }
    errno = saved;
}

static void free_stack(void *stack)
{
    stack_t now;
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (!sigaltstack(NULL, &now) && now.ss_sp == stack)
        sigaltstack(&none, NULL);
    munmap(stack, ALT_STACK);
}

/* An alternate stack for this thread, unless it has one; it stays until the
 * thread ends. Without one faults still work, save a stack overflow. */
static void arm_thread(void)
{
    stack_t now;
    stack_t ours = {.ss_size = ALT_STACK};

    has_stack = 1;
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
        return;
    ours.ss_sp = mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ours.ss_sp == MAP_FAILED)
        return;
    if (sigaltstack(&ours, NULL) || pthread_setspecific(stack_key, ours.ss_sp))
        free_stack(ours.ss_sp);
}

static int is_ours(int signal)
{
    struct sigaction now;

    return !sigaction(signal, NULL, &now) && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == on_signal;
}

static enum kiln_status install(struct kiln_error *err)
{
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;

        if (sigaction(signals[i], NULL, &now))
            return kiln_fail(err, KILN_E_OS, "no handler for signal %d: %m",
                             signals[i]);
        /* put back by signal(), it has lost its flags, but it is ours */
        if (now.sa_sigaction != on_signal)
            previous[i] = now;
        sigaction(signals[i], &ours, NULL);
    }
    return KILN_OK;
}

/* Programs set handlers of their own after the device was opened. They are
 * put behind ours, or a kernel's fault would end the process. */
static void rearm(void)
{
    pthread_mutex_lock(&handlers);
    if (!is_ours(SIGSEGV))
        install(NULL);
    pthread_mutex_unlock(&handlers);
}

__attribute__((no_sanitize("thread"))) void fault_enter(struct slot *slot)
{
    if (slot && !has_stack)
        arm_thread();
    if (slot && !is_ours(SIGSEGV))
        rearm();
    here = slot;
}

enum kiln_status fault_install(struct kiln_error *err)
{
    enum kiln_status st;

    if (!key_made && pthread_key_create(&stack_key, free_stack))
        return kiln_fail(err, KILN_E_OS, "no thread-specific key left");
    key_made = 1;
    pthread_mutex_lock(&handlers);
    st = install(err);
    pthread_mutex_unlock(&handlers);
    return st;
}

void fault_uninstall(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (is_ours(signals[i]))
            sigaction(signals[i], &previous[i], NULL);
}

void fault_kick(const struct slot *slot)
{
    siginfo_t info;

    if (!is_ours(SIGSEGV))
        return;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGSEGV;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &engine;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, slot->tid, SIGSEGV, &info);
}

void fault_call(struct abi_block *block, uint32_t warp, uint32_t kind,
                uint64_t detail)
{
    struct slot *slot = block->engine;

    slot->in_kernel = 0;
    slot->fault.source = FAULT_CALL;
    slot->fault.kind = kind;
    slot->fault.warp = warp;
    slot->fault.address = detail;
    slot->fault.ip = (uintptr_t)__builtin_return_address(0) - 1;
    fault_landing(slot);
}

/* ---- the sentence, on the runner's own stack ---- */

static const char *what_is_at(const struct slot *slot, uint64_t address,
                              char *text, size_t size)
{
    struct exec_range range;
    const uint64_t shared = (uint64_t)(uintptr_t)slot->block.shared;

    if (address < 65536)
        return "a null pointer";
    if (constant_writable((void *)(uintptr_t)address) !=
        (void *)(uintptr_t)address)
        return "constant memory, which kernels only read";
    if (exec_memory_find(address, &range)) {
        snprintf(text, size, "inside an allocation of %llu bytes at 0x%llx",
                 (unsigned long long)range.size,
                 (unsigned long long)range.base);
        return text;
    }
    if (exec_memory_is_device(address)) {
        /* the allocation that ends on this page or just before */
        const uint64_t start = address & ~(uint64_t)4095;
        const uint64_t ends[] = {start, start - 1, start - 2 * 4096};

        for (int i = 0; i < 3; i++)
            if (exec_memory_find(ends[i], &range)) {
                snprintf(
                    text, size,
                    "%llu bytes past an allocation of %llu at 0x%llx",
                    (unsigned long long)(address - range.base - range.size),
                    (unsigned long long)range.size,
                    (unsigned long long)range.base);
                return text;
            }
        return "device memory that is not allocated";
    }
    if (address - shared + ((uint64_t)1 << 31) < (uint64_t)1 << 32) {
        snprintf(text, size, "offset %lld in shared memory of %u bytes",
                 (long long)(address - shared), slot->op->grid.shared);
        return text;
    }
    return "not device memory";
}

static enum kiln_status signal_text(const struct slot *slot, char *text,
                                    size_t size)
{
    const struct fault *f = &slot->fault;
    char place[120];

    if (f->signal == SIGSEGV || f->signal == SIGBUS) {
        if (fiber_is_guard(&slot->fibers[f->fiber],
                           (const void *)(uintptr_t)f->address)) {
            snprintf(text, size, "stack overflow (%d bytes a warp)",
                     FIBER_STACK);
            return KILN_E_LAUNCH;
        }
        if (f->code == SI_KERNEL)
            snprintf(text, size, "access to an address that no space has");
        else
            snprintf(text, size, "%s 0x%llx: %s",
                     f->is_write ? "write to" : "read of",
                     (unsigned long long)f->address,
                     what_is_at(slot, f->address, place, sizeof place));
        return KILN_E_ADDRESS;
    }
    snprintf(text, size, "%s at 0x%llx",
             f->signal == SIGFPE ? "arithmetic exception"
                                 : "illegal instruction",
             (unsigned long long)f->address);
    return KILN_E_LAUNCH;
}

static enum kiln_status call_text(const struct slot *slot, char *text,
                                  size_t size)
{
    const struct fault *f = &slot->fault;
    char place[120];

    switch (f->kind & ((1u << ABI_FAULT_BITS) - 1)) {
    case ABI_FAULT_ALIGNMENT:
        snprintf(text, size, "access to 0x%llx: not a multiple of %u bytes, %s",
                 (unsigned long long)f->address, f->kind >> ABI_FAULT_BITS,
                 what_is_at(slot, f->address, place, sizeof place));
        return KILN_E_ALIGNMENT;
    case ABI_FAULT_READ:
    case ABI_FAULT_WRITE:
        snprintf(text, size, "%s 0x%llx: %s",
                 f->kind == ABI_FAULT_WRITE ? "write to" : "read of",
                 (unsigned long long)f->address,
                 what_is_at(slot, f->address, place, sizeof place));
        return KILN_E_ADDRESS;
    case ABI_FAULT_ADDRESS:
        snprintf(text, size, "free of 0x%llx, which malloc has not given",
                 (unsigned long long)f->address);
        return KILN_E_ADDRESS;
    case ABI_FAULT_ASSERT:
        snprintf(text, size, "assertion failed");
        return KILN_E_ASSERT;
    case ABI_FAULT_SYNC:
        snprintf(text, size,
                 "warp operation that waits for lanes at another place "
                 "(mask 0x%llx), which the CPU device cannot run",
                 (unsigned long long)f->address);
        return KILN_E_LAUNCH;
    case ABI_FAULT_STACK:
        snprintf(text, size,
                 "stack overflow: functions call each other too deep");
        return KILN_E_LAUNCH;
    case ABI_FAULT_TEXTURE:
        snprintf(text, size, "0x%llx is no texture or surface object",
                 (unsigned long long)f->address);
        return KILN_E_ADDRESS;
    case ABI_FAULT_BOUNDS:
        snprintf(text, size,
                 "surface access outside the surface (x is byte %lld)",
                 (long long)f->address);
        return KILN_E_ADDRESS;
    case ABI_FAULT_TENSOR:
        snprintf(text, size,
                 "no tensor map for this copy at 0x%llx: its dimensions or its "
                 "type are others, or cuTensorMapEncodeTiled did not make it",
                 (unsigned long long)f->address);
        return KILN_E_ADDRESS;
    default:
        snprintf(text, size, "trap");
        return KILN_E_LAUNCH;
    }
}

/* "(3,0,0)" of one thread, or of the warp's first to its last. */
static void thread_text(const struct slot *slot, char *text, size_t size)
{
    const struct fault *f = &slot->fault;
    const struct abi_launch *l = slot->block.launch;
    const uint32_t lanes =
        f->source == FAULT_CALL || slot->serving ? slot->block.lanes : 0;
    uint32_t first = f->warp * ABI_WARP;
    uint32_t last = first + ABI_WARP - 1;

    if (lanes)
        first = last = first + (uint32_t)__builtin_ctz(lanes);
    if (last >= l->threads)
        last = l->threads - 1;
    snprintf(text, size, "thread%s (%u,%u,%u)", first == last ? "" : "s",
             l->tid[0][first], l->tid[1][first], l->tid[2][first]);
    if (first != last)
        snprintf(text + strlen(text), size - strlen(text), " to (%u,%u,%u)",
                 l->tid[0][last], l->tid[1][last], l->tid[2][last]);
}

/* ", PTX line 7", or nothing where it is not known. */
static void line_text(const struct slot *slot, char *text, size_t size)
{
    const struct object_code *code = slot->op->grid.code;
    unsigned line = 0;

    text[0] = 0;
    if (slot->fault.source == FAULT_CALL || slot->serving)
        line = slot->block.line;
    if (code && !line && slot->fault.source != FAULT_DEADLOCK)
        line = object_line(code, slot->fault.ip);
    if (!line && slot->fault.source == FAULT_SIGNAL) /* in a helper */
        line = slot->block.line;
    if (line)
        snprintf(text, size, ", PTX line %u", line);
}

void fault_report(const struct slot *slot, struct kiln_error *err)
{
    const struct grid *grid = &slot->op->grid;
    const struct abi_block *b = &slot->block;
    char text[200], threads[100], line[32];
    enum kiln_status st;

    if (slot->fault.source == FAULT_DEADLOCK) {
        char waits[120];

        barrier_describe(slot, waits, sizeof waits);
        snprintf(text, sizeof text, "deadlock: of %d warps left %s",
                 __builtin_popcount(slot->live), waits);
        st = KILN_E_LAUNCH;
    } else if (slot->fault.source == FAULT_BARRIER) {
        snprintf(text, sizeof text, "barrier %llu: there are 0 to %d",
                 (unsigned long long)slot->fault.address &
                     ~(unsigned long long)ABI_NO_BARRIER,
                 ABI_NAMED_BARRIERS - 1);
        st = KILN_E_LAUNCH;
    } else if (slot->fault.source == FAULT_MEMORY) {
        snprintf(text, sizeof text,
                 "no memory for the stack of a warp that "
                 "waits");
        st = KILN_E_MEMORY;
    } else if (slot->fault.source == FAULT_CALL) {
        st = call_text(slot, text, sizeof text);
    } else {
        st = signal_text(slot, text, sizeof text);
    }
    if (!grid->name[0]) {
        kiln_fail(err, st, "%s: %s",
                  grid->fill.to ? "memory fill" : "memory copy", text);
    } else {
        thread_text(slot, threads, sizeof threads);
        line_text(slot, line, sizeof line);
        kiln_fail(err, st, "kernel %.80s, block (%u,%u,%u), %s%s: %s",
                  grid->name, b->ctaid[0], b->ctaid[1], b->ctaid[2], threads,
                  line, text);
    }
    /* what this engine cannot do deserves more than the error's number */
    if (!atomic_load(&slot->op->stream->context->status))
        log_line(slot->fault.source == FAULT_DEADLOCK ||
                         (slot->fault.source == FAULT_CALL &&
                          slot->fault.kind == ABI_FAULT_SYNC)
                     ? LOG_WARN
                     : LOG_INFO,
                 "%s", err->text);
}
