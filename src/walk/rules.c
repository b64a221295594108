/* SPDX-License-Identifier: MIT
 *
 * The rules of the walk, one image at a time. For policy `driver` they are
 * what NVIDIA's driver 580 did on a device of compute capability 9.0; lines
 * marked "by the manual" could not be seen on that device.
 */
#include "walk/rules.h"

/* Machine code for these and for the others does not mix (by the manual). */
static int integrated_sm(uint32_t sm)
{
    static const uint8_t list[] = {32, 53, 62, 72, 87, 88, 101, 110};

    for (size_t i = 0; i < sizeof list; i++)
        if (list[i] == sm)
            return 1;
    return 0;
}

/* Same major number, minor not above: families are made of these, from 100
 * on (by the manual). */
static int family_fits(uint32_t sm, uint32_t device_sm)
{
    return device_sm >= 100 && sm / 10 == device_sm / 10 && sm <= device_sm;
}

enum walk_reason walk_code_fits(uint32_t sm, char variant, uint32_t device_sm,
                                int integrated)
{
    if (variant == 'f')
        return family_fits(sm, device_sm) ? WALK_LESS : WALK_OTHER_FAMILY;
    if (sm == device_sm)
        return WALK_LESS;
    if (variant == 'a')
        return WALK_OTHER_ARCH;
    /* By the manual: the same major and a lower minor number. */
    if (sm / 10 != device_sm / 10 || sm > device_sm || integrated ||
        integrated_sm(sm) || integrated_sm(device_sm))
        return WALK_OTHER_SM;
    return WALK_LESS;
}

int walk_target_fits(uint32_t sm, char variant, uint32_t device_sm)
{
    if (variant == 'a')
        return sm == device_sm;
    if (variant == 'f')
        return family_fits(sm, device_sm);
    return sm <= device_sm;
}

static enum walk_reason target_reason(uint32_t sm, char variant,
                                      uint32_t device_sm)
{
    if (walk_target_fits(sm, variant, device_sm))
        return WALK_LESS;
    if (sm > device_sm)
        return WALK_TARGET_ABOVE;
    return variant == 'a' ? WALK_OTHER_ARCH : WALK_OTHER_FAMILY;
}

int walk_too_new(const struct walk_query *q, const struct walk_image *image)
{
    return image->ptx_major > q->ptx_major ||
           (image->ptx_major == q->ptx_major &&
            image->ptx_minor > q->ptx_minor);
}

int walk_unverified(const struct walk_query *q, const struct walk_image *image)
{
    if (q->device->isa != WALK_ISA_SASS)
        return 0;
    if (image->kind == WALK_PTX)
        return image->variant == 'f' && q->target >= 100;
    if (image->kind != WALK_CUBIN || image->defect != WALK_SOUND)
        return 0;
    return (image->variant == 'f' && q->target >= 100) ||
           (image->sm != q->target && image->sm / 10 == q->target / 10);
}

static int too_large(const struct walk_query *q, const struct walk_image *image)
{
    return q->device->memory && image->global_bytes > q->device->memory;
}

/* What goes before what: code for this very number, code for a lower one,
 * PTX; code for a lower one last where the caller prefers PTX to it (by the
 * manual). */
enum { TIER_LAST, TIER_PTX, TIER_NEAR, TIER_EXACT };

/* A higher number before a lower one, then "a", then "f", then plain. Where
 * the number is not the one looked for, the letter does not count. */
static uint64_t score_of(int tier, uint32_t sm, char variant, uint32_t target)
{
    uint64_t letter = variant == 'a' ? 2 : variant == 'f' ? 1 : 0;

    return (uint64_t)tier << 56 | (uint64_t)(sm & 0xffffff) << 32 |
           (sm == target ? letter << 24 : 0);
}

/* ---- policy driver: the container's header alone decides --------------- */

static enum walk_reason driver_ptx(const struct walk_query *q,
                                   const struct walk_image *image,
                                   uint64_t *score, int *last)
{
    *score = score_of(TIER_PTX, image->sm, image->variant, q->target);
    if (image->raw)
        return WALK_LESS; /* whatever it is, it is given to the JIT */
    if (image->sm > q->target)
        return WALK_TARGET_ABOVE;
    if (image->variant == 'f' && !family_fits(image->sm, q->target))
        return WALK_OTHER_FAMILY;
    /* An "a" below the device's number is taken as if it were plain. Of
     * equals the first wins, but of plain ones for the number itself the
     * last. */
    *last = image->sm == q->target && !image->variant;
    return WALK_LESS;
}

static enum walk_reason driver_native(const struct walk_query *q,
                                      const struct walk_image *image,
                                      uint64_t *score)
{
    if (image->kind == WALK_OBJECT) {
        if (q->device->isa != WALK_ISA_HOST)
            return WALK_OTHER_ISA;
        if (!image->object_fits)
            return WALK_OBJECT_UNFIT;
        *score = score_of(TIER_EXACT, 0, 0, q->target);
        return !image->raw && q->options->force_ptx ? WALK_FORCED_PTX
                                                    : WALK_LESS;
    }
    if (q->device->isa != WALK_ISA_SASS)
        return WALK_OTHER_ISA;
    if (!image->raw && q->options->force_ptx)
        return WALK_FORCED_PTX;
    *score = score_of(image->sm == q->target   ? TIER_EXACT
                      : q->options->prefer_ptx ? TIER_LAST
                                               : TIER_NEAR,
                      image->sm, image->variant, q->target);
    return walk_code_fits(image->sm, image->variant, q->target,
                          q->device->integrated);
}

