/* SPDX-License-Identifier: MIT
 *
 * Print what the PTX parser made of a file: the program, or the diagnostics
 * and the error. With --again the print is parsed and printed too, and must
 * be the same. Exit status 1 when the file does not parse.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "cpu/ptx/ptx.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int same_again(const struct buffer *first, struct arena *arena)
{
    struct buffer second = {0};
    struct buffer log = {0};
    struct kiln_error err;
    struct ptx_module *m;
    int same = 0;

    if (ptx_parse(buffer_str(first), first->size, arena, &m, &log, &err))
        printf("its print does not parse: %s\n%s", err.text, buffer_str(&log));
    else
        ptx_print(m, &second);
    same = first->size == second.size &&
           memcmp(first->bytes, second.bytes, first->size) == 0;
    if (!same && second.size)
        printf("%s\nprints differently again:\n%s", buffer_str(first),
               buffer_str(&second));
    buffer_fini(&second);
    buffer_fini(&log);
    return same;
}

/* mode: 0 print, 1 compare only, 2 time only */
static int dump(const char *path, int mode)
{
    struct buffer text = {0};
    struct buffer log = {0};
    struct buffer print = {0};
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct ptx_module *m;
    double start;
    int bad = 0;

    if (file_read(path, 0, &text, &err)) {
        printf("%s\n", err.text);
        return 1;
    }
    start = now();
    if (ptx_parse((const char *)text.bytes, text.size, &arena, &m, &log,
                  &err)) {
        printf("%s%s: %s\n", buffer_str(&log), kiln_status_name(err.status),
               err.text);
        bad = 1;
    } else if (mode == 2) {
        printf("%zu bytes, %.2f ms, %zu bytes of memory\n", text.size,
               now() - start, arena.total);
    } else {
        ptx_print(m, &print);
        if (mode == 0)
            fputs(buffer_str(&print), stdout);
        bad = !same_again(&print, &arena);
    }
    buffer_fini(&text);
    buffer_fini(&log);
    buffer_fini(&print);
    arena_fini(&arena);
    return bad;
}

int main(int argc, char **argv)
{
    int mode = 0;
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--again") == 0)
            mode = 1;
        else if (strcmp(argv[i], "--time") == 0)
            mode = 2;
        else if (dump(argv[i], mode))
            bad = printf(mode ? "%s: bad\n" : "", argv[i]) >= 0;
    }
    return bad;
}
