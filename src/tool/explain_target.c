/* SPDX-License-Identifier: MIT */
#include "tool/explain_target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

enum { SM_MAX = 999 };

int explain_driver(const char *text, int *version)
{
    char *end;
    unsigned long major = strtoul(text, &end, 10), minor = 0;

    if (!isdigit((unsigned char)*text) || !major || major > 99)
        return -1;
    if (*end == '.' && isdigit((unsigned char)end[1]))
        minor = strtoul(end + 1, &end, 10);
    *version = (int)(major * 1000 + minor * 10);
    return *end || minor > 99 ? -1 : 0;
}

static int no_such_target(const char *text)
{
    char known[300] = "";
    size_t n = 0;

    for (unsigned sm = 0; sm <= SM_MAX && n < sizeof known; sm++)
        if (kiln_target_release(sm) >= 0)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%u",
                                  n ? " " : "", sm);
    return usage("explain", "--device %s: no such target; sm_ is known of %s",
                 text, known);
}

/* "nvidia" or "nvidia:2" */
static int is_nvidia(const char *text)
{
    size_t digits;

    if (strncmp(text, "nvidia", 6))
        return 0;
    if (!text[6])
        return 1;
    digits = strspn(text + 7, "0123456789");
    return text[6] == ':' && digits && digits < 4 && !text[7 + digits];
}

int explain_device(const char *text, unsigned *sm)
{
    char *end;
    unsigned long n;

    *sm = 0;
    if (!strcmp(text, "cpu") || is_nvidia(text))
        return EXIT_DONE;
    if (strncmp(text, "sm_", 3) || !isdigit((unsigned char)text[3]))
        return usage("explain",
                     "--device %s: sm_NN, cpu or nvidia[:N] expected", text);
    /* A letter does not count: it is of images, not of devices. */
    n = strtoul(text + 3, &end, 10);
    if (*end == 'a' || *end == 'f')
        end++;
    if (*end || n > SM_MAX || kiln_target_release((unsigned)n) < 0)
        return no_such_target(text);
    *sm = (unsigned)n;
    return EXIT_DONE;
}

/* 12040 as 1204 */
static int release_of(int driver_version)
{
    return driver_version / 1000 * 100 + driver_version % 1000 / 10;
}

int explain_too_old(const struct kiln_target *target, char *text, size_t size)
{
    int first = kiln_target_release(target->sm);
    int driver = release_of(target->driver_version);

    if (target->kind != KILN_DEVICE_NVIDIA || first <= driver)
        return 0;
    snprintf(text, size,
             "this load will fail: the driver of CUDA %d.%d does not know "
             "sm_%u; that of CUDA %d.%d or a newer one is needed",
             driver / 100, driver % 100, target->sm, first / 100, first % 100);
    return 1;
}

static int toolkit_of(const struct kiln_file *file, size_t entry)
{
    struct kiln_symbols *symbols;
    int toolkit;

    if (kiln_symbols_read(file, entry, &symbols, NULL))
        return 0;
    toolkit = kiln_symbols_toolkit(symbols);
    kiln_symbols_free(symbols);
    return toolkit;
}

void explain_toolkit(const struct kiln_file *file,
                     const struct kiln_target *target, struct kiln_verdict *v,
                     char *text, size_t size)
{
    struct kiln_entry e = {.size = sizeof e};
    int driver = release_of(target->driver_version), toolkit;

    kiln_file_entry(file, v->entry, &e, NULL);
    if (target->kind != KILN_DEVICE_NVIDIA || e.kind != KILN_ENTRY_CUBIN ||
        strcmp(v->reason, "taken"))
        return;
    toolkit = toolkit_of(file, v->entry);
    if (toolkit <= driver)
        return;
    snprintf(text, size, "%s; made by CUDA %d.%d, newer than the driver, %s",
             v->text, toolkit / 100, toolkit % 100,
             toolkit / 100 == driver / 100
                 ? "which takes those of its own major release"
                 : "which need not take those of a newer major release");
    v->text = text;
    v->unverified = 1;
}
