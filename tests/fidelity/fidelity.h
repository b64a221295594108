/* SPDX-License-Identifier: MIT
 *
 * Whether a device computes what NVIDIA's does. A case is one kernel that
 * applies an instruction (or a few of a kind) to every element of its input:
 * edge values of the operands' types, crossed, and RANDOM_COUNT more from a
 * counter and a hash. The same program records a device's results and compares
 * a device with what was recorded.
 */
#ifndef KILN_TESTS_FIDELITY_H
#define KILN_TESTS_FIDELITY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    FID_IN = 5,     /* operands at most */
    FID_WORDS = 16, /* 32-bit words of result a thread */
    RANDOM_COUNT = 100000,
    DIGEST_EVERY = 1000,
    DIGEST_COUNT = RANDOM_COUNT / DIGEST_EVERY,
    EDGE_MOST = 4096
};

/* Error of one value in units of what the ISA allows: at most 1 is right. */
struct fid_case;
typedef double fid_error(const struct fid_case *c, const uint64_t *in,
                         uint64_t got);

struct fid_case {
    char *name;             /* the instruction as written; unique */
    const char *family;     /* mnemonic, or what is tested */
    char *body;             /* PTX: %a0... are operands, %o0... results */
    char kinds[FID_IN + 1]; /* of operands, see values.c */
    unsigned words;         /* results a thread */
    char result;            /* kind of a float result: any NaN is one; else 0 */
    unsigned threads;       /* of a block; 0: 256 */
    int is_form;            /* made from a row of forms.def */
    int scratch;            /* %m: 64 bytes of global memory of each thread */
    unsigned texts;         /* instructions tested */
    fid_error *error;       /* approximations */
};

struct fid_cases {
    struct fid_case *items;
    size_t count, capacity;
};
/* Takes name and body; ends the program when there is no memory. */
struct fid_case *fid_add(struct fid_cases *all, const char *family, char *name,
                         char *body, const char *kinds, unsigned words);
char *fid_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *fid_alloc(size_t count, size_t size);

/* forms.c: every elementwise row of cpu/ptx/forms.def, and whether a row has
 * a test at all: the number of rows that nothing tests, printed. */
void fid_forms(struct fid_cases *all);
extern int fid_apart; /* video instructions one a case */
int fid_untested(void);
/* warp.c, memory.c, matrix.c, sparse.c: what needs a kernel of its own. */
void fid_warp(struct fid_cases *all);
void fid_memory(struct fid_cases *all);
void fid_atomics(struct fid_cases *all);
void fid_matrix(struct fid_cases *all);
/* {%t4, %t5}: registers of a fragment. */
void fid_list(FILE *f, const char *reg, unsigned from, unsigned count);
void fid_sparse(struct fid_cases *all);
/* approx.c: the error function of an approximation, or NULL. */
fid_error *fid_approximation(const char *name);

/* kernel.c: PTX of cases, kernels named k0, k1...; free it. Ways: an element a
 * thread; an element a block, so that all is uniform (edges alone); and with
 * f32 arithmetic without .ftz beside the case, so that the processor's flush
 * modes cannot serve .ftz. */
enum fid_way { FID_PLAIN, FID_UNIFORM, FID_MIXED };
char *fid_module(const struct fid_case *const *cases, size_t count,
                 enum fid_way way);
/* Whether the parser takes the text. */
int fid_parses(const char *text);
/* Registers by kind: "b16", "b32", "b64" or "pred". */
const char *fid_register(char kind);

/* values.c */
struct fid_inputs {
    char kinds[FID_IN + 1];
    unsigned edges, count; /* count: with the edges */
    void *data[FID_IN];
    size_t bytes[FID_IN]; /* of an element */
    uint64_t digest;
};
void fid_inputs_make(struct fid_inputs *in, const char *kinds);
void fid_inputs_free(struct fid_inputs *in);
uint64_t fid_input(const struct fid_inputs *in, unsigned operand, size_t i);

/* answers.c: what a device answered to a case. */
struct fid_answer {
    char *name;
    uint64_t inputs; /* digest of what it was asked */
    unsigned edges, words;
    uint32_t *edge; /* words planes of edges values */
    uint64_t digests[DIGEST_COUNT];
    double worst; /* approximations: largest error, in what is allowed */
    int close;
};
struct fid_answers {
    struct fid_answer *items;
    size_t count, capacity;
    char device[64];
};
struct fid_answer *fid_answers_add(struct fid_answers *all, const char *name);
const struct fid_answer *fid_answers_find(const struct fid_answers *all,
                                          const char *name);
/* 0 or -1 with a line on standard error. */
int fid_answers_write(struct fid_answers *all, const char *path, int level);
int fid_answers_read(struct fid_answers *all, const char *path);
void fid_answers_free(struct fid_answers *all);

/* A NaN of the kind -> the one that stands for all; planes of n values. */
void fid_one_nan(char kind, uint32_t *planes, unsigned words, size_t n);
uint64_t fid_digest(const uint32_t *planes, unsigned words, size_t n,
                    size_t from, size_t to);

#endif
