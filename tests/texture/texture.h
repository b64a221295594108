/* SPDX-License-Identifier: MIT
 *
 * Texture and surface instructions on whatever driver is named, and what an
 * NVIDIA GPU answered to the same. A case is a kernel of one instruction, an
 * object, and a list of points; its answer is what each point gave.
 */
#ifndef KILN_TESTS_TEXTURE_TEXTURE_H
#define KILN_TESTS_TEXTURE_TEXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "../api/api.h"

enum resource { LINEAR, PITCHED, ARRAY };
enum content {
    RANDOM_BITS, /* any, also for floats */
    RANDOM,      /* floats within -2 to 2 */
    RAMP,        /* element i of dimension d counts 1, 32, 1024 times i */
    ONE,         /* one texel in the middle is 1 */
    COUNT,       /* bytes 0, 1, 2 ..., each channel further on */
    SCALES,      /* floats of many exponents; 0 and 1 of step: how many */
    SPECIAL      /* floats: infinities, NaN, subnormals, the largest */
};
enum points {
    EDGES,    /* about every edge, special numbers, then random */
    SWEEP,    /* fine steps over the texture, and their neighbours */
    INTEGERS, /* texels inside and out */
    BYTES,    /* bytes of a surface, aligned to `step` */
    DIRECTIONS
};

enum { POINT_WORDS = 8, MAX_POINTS = 2048, NAME_SIZE = 112 };

struct kase {
    char name[NAME_SIZE];
    const char *kernel; /* kernels.c */
    enum resource resource;
    CUarray_format format;
    unsigned channels;
    unsigned size[3]; /* 0: no such dimension */
    unsigned layers;  /* 0: not layered */
    int is_cube;
    int is_surface;
    int stores; /* the answer is the surface afterwards */
    int gather; /* made for it */
    enum content content;
    CUaddress_mode address[3];
    CUfilter_mode filter;
    unsigned flags; /* CU_TRSF_ */
    enum points points;
    unsigned step;
    unsigned count;
    float border[4];
};

/* ---- kernels.c ---- */
/* PTX of a group of kernels, on the heap; NULL past the last group. */
char *kernels_text(unsigned group);

/* The kernel of the i-th query, txq_WHAT or suq_WHAT; NULL past the last. */
const char *kernels_query(unsigned i);

/* ---- cases.c ---- */
/* Calls each with a case; stops where it gives non-zero, and gives that. */
int cases_all(int (*each)(const struct kase *k, void *data), void *data);

/* ---- points.c ---- */
uint64_t points_random(uint64_t *state);
/* POINT_WORDS a point: layer, x, y, z, and four words to store. */
void points_make(const struct kase *k, uint32_t *out);
/* The texels, `bytes` of them. */
void points_texels(const struct kase *k, unsigned char *out, size_t bytes);
unsigned points_texel_bytes(const struct kase *k);

/* ---- run.c ---- */
void run_open(void);
/* The answer's words, on the heap; count set. NULL: it cannot be run, and
 * *why says which call gave what. */
uint32_t *run_case(const struct kase *k, size_t *count, char *why, size_t size);

#endif
