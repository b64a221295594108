/* SPDX-License-Identifier: MIT
 *
 * The status table in its three forms, and the writing of error sentences.
 */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int cuda;
    int runtime;
    const char *text;
} table[] = {
#define ROW(name, cu, rt, text) [KILN_##name] = {"KILN_" #name, cu, rt, text},
    KILN_STATUS_MAP(ROW)
#undef ROW
};

_Static_assert(sizeof table / sizeof *table == KILN_STATUS_COUNT,
               "a row for each status");
_Static_assert(sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "64-bit little-endian hosts only");

/* A full text that lost its end: the last whole word, and "...". A very long
 * word is cut, without halving a character. */
static void end_at_word(char *text)
{
    enum { ROOM = sizeof((struct kiln_error *)0)->text, WORD = 60 };
    size_t n = ROOM - sizeof " ...";

    while (n > ROOM - WORD && text[n] != ' ')
        n--;
    if (text[n] != ' ') {
        n = ROOM - sizeof " ...";
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(text + n, " ...", sizeof " ...");
}

enum kiln_status kiln_vfail(struct kiln_error *err, enum kiln_status status,
                            const char *format, va_list args)
{
    if (err) {
        int n = vsnprintf(err->text, sizeof err->text, format, args);

        err->status = status;
        if (n >= (int)sizeof err->text)
            end_at_word(err->text);
    }
    return status;
}

enum kiln_status kiln_fail(struct kiln_error *err, enum kiln_status status,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    kiln_vfail(err, status, format, args);
    va_end(args);
    return status;
}

void kiln_prefix(struct kiln_error *err, const char *format, ...)
{
    char old[sizeof err->text];
    va_list args;
    int n;

    if (!err)
        return;
    memcpy(old, err->text, sizeof old);
    va_start(args, format);
    n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n + 3 < sizeof err->text) {
        int m =
            snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", old);

        n += m;
    }
    if (n >= (int)sizeof err->text)
        end_at_word(err->text);
}

const char *kiln_status_name(enum kiln_status status)
{
    return (unsigned)status < KILN_STATUS_COUNT ? table[status].name
                                                : "KILN_E_UNKNOWN";
}

const char *kiln_status_text(enum kiln_status status)
{
    return (unsigned)status < KILN_STATUS_COUNT ? table[status].text
                                                : "unknown error";
}

int kiln_status_cuda(enum kiln_status status)
{
    return (unsigned)status < KILN_STATUS_COUNT ? table[status].cuda : 999;
}

int kiln_status_runtime(enum kiln_status status)
{
    return (unsigned)status < KILN_STATUS_COUNT ? table[status].runtime : 999;
}

enum kiln_status kiln_status_from_cuda(int result)
{
    /* Of rows with the same number the first is the general one, except
     * that 100 from a driver speaks of devices. */
    if (result == 100)
        return KILN_E_NO_DEVICE;
    for (unsigned s = 0; s < KILN_STATUS_COUNT; s++)
        if (table[s].cuda == result && s != KILN_E_COMPILE)
            return (enum kiln_status)(result == 999 ? KILN_E_UNKNOWN : s);
    return KILN_E_UNKNOWN;
}
