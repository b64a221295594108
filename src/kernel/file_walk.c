/* SPDX-License-Identifier: MIT
 *
 * The walk over a container of a file: entries are described for src/walk by
 * their headers and by their own words, and its verdicts get what a person
 * asks next: at which stage, at what cost, and what would help.
 */
#include "kernel/file_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/image_walk.h"

/* As in a listing, more sentences of damage nobody reads. */
enum { NOTES_MAX = 1 << 12 };

static const char *note(struct kiln_walk *w, const struct kiln_error *err)
{
    return w->notes++ < NOTES_MAX
               ? arena_strndup(&w->arena, err->text, strlen(err->text))
               : "damaged, as many are before it";
}

static void describe(struct kiln_walk *w, const struct kiln_file *file,
                     size_t index, struct walk_image *image)
{
    const struct file_entry *e = file_entry(file, index);
    struct kiln_error err = {0};
    struct buffer plain = {0};

    *image =
        (struct walk_image){.kind = WALK_UNKNOWN,
                            .raw = file_container(file, e->container)->single,
                            .sm = e->sm,
                            .variant = e->variant,
                            .ptx_major = (uint16_t)e->major,
                            .ptx_minor = (uint16_t)e->minor};
    if (e->kind == KILN_ENTRY_LTO)
        image->kind = WALK_LTO;
    else if (e->kind == KILN_ENTRY_PTX)
        image->kind = WALK_PTX;
    else if (e->kind == KILN_ENTRY_CUBIN)
        image->kind = WALK_CUBIN;
    if (e->kind == KILN_ENTRY_OBJECT) {
        /* Whether this build and processor take it, its driver finds. */
        image->kind = WALK_OBJECT;
        image->object_fits = *e->note != 0;
        image->note = "what it says of itself is damaged, or of another "
                      "version of Kiln";
    }
    if (image->kind != WALK_PTX && image->kind != WALK_CUBIN)
        return;
    if (file_unpack(file, index, 0, &plain, &err)) {
        image->defect = WALK_NOT_UNPACKED;
        image->note = note(w, &err);
    } else if (image_walk_describe(w->target.policy, plain.bytes, plain.size,
                                   image, &err)) {
        image->note = note(w, &err);
    }
    buffer_fini(&plain);
}

static enum kiln_status room(struct kiln_walk *w, struct kiln_error *err)
{
    w->images = arena_array(&w->arena, w->count + 1, sizeof *w->images);
    w->verdicts = arena_array(&w->arena, w->count + 1, sizeof *w->verdicts);
    if (!w->images || !w->verdicts)
        return kiln_fail(err, KILN_E_MEMORY, "walk: out of memory");
    return KILN_OK;
}

/* Under policy best too it is asked what the driver itself would take. */
static enum kiln_status hazard_of(struct kiln_walk *w, size_t container,
                                  const struct walk_device *device,
                                  struct walk_options options,
                                  struct kiln_error *err)
{
    struct walk_verdict *verdicts;
    struct walk_result result;

    w->hazard = "";
    if (w->target.kind != KILN_DEVICE_NVIDIA)
        return KILN_OK;
    verdicts = arena_array(&w->arena, w->count + 1, sizeof *verdicts);
    if (!verdicts)
        return kiln_fail(err, KILN_E_MEMORY, "walk: out of memory");
    options.policy = WALK_DRIVER;
    walk(w->images, w->count, device, &options, verdicts, &result);
    w->hazard =
        file_hazard(w->file, file_container(w->file, container),
                    result.chosen < 0 ? -1 : (long)w->first + result.chosen);
    return KILN_OK;
}

enum kiln_status kiln_walk_new(const struct kiln_file *file, size_t container,
                               const struct kiln_target *target,
                               struct kiln_walk **out, struct kiln_error *err)
{
    struct kiln_target t = {.size = sizeof t};
    struct walk_device device;
    struct walk_options options;
    struct kiln_walk *w;
    enum kiln_status st;

    FILE_GIVE(&t, *target);
    if (container >= file->container_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: container %zu of %zu",
                         file->name, container, file->container_count);
    w = kiln_zalloc(sizeof *w);
    if (!w)
        return kiln_fail(err, KILN_E_MEMORY, "walk: out of memory");
    w->file = file;
    w->target = t;
    w->first = file_container(file, container)->first;
    w->count = file_container(file, container)->count;
    st = room(w, err);
    if (st) {
        kiln_walk_free(w);
        return st;
    }
    for (size_t i = 0; i < w->count; i++)
        describe(w, file, w->first + i, &w->images[i]);
    device = image_walk_device(&t);
    options = image_walk_options(&t);
    walk(w->images, w->count, &device, &options, w->verdicts, &w->result);
    walk_predict(w->images, w->count, &device, &options, w->verdicts,
                 &w->result, w->prediction, sizeof w->prediction);
    st = hazard_of(w, container, &device, options, err);
    if (st) {
        kiln_walk_free(w);
        return st;
    }
    *out = w;
    return KILN_OK;
}

void kiln_walk_free(struct kiln_walk *walk)
{
    if (!walk)
        return;
    arena_fini(&walk->arena);
    kiln_release(walk);
}

int kiln_target_release(unsigned sm)
{
    return walk_release_for_sm(sm);
}

enum kiln_status kiln_walk_status(const struct kiln_walk *walk)
{
    return walk->result.status;
}

