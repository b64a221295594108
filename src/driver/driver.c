/* SPDX-License-Identifier: MIT
 *
 * Filling the table: every entry point comes from the driver's own
 * cuGetProcAddress, asked with the version of the signature in entries.def.
 */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "driver/find.h"
#include "driver/kiln_driver_info.h"

typedef CUresult get_proc_address(const char *symbol, void **entry, int version,
                                  uint64_t flags,
                                  CUdriverProcAddressQueryResult *found);

enum { REQUIRED, OPTIONAL };

static const struct {
    const char *name;
    int version;
    int need;
    size_t offset;
} entries[] = {
#define X(name, version, need, parameters)                                     \
    {#name, version, need, offsetof(struct driver, name)},
#include "driver/entries.def"
#undef X
};

/* 0, or -1 when it is another's driver. */
static int ask_info(const struct driver *d, int cache_warned,
                    struct kiln_driver_info *info)
{
    kiln_driver_info_fn *get;

    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    info->cache_warned = cache_warned;
    info->log_warned = log_level_warned(0);
    if (!d->info_entry)
        return -1;
    memcpy(&get, &d->info_entry, sizeof get);
    return get(info) ? -1 : 0;
}

/* What a driver of Kiln's says of this thread's last failure, or NULL. */
static const char *sentence(const struct driver *d, CUresult result,
                            struct kiln_driver_info *info)
{
    return !ask_info(d, 0, info) && info->error == (int)result &&
                   info->error_text && *info->error_text
               ? info->error_text
               : NULL;
}

enum kiln_status driver_fail_told(const struct driver *d, CUresult result,
                                  struct kiln_error *err, const char *format,
                                  ...)
{
    struct kiln_driver_info info;
    const char *name = NULL, *told = sentence(d, result, &info);
    char what[160];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!told)
        return driver_fail(d, result, err, "%s", what);
    if (d->cuGetErrorName(result, &name) || !name)
        name = "unknown error";
    /* A fault's names the kernel itself, which may be an earlier one. */
    if (!strncmp(told, "kernel ", 7))
        return kiln_fail(err, kiln_status_from_cuda((int)result), "%s (%d): %s",
                         name, (int)result, told);
    return kiln_fail(err, kiln_status_from_cuda((int)result), "%s: %s (%d): %s",
                     what, name, (int)result, told);
}

enum kiln_status driver_fail(const struct driver *d, CUresult result,
                             struct kiln_error *err, const char *format, ...)
{
    const char *name = NULL;
    const char *text = NULL;
    struct kiln_driver_info info;
    char what[160];
    va_list args;

    ask_info(d, 0, &info); /* so that no later failure takes its sentence */
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!d->cuGetErrorName || d->cuGetErrorName(result, &name) || !name)
        name = "unknown error";
    if (!d->cuGetErrorString || d->cuGetErrorString(result, &text) || !text)
        text = "the driver has no text for it";
    return kiln_fail(err, kiln_status_from_cuda((int)result), "%s: %s (%d): %s",
                     what, name, (int)result, text);
}

static enum kiln_status resolve(struct driver *d, struct kiln_error *err)
{
    void *symbol = dlsym(d->library, "cuGetProcAddress_v2");
    get_proc_address *get;

    if (!symbol)
        return kiln_fail(err, KILN_E_NO_DRIVER,
                         "%s: no cuGetProcAddress_v2; a driver of CUDA 12.0 "
                         "or later is needed",
                         d->file);
    memcpy(&get, &symbol, sizeof get);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        CUdriverProcAddressQueryResult found = 0;
        void *entry = NULL;
        CUresult result = get(entries[i].name, &entry, entries[i].version,
                              CU_GET_PROC_ADDRESS_DEFAULT, &found);

        if (result || !entry) {
            if (entries[i].need == REQUIRED)
                return kiln_fail(err, KILN_E_NO_DRIVER,
                                 "%s: the driver has no %s (version %d), "
                                 "which Kiln needs",
                                 d->file, entries[i].name, entries[i].version);
            log_line(LOG_DEBUG, "%s: no %s (version %d)", d->file,
                     entries[i].name, entries[i].version);
            entry = NULL;
        }
        memcpy((char *)d + entries[i].offset, &entry, sizeof entry);
    }
    return KILN_OK;
}

