/* SPDX-License-Identifier: MIT
 *
 * What the files that put calls in place share: expand*.c, targets.c and
 * frames*.c; what is about recursion is in frames.h.
 */
#ifndef KILN_CPU_JIT_EXPAND_H
#define KILN_CPU_JIT_EXPAND_H

#include "cpu/jit/calls.h"
#include "cpu/jit/effort.h"
#include "cpu/jit/frames.h"

/* Of one body, with all that is called in it; effort.h has the most of
 * instructions. */
enum { MAX_PARTS = 4 << 20 };

struct rename {
    const struct ptx_var *from;
    struct ptx_var *to;
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

struct numbered {
    const struct ptx_func *func;
    size_t number; /* its place in the module */
};

struct expand {
    struct body body;
    const struct ptx_module *module;
    struct ptx_var **vars; /* what .param variables became */
    size_t var_count, var_cap;
    size_t parts; /* what instances have so far, against MAX_PARTS */
    /* targets.c; arrays are by number in the module */
    struct numbered *funcs;        /* sorted by address */
    uint8_t *recursive;            /* 0 unknown, 1 no, 2 yes */
    uint8_t *opened;               /* an instance of it has been */
    const struct ptx_func **taken; /* whose address is, by signature */
    size_t taken_count;
    const struct ptx_func **pending; /* of one visit */
    uint32_t *visited, visit;
    /* frames.c */
    struct framed *framed;
    size_t framed_count, framed_cap;
    struct site *sites;
    size_t site_count, site_cap;
    size_t inner_count; /* calls from inside so far */
    const struct ptx_var *stack, *stack_end;
    struct kiln_error *err;
    enum kiln_status status;
};

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
uint64_t targets_address(const struct expand *x, const struct ptx_func *f);
/* Whether this is the function's first instance; from then on it is not. */
int targets_first(struct expand *x, const struct ptx_func *f);
int targets_recursive(struct expand *x, const struct ptx_func *f);
/* The functions that an indirect call may mean, in the module's order. */
size_t targets_of(struct expand *x, const struct ptx_call *call,
                  const struct ptx_func *const **list);

#endif
