/* SPDX-License-Identifier: MIT
 *
 * The ARG grammar of kiln run: one kernel parameter each.
 *     TYPE:VALUE    TYPE[N]:INIT[:OUT]    bytes:HEX
 */
#ifndef KILN_TOOL_ARGUMENT_H
#define KILN_TOOL_ARGUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "tool/half.h"

enum number_class { NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT };

struct element_type {
    const char *name; /* "f32" */
    size_t size;
    enum number_class number;
};

/* Of a type of two bytes that is a float. */
enum half_format half_format_of(const struct element_type *type);

enum init_kind { INIT_ZERO, INIT_IOTA, INIT_CONST, INIT_RAND, INIT_FILE };
enum out_kind { OUT_NONE, OUT_HEAD, OUT_SUM, OUT_FILE };

struct argument {
    const char *text;                /* as given */
    const struct element_type *type; /* NULL: bytes */
    unsigned char *value;            /* by value: its bytes, heap */
    size_t value_size;
    int is_buffer;
    uint64_t count;
    enum init_kind init;
    unsigned char constant[8];
    uint64_t seed;
    char *init_file; /* heap */
    enum out_kind out;
    uint64_t head;
    char *out_file; /* heap */
};

/* 0, or -1 with a sentence in why. */
int argument_parse(const char *text, struct argument *out, char *why,
                   size_t why_size);
void argument_fini(struct argument *argument);
uint64_t argument_bytes(const struct argument *argument);

/* Elements first .. first+n of the buffer's initial contents, for every
 * init but zero and a file. */
void argument_fill(const struct argument *argument, uint64_t first, size_t n,
                   void *to);

#endif
