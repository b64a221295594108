/* SPDX-License-Identifier: MIT
 *
 * The walk over all images: judge each, order those that would do, and see
 * what becomes of the first. The rules are in rules.c.
 */
#include "walk/walk.h"

#include <stdio.h>

#include "walk/rules.h"

/* Usable images are ranked up to this; the others keep this rank. */
enum { RANKS = 16 };

int walk_target_runs(uint32_t target, const struct walk_device *device)
{
    return walk_code_fits(target, 0, device->sm, device->integrated) ==
           WALK_LESS;
}

static struct walk_query query_of(const struct walk_device *device,
                                  const struct walk_options *options)
{
    struct walk_query q = {
        .device = device,
        .options = options,
        .target = options->target ? options->target : device->sm,
        .ptx_major = device->ptx_major,
        .ptx_minor = device->ptx_minor,
        .best = options->policy == WALK_BEST,
    };

    if (q.best && options->target && !walk_target_runs(options->target, device))
        q.target = device->sm;

    if (!q.ptx_major) {
        const struct walk_release *release =
            walk_release_of(device->driver_version);

        if (!walk_release_is_known(device->driver_version)) {
            q.ptx_major = UINT16_MAX;
        } else if (release) {
            q.ptx_major = release->ptx_major;
            q.ptx_minor = release->ptx_minor;
        }
    }
    return q;
}

/* The best image that has no rank yet, or -1. */
static int next_best(const struct walk_query *q,
                     const struct walk_image *images, size_t count,
                     const struct walk_verdict *verdicts)
{
    uint64_t top = 0;
    int chosen = -1;

    for (size_t i = 0; i < count; i++) {
        uint64_t score;
        int last;

        if (verdicts[i].reason != WALK_LESS || verdicts[i].rank < RANKS)
            continue;
        walk_judge(q, &images[i], &score, &last);
        if (chosen < 0 || score > top || (score == top && last)) {
            top = score;
            chosen = (int)i;
        }
    }
    return chosen;
}

/* Which refusal says most to somebody whose load fails: the one nearest to
 * working. */
static int telling(enum walk_reason reason)
{
    switch (reason) {
    case WALK_PTX_TOO_NEW:
        return 6;
    case WALK_JIT_OFF:
    case WALK_NO_JIT:
        return 5;
    case WALK_TOO_LARGE:
    case WALK_DAMAGED:
        return 4;
    case WALK_TARGET_ABOVE:
    case WALK_OBJECT_UNFIT:
        return 3;
    case WALK_FORCED_PTX:
        return 2;
    case WALK_KIND:
        return 0;
    default:
        return 1;
    }
}

/* NVIDIA's driver looks at LTO IR when there is nothing else and PTX is not
 * forced: version 1.0 is then no image to it, while 1.65 (CUDA 13.0) is one
 * that does not fit. It reads no more of it. */
static int unknown_lto(const struct walk_query *q,
                       const struct walk_image *image)
{
    return image->kind == WALK_LTO && !image->ptx_minor &&
           image->sm <= q->target && !q->options->force_ptx;
}

/* Policy driver stays with NVIDIA's one answer, which LTO IR of an
 * unknown version changes. */
static enum kiln_status status_of(const struct walk_query *q,
                                  enum walk_reason reason)
{
    if (!q->best)
        return KILN_E_NO_BINARY;
    switch (reason) {
    case WALK_PTX_TOO_NEW:
        return KILN_E_PTX_VERSION;
    case WALK_JIT_OFF:
        return KILN_E_JIT_DISABLED;
    case WALK_NO_JIT:
        return KILN_E_JIT_COMPILER;
    case WALK_DAMAGED:
        return KILN_E_IMAGE;
    case WALK_TOO_LARGE:
        return KILN_E_MEMORY;
    default:
        return KILN_E_NO_BINARY;
    }
}

static void none(const struct walk_query *q, const struct walk_image *images,
                 size_t count, const struct walk_verdict *verdicts,
                 struct walk_result *result)
{
    char what[64], text[WALK_TEXT];
    size_t best = 0;

    result->status = KILN_E_NO_BINARY;
    if (!count) {
        snprintf(result->text, sizeof result->text,
                 "the container holds no image");
        return;
    }
    for (size_t i = 1; i < count; i++)
        if (telling(verdicts[i].reason) > telling(verdicts[best].reason))
            best = i;
    result->status = status_of(q, verdicts[best].reason);
    for (size_t i = 0; !q->best && i < count; i++)
        if (unknown_lto(q, &images[i])) {
            result->status = KILN_E_IMAGE;
            best = i;
            break;
        }
    walk_describe(&images[best], what, sizeof what);
    walk_explain(q, &images[best], verdicts[best].reason, text, sizeof text);
    if (count == 1)
        snprintf(result->text, sizeof result->text, "%s: %s", what, text);
    else
        snprintf(result->text, sizeof result->text,
                 "none of %zu images is for sm_%u%s; number %zu, %s: %.180s",
                 count, q->target,
                 q->device->isa == WALK_ISA_HOST ? ", the CPU" : "", best + 1,
                 what, text);
}

void walk(const struct walk_image *images, size_t count,
          const struct walk_device *device, const struct walk_options *options,
          struct walk_verdict *verdicts, struct walk_result *result)
{
    struct walk_query q = query_of(device, options);
    struct walk_verdict *v;
    char what[64], text[WALK_TEXT];

    *result = (struct walk_result){
        .chosen = -1,
        .target_ignored = q.best && options->target &&
                          !walk_target_runs(options->target, device)};
    for (size_t i = 0; i < count; i++) {
        uint64_t score;
        int last;

        v = &verdicts[i];
        v->reason = walk_judge(&q, &images[i], &score, &last);
        v->rank = v->reason == WALK_LESS ? RANKS : 0;
        v->unverified = walk_unverified(&q, &images[i]) != 0;
    }
    for (int rank = 1; rank < RANKS; rank++) {
        int i = next_best(&q, images, count, verdicts);

        if (i < 0)
            break;
        verdicts[i].rank = (uint8_t)rank;
        if (rank == 1)
            result->chosen = i;
    }
    if (result->chosen < 0) {
        none(&q, images, count, verdicts, result);
        return;
    }
    v = &verdicts[result->chosen];
    result->compiles = images[result->chosen].kind == WALK_PTX;
    result->status = walk_load(&q, &images[result->chosen], &v->reason);
    walk_explain(&q, &images[result->chosen], v->reason, text, sizeof text);
    walk_describe(&images[result->chosen], what, sizeof what);
    snprintf(result->text, sizeof result->text, "%s: %s", what, text);
}

void walk_text(const struct walk_image *image, const struct walk_device *device,
               const struct walk_options *options,
               const struct walk_verdict *verdict, char text[WALK_TEXT])
{
    struct walk_query q = query_of(device, options);

    walk_explain(&q, image, verdict->reason, text, WALK_TEXT);
}
