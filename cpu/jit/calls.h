/* SPDX-License-Identifier: MIT
 *
 * Calls, taken apart before the graph is built: a kernel that calls becomes
 * one flat body. Three steps over PTX instructions, each in its own file:
 *
 *   expand.c   puts each called body where it is called; `ret` becomes a jump
 *              to what follows, so that lanes which return early wait there
 *   scalars.c  turns the .param variables of calls into registers
 *   frames.c   keeps what recursive calls need in stacks, a lane each
 *
 * What the engine does for a kernel (vprintf, malloc, ...) stays a call, with
 * its arguments as plain register operands (emit_call.c).
 */
#ifndef KILN_CPU_JIT_CALLS_H
#define KILN_CPU_JIT_CALLS_H

#include "base/arena.h"
#include "base/status.h"
#include "cpu/ptx/ptx.h"

/* A body under construction. `bad` is set once memory is out, and then the
 * functions below do nothing. */
struct body {
    struct arena *arena;
    struct ptx_func *func; /* insns, regs, labels and locals are its own */
    size_t insn_cap, reg_cap, label_cap, local_cap;
    int bad;
};

/* An instruction without operands, in line `line`. The pointer is good until
 * the next one is added. */
struct ptx_insn *body_insn(struct body *b, enum ptx_op op, unsigned line,
                           const char *text);
struct ptx_insn *body_copy(struct body *b, const struct ptx_insn *from);
uint32_t body_reg(struct body *b, enum ptx_type type);
uint32_t body_label(struct body *b); /* to be placed */
void body_place(struct body *b, uint32_t label);
/* Guard -1: always. */
void body_jump(struct body *b, uint32_t label, int32_t guard, int negate,
               unsigned line);
void body_local(struct body *b, struct ptx_var *var);
struct ptx_operand body_reg_operand(uint32_t reg);
/* Register to register or constant to register, of that many bits. */
void body_move(struct body *b, uint32_t to, const struct ptx_operand *from,
               unsigned bits, unsigned line);

/* What the engine does for kernels: by the name of the external function. */
struct call_service {
    const char *name;
    uint32_t kind; /* enum abi_service */
    uint8_t args;
    uint8_t result_bits; /* 0: none */
    uint8_t arg_bits[5];
};
const struct call_service *call_service_find(const char *name);

/* alloca.c: before calls are expanded, let functions free what they take; and
 * then, where a body has any, make ordinary instructions of it. */
enum kiln_status alloca_functions(struct arena *arena, struct ptx_module *m,
                                  struct kiln_error *err);
int alloca_any(const struct ptx_func *f);
enum kiln_status alloca_expand(struct arena *arena, const struct ptx_func *f,
                               const struct ptx_func **out,
                               struct kiln_error *err);

/* texture_operands.c: behind the others, where there are such instructions. */
int texture_any(const struct ptx_func *f);
enum kiln_status texture_operands(struct arena *arena, const struct ptx_func *f,
                                  const struct ptx_func **out,
                                  struct kiln_error *err);

/* Whether the kernel has to be expanded at all. */
int calls_any(const struct ptx_func *f);
/* *out: the kernel without calls, in the arena; it borrows from `f`. */
enum kiln_status calls_expand(struct arena *arena, const struct ptx_module *m,
                              const struct ptx_func *f,
                              const struct ptx_func **out,
                              struct kiln_error *err);
/* A function's address is a number that names it: the one with that index in
 * its module. Aliases have that of what they stand for (calls_resolve). */
uint64_t calls_number(size_t index);
/* The variables vars[0 .. count-1] of b->func, made of .param variables, are
 * replaced by registers where each of their bytes is accessed one way. Their
 * `offset` is their index in vars. */
void calls_scalars(struct body *b, struct ptx_var *const *vars, size_t count);

#endif
