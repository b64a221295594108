/* SPDX-License-Identifier: MIT
 *
 * What the two policies share: the question put, and whether numbers fit.
 */
#ifndef KILN_WALK_RULES_H
#define KILN_WALK_RULES_H

#include "walk/walk.h"

/* The question with its defaults filled in. */
struct walk_query {
    const struct walk_device *device;
    const struct walk_options *options;
    uint32_t target; /* the number that is looked for */
    uint16_t ptx_major;
    uint16_t ptx_minor;
    int best;
};

/* Whether machine code for (sm, variant) runs on a device. WALK_LESS when it
 * does, else the reason. */
enum walk_reason walk_code_fits(uint32_t sm, char variant, uint32_t device_sm,
                                int integrated);
/* Whether this PTX's version is above what the JIT takes. */
int walk_too_new(const struct walk_query *q, const struct walk_image *image);

/* Whether the image can be chosen: WALK_LESS with *score set, the higher the
 * better, or the reason why not. *last: of equals the last one wins. */
enum walk_reason walk_judge(const struct walk_query *q,
                            const struct walk_image *image, uint64_t *score,
                            int *last);
/* What becomes of the chosen image: KILN_OK with WALK_TAKEN, or the failure
 * that NVIDIA's driver gives for it. */
enum kiln_status walk_load(const struct walk_query *q,
                           const struct walk_image *image,
                           enum walk_reason *reason);

/* Whether what was decided of the image rests on the manual alone: a device
 * of capability 9.0 shows no cubin of a lower minor number, no family and no
 * integrated device. */
int walk_unverified(const struct walk_query *q, const struct walk_image *image);

/* The sentence for a reason. taken_rank as in the verdict. */
void walk_explain(const struct walk_query *q, const struct walk_image *image,
                  enum walk_reason reason, char *text, size_t size);
/* "PTX 8.0 for sm_80", "a cubin for sm_90a". */
void walk_describe(const struct walk_image *image, char *text, size_t size);

#endif
