/* SPDX-License-Identifier: MIT
 *
 * Well-formed mutants: programs that the parser takes, changed until they are
 * what nobody would write, and still taken by it. The code generator must
 * make an object of each, or say which line it does not take.
 */
#ifndef KILN_TESTS_MUTANTS_H
#define KILN_TESTS_MUTANTS_H

#include "base/buffer.h"
#include "cpu/ptx/ptx.h"
#include "fuzz/random.h"

/* --- seeds.c: the programs to begin with --- */

struct seed {
    const char *name;
    struct buffer text; /* as ptx_print gives it */
};
enum { MOST_GROUPS = 32 };
struct seeds {
    struct seed *items;
    size_t count, cap;
    /* where what each call of seeds_add brought begins; then the count */
    size_t groups[MOST_GROUPS + 1], group_count;
};
/* A file, or the files of a folder, each kernel of them a seed with the
 * functions it may call. */
int seeds_add(struct seeds *seeds, const char *path);
void seeds_fini(struct seeds *seeds);

/* --- change*.c: one change of a program --- */

struct mutant {
    struct ptx_module *m;
    struct ptx_func *f;  /* the function that is changed */
    struct arena *arena; /* of the module */
    struct rng *r;
    const struct ptx_module *other; /* to take instructions of; may be NULL */
};
/* Each returns 0 when there is nothing to change in such a way; what it makes
 * of the program need not be well-formed. */
typedef int change_fn(struct mutant *mu);
struct change {
    change_fn *apply;
    unsigned weight;
};
extern const struct change changes_code[], changes_flow[], changes_data[];
extern const size_t changes_code_count, changes_flow_count, changes_data_count;

/* change_insert.c, in changes_code */
change_fn change_new_insn, change_graft;

/* For all of them. Labels move with what they stand before. */
int insert_insn(struct mutant *mu, size_t at, const struct ptx_insn *insn);
/* A whole instruction as text, without the semicolon. */
int insert_text(struct mutant *mu, size_t at, const char *text);
void erase_insns(struct mutant *mu, size_t at, size_t count);
size_t some_insn(struct mutant *mu); /* index; the count when there is none */
/* A register of that type, or of bits of its size; made when there is none. */
uint32_t some_register(struct mutant *mu, enum ptx_type type);
const char *register_name(struct mutant *mu, enum ptx_type type);
/* A value that upsets, of any kind. */
int64_t extreme(struct rng *r);

/* --- mutate.c --- */

/* The mutant of that number: its text, which the parser takes, in *out.
 * Returns how many changes it has. */
unsigned mutant_make(const struct seeds *seeds, uint64_t number,
                     struct buffer *out);

/* --- compile.c --- */

enum outcome {
    MADE,    /* an object that was verified and loaded */
    REFUSED, /* with the line */
    /* findings */
    NO_LINE,  /* refused without one */
    INTERNAL, /* what the code generator says of itself; invalid IR */
    NO_LOAD,  /* an object that does not load */
    BAD_RUN,  /* not a fault of the kernel's, but of the driver's */
    CRASHED,
    HUNG,
    GREW,
    OUTCOMES
};
extern const char *const outcome_names[OUTCOMES];

enum run_outcome {
    NOT_RUN,
    RAN,      /* to its end, or was not launched */
    FAULTED,  /* an error of its context */
    RAN_LONG, /* and was ended */
    WILD,     /* a signal ended its process: see run.c */
    RAN_BADLY,
    RUN_OUTCOMES
};

struct attempt {
    unsigned level;
    int hurried; /* as if it were huge (cpu/jit/effort.h) */
    const char *isa;
    const char *build; /* of the driver that runs it; NULL: it is not run */
    size_t object_size;
    enum run_outcome run;
    char why[256];
};
enum outcome mutant_compile(const struct buffer *text, struct attempt *a);

/* --- run.c --- */

/* Opens the CPU driver: the build that objects for it must name; NULL: no
 * such driver. */
const char *run_open(const char *driver);
/* Every kernel of the object, on small buffers. */
enum run_outcome run_object(const void *object, char *why, size_t why_size);

#endif
