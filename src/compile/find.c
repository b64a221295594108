/* SPDX-License-Identifier: MIT
 *
 * In order: what the environment says, what the loader would find, toolkit
 * folders, Python wheels. The first hit wins; in a folder, the newest name.
 */
#include "compile/find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "compile/ldcache.h"

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                          "libnvrtc.so.11.2"};
enum { NVRTC_NAMES = sizeof nvrtc_names / sizeof *nvrtc_names };

struct place {
    char *path;
    size_t size;
};

static int take(const struct place *out, const char *path)
{
    return !access(path, R_OK) &&
           snprintf(out->path, out->size, "%s", path) < (int)out->size;
}

static int in_folder(const struct place *out, const char *folder)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < NVRTC_NAMES; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, nvrtc_names[i]);

        if (n > 0 && (size_t)n < sizeof path && take(out, path))
            return 1;
    }
    return 0;
}

/* Folders by pattern, the last in order first: cuda-13 before cuda-12. */
static int in_pattern(const struct place *out, const char *root,
                      const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    int done = 0;
    int n = snprintf(path, sizeof path, "%s%s", root, pattern);

    if (n < 0 || (size_t)n >= sizeof path || glob(path, 0, NULL, &found))
        return 0;
    for (size_t i = found.gl_pathc; i-- > 0 && !done;)
        done = in_folder(out, found.gl_pathv[i]);
    globfree(&found);
    return done;
}

static int in_root(const struct place *out, const char *root)
{
    return in_pattern(out, root, "/lib64") || in_pattern(out, root, "/lib") ||
           in_pattern(out, root, "/targets/*-linux/lib");
}

static int in_list(const struct place *out, const char *list)
{
    char folder[PATH_MAX];

    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ":");

        if (n && n < sizeof folder) {
            memcpy(folder, p, n);
            folder[n] = '\0';
            if (in_folder(out, folder))
                return 1;
        }
        p += n + (p[n] == ':');
    }
    return 0;
}

static int cached(void *data, const char *name, const char *path)
{
    (void)name;
    return take(data, path);
}

static int in_packages(const struct place *out, const char *root,
                       const char *packages)
{
    static const char *const wheels[] = {"/nvidia/cu13/lib",
                                         "/nvidia/cuda_nvrtc/lib"};
    char pattern[PATH_MAX];

    for (size_t i = 0; i < sizeof wheels / sizeof *wheels; i++) {
        int n = snprintf(pattern, sizeof pattern, "%s%s", packages, wheels[i]);

        if (n > 0 && (size_t)n < sizeof pattern &&
            in_pattern(out, root, pattern))
            return 1;
    }
    return 0;
}

static int in_wheels(const struct place *out)
{
    static const char site[] = "/lib/python3*/site-packages";
    static const char dist[] = "/lib/python3*/dist-packages";
    const char *home = env_get("HOME");
    const char *roots[] = {env_get("VIRTUAL_ENV"), env_get("CONDA_PREFIX")};

    for (size_t i = 0; i < 2; i++)
        if (roots[i] && in_packages(out, roots[i], site))
            return 1;
    if (home && (in_packages(out, home, "/.local/lib/python3*/site-packages") ||
                 in_packages(out, home,
                             "/.pyenv/versions/*/lib/python3*/site-packages")))
        return 1;
    return in_packages(out, "/usr/local", site) ||
           in_packages(out, "/usr/local", dist) ||
           in_packages(out, "/usr", "/lib/python3/dist-packages");
}

