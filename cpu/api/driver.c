/* SPDX-License-Identifier: MIT
 *
 * Initialisation, version, and the driver's record.
 */
#include "cpu/api/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "cache/cache.h"
#include "cpu/api/api.h"
#include "cpu/exec/exec.h"
#include "driver/kiln_driver_info.h"
#include "kiln_build_id.h"

#ifndef KILN_CODEGEN
#define KILN_CODEGEN "none"
#endif

struct driver driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct driver_config config;
static pthread_once_t config_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

const char *driver_build(void)
{
    return KILN_BUILD_ID;
}

const char *driver_codegen(void)
{
    return KILN_CODEGEN;
}

unsigned long long driver_next_id(void)
{
    return atomic_fetch_add(&driver.ids, 1) + 1;
}

/* "9.0" or "12.1" -> 90, 121; 0 when it is neither. */
static uint32_t read_cc(const char *text)
{
    unsigned major;
    unsigned minor;
    char rest;

    if (sscanf(text, "%3u.%1u%c", &major, &minor, &rest) != 2)
        return 0;
    return major >= 5 && major <= 99 ? major * 10 + minor : 0;
}

/* NVIDIA's driver takes "1" for yes, and "yes" for no. */
static int is_one(const char *name)
{
    const char *value = env_get(name);

    return value && !strcmp(value, "1");
}

static void read_environment(void)
{
    const char *cc = env_get("KILN_CPU_CC");
    const char *version = env_get("KILN_CPU_DRIVER_VERSION");
    const char *loading = env_get("CUDA_MODULE_LOADING");

    config.version = CUDA_VERSION;
    config.walk.sm = 121;
    if (cc && read_cc(cc))
        config.walk.sm = read_cc(cc);
    else if (cc)
        log_line(LOG_WARN,
                 "KILN_CPU_CC=%s: not a compute capability such as "
                 "9.0; the device stays 12.1",
                 cc);
    if (version) {
        char *end;
        long n = strtol(version, &end, 10);

        if (!*end && n >= 9000 && n <= CUDA_VERSION) {
            config.version = (int)n;
            config.is_named = 1;
        } else
            log_line(LOG_WARN,
                     "KILN_CPU_DRIVER_VERSION=%s: not between 9000 "
                     "and %d; the driver stays %d",
                     version, CUDA_VERSION, CUDA_VERSION);
    }
    config.force_ptx = is_one("CUDA_FORCE_PTX_JIT");
    config.disable_jit = is_one("CUDA_DISABLE_PTX_JIT");
    config.eager = loading && !strcmp(loading, "EAGER");
    config.cache_disabled = is_one("CUDA_CACHE_DISABLE");
    config.checks = is_one("KILN_CPU_CHECK");
}

/* The model name of the first processor, without the empty words that some
 * carry. */
static void read_cpu_name(char *out, size_t room)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    snprintf(out, room, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        char *text = strchr(line, ':');
        size_t n = 0;

        if (strncmp(line, "model name", 10) || !text)
            continue;
        for (text += 1 + strspn(text + 1, " "); *text && *text != '\n'; text++)
            if (n + 1 < room && !(*text == ' ' && n && out[n - 1] == ' '))
                out[n++] = *text;
        out[n] = 0;
        break;
    }
    if (f)
        fclose(f);
}

/* The same device on the same machine has the same UUID in each process. */
static void make_uuid(const char *cpu)
{
    FILE *f = fopen("/etc/machine-id", "re");
    char text[512];
    struct hash hash = {{0}};
    int n = snprintf(text, sizeof text, "kiln cpu device 0\n%s\n", cpu);

    if (f) {
        n += (int)fread(text + n, 1, sizeof text - (size_t)n - 1, f);
        fclose(f);
    }
    hash_bytes(text, (size_t)n, &hash);
    memcpy(config.uuid.bytes, hash.bytes, sizeof config.uuid.bytes);
    /* A UUID by name: version 5, variant 1. */
    config.uuid.bytes[6] = (char)((hash.bytes[6] & 0x0f) | 0x50);
    config.uuid.bytes[8] = (char)((hash.bytes[8] & 0x3f) | 0x80);
}

