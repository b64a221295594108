/* SPDX-License-Identifier: MIT
 *
 * Names of files and kernels are bytes that anybody chose. On a terminal some
 * of them move the cursor or answer in the user's name.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

size_t character_bytes(const char *at)
{
    const unsigned char *text = (const unsigned char *)at;
    size_t n = *text < 0x80                    ? 1
               : *text >= 0xc2 && *text < 0xe0 ? 2
               : *text >= 0xe0 && *text < 0xf0 ? 3
               : *text >= 0xf0 && *text < 0xf5 ? 4
                                               : 0;

    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* Surrogates, overlong forms and what is above U+10FFFF. */
    if ((*text == 0xed && text[1] > 0x9f) ||
        (*text == 0xe0 && text[1] < 0xa0) ||
        (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
        return 0;
    return n;
}

/* U+0000 to U+001F, U+007F to U+009F. */
static int is_control(const char *text)
{
    unsigned char c = (unsigned char)*text;

    return c < ' ' || c == 127 || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

void put_plain(FILE *to, const char *text)
{
    /* Names of kernels are long and mostly plain. */
    while (*text) {
        size_t n = 0;

        while (text[n] >= ' ' && text[n] != 127)
            n++;
        if (!n && !is_control(text))
            n = character_bytes(text);
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
