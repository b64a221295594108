/* SPDX-License-Identifier: MIT
 *
 * Recursive functions: their regions, frames, and the steps at their calls.
 *
 * A function that may come to call itself is expanded once where it is first
 * entered, as a loop: a call of it from inside is a jump back to its start, a
 * return a jump to the call that its lane came from. Each lane keeps what its
 * callers still need in a stack of its own in local memory; the frame pointer
 * and the number of the call to go back to are registers like any other.
 */
#ifndef KILN_CPU_JIT_FRAMES_H
#define KILN_CPU_JIT_FRAMES_H

#include "cpu/object/object.h"
#include "cpu/ptx/ptx.h"

struct expand;

/* Bytes of a lane's stack, for recursive functions. */
enum { CALL_STACK = OBJECT_STACK, FRAME_ALIGN = 16 };

/* The outermost of the recursive functions that are in each other. All jumps
 * back within it, of calls, returns and of loops that hold calls, go through
 * one place that looks up where to: so it is one loop with one entry, however
 * paths cross inside. */
struct region {
    uint32_t state;      /* register: number of the target */
    uint32_t hub;        /* label of that place */
    uint32_t begin, end; /* labels around the region */
    uint32_t *targets;   /* labels; numbers start at 1 */
    uint64_t *written;   /* registers that are, a bit each; frames_live.c */
    size_t target_count, target_cap;
};

/* The frame of one recursive function, with all that is put in place in it. */
struct frame {
    struct region *region;
    uint32_t fp;        /* register: where a lane's frame starts */
    uint32_t ret;       /* register: target to return to, 0: the outer call */
    uint32_t entry;     /* label */
    uint64_t variables; /* bytes of its variables, */
    uint64_t size;      /* and with what calls save behind them */
};

/* A variable that lies in a frame. */
struct framed {
    const struct ptx_var *var;
    struct frame *frame;
    uint64_t offset;
    int used;
};

/* A place where a frame is entered: from outside, or by a jump back. */
struct site {
    struct frame *from; /* NULL: the kernel's own variables */
    struct frame *to;
    uint32_t first_kept, kept_end; /* registers that carry the results */
    uint32_t *saved;               /* registers to save, and their offsets */
    uint64_t *offsets;
    size_t saved_count;
    uint64_t *live; /* registers that are live behind it, a bit each */
};

/* Instructions that stand for a step at a site (operand 0: its number), and
 * jumps through a region's hub, known by their text: a call goes on behind
 * itself, a return nowhere (operand 1: the frame pointer, which the caller
 * still needs), a loop at the label in operand 1. */
extern const char frame_enter[], frame_push[], frame_pop[];
extern const char frame_call[], frame_return[], frame_loop[];
/* The text of the trap where a frame would pass the stack's end. */
extern const char frame_overflow[];

/* --- frames.c --- */
/* With region NULL in a new one. */
struct frame *frame_new(struct expand *x, struct region *region);
uint32_t region_target(struct expand *x, struct region *region, uint32_t label);
/* state = target, and to the hub. */
void region_jump(struct expand *x, struct region *region, uint32_t label,
                 const char *as, unsigned line);
/* The hub, when all targets are known. */
void region_close(struct expand *x, struct region *region, unsigned line);
void frame_own(struct expand *x, struct frame *frame,
               const struct ptx_var *var);
size_t frame_site(struct expand *x, struct frame *from, struct frame *to);
void frame_step(struct expand *x, const char *step, size_t site, unsigned line);
int frame_is_step(const struct ptx_insn *insn);
struct site *frame_site_of(struct expand *x, const struct ptx_insn *insn);
/* After all else: gives frames their layout, and writes the steps out. */
void frames_close(struct expand *x);

/* --- frames_live.c --- */
/* Fills in what each site saves. */
void frames_find_saved(struct expand *x);
unsigned frame_bytes_of(const struct expand *x, uint32_t reg);

/* --- frames_write.c --- */
void frames_address_variables(struct expand *x);
void frames_lay_out(struct expand *x);
void frames_write_steps(struct expand *x);

#endif
