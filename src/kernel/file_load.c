/* SPDX-License-Identifier: MIT
 *
 * Loading from a file, the safe way: NVIDIA's driver crashes on some damaged
 * containers and never falls back to a good image beside a bad one, so it is
 * given one image alone, that was read whole and found sound before.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/file_walk.h"
#include "kernel/image.h"
#include "kernel/image_walk.h"

struct loading {
    struct kiln *kiln;
    const struct kiln_file *file;
    const char *kernel;
    const struct kiln_load_options *options; /* ours, whole */
    struct kiln_walk *walk;
    struct buffer report;
    size_t refusals;
};

/* An image of one entry, as kiln_compile would have made it. */
static enum kiln_status make_image(const struct loading *l, size_t index,
                                   const struct walk_image *as,
                                   struct kiln_image **out,
                                   struct kiln_error *err)
{
    struct buffer plain = {0};
    struct kiln_image *image = kiln_zalloc(sizeof *image);
    enum kiln_status st;

    if (!image)
        return kiln_fail(err, KILN_E_MEMORY, "load: out of memory");
    image->kind = as->kind == WALK_PTX ? KILN_IMAGE_PTX : KILN_IMAGE_CUBIN;
    image->name = kiln_strdup(l->file->name);
    image->target = kiln_alloc(16);
    st = file_unpack(l->file, index, 0, &plain, err);
    if (!st && (!image->name || !image->target ||
                image_set_bytes(image, buffer_str(&plain), plain.size)))
        st = kiln_fail(err, KILN_E_MEMORY, "load: out of memory");
    buffer_fini(&plain);
    if (st) {
        kiln_image_free(image);
        return st;
    }
    snprintf(image->target, 16, "sm_%u%.1s", as->text_sm % 10000,
             &as->text_variant);
    *out = image;
    return KILN_OK;
}

/* By the image's own words, where it has some. */
static void say(struct loading *l, size_t i, const char *what)
{
    const struct file_entry *e = file_entry(l->file, l->walk->first + i);
    const struct walk_image *image = &l->walk->images[i];
    uint32_t sm = image->text_sm ? image->text_sm : e->sm;
    char variant = image->text_sm ? image->text_variant : e->variant;

    buffer_printf(&l->report, "%sentry %u (%s for sm_%u%.1s) %s",
                  l->report.size ? "; " : "", e->index,
                  fatbin_kind_name(e->kind), sm, &variant, what);
}

static void passed_over(struct loading *l, size_t i, const char *why)
{
    say(l, i, "passed over: ");
    buffer_text(&l->report, why);
}

static enum kiln_status try_one(struct loading *l, size_t i,
                                struct kiln_library **out,
                                struct kiln_error *err)
{
    struct kiln_image *image = NULL;
    struct kiln_library *library = NULL;
    struct kiln_kernel *kernel;
    enum kiln_status st =
        make_image(l, l->walk->first + i, &l->walk->images[i], &image, err);

    if (!st)
        st = image_load(l->kiln, image, l->options,
                        l->walk->result.target_ignored, &library, err);
    if (!st && l->kernel)
        st = kiln_find_kernel(library, l->kernel, &kernel, err);
    kiln_image_free(image);
    if (st) {
        kiln_library_free(library);
        return st;
    }
    *out = library;
    return KILN_OK;
}

/* Whether another image may do better after this failure. */
static int may_fall_back(enum kiln_status st)
{
    switch (st) {
    case KILN_E_IMAGE:
    case KILN_E_MEMORY:
    case KILN_E_FORMAT:
    case KILN_E_NO_BINARY:
    case KILN_E_PTX:
    case KILN_E_PTX_VERSION:
    case KILN_E_JIT_COMPILER:
    case KILN_E_JIT_DISABLED:
    case KILN_E_SOURCE:
    case KILN_E_SYMBOL:
    case KILN_E_NOT_FOUND:
    case KILN_E_NOT_SUPPORTED:
        return 1;
    default:
        return 0;
    }
}

/* Refusals that somebody who packed the file would want to know of. */
static int worth_saying(enum walk_reason reason)
{
    return reason == WALK_DAMAGED || reason == WALK_PTX_TOO_NEW ||
           reason == WALK_FORCED_PTX || reason == WALK_JIT_OFF ||
           reason == WALK_TOO_LARGE;
}

/* More of them make no report that anybody reads. */
enum { REFUSALS_MAX = 32 };

