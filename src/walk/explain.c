/* SPDX-License-Identifier: MIT
 *
 * The walk in words: fact found, fact needed, and what would help.
 */
#include "walk/rules.h"

#include <stdio.h>

static const char *const names[WALK_REASON_COUNT] = {
    [WALK_TAKEN] = "taken",
    [WALK_LESS] = "less",
    [WALK_OTHER_ISA] = "other-isa",
    [WALK_OTHER_SM] = "other-sm",
    [WALK_OTHER_ARCH] = "other-arch",
    [WALK_OTHER_FAMILY] = "other-family",
    [WALK_TARGET_ABOVE] = "target-above",
    [WALK_PTX_TOO_NEW] = "ptx-too-new",
    [WALK_FORCED_PTX] = "forced-ptx",
    [WALK_JIT_OFF] = "jit-off",
    [WALK_NO_JIT] = "no-jit",
    [WALK_KIND] = "kind",
    [WALK_DAMAGED] = "damaged",
    [WALK_MISLABELLED] = "mislabelled",
    [WALK_OBJECT_UNFIT] = "object-unfit",
    [WALK_TOO_LARGE] = "too-large",
};

const char *walk_reason_name(enum walk_reason reason)
{
    return (unsigned)reason < WALK_REASON_COUNT ? names[reason] : "unknown";
}

void walk_describe(const struct walk_image *image, char *text, size_t size)
{
    char letter[2] = {image->variant, 0};

    switch (image->kind) {
    case WALK_PTX:
        snprintf(text, size, "PTX %u.%u for sm_%u%s", image->ptx_major,
                 image->ptx_minor, image->sm, letter);
        break;
    case WALK_CUBIN:
        snprintf(text, size, "a cubin for sm_%u%s", image->sm, letter);
        break;
    case WALK_OBJECT:
        snprintf(text, size, "an object of the CPU driver");
        break;
    case WALK_LTO:
        snprintf(text, size, "LTO IR for sm_%u%s", image->sm, letter);
        break;
    default:
        snprintf(text, size, "an entry of unknown kind");
        break;
    }
}

static void too_new(const struct walk_query *q, const struct walk_image *image,
                    char *text, size_t size)
{
    const struct walk_release *release =
        walk_release_for_ptx(image->ptx_major, image->ptx_minor);
    int n = snprintf(
        text, size, "its PTX version is %u.%u, the driver takes up to %u.%u",
        image->ptx_major, image->ptx_minor, q->ptx_major, q->ptx_minor);

    if (n <= 0 || (size_t)n >= size || !release)
        return;
    if (release->driver)
        snprintf(text + n, size - (size_t)n,
                 "; the driver of CUDA %d.%d (%u) or a newer one is needed",
                 release->cuda / 100, release->cuda % 100, release->driver);
    else
        snprintf(text + n, size - (size_t)n,
                 "; the driver of CUDA %d.%d or a newer one is needed",
                 release->cuda / 100, release->cuda % 100);
}

static void target_text(const struct walk_query *q,
                        const struct walk_image *image, char *text, size_t size)
{
    int own = image->text_sm && image->text_sm > image->sm;
    char letter[2] = {own ? image->text_variant : image->variant, 0};

    snprintf(text, size, "%s is sm_%u%s, above the device's sm_%u",
             own ? "the .target of its text" : "its target",
             own ? image->text_sm : image->sm, letter, q->target);
}

void walk_explain(const struct walk_query *q, const struct walk_image *image,
                  enum walk_reason reason, char *text, size_t size)
{
    const char *note = image->note ? image->note : "";
    int ptx = image->kind == WALK_PTX;

