/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ to PTX by libkiln: NVRTC where it is installed, else clang. The
 * relaxed mathematics has another name for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "kiln/kiln.h"

static struct kiln *kiln;

static enum kiln_status compile_with(const char *compiler, const char *math,
                                     const char *source,
                                     struct kiln_image **image,
                                     struct kiln_error *err)
{
    const char *const extra[] = {math};
    const struct kiln_source input = {.size = sizeof input,
                                      .text = source,
                                      .text_size = strlen(source),
                                      .kind = KILN_SOURCE_CUDA};
    const struct kiln_compile_options options = {.size = sizeof options,
                                                 .compiler = compiler,
                                                 .extra = extra,
                                                 .extra_count = 1};

    return kiln_compile(kiln, &input, &options, image, err);
}

char *compile_ptx(const char *source, char *why)
{
    const struct kiln_open_options options = {
        .size = sizeof options, .device = "cpu", .no_cache = 1};
    struct kiln_image *image = NULL;
    struct kiln_error err = {0};
    enum kiln_status st = KILN_OK;
    char *text = NULL;
    const void *bytes;
    size_t size;

    if (!kiln)
        st = kiln_open(&options, &kiln, &err);
    if (!st) {
        st = compile_with("nvrtc", "--use_fast_math", source, &image, &err);
        if (st == KILN_E_NO_COMPILER)
            st = compile_with("clang", "-ffast-math", source, &image, &err);
    }
    if (st) {
        snprintf(why, WHY, "Kiln: %s", err.text);
        return NULL;
    }
    bytes = kiln_image_bytes(image, &size);
    text = calloc(1, size + 1);
    if (text)
        memcpy(text, bytes, size);
    kiln_image_free(image);
    return text;
}
