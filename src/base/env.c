/* SPDX-License-Identifier: MIT */
#include "base/env.h"

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