int find_nvrtc(char *path, size_t size)
{
    struct place out = {path, size};
    const char *asked = env_get("KILN_NVRTC");
    const char *home = env_get("CUDA_HOME");
    const char *toolkit = env_get("CUDA_PATH");
    const char *conda = env_get("CONDA_PREFIX");

    /* What was asked for by name is not replaced by another. */
    if (asked)
        return take(&out, asked);
    if ((home && in_root(&out, home)) || (toolkit && in_root(&out, toolkit)) ||
        in_list(&out, env_get("LD_LIBRARY_PATH")))
        return 1;
    for (size_t i = 0; i < NVRTC_NAMES; i++)
        if (ldcache_each(LDCACHE_FILE, nvrtc_names[i], cached, &out))
            return 1;
    return in_root(&out, "/usr/local/cuda") ||
           in_pattern(&out, "/usr/local/cuda-*", "/lib64") ||
           in_root(&out, "/opt/cuda") || (conda && in_root(&out, conda)) ||
           in_wheels(&out);
}

int find_builtins(const char *nvrtc, char *path, size_t size)
{
    struct place out = {path, size};
    char real[PATH_MAX], pattern[PATH_MAX + 32];
    const char *version = strstr(nvrtc, ".so.");
    glob_t found;
    char *slash;
    int done = 0;

    if (!version || !realpath(nvrtc, real) || !(slash = strrchr(real, '/')))
        return 0;
    *slash = '\0';
    /* libnvrtc.so.13 takes builtins.so.13.x; 11.2 stands for all of 11. */
    version += 4;
    snprintf(pattern, sizeof pattern, "%s/libnvrtc-builtins.so.%.*s.*", real,
             (int)strcspn(version, "."), version);
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = found.gl_pathc; i-- > 0 && !done;)
        done = take(&out, found.gl_pathv[i]);
    globfree(&found);
    return done;
}

static int has_headers(const char *folder, const char *below, char *path,
                       size_t size)
{
    char probe[PATH_MAX + 64], real[PATH_MAX];
    int n = snprintf(probe, sizeof probe, "%s/%s", folder, below);

    if (n < 0 || (size_t)n >= sizeof probe || !realpath(probe, real))
        return 0;
    snprintf(probe, sizeof probe, "%s/cuda_runtime.h", real);
    return !access(probe, R_OK) && snprintf(path, size, "%s", real) < (int)size;
}

int find_toolkit_include(const char *nvrtc, char *path, size_t size)
{
    /* A toolkit, its targets/ folder, the one-package wheel, then the wheel
     * that keeps the runtime's headers in a package of their own. */
    static const char *const below[] = {"../include", "../../include",
                                        "../../../include",
                                        "../../cuda_runtime/include"};
    const char *home = env_get("CUDA_HOME");
    const char *toolkit = env_get("CUDA_PATH");
    char real[PATH_MAX];
    char *slash;

    if (realpath(nvrtc, real) && (slash = strrchr(real, '/'))) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof below / sizeof *below; i++)
            if (has_headers(real, below[i], path, size))
                return 1;
    }
    return (home && has_headers(home, "include", path, size)) ||
           (toolkit && has_headers(toolkit, "include", path, size)) ||
           has_headers("/usr/local/cuda", "include", path, size);
}

static int in_path(const struct place *out, const char *name)
{
    char file[PATH_MAX];

    for (const char *p = env_get("PATH"); p && *p;) {
        size_t n = strcspn(p, ":");
        int m = snprintf(file, sizeof file, "%.*s/%s", (int)n, p, name);

        if (n && m > 0 && (size_t)m < sizeof file && !access(file, X_OK) &&
            take(out, file))
            return 1;
        p += n + (p[n] == ':');
    }
    return 0;
}

int find_clang(char *path, size_t size)
{
    enum { NEWEST = 22, OLDEST = 15 };
    struct place out = {path, size};
    const char *asked = env_get("KILN_CLANG");
    char name[32];

    if (asked)
        return !access(asked, X_OK) && take(&out, asked);
    for (int version = NEWEST; version >= OLDEST; version--) {
        snprintf(name, sizeof name, "clang-%d", version);
        if (in_path(&out, name))
            return 1;
        snprintf(name, sizeof name, "/usr/lib/llvm-%d/bin/clang", version);
        if (!access(name, X_OK) && take(&out, name))
            return 1;
    }
    return in_path(&out, "clang");
}
