/* SPDX-License-Identifier: MIT */
#include "kernel/image_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "image/cubin.h"
#include "image/ptx_header.h"

static enum kiln_status describe_ptx(enum kiln_policy policy, const void *bytes,
                                     size_t size, struct walk_image *image,
                                     struct kiln_error *err)
{
    struct ptx_header header;
    enum kiln_status st = ptx_header_read(bytes, size, &header, err);

    if (!st && policy == KILN_POLICY_BEST)
        st = ptx_text_check(bytes, size, err);
    if (st) {
        image->defect = WALK_NOT_PTX;
        return st;
    }
    image->text_sm = header.sm;
    image->text_variant = header.variant;
    image->ptx_major = header.major;
    image->ptx_minor = header.minor;
    return KILN_OK;
}

static enum kiln_status describe_cubin(enum kiln_policy policy,
                                       const void *bytes, size_t size,
                                       struct walk_image *image,
                                       struct kiln_error *err)
{
    struct arena own = {0};
    struct cubin cubin;
    /* Policy driver is about what a driver notices by itself. */
    enum kiln_status st = policy == KILN_POLICY_BEST
                              ? cubin_check(bytes, size, &own, &cubin, err)
                              : cubin_read(bytes, size, &own, &cubin, err);

    if (st) {
        image->defect = WALK_NOT_ELF;
    } else {
        image->text_sm = cubin.sm;
        image->text_variant = cubin.variant;
        image->global_bytes = cubin.global_bytes;
    }
    arena_fini(&own);
    return st;
}

enum kiln_status image_walk_describe(enum kiln_policy policy, const void *bytes,
                                     size_t size, struct walk_image *image,
                                     struct kiln_error *err)
{
    enum kiln_status st = image->kind == WALK_PTX
                              ? describe_ptx(policy, bytes, size, image, err)
                              : describe_cubin(policy, bytes, size, image, err);

    if (image->raw && !st) {
        image->sm = image->text_sm;
        image->variant = image->text_variant;
    }
    return st;
}

struct walk_device image_walk_device(const struct kiln_target *t)
{
    return (struct walk_device){
        .isa = t->kind == KILN_DEVICE_CPU ? WALK_ISA_HOST : WALK_ISA_SASS,
        .sm = t->sm,
        .driver_version = t->driver_version,
        .memory = t->memory};
}

struct walk_options image_walk_options(const struct kiln_target *t)
{
    return (struct walk_options){
        .policy = t->policy == KILN_POLICY_DRIVER ? WALK_DRIVER : WALK_BEST,
        .force_ptx = t->force_ptx,
        .disable_jit = t->disable_jit,
        .prefer_ptx = t->prefer_ptx,
        .target = t->jit_for};
}

enum kiln_status kiln_get_target(const struct kiln *kiln,
                                 struct kiln_target *target,
                                 struct kiln_error *err)
{
    struct kiln_target out = {
        .kind = kiln->driver.kind == DRIVER_NVIDIA ? KILN_DEVICE_NVIDIA
                                                   : KILN_DEVICE_CPU,
        .sm = (unsigned)(kiln->device.major * 10 + kiln->device.minor),
        .driver_version = kiln->driver.version,
        .policy = KILN_POLICY_BEST,
        .force_ptx = env_flag("CUDA_FORCE_PTX_JIT"),
        .disable_jit = env_flag("CUDA_DISABLE_PTX_JIT"),
        .memory = kiln->device.memory};

    (void)err;
    out.size = target->size;
    options_write(target, &out, sizeof out);
    return KILN_OK;
}

void image_walk_target(const struct kiln *kiln,
                       const struct kiln_load_options *options,
                       struct kiln_target *target)
{
    *target = (struct kiln_target){.size = sizeof *target};
    kiln_get_target(kiln, target, NULL);
    target->policy = options->policy;
    for (size_t i = 0; i < options->jit_count; i++) {
        const struct kiln_jit_option *o = &options->jit[i];

        if (!strcmp(o->key, "target") && o->value > 0)
            target->jit_for = (unsigned)o->value;
        else if (!strcmp(o->key, "fallback"))
            target->prefer_ptx = o->value == CU_PREFER_PTX;
    }
}

void image_walk(const struct kiln *kiln, const struct kiln_image *image,
                const struct kiln_load_options *options, struct image_walk *out)
{
    struct kiln_target target;
    struct walk_device device;
    struct walk_options o;

    memset(out, 0, sizeof *out);
    image_walk_target(kiln, options, &target);
    device = image_walk_device(&target);
    o = image_walk_options(&target);
    out->image = (struct walk_image){
        .kind = image->kind == KILN_IMAGE_PTX ? WALK_PTX : WALK_CUBIN,
        .raw = 1};
    if (image_walk_describe(target.policy, image->bytes, image->size,
                            &out->image, &out->damage))
        out->image.note = out->damage.text;
    walk(&out->image, 1, &device, &o, &out->verdict, &out->result);
    walk_predict(&out->image, 1, &device, &o, &out->verdict, &out->result,
                 out->prediction, sizeof out->prediction);
}

enum kiln_status kiln_predict(struct kiln *kiln, const struct kiln_image *image,
                              const struct kiln_load_options *options,
                              char *text, size_t size, struct kiln_error *err)
{
    struct kiln_load_options o;
    struct image_walk w;
    enum kiln_status st;

    OPTIONS_READ(o, options);
    image_walk(kiln, image, &o, &w);
    if (text && size)
        snprintf(text, size, "%s", w.prediction);
    st = w.result.status;
    if (st)
        kiln_fail(err, st, "%s", w.result.text);
    return st;
}
