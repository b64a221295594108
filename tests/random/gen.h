/* SPDX-License-Identifier: MIT
 *
 * What the parts of the generator share.
 *
 * Registers by the letter of their kind: r d h integers of 32, 64, 16 bits;
 * f g f32, f64; x y f16 and two of them; b z bf16 and two of them; p
 * predicates; w 32-bit values that are the same in the whole block. Floats
 * never become integers with the bits of a NaN, which a device may choose.
 */
#ifndef KILN_TESTS_RANDOM_GEN_H
#define KILN_TESTS_RANDOM_GEN_H

#include "random.h"

/* What control is like where a statement stands. */
struct scope {
    int uniform; /* all threads of the block that are left are here */
    int mask;    /* %mN: the lanes of the warp that are here; -1: unknown */
    int depth;   /* of branches and loops */
    int loops;   /* around it */
    int leave;   /* label behind the innermost loop, or -1 */
    int again;   /* label at which that loop goes on, or -1 */
    int ends[8]; /* labels further down to which control may jump */
    int end_count;
};

struct gen {
    uint64_t state;
    struct program *program;
    int edition; /* program.c */
    struct node *at;
    struct scope scope;
    char kinds[16];  /* letters of registers in use */
    int in_function; /* no rows, no block */
    int returns;     /* a lane may return from the function by itself */
    int dims;        /* of blocks */
    int plain;       /* no barriers, no warp operations: threads may end */
    int exits;       /* some threads have ended */
    int budget;      /* statements still to come */
    int functions;   /* f0..., callable */
    int masked;      /* the function g0 exists */
    int temps, labels, masks;
    int has_local, has_shared;
    int directed; /* rounding of f64 other than .rn, which some CPUs have not */
};

/* tree.c */
uint64_t random_bits(struct gen *g);
unsigned below(struct gen *g, unsigned n);
int chance(struct gen *g, unsigned percent);
void tree_say(struct gen *g, const char *text); /* as it is */
struct node *statement_begin(struct gen *g);    /* may be left out */
struct node *part_begin(struct gen *g); /* stays with what is around it */
void statement_end(struct gen *g);
void tree_free(struct node *n);

/* text.c: a line, with what its head describes left to chance. */
void say(struct gen *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void say_operation(struct gen *g, const char *text, const char *result,
                   int guarded);

/* values.c. Names live until names_free. */
void names_free(void);
int has_kind(const struct gen *g, char kind);
const char *operand(struct gen *g, char kind);  /* to read */
const char *variable(struct gen *g, char kind); /* to write */
const char *uniform_operand(struct gen *g);
const char *temp(struct gen *g, char kind); /* a new one */
const char *predicate(struct gen *g);       /* "%p1" or "!%p1" */
const char *guard(struct gen *g);           /* "", or "@%p1 " */
void declare_registers(struct gen *g);
void start_registers(struct gen *g);
/* A condition of this place in a new predicate. */
const char *condition(struct gen *g);
const char *uniform_condition(struct gen *g);
/* A float without a NaN of some device, in a new register. */
const char *settled(struct gen *g, char kind, const char *value);
int kind_count(char kind);

/* ops.c */
void arithmetic(struct gen *g);
void uniform_arithmetic(struct gen *g);

/* memory.c */
void memory_access(struct gen *g);
void atomic(struct gen *g);
void memory_declare(struct gen *g);
void local_start(struct gen *g);

/* warp.c, block.c */
void warp_operation(struct gen *g);
void block_operation(struct gen *g);
void shared_start(struct gen *g);

/* flow.c */
void statements(struct gen *g, int most);
void flow(struct gen *g);

/* call.c */
void functions_make(struct gen *g);
void call(struct gen *g);

#endif