/* What the loader really opened. */
static void name_file(struct driver *d, const char *asked)
{
    void *symbol = dlsym(d->library, "cuInit");
    Dl_info info;

    if (symbol && dladdr(symbol, &info) && info.dli_fname)
        snprintf(d->file, sizeof d->file, "%s", info.dli_fname);
    else
        snprintf(d->file, sizeof d->file, "%s", asked);
}

static enum kiln_status load(struct driver *d, const char *path,
                             struct kiln_error *err)
{
    struct kiln_driver_info info;

    memset(d, 0, sizeof *d);
    d->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!d->library)
        return kiln_fail(err, KILN_E_NO_DRIVER, "%s", dlerror());
    name_file(d, path);
    d->info_entry = dlsym(d->library, "kilnDriverInfo");
    d->kind = d->info_entry ? DRIVER_CPU : DRIVER_NVIDIA;
    /* Before anything it might log. */
    ask_info(d, 0, &info);
    return KILN_OK;
}

void driver_cache_counts(const struct driver *d,
                         struct driver_cache_counts *out)
{
    struct kiln_driver_info info;
    int warned = out->warned;

    memset(out, 0, sizeof *out);
    if (ask_info(d, warned, &info))
        return;
    out->warned = info.cache_warned;
    out->hits = info.cache_hits;
    out->misses = info.cache_misses;
    out->waits = info.cache_waits;
}

static void describe(struct driver *d)
{
    struct kiln_driver_info info;

    if (ask_info(d, 0, &info))
        return;
    d->ptx_version = info.ptx_version;
    snprintf(d->text, sizeof d->text, "%s, %s", info.isa ? info.isa : "?",
             info.codegen ? info.codegen : "no code generator");
}

static enum kiln_status start(struct driver *d, struct kiln_error *err)
{
    enum kiln_status st = resolve(d, err);
    CUresult result;

    if (st)
        return st;
    result = d->cuInit(0);
    if (result)
        return driver_fail(d, result, err, "%s: cuInit", d->file);
    result = d->cuDriverGetVersion(&d->version);
    if (result)
        return driver_fail(d, result, err, "%s: cuDriverGetVersion", d->file);
    describe(d);
    return KILN_OK;
}

enum kiln_status driver_open_nvidia(struct driver *d, struct kiln_error *err)
{
    const char *path = env_get("KILN_NVIDIA_DRIVER");
    enum kiln_status st = load(d, path ? path : "libcuda.so.1", err);

    if (st) {
        if (path)
            kiln_prefix(err, "KILN_NVIDIA_DRIVER");
        return st;
    }
    if (d->kind != DRIVER_NVIDIA)
        return kiln_fail(err, KILN_E_NO_DRIVER,
                         "%s: this is Kiln's CPU driver; NVIDIA's is needed",
                         d->file);
    return start(d, err);
}

enum kiln_status driver_open_cpu(struct driver *d, struct kiln_error *err)
{
    char path[512];
    struct kiln_error why = {0};
    enum kiln_status st = find_cpu_driver(path, sizeof path, err);

    if (st)
        return st;
    st = load(d, path, &why);
    if (st)
        return kiln_fail(err, st, "%.180s; KILN_CPU_DRIVER may name it",
                         why.text);
    if (d->kind != DRIVER_CPU)
        return kiln_fail(err, KILN_E_NO_DRIVER,
                         "%s: not Kiln's CPU driver (no kilnDriverInfo)",
                         d->file);
    return start(d, err);
}

enum kiln_status driver_open_file(struct driver *d, const char *path,
                                  struct kiln_error *err)
{
    enum kiln_status st = load(d, path, err);

    return st ? st : start(d, err);
}

enum kiln_status driver_open_default(struct driver *d, struct kiln_error *err)
{
    struct kiln_error nvidia = {0}, cpu = {0};
    enum kiln_status st = driver_open_nvidia(d, &nvidia);
    int count = 0;

    if (!st) {
        CUresult result = d->cuDeviceGetCount(&count);

        if (!result && count > 0)
            return KILN_OK;
        kiln_fail(&nvidia, KILN_E_NO_DEVICE, "%s: no device", d->file);
    }
    log_line(LOG_INFO, "no NVIDIA device: %s", nvidia.text);
    st = driver_open_cpu(d, &cpu);
    if (st)
        return kiln_fail(err, st, "no device: NVIDIA: %.110s; CPU: %s",
                         nvidia.text, cpu.text);
    return KILN_OK;
}
