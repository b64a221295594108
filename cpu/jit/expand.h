/* SPDX-License-Identifier: MIT
 *
 * What the files that put calls in place share: expand*.c, targets.c and
 * frames*.c.
 *
 * A function that may come to call itself is expanded once where it is first
 * entered, as a loop: a call of it from inside is a jump back to its start, a
 * return a jump to the call that its lane came from. Each lane keeps what its
 * callers still need in a stack of its own in local memory; the frame pointer
 * and the number of the call to go back to are registers like any other.
 */
#ifndef KILN_CPU_JIT_EXPAND_H
#define KILN_CPU_JIT_EXPAND_H

#include "cpu/jit/calls.h"

/* Bytes of a lane's stack, for recursive functions. */
enum { CALL_STACK = 32 * 1024, FRAME_ALIGN = 16 };

struct rename {
    const struct ptx_var *from;
    struct ptx_var *to;
};

/* The outermost of the recursive functions that are in each other. All jumps
 * back within it, of calls, returns and of loops that hold calls, go through
 * one place that looks up where to: so it is one loop with one entry, however
 * paths cross inside. */
struct region {
    uint32_t state;      /* register: number of the target */
    uint32_t hub;        /* label of that place */
    uint32_t begin, end; /* labels around the region */
    uint32_t *targets;   /* labels; numbers start at 1 */
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

/* One expansion of one function. */
struct instance {
    const struct ptx_func *func;
    const struct instance *up;
    unsigned depth;
    uint32_t regs, labels; /* where its own start in the body */
    uint32_t end;          /* label behind it */
    struct frame *frame;   /* that its variables lie in, or NULL */
    struct rename *vars;   /* sorted */
    size_t var_count;
    size_t at;        /* the instruction being put in place */
    size_t *inner_at; /* by instruction: x->inner_count before it */
};

struct expand {
    struct body body;
    const struct ptx_module *module;
    struct ptx_var **vars; /* what .param variables became */
    size_t var_count, var_cap;
    /* targets.c */
    const struct ptx_func **funcs; /* sorted by address */
    uint8_t *recursive;            /* by place there: 0 unknown, 1 no, 2 yes */
    const struct ptx_func **taken; /* whose address is taken */
    size_t taken_count, taken_cap;
    /* frames.c */
    struct framed *framed;
    size_t framed_count, framed_cap;
    struct site *sites;
    size_t site_count, site_cap;
    size_t inner_count; /* calls from inside so far */
    const struct ptx_var *stack;
    struct kiln_error *err;
    enum kiln_status status;
};

/* Instructions that stand for a step at a site (operand 0: its number), and
 * jumps through a region's hub, known by their text: a call goes on behind
 * itself, a return nowhere (operand 1: the frame pointer, which the caller
 * still needs), a loop at the label in operand 1. */
extern const char frame_enter[], frame_push[], frame_pop[];
extern const char frame_call[], frame_return[], frame_loop[];

/* --- expand.c --- */
void expand_refuse(struct expand *x, unsigned line, const char *what,
                   const char *name);
const struct ptx_func *calls_resolve(const struct ptx_func *f);
void expand_body(struct expand *x, struct instance *i);

/* --- expand_value.c --- */
void expand_sort_renames(struct instance *i); /* before any look-up */
struct ptx_var *expand_renamed(const struct instance *i,
                               const struct ptx_var *var);
/* A variable of local memory that holds what `like` would. */
struct ptx_var *expand_local_like(struct expand *x, struct frame *frame,
                                  const struct ptx_var *like, int is_param);
void expand_load(struct expand *x, uint32_t to, const struct ptx_var *var,
                 int64_t at, uint64_t bytes, unsigned line);
void expand_store(struct expand *x, const struct ptx_var *var, int64_t at,
                  const struct ptx_operand *from, uint64_t bytes,
                  unsigned line);
void expand_equal(struct expand *x, uint32_t pred,
                  const struct ptx_operand *value, uint64_t constant,
                  enum ptx_type type, unsigned line);
void expand_copy_variable(struct expand *x, const struct ptx_var *to,
                          const struct ptx_var *from, unsigned line);
/* An instance's operand as one of the body; elements are copied. */
void expand_map_operand(struct expand *x, const struct instance *i,
                        struct ptx_operand *o);
struct ptx_operand expand_mapped(struct expand *x, const struct instance *i,
                                 const struct ptx_operand *o);
unsigned expand_bits_of(const struct ptx_var *v);

/* --- expand_call.c --- */
/* Place for its registers, labels and variables. With `share`, variables that
 * the caller named are the callee's own. */
void expand_open_instance(struct expand *x, struct instance *i,
                          const struct ptx_operand *actuals, int share);
/* The call's operands in the order of the function's results and parameters;
 * NULL when they do not fit it. */
struct ptx_operand *expand_actuals_of(struct expand *x,
                                      const struct instance *caller,
                                      const struct ptx_func *f,
                                      const struct ptx_insn *insn);
void expand_add_service(struct expand *x, const struct instance *i,
                        const struct ptx_insn *from,
                        const struct call_service *s);
void expand_add_called(struct expand *x, const struct instance *caller,
                       const struct ptx_func *f, const struct ptx_insn *insn);

/* --- expand_inner.c --- */
/* A call of a function that is being expanded. */
void expand_add_inner(struct expand *x, const struct instance *caller,
                      const struct instance *callee,
                      const struct ptx_insn *insn);
/* The end of a recursive function. */
void expand_add_return(struct expand *x, const struct instance *callee,
                       int outermost, unsigned line);

/* --- targets.c --- */
void targets_open(struct expand *x);
int targets_recursive(struct expand *x, const struct ptx_func *f);
/* The functions that an indirect call may mean, in the module's order. */
size_t targets_of(struct expand *x, const struct ptx_call *call,
                  const struct ptx_func *const **list);

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
