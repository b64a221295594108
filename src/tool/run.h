/* SPDX-License-Identifier: MIT
 *
 * kiln run, in parts: options, the stages, the buffers, the report.
 */
#ifndef KILN_TOOL_RUN_H
#define KILN_TOOL_RUN_H

#include <stdio.h>

#include "kiln/kiln.h"
#include "tool/argument.h"

struct text_list {
    const char **items;
    size_t count;
};

struct run_options {
    const char *file;
    const char *kernel;
    struct kiln_shape shape;
    const char *device;
    const char *arch;
    const char *standard;
    int max_registers;
    unsigned repeat; /* launches */
    int no_cache;
    int json;
    struct kiln_jit_option *jit;
    size_t jit_count;
    struct text_list defines, folders, extra;
    struct argument *arguments;
    size_t argument_count;
};

/* 0, or an exit status after having said what is wrong. */
int run_options_parse(int argc, char **argv, struct run_options *out);
void run_options_fini(struct run_options *options);

/* What a stage that the command itself does looks like. */
struct run_stage {
    const char *name;
    uint64_t start_ns;
    uint64_t duration_ns;
    enum kiln_cache_state cache;
    char text[240];
};

enum { RUN_STAGES = 64 };

struct run_output {
    size_t argument; /* index */
    char *text;      /* values, separated by spaces; heap */
    uint64_t count;  /* of values in text */
};

struct run {
    struct run_options options;
    struct kiln *kiln;
    struct kiln_image *image;
    struct kiln_library *library;
    struct kiln_kernel *kernel;
    struct kiln_buffer **buffers; /* one an argument, NULL for values */
    uint64_t *addresses;
    struct kiln_arg *args;
    struct run_stage stages[RUN_STAGES];
    size_t stage_count;
    size_t taken; /* of kiln's own stages */
    struct run_output *outputs;
    size_t output_count;
    double *repeats;  /* milliseconds, sorted; NULL: none */
    const char *step; /* the stage that is running, for errors */
    struct kiln_error error;
};

uint64_t run_clock(void);
/* The command's own stages, merged with those of the library by run_take. */
void run_stage_add(struct run *run, const char *name, uint64_t start);
void run_take_stages(struct run *run);

enum kiln_status run_fill_buffers(struct run *run);
enum kiln_status run_read_outputs(struct run *run);

void run_report_table(const struct run *run, FILE *to);
void run_report_json(const struct run *run, enum kiln_status status, FILE *to);

#endif
