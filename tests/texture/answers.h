/* SPDX-License-Identifier: MIT */
#ifndef KILN_TESTS_TEXTURE_ANSWERS_H
#define KILN_TESTS_TEXTURE_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

struct answers {
    unsigned char *bytes;
    size_t size, at;
};
struct answer {
    const char *name; /* perhaps a tab and why there is none */
    uint32_t count;
    const unsigned char *words; /* not aligned */
};
struct difference {
    size_t words; /* that differ */
    size_t at;    /* the first */
    uint32_t theirs, ours;
    double error; /* the largest, of floats; else infinite */
};

/* -1: not to be read. */
int answers_open(struct answers *a, const char *path);
/* 0: there is none of that name. */
int answers_find(struct answers *a, const char *name, struct answer *out);
/* Compress what --record has written; the program's exit status. */
int answers_pack(const char *from, const char *to);
void answers_compare(const struct answer *a, const uint32_t *words,
                     int is_float, struct difference *out);

#endif
