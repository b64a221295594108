/* SPDX-License-Identifier: MIT
 *
 * What happened, in stages: the last TIMELINE_KEEP of them.
 */
#ifndef KILN_KERNEL_TIMELINE_H
#define KILN_KERNEL_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "kiln/kiln.h"

enum { TIMELINE_KEEP = 1024, TIMELINE_TEXT = 240 };

struct timeline_stage {
    const char *name; /* static */
    uint64_t start;
    uint64_t duration;
    enum kiln_cache_state cache;
    char text[TIMELINE_TEXT];
};

struct timeline {
    struct timeline_stage *stages; /* a ring once full */
    size_t cap;
    size_t total; /* ever recorded */
};

/* A stage that is running, in the caller's storage. */
struct stage {
    struct timeline *timeline;
    struct timeline_stage record;
};

void stage_begin(struct stage *stage, struct timeline *timeline,
                 const char *name);
void stage_text(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Records it; lost when memory is out. */
void stage_end(struct stage *stage);

void timeline_fini(struct timeline *timeline);

#endif
