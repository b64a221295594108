/* SPDX-License-Identifier: MIT
 *
 * An image onto the device. Both of the driver's log buffers are always
 * given: what it says of a load, good or bad, is the caller's to read.
 */
#include <string.h>

#include "base/alloc.h"
#include "kernel/handle.h"
#include "kernel/image_walk.h"

enum { LOG_SIZE = 16384, JIT_MAX = 32, LOG_OPTIONS = 4 };

static const struct {
    const char *key;
    CUjit_option option;
    int least, most;
} jit_keys[] = {
#define X(key, option, least, most) {key, option, least, most},
#include "kernel/jit_options.def"
#undef X
};
enum { JIT_KEYS = sizeof jit_keys / sizeof *jit_keys };

const char *kiln_jit_key(size_t index)
{
    return index < JIT_KEYS ? jit_keys[index].key : NULL;
}

struct jit {
    CUjit_option options[JIT_MAX + LOG_OPTIONS];
    void *values[JIT_MAX + LOG_OPTIONS];
    unsigned count;
    char *info, *error;
};

static void jit_add(struct jit *j, CUjit_option option, uintptr_t value)
{
    j->options[j->count] = option;
    j->values[j->count] = (void *)value;
    j->count++;
}

static enum kiln_status jit_read(struct jit *j,
                                 const struct kiln_load_options *o,
                                 int without_target, struct kiln_error *err)
{
    memset(j, 0, sizeof *j);
    if (o->jit_count > JIT_MAX)
        return kiln_fail(err, KILN_E_INVALID, "%zu JIT options, %d at most",
                         o->jit_count, JIT_MAX);
    for (size_t i = 0; i < o->jit_count; i++) {
        size_t k = 0;

        while (k < JIT_KEYS && strcmp(jit_keys[k].key, o->jit[i].key))
            k++;
        if (k == JIT_KEYS)
            return kiln_fail(err, KILN_E_INVALID,
                             "JIT option \"%s\": not known; max-registers, "
                             "opt-level and others are (kiln help run)",
                             o->jit[i].key);
        if (o->jit[i].value < jit_keys[k].least ||
            o->jit[i].value > jit_keys[k].most)
            return kiln_fail(err, KILN_E_INVALID,
                             "JIT option %s=%d: %d to %d expected",
                             o->jit[i].key, o->jit[i].value, jit_keys[k].least,
                             jit_keys[k].most);
        if (without_target && jit_keys[k].option == CU_JIT_TARGET)
            continue;
        jit_add(j, jit_keys[k].option, (uintptr_t)(intptr_t)o->jit[i].value);
    }
    return KILN_OK;
}

static enum kiln_status jit_init(struct jit *j,
                                 const struct kiln_load_options *o,
                                 int without_target, struct kiln_error *err)
{
    enum kiln_status st = jit_read(j, o, without_target, err);

    if (st)
        return st;
    j->info = kiln_zalloc(LOG_SIZE);
    j->error = kiln_zalloc(LOG_SIZE);
    if (!j->info || !j->error)
        return kiln_fail(err, KILN_E_MEMORY, "load: out of memory");
    jit_add(j, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)j->info);
    jit_add(j, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, LOG_SIZE);
    jit_add(j, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)j->error);
    jit_add(j, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LOG_SIZE);
    return KILN_OK;
}

static void jit_fini(struct jit *j)
{
    kiln_release(j->info);
    kiln_release(j->error);
}

/* The first line of the driver's error log that says something. */
static size_t first_line(const char *log, const char **line)
{
    while (*log == '\n' || *log == ' ')
        log++;
    *line = log;
    return strcspn(log, "\n");
}

/* Whether the driver compiled the PTX or had it, as its counters say. */
static enum kiln_cache_state
cache_state(const struct kiln *kiln, const struct driver_cache_counts *before)
{
    struct driver_cache_counts after = {.warned = cache_warned(0)};

    driver_cache_counts(&kiln->driver, &after);
    cache_warned(after.warned);
    return after.waits > before->waits     ? KILN_CACHE_WAIT
           : after.misses > before->misses ? KILN_CACHE_MISS
           : after.hits > before->hits     ? KILN_CACHE_HIT
                                           : KILN_CACHE_NONE;
}

static enum kiln_status load(struct kiln_library *l, struct jit *j,
                             struct kiln_error *err)
{
    struct kiln *k = l->kiln;
    const char *line;
    size_t n;
    CUresult result = k->driver.cuModuleLoadDataEx(
        &l->module, l->image->bytes, j->count, j->options, j->values);
    enum kiln_status st;

