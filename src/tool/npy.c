/* SPDX-License-Identifier: MIT
 *
 * .npy: "\x93NUMPY", two bytes of version, the header's length (two bytes,
 * from version 2 on four), and a Python dictionary as text:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "tool/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, HEADER_MAX = 1 << 16, ALIGN = 64 };

int npy_is(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && !strcmp(path + n - 4, ".npy");
}

/* "f4" for f32. NumPy has no bf16 of its own; what writes it names two bytes
 * of no known kind. */
static void descr_of(const struct element_type *t, char text[4])
{
    char kind = t->number == NUMBER_FLOAT    ? 'f'
                : t->number == NUMBER_SIGNED ? 'i'
                                             : 'u';

    if (!strcmp(t->name, "bf16"))
        kind = 'V';
    snprintf(text, 4, "%c%zu", kind, t->size % 10);
}

/* The value of a key, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);

    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, ": ");
}

static int read_shape(const char *text, uint64_t *count, int *dimensions)
{
    *count = 1;
    *dimensions = 0;
    if (*text++ != '(')
        return -1;
    for (;;) {
        char *end;
        unsigned long long n;

        text += strspn(text, ", ");
        if (*text == ')')
            return 0;
        n = strtoull(text, &end, 10);
        if (end == text || *text == '-' ||
            __builtin_mul_overflow(*count, (uint64_t)n, count))
            return -1;
        (*dimensions)++;
        text = end;
    }
}

static int check(const char *header, const struct element_type *type,
                 uint64_t count, char *why, size_t why_size)
{
    const char *descr = value_of(header, "'descr'");
    const char *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");
    char wanted[4], found[16] = "";
    uint64_t there;
    int dimensions;

    if (!descr || !order || !shape || *descr != '\'' ||
        read_shape(shape, &there, &dimensions)) {
        snprintf(why, why_size, "its .npy header is not understood");
        return -1;
    }
    snprintf(found, sizeof found, "%.*s", (int)strcspn(descr + 1, "'"),
             descr + 1);
    descr_of(type, wanted);
    if (*found == '>') {
        snprintf(why, why_size, "its elements are big-endian (%s)", found);
        return -1;
    }
    if (strcmp(found + (strchr("<|=", *found) != NULL), wanted)) {
        snprintf(why, why_size, "its elements are %s, %s (%s) expected", found,
                 type->name, wanted);
        return -1;
    }
    if (!strncmp(order, "True", 4) && dimensions > 1) {
        snprintf(why, why_size, "its order is Fortran's, C's expected");
        return -1;
    }
    if (there != count) {
        snprintf(why, why_size,
                 "it has %" PRIu64 " elements, %s[%" PRIu64 "] needs %" PRIu64,
                 there, type->name, count, count);
        return -1;
    }
    return 0;
}

int npy_read_header(FILE *from, const struct element_type *type, uint64_t count,
                    char *why, size_t why_size)
{
    unsigned char head[12] = {0};
    char *header;
    size_t length, n = 2;
    int bad;

    if (fread(head, 1, 8, from) != 8 || memcmp(head, magic, MAGIC)) {
        snprintf(why, why_size, "not a .npy file");
        return -1;
    }
    if (head[6] > 1)
        n = 4;
    if (head[6] < 1 || head[6] > 3 || fread(head + 8, 1, n, from) != n) {
        snprintf(why, why_size, ".npy version %u, 1 to 3 expected", head[6]);
        return -1;
    }
    length = head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 |
             (size_t)head[11] << 24;
    header = length <= HEADER_MAX ? calloc(1, length + 1) : NULL;
    if (!header || fread(header, 1, length, from) != length) {
        snprintf(why, why_size,
                 "a .npy header of %zu bytes that cannot be "
                 "read",
                 length);
        free(header);
        return -1;
    }
    bad = check(header, type, count, why, why_size);
    free(header);
    return bad;
}

int npy_write_header(FILE *to, const struct element_type *type, uint64_t count)
{
    char descr[4], text[ALIGN * 2], head[10] = {0};
    size_t n, room;

    descr_of(type, descr);
    n = (size_t)snprintf(text, sizeof text,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': "
                         "(%" PRIu64 ",), }",
                         type->size == 1 || *descr == 'V' ? '|' : '<', descr,
                         count);
    /* Padded so that the data is aligned, and ended by a newline. */
    room = (sizeof head + n + 1 + ALIGN - 1) / ALIGN * ALIGN - sizeof head;
    memset(text + n, ' ', room - n);
    text[room - 1] = '\n';
    memcpy(head, magic, MAGIC);
    head[6] = 1;
    head[8] = (char)(room & 255);
    head[9] = (char)(room >> 8);
    return fwrite(head, 1, sizeof head, to) == sizeof head &&
                   fwrite(text, 1, room, to) == room
               ? 0
               : -1;
}
