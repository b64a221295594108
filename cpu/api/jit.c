/* SPDX-License-Identifier: MIT
 *
 * PTX -> image. First what this process has, then the store, then the
 * compiler, which is a plugin that is opened only here: a warm start never
 * sees it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "cache/cache.h"
#include "cpu/api/driver.h"
#include "cpu/api/image.h"
#include "cpu/jit/jit.h"

#define PLUGIN_NAME "libkiln-ptxjit.so"

struct plugin {
    void *handle; /* NULL: not opened yet */
    jit_compile_fn *compile;
    jit_result_free_fn *release;
    jit_identity_fn *identity;
};

static struct plugin plugin;
static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

/* Beside this library's own file, or one folder up for the drop-in. */
static void *open_beside(char *tried, size_t room)
{
    static const char *const places[] = {PLUGIN_NAME, "../" PLUGIN_NAME};
    void *library = NULL;
    Dl_info self;
    const char *slash;

    snprintf(tried, room, "%s", PLUGIN_NAME);
    if (!dladdr((void *)(uintptr_t)jit_image, &self) || !self.dli_fname)
        return NULL;
    slash = strrchr(self.dli_fname, '/');
    for (size_t i = 0; slash && !library && i < 2; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname),
                 self.dli_fname, places[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library && !i)
            snprintf(tried, room, "%.200s", dlerror());
    }
    return library;
}

static enum kiln_status open_plugin(struct plugin *out, struct kiln_error *err)
{
    const char *path = env_get("KILN_PTXJIT");
    char why[208] = "";
    struct plugin p = {0};

    if (path) {
        p.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!p.handle)
            snprintf(why, sizeof why, "%.200s", dlerror());
    } else {
        p.handle = open_beside(why, sizeof why);
    }
    if (!p.handle)
        return kiln_fail(err, KILN_E_JIT_COMPILER,
                         "PTX compiler: cannot open %s", why);
    p.compile = (jit_compile_fn *)dlsym(p.handle, JIT_COMPILE_NAME);
    p.release = (jit_result_free_fn *)dlsym(p.handle, JIT_FREE_NAME);
    p.identity = (jit_identity_fn *)dlsym(p.handle, JIT_IDENTITY_NAME);
    if (!p.compile || !p.release || !p.identity) {
        dlclose(p.handle);
        return kiln_fail(err, KILN_E_JIT_COMPILER,
                         "PTX compiler: %s does not export " JIT_COMPILE_NAME,
                         path ? path : PLUGIN_NAME);
    }
    /* The key of the store names the code generator before it is opened. */
    if (strcmp(p.identity(), driver_codegen()) &&
        strcmp(driver_codegen(), "none")) {
        kiln_fail(err, KILN_E_JIT_COMPILER,
                  "PTX compiler: found %s, this driver was built for %s",
                  p.identity(), driver_codegen());
        dlclose(p.handle);
        return KILN_E_JIT_COMPILER;
    }
    *out = p;
    return KILN_OK;
}

static enum kiln_status get_plugin(struct plugin *out, struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;

    pthread_mutex_lock(&plugin_lock);
    if (!plugin.handle)
        st = open_plugin(&plugin, err);
    *out = plugin;
    pthread_mutex_unlock(&plugin_lock);
    return st;
}

/* Everything that decides about the object's bytes. */
static void make_key(struct cache_key *key, const char *ptx, size_t size,
                     const struct load_options *o)
{
    const struct driver_config *c = driver_config();
    const char *isa = env_get("KILN_CPU_ISA"); /* asks for a lesser one */

    cache_key_init(key, "ptx-object");
    cache_key_bytes(key, "ptx", ptx, size);
    cache_key_u64(key, "level", o->level);
    cache_key_u64(key, "max registers", o->maxreg);
    cache_key_u64(key, "line info", (uint64_t)o->lineinfo);
    cache_key_u64(key, "target", c->walk.sm);
    cache_key_u64(key, "newest PTX",
                  c->walk.ptx_major * 10u + c->walk.ptx_minor);
    cache_key_text(key, "driver", driver_build());
    cache_key_text(key, "code generator", driver_codegen());
    cache_key_text(key, "processor", c->name);
    cache_key_text(key, "features", object_host_features());
    cache_key_text(key, "KILN_CPU_ISA", isa ? isa : "");
    cache_key_u64(key, "KILN_CPU_CHECK", (uint64_t)c->checks);
}

