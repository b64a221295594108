/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int env_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *env_get(const char *name)
{
    const char *value = env_secure() ? NULL : getenv(name);

    return value && *value ? value : NULL;
}

int env_flag(const char *name)
{
    const char *v = env_get(name);

    return v && (!strcmp(v, "1") || !strcmp(v, "true") || !strcmp(v, "yes") ||
                 !strcmp(v, "on"));
}

int env_bytes(const char *name, uint64_t *out)
{
    const char *text = env_get(name);
    unsigned long long n;
    unsigned shift = 0;
    char *end;

    if (!text)
        return 0;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (*end == 'K' || *end == 'k')
        shift = 10;
    else if (*end == 'M' || *end == 'm')
        shift = 20;
    else if (*end == 'G' || *end == 'g')
        shift = 30;
    if (shift)
        end++;
    if (*text < '0' || *text > '9' || *end || errno ||
        n > (UINT64_MAX >> shift))
        return -1;
    *out = (uint64_t)n << shift;
    return 1;
}