static void make_config(void)
{
    const struct walk_release *release;
    char cpu[100];

    read_environment();
    config.walk.isa = WALK_ISA_HOST;
    config.walk.driver_version = config.version;
    release = walk_release_of(config.version);
    config.walk.ptx_major = release ? release->ptx_major : 9;
    config.walk.ptx_minor = release ? release->ptx_minor : 0;
    /* PTX of tomorrow is taken where every instruction is known; a driver of
     * a given version takes what that one would. */
    if (!config.is_named)
        config.walk.ptx_major = DRIVER_ANY_PTX;
    read_cpu_name(cpu, sizeof cpu);
    snprintf(config.name, sizeof config.name, "Kiln CPU (%s)", cpu);
    make_uuid(cpu);
}

const struct driver_config *driver_config(void)
{
    pthread_once(&config_once, make_config);
    return &config;
}

/* The store is Kiln's; a program that sets CUDA_CACHE_PATH gets a folder of
 * Kiln's own below it, beside NVIDIA's entries. */
static void open_cache(void)
{
    struct cache_options options = {.size = sizeof options};
    const char *path = env_get("CUDA_CACHE_PATH");
    const char *limit = env_get("CUDA_CACHE_MAXSIZE");
    struct kiln_error err = {0};
    char dir[4096];

    options.disabled = config.cache_disabled;
    if (limit) {
        char *end;
        unsigned long long n = strtoull(limit, &end, 10);

        if (!*end && !n)
            options.disabled = 1; /* room for nothing */
        else if (!*end)
            options.max_size = n;
    }
    if (path)
        snprintf(dir, sizeof dir, "%s/kiln", path);
    if (cache_open(path && !env_get("KILN_CACHE_DIR") ? dir : NULL, &options,
                   &driver.cache, &err))
        log_line(LOG_WARN, "no compile cache: %s", err.text);
}

API(cuInit, unsigned int flags)
{
    struct kiln_error err = {0};
    CUresult result = CUDA_SUCCESS;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&driver.ready))
        return CUDA_SUCCESS;
    driver_config();
    pthread_mutex_lock(&init_lock);
    if (!atomic_load(&driver.ready)) {
        if (exec_open(&err)) {
            log_line(LOG_ERROR, "the CPU device does not open: %s", err.text);
            result = api_result(&err);
        } else {
            open_cache();
            atomic_store(&driver.ready, 1);
        }
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}

/* Works before cuInit. */
API(cuDriverGetVersion, int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = driver_config()->version;
    return CUDA_SUCCESS;
}

API_EXPORT kiln_driver_info_fn kilnDriverInfo;

int kilnDriverInfo(struct kiln_driver_info *info)
{
    const struct driver_config *c = driver_config();

    struct cache_stats stats = {0};

    /* The fields up to driver_version are those of the first release. */
    if (!info ||
        info->struct_size < offsetof(struct kiln_driver_info, cache_hits))
        return CUDA_ERROR_INVALID_VALUE;
    info->isa = "kiln-x86_64";
    info->build = driver_build();
    info->codegen = driver_codegen();
    info->features = object_host_features();
    info->compute_capability = c->walk.sm;
    info->ptx_version = c->walk.ptx_major * 10u + c->walk.ptx_minor;
    info->driver_version = c->version;
    if (info->struct_size < sizeof *info)
        return CUDA_SUCCESS;
    if (driver.cache)
        cache_stats(driver.cache, &stats);
    info->cache_hits = stats.hits;
    info->cache_misses = stats.misses;
    info->cache_waits = stats.waits;
    info->cache_warned = cache_warned(info->cache_warned);
    info->log_warned = log_level_warned(info->log_warned);
    info->error = api_last_error(&info->error_text);
    return CUDA_SUCCESS;
}
