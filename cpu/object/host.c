/* SPDX-License-Identifier: MIT
 *
 * What this host can run, and whether an object asks for more.
 */
#include "cpu/object/object.h"

#include <pthread.h>
#include <string.h>

#include "cpu/exec/abi.h"

struct feature {
    const char *name;
    int present;
};

#define X(name, gcc) {name, 0},
static struct feature features[] = {
#include "cpu/object/features.def"
};
#undef X

enum { FEATURE_COUNT = sizeof features / sizeof features[0] };
static char list[16 * FEATURE_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void detect(void)
{
    size_t i = 0;
    size_t at = 0;

    __builtin_cpu_init();
#define X(name, gcc) features[i++].present = !!__builtin_cpu_supports(gcc);
#include "cpu/object/features.def"
#undef X
    for (i = 0; i < FEATURE_COUNT; i++) {
        const size_t n = strlen(features[i].name);

        if (!features[i].present || at + n + 2 > sizeof list)
            continue;
        if (at)
            list[at++] = ',';
        memcpy(list + at, features[i].name, n + 1);
        at += n;
    }
}

int object_host_has(const char *feature, size_t n)
{
    pthread_once(&once, detect);
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (strlen(features[i].name) == n &&
            memcmp(features[i].name, feature, n) == 0)
            return features[i].present;
    /* in every x86-64 */
    return (n == 3 && memcmp(feature, "sse", 3) == 0) ||
           (n == 4 && memcmp(feature, "sse2", 4) == 0);
}

const char *object_host_features(void)
{
    pthread_once(&once, detect);
    return list;
}

enum kiln_status object_check(const struct object_info *info, const char *build,
                              struct kiln_error *err)
{
    if (info->abi != ABI_VERSION)
        return kiln_fail(err, KILN_E_NO_BINARY,
                         "CPU object: made for ABI %u, this driver has %d",
                         info->abi, ABI_VERSION);
    if (strcmp(info->build, build) != 0)
        return kiln_fail(err, KILN_E_NO_BINARY,
                         "CPU object: made by driver build %s, this one is %s",
                         info->build, build);
    for (const char *at = info->features; *at;) {
        const size_t n = strcspn(at, ",");

        if (n && !object_host_has(at, n))
            return kiln_fail(err, KILN_E_NO_BINARY,
                             "CPU object: made for %s, uses %.*s, which this "
                             "CPU does not have",
                             info->cpu, (int)n, at);
        at += n + (at[n] == ',');
    }
    return KILN_OK;
}
