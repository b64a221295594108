/* SPDX-License-Identifier: MIT
 *
 * One image put to the walk: from its bytes to the description that src/walk
 * judges by, and a compiled image's admission to the driver.
 */
#ifndef KILN_KERNEL_IMAGE_WALK_H
#define KILN_KERNEL_IMAGE_WALK_H

#include "kernel/handle.h"
#include "kiln/image.h"
#include "walk/walk.h"

/* Fills what the bytes themselves say: image->kind and ->raw are given. Any
 * status is that of a damaged image, of which err says what image->note may.
 */
enum kiln_status image_walk_describe(enum kiln_policy policy, const void *bytes,
                                     size_t size, struct walk_image *image,
                                     struct kiln_error *err);

struct walk_device image_walk_device(const struct kiln_target *target);
struct walk_options image_walk_options(const struct kiln_target *target);

/* The target of an open device with a load's own JIT options in it. */
void image_walk_target(const struct kiln *kiln,
                       const struct kiln_load_options *options,
                       struct kiln_target *target);

/* What a load of the image would do: the result, and the sentence. */
struct image_walk {
    struct kiln_error damage; /* of the image, whose note it is */
    struct walk_image image;
    struct walk_verdict verdict;
    struct walk_result result;
    char prediction[300];
};
void image_walk(const struct kiln *kiln, const struct kiln_image *image,
                const struct kiln_load_options *options,
                struct image_walk *out);

/* kiln_load without the walk: to the driver as it is. without_target: a
 * JIT option "target" is left out, which the stage's text says. */
enum kiln_status image_load(struct kiln *kiln, const struct kiln_image *image,
                            const struct kiln_load_options *options,
                            int without_target, struct kiln_library **out,
                            struct kiln_error *err);

#endif