    switch (reason) {
    case WALK_TAKEN:
        snprintf(text, size, "taken, %s",
                 ptx ? "to be compiled by the driver" : "loaded as it is");
        break;
    case WALK_LESS:
        snprintf(text, size, "would do, another image goes before it");
        break;
    case WALK_OTHER_ISA:
        snprintf(text, size, "%s",
                 image->kind == WALK_OBJECT
                     ? "code for the host's processor, not for a GPU"
                     : "code for NVIDIA's processors, the device is the CPU");
        break;
    case WALK_OTHER_SM:
        snprintf(text, size, "its code is for sm_%u, the device is sm_%u",
                 q->best && image->text_sm ? image->text_sm : image->sm,
                 q->target);
        break;
    case WALK_OTHER_ARCH:
        snprintf(text, size,
                 "an \"a\" target runs on sm_%u alone, the device is sm_%u",
                 image->text_sm ? image->text_sm : image->sm, q->target);
        break;
    case WALK_OTHER_FAMILY:
        snprintf(text, size,
                 "an \"f\" target runs within its family, sm_%u is not of it",
                 q->target);
        break;
    case WALK_TARGET_ABOVE:
        target_text(q, image, text, size);
        break;
    case WALK_PTX_TOO_NEW:
        too_new(q, image, text, size);
        break;
    case WALK_FORCED_PTX:
        snprintf(text, size, "passed over: CUDA_FORCE_PTX_JIT is set");
        break;
    case WALK_JIT_OFF:
        snprintf(text, size,
                 "must be compiled, and CUDA_DISABLE_PTX_JIT is set");
        break;
    case WALK_NO_JIT:
        snprintf(text, size, "must be compiled, and there is no PTX compiler");
        break;
    case WALK_KIND:
        snprintf(text, size, "%s",
                 image->kind != WALK_LTO ? "an entry of unknown kind"
                 : !image->ptx_minor
                     ? "LTO IR of a version that no driver knows"
                     : "LTO IR must be linked first");
        break;
    case WALK_DAMAGED:
        snprintf(text, size, "damaged: %s",
                 *note                           ? note
                 : image->defect == WALK_NOT_PTX ? "not PTX text"
                 : image->defect == WALK_NOT_ELF ? "not a cubin"
                                                 : "does not unpack");
        break;
    case WALK_MISLABELLED:
        snprintf(
            text, size, "code for sm_%u comes of it, which sm_%u does not run",
            !ptx && image->text_sm ? image->text_sm : q->target, q->device->sm);
        break;
    case WALK_OBJECT_UNFIT:
        snprintf(text, size, "%s",
                 *note ? note : "made for another processor or build");
        break;
    case WALK_TOO_LARGE:
        snprintf(text, size,
                 "its global variables take %llu bytes, the device has %llu",
                 (unsigned long long)image->global_bytes,
                 (unsigned long long)q->device->memory);
        break;
    default:
        snprintf(text, size, "unknown");
        break;
    }
}

/* Why the image that is taken has to be compiled. */
static void why_compiled(const struct walk_image *images, size_t count,
                         const struct walk_device *device,
                         const struct walk_verdict *verdicts, uint32_t target,
                         char *text, size_t size)
{
    if (device->isa == WALK_ISA_HOST) {
        snprintf(text, size, "the device is the CPU");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (images[i].kind != WALK_CUBIN)
            continue;
        if (verdicts[i].reason == WALK_FORCED_PTX) {
            snprintf(text, size, "CUDA_FORCE_PTX_JIT is set");
            return;
        }
        if (verdicts[i].reason == WALK_DAMAGED && images[i].sm == target) {
            snprintf(text, size, "the cubin for sm_%u is damaged", target);
            return;
        }
    }
    snprintf(text, size, "no cubin for sm_%u", target);
}

void walk_predict(const struct walk_image *images, size_t count,
                  const struct walk_device *device,
                  const struct walk_options *options,
                  const struct walk_verdict *verdicts,
                  const struct walk_result *result, char *text, size_t size)
{
    uint32_t target = options->target && !result->target_ignored
                          ? options->target
                          : device->sm;
    char why[64];
    int n;

    if (result->status || result->chosen < 0) {
        n = snprintf(text, size, "this load will fail: %s", result->text);
    } else if (result->compiles) {
        const struct walk_image *image = &images[result->chosen];
        int own = image->text_sm != 0;
        char letter[2] = {own ? image->text_variant : image->variant, 0};

        why_compiled(images, count, device, verdicts, target, why, sizeof why);
        n = snprintf(text, size,
                     "this load will be compiled by the driver: %s, PTX %u.%u "
                     "for compute_%u%s",
                     why, image->ptx_major, image->ptx_minor,
                     own ? image->text_sm : image->sm, letter);
    } else {
        walk_describe(&images[result->chosen], why, sizeof why);
        n = snprintf(text, size, "this load will copy %s: nothing is compiled",
                     why);
    }
    if (result->target_ignored && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n,
                 "; CU_JIT_TARGET %u is left out, sm_%u does not run its code",
                 options->target, device->sm);
}
