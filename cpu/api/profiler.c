/* SPDX-License-Identifier: MIT
 *
 * Profiler control: marks for an attached profiler; there is none.
 */
#include "cpu/api/api.h"

API(cuProfilerStart, void)
{
    struct context *context;

    return api_enter(&context);
}

API(cuProfilerStop, void)
{
    struct context *context;

    return api_enter(&context);
}
