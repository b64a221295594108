/* SPDX-License-Identifier: MIT */
#include "compile/target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int knows(const int *known, size_t count, int capability)
{
    for (size_t i = 0; i < count; i++)
        if (known[i] == capability)
            return 1;
    return count == 0;
}

static void list(const int *known, size_t count, char *text, size_t size)
{
    size_t at = 0;

    *text = '\0';
    for (size_t i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? " " : "",
                               known[i]);
}

/* "sm_90a" or "compute_90": 1 and the number, or 0. */
static int parse(const char *text, int *machine, int *capability)
{
    const char *digits;
    char *end;
    long n;

    if (!strncmp(text, "sm_", 3)) {
        *machine = 1;
        digits = text + 3;
    } else if (!strncmp(text, "compute_", 8)) {
        *machine = 0;
        digits = text + 8;
    } else {
        return 0;
    }
    if (!isdigit((unsigned char)*digits) || strlen(digits) > 8)
        return 0;
    n = strtol(digits, &end, 10);
    *capability = (int)n;
    return n >= 10 && n < 1000 &&
           (!*end || !strcmp(end, "a") || !strcmp(end, "f"));
}

static enum kiln_status by_request(const char *asked,
                                   const struct compile_device *device,
                                   const int *known, size_t count,
                                   const char *compiler, struct target *out,
                                   struct kiln_error *err)
{
    int machine, capability;
    char archs[120];

    if (!parse(asked, &machine, &capability))
        return kiln_fail(err, KILN_E_INVALID,
                         "target \"%s\": sm_NN or compute_NN expected, with "
                         "an a or f behind the number where wanted",
                         asked);
    if (!knows(known, count, capability)) {
        list(known, count, archs, sizeof archs);
        return kiln_fail(err, KILN_E_INVALID,
                         "target %s: %s does not make it, it makes %s", asked,
                         compiler, archs);
    }
    if (machine && !device->runs_sass)
        return kiln_fail(err, KILN_E_NO_BINARY,
                         "target %s: machine code of NVIDIA GPUs, which the "
                         "CPU device cannot run; it needs %s%s",
                         asked, "compute_", asked + 3);
    out->kind = machine ? COMPILE_CUBIN : COMPILE_PTX;
    snprintf(out->name, sizeof out->name, "%s", asked);
    snprintf(out->rule, sizeof out->rule, "as asked");
    return KILN_OK;
}

enum kiln_status target_choose(const char *asked,
                               const struct compile_device *device,
                               const int *known, size_t count,
                               const char *compiler, struct target *out,
                               struct kiln_error *err)
{
    int best = 0;

    memset(out, 0, sizeof *out);
    if (asked)
        return by_request(asked, device, known, count, compiler, out, err);
    if (device->runs_sass && knows(known, count, device->capability)) {
        out->kind = COMPILE_CUBIN;
        snprintf(out->name, sizeof out->name, "sm_%d", device->capability);
        snprintf(out->rule, sizeof out->rule, "the device's own machine code");
        return KILN_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (known[i] <= device->capability && known[i] > best)
            best = known[i];
    if (!count)
        best = device->capability;
    if (!best) {
        char archs[120];

        list(known, count, archs, sizeof archs);
        return kiln_fail(err, KILN_E_NO_BINARY,
                         "device of capability %d.%d: %s makes only %s",
                         device->capability / 10, device->capability % 10,
                         compiler, archs);
    }
    out->kind = COMPILE_PTX;
    snprintf(out->name, sizeof out->name, "compute_%d", best);
    snprintf(out->rule, sizeof out->rule,
             device->runs_sass ? "newest PTX target that the device takes, "
                                 "%s has no machine code for it"
                               : "newest PTX target of %s that the device "
                                 "takes",
             compiler);
    return KILN_OK;
}
