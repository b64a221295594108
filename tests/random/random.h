/* SPDX-License-Identifier: MIT
 *
 * Random PTX programs. Everything in one is defined by the PTX ISA, so that two
 * devices, or one device in two modes, that leave different memory behind have
 * a bug between them.
 *
 * A program is a tree: statements that may be left out, each with all that it
 * needs, so that a program that differs can be made small.
 */
#ifndef KILN_TESTS_RANDOM_H
#define KILN_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum {
    LAUNCHES = 2,
    IN_WORDS = 4096, /* what kernels read */
    ACC_WORDS = 64,  /* words that all threads change, by atomics alone */
    ROW_WORDS = 16,  /* words of each thread at will */
    RESULTS = 12,    /* words of each thread at the end, all first ones first */
    TABLE_WORDS = 64,  /* of the const bank and of initialised globals */
    LOCAL_BYTES = 64,  /* of each thread */
    THREADS_MOST = 256 /* of a block */
};

struct node {
    char *text; /* a leaf; else NULL */
    struct node *first, *last, *next, *parent;
    int may_go, gone;
};

struct launch {
    unsigned grid[3], block[3];
};

/* The first edition has answers of a GPU. The second has more arithmetic, and
 * less that is not defined after all (docs/fidelity.md). */
struct program {
    uint64_t seed;
    int edition;
    struct node *root;
    struct launch launches[LAUNCHES];
};

/* program.c */
void program_make(struct program *p, uint64_t seed, int edition);
void program_free(struct program *p);
char *program_text(const struct program *p); /* free it */
size_t program_image_words(const struct launch *l);

/* What kernels read. */
void input_fill(uint32_t *words);
/* Each word of an image at the start. The second edition's is 8 as a float, so
 * that sums of small integers stay exact. */
enum { IMAGE_START_1 = 0x40302010, IMAGE_START_2 = 0x41000000 };

/* device.c: a driver in a process of its own, since what it does is decided by
 * the environment, and a crash is an answer too.
 * Named `DRIVER[,avx512|avx2|sse4.2][,1][,O0]`; DRIVER is a file to open, or
 * cpu; 1 is one worker thread. */
struct device {
    char name[256];
    int to, from;
    long process; /* 0: not started */
};
enum outcome { DEVICE_RAN, DEVICE_REFUSED, DEVICE_DIED, DEVICE_HANGS };
struct reply {
    enum outcome outcome;
    uint64_t digest;
    uint32_t *image; /* of all launches, one after the other, if asked for */
    size_t words;
    char why[512];
};
void device_stop(struct device *d);
/* Starts it where it does not run. */
void device_ask(struct device *d, const struct program *p, const char *text,
                int with_image);
void device_reply(struct device *d, struct reply *r); /* free r->image */
/* serve.c: answers until `from` ends; in the device's own process. */
_Noreturn void serve(const char *name, int from, int to);
struct request {
    uint32_t size; /* of the text that follows */
    int with_image;
    uint32_t n, start;
    struct launch launches[LAUNCHES];
};

/* reduce.c: leaves out what does not matter to the difference between two
 * devices; then prints the first word that differs and keeps what is left as
 * a file. */
void reduce(struct program *p, struct device *a, struct device *b,
            const char *folder);

/* answers.c: what one device answered to the programs FIRST..FIRST+COUNT: a
 * word each, 48 bits of the digest of its image and 16 of that of its text, by
 * which an answer to another program is known. 0: none. */
struct answers {
    char device[64];
    uint64_t first, count;
    uint64_t *words;
};
uint64_t answer_word(uint64_t image, const char *text);
int answer_is_of(uint64_t word, const char *text);
void answers_fini(struct answers *a);
/* 0, or -1 with a line on standard error. */
int answers_write(const struct answers *a, const char *path);
int answers_read(struct answers *a, const char *path);

uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size);
void *must_alloc(size_t count, size_t size);

#endif
