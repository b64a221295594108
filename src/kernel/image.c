/* SPDX-License-Identifier: MIT */
#include "kernel/image.h"

#include <string.h>

#include "base/alloc.h"

enum kiln_image_kind kiln_image_kind(const struct kiln_image *image)
{
    return image->kind;
}

const void *kiln_image_bytes(const struct kiln_image *image, size_t *size)
{
    if (size)
        *size = image->size;
    return image->bytes;
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

const char *kiln_image_log(const struct kiln_image *image)
{
    return text_of(image->log);
}

const char *kiln_image_target(const struct kiln_image *image)
{
    return text_of(image->target);
}

const char *kiln_image_compiler(const struct kiln_image *image)
{
    return text_of(image->compiler);
}

const char *kiln_image_symbol(const struct kiln_image *image, const char *name)
{
    for (size_t i = 0; i < image->name_count; i++)
        if (!strcmp(image->names[i], name))
            return image->symbols[i];
    return NULL;
}

int image_set_bytes(struct kiln_image *image, const void *bytes, size_t size)
{
    image->bytes = kiln_alloc(size + 1);
    if (!image->bytes)
        return -1;
    memcpy(image->bytes, bytes, size);
    image->bytes[size] = 0;
    image->size = size;
    return 0;
}

int image_add_symbol(struct kiln_image *image, const char *name,
                     const char *symbol)
{
    size_t n = image->name_count;
    char **names, **symbols;

    names = kiln_array(image->names, n + 1, sizeof *names);
    if (!names)
        return -1;
    image->names = names;
    symbols = kiln_array(image->symbols, n + 1, sizeof *symbols);
    if (!symbols)
        return -1;
    image->symbols = symbols;
    names[n] = kiln_strdup(name);
    symbols[n] = kiln_strdup(symbol);
    image->name_count = n + 1;
    return names[n] && symbols[n] ? 0 : -1;
}

static char *copy_text(const char *text, int *bad)
{
    char *copy = text ? kiln_strdup(text) : NULL;

    *bad |= text && !copy;
    return copy;
}

struct kiln_image *image_copy(const struct kiln_image *image)
{
    struct kiln_image *copy = kiln_zalloc(sizeof *copy);
    int bad = 0;

    if (!copy)
        return NULL;
    copy->kind = image->kind;
    bad |= image_set_bytes(copy, image->bytes, image->size);
    copy->name = copy_text(image->name, &bad);
    copy->log = copy_text(image->log, &bad);
    copy->target = copy_text(image->target, &bad);
    copy->compiler = copy_text(image->compiler, &bad);
    for (size_t i = 0; i < image->name_count && !bad; i++)
        bad |= image_add_symbol(copy, image->names[i], image->symbols[i]);
    if (bad) {
        kiln_image_free(copy);
        return NULL;
    }
    return copy;
}

void kiln_image_free(struct kiln_image *image)
{
    if (!image)
        return;
    for (size_t i = 0; i < image->name_count; i++) {
        kiln_release(image->names[i]);
        kiln_release(image->symbols[i]);
    }
    kiln_release(image->names);
    kiln_release(image->symbols);
    kiln_release(image->bytes);
    kiln_release(image->name);
    kiln_release(image->log);
    kiln_release(image->target);
    kiln_release(image->compiler);
    kiln_release(image);
}