const char *kiln_walk_text(const struct kiln_walk *walk)
{
    return walk->result.text;
}

const char *kiln_walk_driver_hazard(const struct kiln_walk *walk)
{
    return walk->hazard;
}

const char *kiln_walk_prediction(const struct kiln_walk *walk)
{
    return walk->prediction;
}

long kiln_walk_chosen(const struct kiln_walk *walk)
{
    return walk->result.chosen < 0 ? -1
                                   : (long)walk->first + walk->result.chosen;
}

size_t kiln_walk_count(const struct kiln_walk *walk)
{
    return walk->count;
}

/* Where in the walk it was decided. */
static const char *stage_of(enum walk_reason reason)
{
    switch (reason) {
    case WALK_KIND:
    case WALK_DAMAGED:
        return "container";
    case WALK_PTX_TOO_NEW:
        return "version";
    case WALK_JIT_OFF:
    case WALK_NO_JIT:
        return "jit";
    case WALK_TOO_LARGE:
        return "relocate";
    default:
        return "choice";
    }
}

static void cost_of(struct kiln_walk *w, const struct walk_image *image,
                    const struct file_entry *e)
{
    snprintf(
        w->cost, sizeof w->cost,
        image->kind == WALK_PTX
            ? "compiled for the device: %llu bytes of PTX, once where the "
              "driver's cache is on"
        : image->kind == WALK_OBJECT
            ? "copied: %llu bytes, nothing is compiled; only the driver build "
              "that made it takes it, on a processor that has what its code "
              "uses"
            : "copied: %llu bytes, nothing is compiled",
        (unsigned long long)e->plain_size);
}

static void fix_of(struct kiln_walk *w, const struct walk_image *image,
                   enum walk_reason reason)
{
    const char *text = "";
    unsigned sm = w->target.sm;
    size_t size = sizeof w->fix;

    switch (reason) {
    case WALK_OTHER_ISA:
    case WALK_OTHER_SM:
    case WALK_OTHER_ARCH:
    case WALK_OTHER_FAMILY:
        if (w->target.kind == KILN_DEVICE_CPU)
            snprintf(w->fix, size, "add PTX for compute_%u or lower", sm);
        else
            snprintf(w->fix, size,
                     "add a cubin for sm_%u, or PTX for compute_%u or lower",
                     sm, sm);
        return;
    case WALK_TARGET_ABOVE:
        snprintf(w->fix, size, "compile it for compute_%u or lower", sm);
        return;
    case WALK_PTX_TOO_NEW: {
        const struct walk_release *r =
            walk_release_of(w->target.driver_version);

        if (r)
            snprintf(w->fix, size,
                     "compile it with the toolkit of CUDA %d.%d or an older "
                     "one, add a cubin for sm_%u, or update the driver",
                     r->cuda / 100, r->cuda % 100, sm);
        else
            snprintf(w->fix, size, "update the driver");
        return;
    }
    case WALK_FORCED_PTX:
        text = "unset CUDA_FORCE_PTX_JIT";
        break;
    case WALK_JIT_OFF:
        text = "unset CUDA_DISABLE_PTX_JIT, or add a cubin";
        break;
    case WALK_NO_JIT:
        text = "install libnvidia-ptxjitcompiler.so.1, or add a cubin";
        break;
    case WALK_KIND:
        text = image->kind == WALK_LTO
                   ? "link it first (nvJitLink, or nvcc)"
                   : "add a cubin or PTX: drivers skip this kind as well";
        break;
    case WALK_DAMAGED:
        text = "build the file again";
        break;
    case WALK_OBJECT_UNFIT:
        text = "compile its PTX again";
        break;
    case WALK_MISLABELLED:
        text = "label it with the target that its own header names";
        break;
    case WALK_TOO_LARGE:
        text = "allocate what is large at run time, or take a device with "
               "more memory";
        break;
    case WALK_TAKEN:
    case WALK_LESS:
    default:
        break;
    }
    snprintf(w->fix, size, "%s", text);
}

enum kiln_status kiln_walk_verdict(const struct kiln_walk *walk, size_t index,
                                   struct kiln_verdict *verdict,
                                   struct kiln_error *err)
{
    /* Under a const handle: the texts of the last verdict that was asked for
     * make place for those of this one. */
    struct kiln_walk *w = (struct kiln_walk *)walk;
    struct walk_device device = image_walk_device(&w->target);
    struct walk_options options = image_walk_options(&w->target);
    const struct walk_verdict *v;
    struct kiln_verdict out;

    if (index >= w->count)
        return kiln_fail(err, KILN_E_INVALID, "verdict %zu of %zu", index,
                         w->count);
    v = &w->verdicts[index];
    walk_text(&w->images[index], &device, &options, v, w->text);
    fix_of(w, &w->images[index], v->reason);
    *w->cost = 0;
    if (v->reason == WALK_TAKEN)
        cost_of(w, &w->images[index], file_entry(w->file, w->first + index));
    out = (struct kiln_verdict){.entry = w->first + index,
                                .rank = v->rank,
                                .reason = walk_reason_name(v->reason),
                                .text = w->text,
                                .stage = stage_of(v->reason),
                                .cost = w->cost,
                                .fix = w->fix,
                                .unverified = v->unverified};
    FILE_GIVE(verdict, out);
    return KILN_OK;
}