/* ---- policy best: the image's own words decide -------------------------- */

static enum walk_reason best_ptx(const struct walk_query *q,
                                 const struct walk_image *image,
                                 uint64_t *score)
{
    uint32_t sm = image->text_sm ? image->text_sm : image->sm;
    char variant = image->text_sm ? image->text_variant : image->variant;
    enum walk_reason reason = target_reason(sm, variant, q->target);

    if (image->defect != WALK_SOUND)
        return WALK_DAMAGED;
    if (reason != WALK_LESS)
        return reason;
    if (too_large(q, image))
        return WALK_TOO_LARGE;
    if (walk_too_new(q, image))
        return WALK_PTX_TOO_NEW;
    if (q->options->disable_jit)
        return WALK_JIT_OFF;
    if (q->options->no_compiler)
        return WALK_NO_JIT;
    *score = score_of(TIER_PTX, sm, variant, q->target) |
             (uint64_t)(image->ptx_major & 0xfff) << 12 |
             (image->ptx_minor & 0xfff);
    return WALK_LESS;
}

static enum walk_reason best_native(const struct walk_query *q,
                                    const struct walk_image *image,
                                    uint64_t *score)
{
    struct walk_image own = *image;
    enum walk_reason reason;

    if (image->defect != WALK_SOUND)
        return WALK_DAMAGED;
    if (image->text_sm) {
        own.sm = image->text_sm;
        /* ABI 8 does not tell the letter in the ELF header. */
        if (image->text_variant || image->text_sm != image->sm)
            own.variant = image->text_variant;
    }
    reason = driver_native(q, &own, score);
    return reason == WALK_LESS && too_large(q, image) ? WALK_TOO_LARGE : reason;
}

enum walk_reason walk_judge(const struct walk_query *q,
                            const struct walk_image *image, uint64_t *score,
                            int *last)
{
    *score = 0;
    *last = 0;
    switch (image->kind) {
    case WALK_PTX:
        return q->best ? best_ptx(q, image, score)
                       : driver_ptx(q, image, score, last);
    case WALK_CUBIN:
    case WALK_OBJECT:
        return q->best ? best_native(q, image, score)
                       : driver_native(q, image, score);
    default:
        return WALK_KIND;
    }
}

/* The last step: variables of their own. */
static enum kiln_status load_variables(const struct walk_query *q,
                                       const struct walk_image *image,
                                       enum walk_reason *reason)
{
    if (!too_large(q, image))
        return KILN_OK;
    *reason = WALK_TOO_LARGE;
    return KILN_E_MEMORY;
}

static enum kiln_status load_ptx(const struct walk_query *q,
                                 const struct walk_image *image,
                                 enum walk_reason *reason)
{
    uint32_t sm = image->text_sm ? image->text_sm : image->sm;
    char variant = image->text_sm ? image->text_variant : 0;
    enum walk_reason fit;

    if (q->options->disable_jit) {
        *reason = WALK_JIT_OFF;
        return KILN_E_JIT_DISABLED;
    }
    if (q->options->no_compiler) {
        *reason = WALK_NO_JIT;
        return KILN_E_JIT_COMPILER;
    }
    if (image->defect != WALK_SOUND) {
        *reason = WALK_DAMAGED;
        return image->defect == WALK_NOT_PTX ? KILN_E_PTX : KILN_E_IMAGE;
    }
    if (walk_too_new(q, image)) {
        *reason = WALK_PTX_TOO_NEW;
        return KILN_E_PTX_VERSION;
    }
    fit = target_reason(sm, variant, q->target);
    if (fit != WALK_LESS) {
        *reason = fit;
        return KILN_E_PTX;
    }
    /* The JIT compiles for the number that was asked for, and the device
     * then refuses the result. */
    if (walk_code_fits(q->target, 0, q->device->sm, q->device->integrated) !=
        WALK_LESS) {
        *reason = WALK_MISLABELLED;
        return KILN_E_SOURCE;
    }
    return load_variables(q, image, reason);
}

enum kiln_status walk_load(const struct walk_query *q,
                           const struct walk_image *image,
                           enum walk_reason *reason)
{
    *reason = WALK_TAKEN;
    if (image->kind == WALK_PTX)
        return load_ptx(q, image, reason);
    if (image->defect != WALK_SOUND) {
        *reason = WALK_DAMAGED;
        return KILN_E_IMAGE;
    }
    if (image->kind == WALK_CUBIN &&
        walk_code_fits(image->text_sm ? image->text_sm : image->sm,
                       image->text_sm ? image->text_variant : image->variant,
                       q->device->sm, q->device->integrated) != WALK_LESS) {
        *reason = WALK_MISLABELLED;
        return KILN_E_SOURCE;
    }
    return load_variables(q, image, reason);
}
