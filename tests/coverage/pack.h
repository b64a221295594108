/* SPDX-License-Identifier: MIT
 *
 * Kernels of libraries, and how each is to be launched though nothing is
 * known of it but its PTX: what ptx_coverage --pack writes (plan.c, alone.c,
 * choose.c, pack.c) and run_kernels reads (pack.c, inputs.c).
 */
#ifndef KILN_TESTS_COVERAGE_PACK_H
#define KILN_TESTS_COVERAGE_PACK_H

#include <stddef.h>
#include <stdint.h>

/* What a buffer is filled with. */
enum fill {
    FILL_NONE, /* nothing was read through the pointer */
    FILL_I8,
    FILL_I16,
    FILL_I32,
    FILL_I64,
    FILL_F16,
    FILL_BF16,
    FILL_F32,
    FILL_F64,
    FILL_POINTERS, /* to one buffer more, which is filled with `inner` */
    FILL_COUNT
};

/* A part of the parameters that the kernel reads at once. */
enum slot_kind { SLOT_INT, SLOT_FLOAT, SLOT_POINTER };
struct slot {
    uint16_t offset;
    uint8_t size; /* 1, 2, 4 or 8 bytes */
    uint8_t kind;
    uint8_t fill, inner; /* of a pointer */
};

enum { MAX_SLOTS = 512, MAX_PARAM_BYTES = 4096 };
struct plan {
    uint32_t param_bytes;
    uint32_t block[3]; /* 0: as many threads as one likes */
    uint32_t exact;    /* block is what the kernel demands, else its most */
    uint32_t shared;   /* bytes of dynamic shared memory */
    uint32_t usual;    /* enum fill: what data of no known type is taken for */
    uint32_t floats;   /* types it computes in: 1 << FILL_F16 ... */
    uint32_t slot_count;
    struct slot slots[MAX_SLOTS];
};

/* `key` is a digest of the module's text, the kernel's name and the plan, but
 * for `floats`: it names the question, whatever Kiln prints the kernel as. */
struct packed_kernel {
    uint64_t key;
    char *file; /* the library */
    char *name;
    char *text; /* PTX with this kernel alone, NUL at the end */
    struct plan plan;
};
struct pack {
    struct packed_kernel *items;
    size_t count, cap;
};

/* 0, or -1 with a sentence on stderr. */
int pack_write(const struct pack *p, const char *path);
int pack_read(struct pack *p, const char *path);
void pack_free(struct pack *p);

#endif
