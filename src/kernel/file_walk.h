/* SPDX-License-Identifier: MIT
 *
 * What stands behind kiln_walk.
 */
#ifndef KILN_KERNEL_FILE_WALK_H
#define KILN_KERNEL_FILE_WALK_H

#include "kernel/file.h"
#include "walk/walk.h"

struct kiln_walk {
    const struct kiln_file *file;
    struct kiln_target target;
    struct arena arena;
    size_t first; /* entry of the file */
    size_t count;
    struct walk_image *images;
    struct walk_verdict *verdicts;
    struct walk_result result;
    const char *hazard; /* "" */
    size_t notes;       /* sentences of what is damaged, kept */
    /* Of the verdict that was last asked for. */
    char text[WALK_TEXT], cost[200], fix[200];
    char prediction[300];
};

/* Why NVIDIA's driver, given this container, crashes or hangs; "": not known
 * to. chosen: the entry of the file that it takes, or -1. */
const char *file_hazard(const struct kiln_file *file,
                        const struct file_container *container, long chosen);

#endif