/* Compile; on success *object is a copy in our own heap. */
static enum kiln_status compile(const char *ptx, size_t size,
                                struct load_options *o, void **object,
                                size_t *object_size, struct kiln_error *err)
{
    const struct driver_config *c = driver_config();
    struct jit_request request = {
        .struct_size = sizeof request,
        .ptx = ptx,
        .size = size,
        .level = o->level,
        .maxnreg = o->maxreg,
        .target = c->walk.sm,
        .max_version = c->walk.ptx_major * 10u + c->walk.ptx_minor,
        .build = driver_build(),
        .lineinfo = (unsigned)o->lineinfo,
        .checks = (unsigned)c->checks,
        .log_warned = log_level_warned(0),
    };
    struct jit_result result = {.struct_size = sizeof result};
    struct kiln_error why = {0};
    struct plugin p;
    uint64_t began = clock_ns();
    enum kiln_status st = get_plugin(&p, &why);

    if (st) {
        options_error(o, why.text);
        kiln_fail(err, st, "%s", why.text);
        return st;
    }
    st = p.compile(&request, &result, &why);
    if (result.error_log && *result.error_log)
        options_error(o, result.error_log);
    else if (st)
        options_error(o, why.text);
    if (result.info_log && *result.info_log)
        options_info(o, "%s", result.info_log);
    if (!st && !(*object = kiln_alloc(result.size ? result.size : 1)))
        st = kiln_fail(&why, KILN_E_MEMORY, "PTX compiler: out of memory");
    if (!st) {
        memcpy(*object, result.object, result.size);
        *object_size = result.size;
    }
    p.release(&result);
    log_line(LOG_DEBUG, "PTX compiled in %.1f ms: %s",
             (double)(clock_ns() - began) / 1e6, st ? why.text : "done");
    if (st)
        kiln_fail(err, st, "%s", why.text);
    return st;
}

/* Take what the store gave, or set it aside when it cannot be used. */
static int take_entry(const struct cache_key *key, struct cache_entry *entry,
                      struct image **out)
{
    struct kiln_error why = {0};
    size_t size = 0;
    const void *object = cache_entry_section(entry, "object", &size);
    void *copy = object ? kiln_alloc(size ? size : 1) : NULL;
    int good = 0;

    if (copy) {
        memcpy(copy, object, size);
        good = !image_take(copy, size, out, &why);
    } else {
        snprintf(why.text, sizeof why.text, "no object in the entry");
    }
    cache_entry_fini(entry);
    if (!good)
        cache_reject(driver.cache, key, why.text);
    return good;
}

/* The object from the compiler, published for the next one. */
static enum kiln_status build(const char *ptx, size_t size,
                              struct load_options *o,
                              struct cache_flight *flight, struct image **out,
                              struct kiln_error *err)
{
    struct cache_section section = {.name = "object"};
    void *object = NULL;
    enum kiln_status st = compile(ptx, size, o, &object, &section.size, err);

    if (!st)
        st = image_take(object, section.size, out, err);
    if (st) {
        if (flight)
            cache_abandon(flight);
        return st;
    }
    section.bytes = (*out)->bytes;
    if (flight)
        cache_publish(flight, &section, 1, 0);
    return KILN_OK;
}

enum kiln_status jit_image(const char *ptx, size_t size, struct load_options *o,
                           struct image **out, struct kiln_error *err)
{
    struct cache_key key;
    struct cache_entry entry = {0};
    struct cache_flight flight;
    struct hash name;
    enum kiln_status st = KILN_OK;
    int named;

    *out = NULL;
    make_key(&key, ptx, size, o);
    named = !cache_key_hash(&key, &name);
    if (named)
        *out = image_kept(&name);
    if (*out)
        goto out;
    if (cache_begin(driver.cache, &key, &entry, &flight) == CACHE_MISS)
        st = build(ptx, size, o, &flight, out, err);
    else if (!take_entry(&key, &entry, out))
        st = build(ptx, size, o, NULL, out, err);
    if (!st && named)
        image_keep(*out, &name);
out:
    cache_key_fini(&key);
    return st;
}
