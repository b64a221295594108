/* SPDX-License-Identifier: MIT
 *
 * What the parser and the code generator take of the PTX in libraries: the
 * parts of ptx_coverage. Modules are found and made unique (sources.c), each
 * is parsed, printed and parsed again (parse.c), each of its kernels goes
 * through the code generator (generate.c), by as many threads as there are
 * cores (modules.c), and what failed is counted by what it was (table.c).
 */
#ifndef KILN_TESTS_COVERAGE_H
#define KILN_TESTS_COVERAGE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "cpu/ptx/ptx.h"
#include "kiln/image.h"

/* --- table.c: counts by a text ------------------------------------------ */

struct table_row {
    char *key;
    char *example; /* of the first one */
    uint64_t count, modules;
    unsigned char *seen; /* a bit a module, so that each counts once */
    size_t seen_size;
};
struct table {
    pthread_mutex_t lock;
    struct table_row *rows;
    size_t count, cap;
};
void table_init(struct table *t);
/* n more of `key`, found in module number `module`. */
void table_add(struct table *t, const char *key, uint64_t n, uint64_t module,
               const char *example);
/* The `most` rows with the highest counts, with a heading of their own. */
void table_print(struct table *t, const char *what, size_t most);
void table_fini(struct table *t);

/* Bodies that were seen, and whether the code generator took them. */
struct seen {
    pthread_mutex_t lock;
    struct seen_item {
        struct hash key;
        int used, good;
    } * items;
    size_t count, cap;
};
void seen_init(struct seen *s);
int seen_find(struct seen *s, const struct hash *key, int *good);
/* 0 when it was there already. */
int seen_add(struct seen *s, const struct hash *key, int good);
void seen_fini(struct seen *s);

/* --- sources.c ----------------------------------------------------------- */

struct source { /* one PTX text */
    struct kiln_file *file;
    size_t file_number, entry;
    struct hash digest; /* of the text */
    char *name;         /* "libcublas.so.13 12.3 compute_75" */
    uint64_t size;
};
struct sources {
    struct kiln_file **files;
    size_t file_count, file_cap;
    struct source *items; /* largest first, each text once */
    size_t count, cap;
    uint64_t entries, bytes; /* of all, the same text as often as it is there */
    struct seen texts;
};
/* A file, or all files of a folder and below. Files without device code are
 * passed over. 0, or -1 when the path cannot be read. */
int sources_add(struct sources *s, const char *path);
/* Keep `share` modules of ten thousand, by the seed; largest first. */
void sources_choose(struct sources *s, unsigned share, uint64_t seed);
void sources_fini(struct sources *s);

/* --- totals -------------------------------------------------------------- */

struct options {
    unsigned threads;
    unsigned objects; /* kernels in ten thousand that go to an object */
    uint64_t seed;
    int code;         /* 0: parser only */
    int verbose;      /* a line for each failure */
    const char *pack; /* write kernels to run here, and do nothing else */
    unsigned each;    /* kernels of a file */
    uint32_t target;  /* the newest .target of them */
};

struct totals {
    uint64_t modules, parsed, same, generated;
    uint64_t to_link; /* name what another module defines */
    uint64_t insns, insns_parsed, insns_refused;
    uint64_t kernels, kernels_taken, bodies, bodies_taken;
    uint64_t objects, objects_good, object_bytes;
};

struct coverage {
    struct options options;
    struct sources sources;
    struct totals totals;   /* under lock */
    struct totals *by_file; /* as files of sources, likewise */
    pthread_mutex_t lock;
    struct table parser;    /* diagnostics */
    struct table refused;   /* instructions */
    struct table failed;    /* kernels, for another reason */
    struct table used;      /* mnemonics, of what was parsed */
    struct table no_object; /* kernels that LLVM made no object of */
    struct seen kernels;
};

/* modules.c: all of them; adds up totals. */
int modules_run(struct coverage *c);

/* parse.c: fills module, parsed, same, insns. Returns NULL when it did not
 * parse; the program lives in the arena. */
struct ptx_module *parse_module(struct coverage *c, struct totals *t,
                                uint64_t number, const char *text, size_t size,
                                struct arena *arena);

/* body.c: of what a kernel does, not of its names. 0 or -1. */
int body_digest(const struct ptx_func *f, struct hash *out);

/* generate.c: every kernel of a module. A generator belongs to one thread. */
struct generator;
struct generator *generator_new(struct coverage *c);
void generator_free(struct generator *g);
void generate_module(struct generator *g, struct totals *t, uint64_t number,
                     const struct ptx_module *m);

#endif