static void refused(struct loading *l, size_t i)
{
    const struct kiln_walk *w = l->walk;
    struct walk_device device = image_walk_device(&w->target);
    struct walk_options options = image_walk_options(&w->target);
    char text[WALK_TEXT];

    if (l->refusals++ >= REFUSALS_MAX) {
        if (l->refusals == REFUSALS_MAX + 1)
            buffer_text(&l->report, "; and more of such");
        return;
    }
    walk_text(&w->images[i], &device, &options, &w->verdicts[i], text);
    passed_over(l, i, text);
}

/* Policy driver: its choice, whatever becomes of it. */
static enum kiln_status chosen_alone(struct loading *l,
                                     struct kiln_library **out,
                                     struct kiln_error *err)
{
    const struct walk_result *r = &l->walk->result;
    enum kiln_status st;

    if (r->chosen < 0)
        return kiln_fail(err, r->status, "%s: %s", l->file->name, r->text);
    st = try_one(l, (size_t)r->chosen, out, err);
    if (!st)
        say(l, (size_t)r->chosen, "taken");
    return st;
}

static enum kiln_status by_rank(struct loading *l, struct kiln_library **out,
                                struct kiln_error *err)
{
    const struct kiln_walk *w = l->walk;
    struct kiln_error first = {0}, now = {0};

    /* What is damaged was better than nothing to whoever packed it. */
    for (size_t i = 0; i < w->count; i++)
        if (worth_saying(w->verdicts[i].reason))
            refused(l, i);
    if (w->result.target_ignored)
        buffer_printf(&l->report,
                      "%sCU_JIT_TARGET %u left out: sm_%u does not run its "
                      "code",
                      l->report.size ? "; " : "", w->target.jit_for,
                      w->target.sm);
    for (int rank = 1; rank <= 16; rank++)
        for (size_t i = 0; i < w->count; i++) {
            if (w->verdicts[i].rank != rank)
                continue;
            now.status = try_one(l, i, out, &now);
            if (!now.status) {
                say(l, i, "taken");
                return KILN_OK;
            }
            if (!first.status)
                first = now;
            if (!may_fall_back(now.status)) {
                first = now;
                rank = 17;
                break;
            }
            passed_over(l, i, now.text);
        }
    if (!first.status)
        return kiln_fail(err,
                         w->result.status ? w->result.status : KILN_E_NO_BINARY,
                         "%s: %s", l->file->name, w->result.text);
    if (err)
        *err = first;
    return first.status;
}

static enum kiln_status one_container(struct loading *l, size_t container,
                                      const struct kiln_target *target,
                                      struct kiln_library **out,
                                      struct kiln_error *err)
{
    const char *damage = file_container(l->file, container)->damage;
    enum kiln_status st =
        kiln_walk_new(l->file, container, target, &l->walk, err);

    if (st)
        return st;
    st = target->policy == KILN_POLICY_DRIVER ? chosen_alone(l, out, err)
                                              : by_rank(l, out, err);
    if (st && *damage && !l->walk->count)
        st = kiln_fail(err, KILN_E_IMAGE, "%s: %s", l->file->name, damage);
    if (*damage)
        buffer_printf(&l->report, "%s%s", l->report.size ? "; " : "", damage);
    kiln_walk_free(l->walk);
    l->walk = NULL;
    return st;
}

enum kiln_status kiln_file_load(struct kiln *kiln, const struct kiln_file *file,
                                long container, const char *kernel,
                                const struct kiln_load_options *options,
                                struct kiln_library **out,
                                struct kiln_error *err)
{
    struct kiln_load_options o;
    struct loading l = {
        .kiln = kiln, .file = file, .kernel = kernel, .options = &o};
    struct kiln_target target;
    size_t from = container < 0 ? 0 : (size_t)container;
    size_t to = container < 0 ? file->container_count : from + 1;
    struct kiln_error first = {0}, now = {0};
    struct stage stage;

    if (to > file->container_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: container %ld of %zu",
                         file->name, container, file->container_count);
    OPTIONS_READ(o, options);
    image_walk_target(kiln, &o, &target);
    stage_begin(&stage, &kiln->timeline, "walk");
    for (size_t i = 0; i < kiln_file_note_count(file); i++)
        buffer_printf(&l.report, "%s%s", i ? "; " : "",
                      kiln_file_note(file, i));
    for (size_t i = from; i < to; i++) {
        now.status = one_container(&l, i, &target, out, &now);
        if (!now.status || !may_fall_back(now.status)) {
            first = now;
            break;
        }
        /* A missing name says more than an image for another device. */
        if (!first.status || (first.status == KILN_E_NO_BINARY &&
                              now.status != KILN_E_NO_BINARY))
            first = now;
    }
    stage_text(&stage, "%s", buffer_str(&l.report));
    stage_end(&stage);
    buffer_fini(&l.report);
    if (first.status && err)
        *err = first;
    return first.status;
}