    j->info[LOG_SIZE - 1] = j->error[LOG_SIZE - 1] = '\0';
    if (*j->info || *j->error) {
        k->log.size = 0;
        buffer_text(&k->log, j->error);
        buffer_text(&k->log, j->info);
    }
    if (!result)
        return KILN_OK;
    l->module = NULL;
    st = driver_fail(&k->driver, result, err, "load of %s (%s, for %s)",
                     l->image->name ? l->image->name : "an image",
                     l->image->kind == KILN_IMAGE_PTX ? "PTX" : "machine code",
                     l->image->target ? l->image->target : "?");
    n = first_line(j->error, &line);
    if (n && err) {
        size_t used = strlen(err->text);

        if (used + 4 < sizeof err->text) {
            size_t room = sizeof err->text - used - 3;

            n = n < room ? n : room;
            memcpy(err->text + used, ": ", 2);
            memcpy(err->text + used + 2, line, n);
            err->text[used + 2 + n] = '\0';
        }
    }
    return st;
}

enum kiln_status image_load(struct kiln *kiln, const struct kiln_image *image,
                            const struct kiln_load_options *options,
                            int without_target, struct kiln_library **out,
                            struct kiln_error *err)
{
    struct driver_scope scope = {0};
    struct driver_cache_counts before = {.warned = cache_warned(0)};
    struct stage stage;
    struct jit jit;
    struct kiln_library *l = kiln_zalloc(sizeof *l);
    enum kiln_status st;

    driver_cache_counts(&kiln->driver, &before);
    stage_begin(&stage, &kiln->timeline, "load");
    st = jit_init(&jit, options, without_target, err);
    if (st)
        goto out;
    if (l)
        l->image = image_copy(image);
    if (!l || !l->image) {
        st = kiln_fail(err, KILN_E_MEMORY, "load: out of memory");
        goto out;
    }
    l->kiln = kiln;
    st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (!st)
        st = load(l, &jit, err);
    stage.record.cache = cache_state(kiln, &before);
    if (st)
        goto out;
    stage_text(&stage, "%s, %zu bytes%s",
               image->kind == KILN_IMAGE_PTX ? "PTX" : "machine code",
               image->size,
               without_target ? "; CU_JIT_TARGET left out, the device does "
                                "not run its code"
                              : "");
    *out = l;
    l = NULL;
out:
    driver_scope_end(&scope);
    stage_end(&stage);
    jit_fini(&jit);
    kiln_library_free(l);
    return st;
}

/* What the walk refuses, as the driver would have: with its own result. */
static enum kiln_status refuse(struct kiln *kiln,
                               const struct kiln_image *image,
                               const struct walk_result *result,
                               struct kiln_error *err)
{
    CUresult code = (CUresult)kiln_status_cuda(result->status);
    const char *name = NULL;

    if (kiln->driver.cuGetErrorName(code, &name) || !name)
        name = "unknown error";
    return kiln_fail(
        err, result->status, "load of %s (%s, for %s): %s (%d): %s",
        image->name ? image->name : "an image",
        image->kind == KILN_IMAGE_PTX ? "PTX" : "machine code",
        image->target ? image->target : "?", name, (int)code, result->text);
}

enum kiln_status kiln_load(struct kiln *kiln, const struct kiln_image *image,
                           const struct kiln_load_options *options,
                           struct kiln_library **out, struct kiln_error *err)
{
    struct kiln_load_options o;
    struct image_walk w;
    struct jit jit;
    enum kiln_status st;

    OPTIONS_READ(o, options);
    if (o.policy == KILN_POLICY_DRIVER)
        return image_load(kiln, image, &o, 0, out, err);
    /* As the driver does: options before the image. */
    st = jit_read(&jit, &o, 0, err);
    if (st)
        return st;
    image_walk(kiln, image, &o, &w);
    return w.result.status
               ? refuse(kiln, image, &w.result, err)
               : image_load(kiln, image, &o, w.result.target_ignored, out, err);
}

void kiln_library_free(struct kiln_library *library)
{
    struct driver_scope scope = {0};

    if (!library)
        return;
    for (struct kiln_kernel *k = library->kernels, *next; k; k = next) {
        next = k->next;
        kiln_release(k->symbol);
        kiln_release(k->parameters);
        kiln_release(k);
    }
    if (library->module && !driver_scope_begin(&scope, &library->kiln->driver,
                                               library->kiln->context, NULL))
        library->kiln->driver.cuModuleUnload(library->module);
    driver_scope_end(&scope);
    kiln_image_free(library->image);
    kiln_release(library);
}
