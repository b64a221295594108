/* SPDX-License-Identifier: MIT
 *
 * A device with its context, and what belongs to a handle as a whole.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "kernel/handle.h"

#define TEXT(x)          #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *kiln_version(void)
{
    return VERSION(KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH);
}

void options_read(void *to, size_t size, const void *from, size_t from_size)
{
    memset(to, 0, size);
    if (from)
        memcpy(to, from, from_size < size ? from_size : size);
}

void options_write(void *to, const void *from, size_t size)
{
    size_t room;

    memcpy(&room, to, sizeof room);
    memcpy(to, from, room < size ? room : size);
}

/* "cpu", "nvidia", "nvidia:2" or NULL. */
static enum kiln_status open_driver(struct kiln *k, const char *device,
                                    int *ordinal, struct kiln_error *err)
{
    const char *number;
    char *end;
    long n;

    *ordinal = 0;
    if (!device)
        return driver_open_default(&k->driver, err);
    if (!strcmp(device, "cpu"))
        return driver_open_cpu(&k->driver, err);
    if (!strcmp(device, "nvidia"))
        return driver_open_nvidia(&k->driver, err);
    if (!strncmp(device, "nvidia:", 7)) {
        number = device + 7;
        n = strtol(number, &end, 10);
        if (*number >= '0' && *number <= '9' && !*end && n < 1024) {
            *ordinal = (int)n;
            return driver_open_nvidia(&k->driver, err);
        }
    }
    return kiln_fail(err, KILN_E_INVALID,
                     "device \"%s\": cpu, nvidia or nvidia:N expected", device);
}

static enum kiln_status open_stages(struct kiln *k,
                                    const struct kiln_open_options *o,
                                    struct kiln_error *err)
{
    struct stage stage;
    enum kiln_status st;
    CUresult result;
    int ordinal;

    stage_begin(&stage, &k->timeline, "driver");
    st = open_driver(k, o->device, &ordinal, err);
    if (!st)
        stage_text(&stage, "%s, version %d.%d%s%s", k->driver.file,
                   k->driver.version / 1000, k->driver.version % 1000 / 10,
                   *k->driver.text ? ", " : "", k->driver.text);
    stage_end(&stage);
    if (st)
        return st;
    stage_begin(&stage, &k->timeline, "context");
    st = driver_device_get(&k->driver, ordinal, &k->device, err);
    if (!st) {
        result =
            k->driver.cuDevicePrimaryCtxRetain(&k->context, k->device.handle);
        if (result) {
            k->context = NULL;
            st = driver_fail(&k->driver, result, err, "context of device %d",
                             ordinal);
        } else {
            stage_text(&stage, "%s, capability %d.%d", k->device.name,
                       k->device.major, k->device.minor);
        }
    }
    stage_end(&stage);
    return st;
}

enum kiln_status kiln_open(const struct kiln_open_options *options,
                           struct kiln **out, struct kiln_error *err)
{
    struct kiln_open_options o;
    struct cache_options cache = {.size = sizeof cache};
    struct kiln *k = kiln_zalloc(sizeof *k);
    enum kiln_status st;

    if (!k)
        return kiln_fail(err, KILN_E_MEMORY, "kiln_open: out of memory");
    OPTIONS_READ(o, options);
    log_level_warned(0);
    st = open_stages(k, &o, err);
    if (st)
        goto out;
    if (!o.no_cache) {
        st = cache_open(o.cache_folder, &cache, &k->cache, err);
        if (st)
            goto out;
    }
    *out = k;
    k = NULL;
out:
    kiln_close(k);
    return st;
}

void kiln_close(struct kiln *kiln)
{
    if (!kiln)
        return;
    if (kiln->context)
        kiln->driver.cuDevicePrimaryCtxRelease(kiln->device.handle);
    cache_close(kiln->cache);
    timeline_fini(&kiln->timeline);
    buffer_fini(&kiln->log);
    kiln_release(kiln);
}

enum kiln_status kiln_get_device(const struct kiln *kiln,
                                 struct kiln_device *device,
                                 struct kiln_error *err)
{
    const struct driver_device *d = &kiln->device;
    struct kiln_device out = {
        .size = device->size,
        .kind = kiln->driver.kind == DRIVER_CPU ? KILN_DEVICE_CPU
                                                : KILN_DEVICE_NVIDIA,
        .ordinal = d->ordinal,
        .major = d->major,
        .minor = d->minor,
        .driver_version = kiln->driver.version,
        .max_threads = d->max_threads,
        .max_shared = d->max_shared,
        .max_shared_optin = d->max_shared_optin,
        .memory = d->memory,
        .name = d->name,
        .driver_file = kiln->driver.file,
        .driver_text = kiln->driver.text,
    };

    if (device->size < sizeof device->size)
        return kiln_fail(err, KILN_E_INVALID, "kiln_device: size is not set");
    memcpy(out.max_block, d->max_block, sizeof out.max_block);
    memcpy(out.max_grid, d->max_grid, sizeof out.max_grid);
    options_write(device, &out, sizeof out);
    return KILN_OK;
}

const char *kiln_log(const struct kiln *kiln)
{
    return buffer_str(&kiln->log);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kiln_warning_handler *handler;

/* Errors and warnings only: the rest is for KILN_LOG and standard error. */
static void pass_on(void *data, enum log_level level, const char *text)
{
    kiln_warning_handler *to;

    if (level > LOG_WARN)
        return;
    pthread_mutex_lock(&lock);
    to = handler;
    pthread_mutex_unlock(&lock);
    if (to)
        to(data, text);
}

void kiln_set_warning_handler(kiln_warning_handler *wanted, void *data)
{
    pthread_mutex_lock(&lock);
    handler = wanted;
    pthread_mutex_unlock(&lock);
    log_set_handler(wanted ? pass_on : NULL, data);
}
