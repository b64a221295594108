/* SPDX-License-Identifier: MIT
 *
 * Look-ups in the tables of CUDA releases and of targets.
 */
#include "walk/walk.h"

static const struct walk_release releases[] = {
#define R(cuda, major, minor, driver) {cuda, major, minor, driver},
#include "walk/releases.def"
#undef R
};

enum { COUNT = sizeof releases / sizeof *releases };

const struct walk_release *walk_release_of(int driver_version)
{
    /* 12040 is 12.4; the last digit counts updates. */
    int cuda = driver_version / 1000 * 100 + driver_version % 1000 / 10;

    for (int i = COUNT; i-- > 0;)
        if (releases[i].cuda <= cuda)
            return &releases[i];
    return NULL;
}

int walk_release_is_known(int driver_version)
{
    int cuda = driver_version / 1000 * 100 + driver_version % 1000 / 10;

    return cuda <= releases[COUNT - 1].cuda;
}

int walk_release_for_sm(unsigned sm)
{
    static const struct {
        uint16_t sm, cuda;
    } targets[] = {
#define T(sm, cuda) {sm, cuda},
#include "walk/targets.def"
#undef T
    };

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].sm == sm)
            return targets[i].cuda;
    return -1;
}

const struct walk_release *walk_release_for_ptx(unsigned major, unsigned minor)
{
    for (int i = 0; i < COUNT; i++)
        if (releases[i].ptx_major > major ||
            (releases[i].ptx_major == major && releases[i].ptx_minor >= minor))
            return &releases[i];
    return NULL;
}
