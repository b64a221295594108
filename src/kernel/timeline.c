/* SPDX-License-Identifier: MIT */
#include "kernel/timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "kernel/handle.h"

void stage_begin(struct stage *stage, struct timeline *timeline,
                 const char *name)
{
    stage->timeline = timeline;
    stage->record.name = name;
    stage->record.duration = 0;
    stage->record.cache = KILN_CACHE_NONE;
    stage->record.text[0] = '\0';
    stage->record.start = clock_ns();
}

void stage_text(struct stage *stage, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(stage->record.text, sizeof stage->record.text, format, args);
    va_end(args);
}

void stage_end(struct stage *stage)
{
    struct timeline *t = stage->timeline;

    stage->record.duration = clock_ns() - stage->record.start;
    if (t->total == t->cap && t->cap < TIMELINE_KEEP) {
        size_t cap = t->cap ? t->cap * 4 : 16;
        void *larger = kiln_array(t->stages, cap, sizeof *t->stages);

        if (!larger)
            return;
        t->stages = larger;
        t->cap = cap;
    }
    t->stages[t->total++ % t->cap] = stage->record;
}

void timeline_fini(struct timeline *timeline)
{
    kiln_release(timeline->stages);
    memset(timeline, 0, sizeof *timeline);
}

size_t kiln_stage_count(const struct kiln *kiln)
{
    const struct timeline *t = &kiln->timeline;

    return t->total < t->cap ? t->total : t->cap;
}

enum kiln_status kiln_get_stage(const struct kiln *kiln, size_t index,
                                struct kiln_stage *stage,
                                struct kiln_error *err)
{
    const struct timeline *t = &kiln->timeline;
    size_t count = kiln_stage_count(kiln);
    const struct timeline_stage *s;
    struct kiln_stage out;

    if (index >= count)
        return kiln_fail(err, KILN_E_INVALID, "stage %zu: there are %zu", index,
                         count);
    s = &t->stages[(t->total - count + index) % t->cap];
    out = (struct kiln_stage){.size = stage->size,
                              .name = s->name,
                              .start_ns = s->start,
                              .duration_ns = s->duration,
                              .cache = s->cache,
                              .text = s->text};
    options_write(stage, &out, sizeof out);
    return KILN_OK;
}
