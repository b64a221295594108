/* SPDX-License-Identifier: MIT
 *
 * Names of files and kernels are bytes that anybody chose. On a terminal some
 * of them move the cursor or answer in the user's name.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

/* The bytes of a character of two and more that may be shown; 0: none. */
static size_t shown(const unsigned char *text)
{
    size_t n = *text >= 0xc2 && *text < 0xe0   ? 2
               : *text >= 0xe0 && *text < 0xf0 ? 3
               : *text >= 0xf0 && *text < 0xf5 ? 4
                                               : 0;

    /* U+0080 to U+009F are control characters. */
    if (*text == 0xc2 && text[1] < 0xa0)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void put_plain(FILE *to, const char *text)
{
    /* Names of kernels are long and mostly plain. */
    while (*text) {
        size_t n = 0;

        while (text[n] >= ' ' && text[n] != 127)
            n++;
        if (!n)
            n = shown((const unsigned char *)text);
        if (n) {
            fwrite(text, 1, n, to);
            text += n;
        } else {
            fputc('?', to);
            text++;
        }
    }
}

void print_plain(FILE *to, const char *format, ...)
{
    char *text = NULL;
    size_t n = strlen(format);
    int ends = n && format[n - 1] == '\n', bad;
    va_list args;

    va_start(args, format);
    bad = vasprintf(&text, format, args) < 0;
    va_end(args);
    if (bad) {
        fputs("out of memory\n", to);
        return;
    }
    n = strlen(text);
    if (ends)
        text[n - 1] = '\0';
    put_plain(to, text);
    if (ends)
        fputc('\n', to);
    free(text);
}
