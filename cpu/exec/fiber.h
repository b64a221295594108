/* SPDX-License-Identifier: MIT
 *
 * Fibers: stacks of their own, switched by hand. A switch saves the six
 * registers that a call preserves and the stack pointer; everything else is
 * dead at a call. Inside cpu/exec only.
 */
#ifndef KILN_CPU_EXEC_FIBER_H
#define KILN_CPU_EXEC_FIBER_H

#include <stddef.h>

#include "base/status.h"

enum { FIBER_STACK = 256 * 1024 };

typedef void fiber_main(void *data);

struct fiber {
    void *stack_pointer;  /* where a switch to it goes on */
    unsigned char *stack; /* lowest usable byte, a guard page below */
    size_t size;
    unsigned char *top;
    void *fake_stack; /* AddressSanitizer's */
    void *thread;     /* ThreadSanitizer's */
};

/* A stack for the fiber; colour spreads the tops over cache sets. */
enum kiln_status fiber_init(struct fiber *fiber, unsigned colour,
                            struct kiln_error *err);
void fiber_fini(struct fiber *fiber);
/* (Re)start: the next switch to it calls main(data), which never returns.
 * Whatever it was doing is forgotten. */
void fiber_reset(struct fiber *fiber, fiber_main *main, void *data);
/* Make base stand for the calling thread's own stack. */
void fiber_adopt(struct fiber *base);
/* Go to `to`; returns when something switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* To be called first in a fiber's main. */
void fiber_entered(void);
/* Whether address lies in the guard page of the stack. */
int fiber_is_guard(const struct fiber *fiber, const void *address);

#endif
