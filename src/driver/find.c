/* SPDX-License-Identifier: MIT */
#include "driver/find.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"

static const char cpu_driver[] = "libkiln-cpu.so";

static int try_beside(const char *file, char *path, size_t size)
{
    static const char *const folders[] = {".", "../lib", "../lib/kiln",
                                          "../lib64"};
    char real[PATH_MAX];
    char *slash;

    if (!realpath(file, real))
        return 0;
    slash = strrchr(real, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char tried[PATH_MAX + 64], found[PATH_MAX];

        snprintf(tried, sizeof tried, "%s/%s/%s", real, folders[i], cpu_driver);
        if (realpath(tried, found) && !access(found, R_OK) &&
            snprintf(path, size, "%s", found) < (int)size)
            return 1;
    }
    return 0;
}

enum kiln_status find_cpu_driver(char *path, size_t size,
                                 struct kiln_error *err)
{
    const char *asked = env_get("KILN_CPU_DRIVER");
    Dl_info info;

    if (asked) {
        if (access(asked, R_OK))
            return kiln_fail(err, KILN_E_NO_DRIVER,
                             "KILN_CPU_DRIVER=%s: cannot be read", asked);
        snprintf(path, size, "%s", asked);
        return KILN_OK;
    }
    /* For the main program dladdr repeats argv[0], hence both. */
    if (dladdr(cpu_driver, &info) && info.dli_fname &&
        strchr(info.dli_fname, '/') && try_beside(info.dli_fname, path, size))
        return KILN_OK;
    if (try_beside("/proc/self/exe", path, size))
        return KILN_OK;
    snprintf(path, size, "%s", cpu_driver);
    return KILN_OK;
}
