/* SPDX-License-Identifier: MIT
 *
 * Damage to PTX: characters, words, lines, numbers, nesting.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mutate.h"

static const char *const words[] = {
    ".version 9.0",
    ".version 0.0",
    ".target sm_90",
    ".target sm_999",
    ".address_size 32",
    ".visible",
    ".extern",
    ".entry k()",
    ".func f",
    ".reg .b32 %r<99999>;",
    ".reg .b64 %rd<4>;",
    ".param .u64 p",
    ".param .b8 p[5000]",
    ".shared .align 4 .b8 s[40000];",
    ".local .b8 l[100000];",
    ".global .b8 g[4];",
    ".const .f32 c = 1.5;",
    ".maxntid 1024, 1, 1",
    ".reqntid 0",
    ".maxnreg 1",
    ".minnctapersm 99",
    ".pragma \"nounroll\";",
    ".loc 1 2 3",
    ".file 1 \"a.cu\"",
    ".section .debug_info { }",
    "bra L0;",
    "L0:",
    "ret;",
    "exit;",
    "trap;",
    "bar.sync 0;",
    "call f;",
    "mov.u32 %r1, %tid.x;",
    "@%p1",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "/*",
    "*/",
    "//",
    "\"",
    "\\",
    "0x",
    "0f3F800000",
    "0d",
    "-1",
    "4294967296",
    "18446744073709551616",
    "1e999",
    "%r1",
    "%rd99",
    "%",
    "$",
    "@",
    "#line 1",
    ".alias a, b;",
    /* Numbers that end an assembler. */
    ".reg .b64 %rd<4294967295>;",
    ".maxntid 4294967295",
    ".reqntid 65535, 65537, 1",
    ".align 1073741824",
    ".const .b8 c[4294967295];",
    ".global .b8 g[2147483648] = {1};",
    ".global .b8 g[1][1][1][1][1][1][1][1];",
    ".weak",
};

static size_t insert(char *text, size_t size, size_t room, size_t at,
                     const char *what, size_t n)
{
    if (size + n > room)
        return size;
    memmove(text + at + n, text + at, size - at);
    memcpy(text + at, what, n);
    return size + n;
}

static size_t drop(char *text, size_t size, size_t at, size_t n)
{
    n = n < size - at ? n : size - at;
    memmove(text + at, text + at + n, size - at - n);
    return size - n;
}

/* The beginning of a line at random. */
static size_t line_at(const char *text, size_t size, uint64_t *state)
{
    size_t at = (size_t)(random_next(state) % size);

    while (at && text[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_length(const char *text, size_t size, size_t at)
{
    const char *end = memchr(text + at, '\n', size - at);

    return end ? (size_t)(end - text) - at + 1 : size - at;
}

static size_t lines(char *text, size_t size, size_t room, uint64_t *state)
{
    char copy[512];
    size_t from = line_at(text, size, state);
    size_t n = line_length(text, size, from);

    n = n < sizeof copy ? n : sizeof copy;
    memcpy(copy, text + from, n);
    if (random_next(state) % 3)
        size = drop(text, size, from, n);
    if (size && random_next(state) % 3)
        size = insert(text, size, room, line_at(text, size, state), copy, n);
    return size;
}

/* A number becomes another. */
static size_t number(char *text, size_t size, size_t room, uint64_t *state)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "255",
                                         "65536",
                                         "2147483648",
                                         "1073741824",
                                         "4294967265",
                                         "4294967295",
                                         "0xffffffffU",
                                         "4294967296",
                                         "9223372036854775807",
                                         "18446744073709551615",
                                         "99999999999999999999",
                                         "-1",
                                         "0x",
                                         "1.5"};
    size_t at = (size_t)(random_next(state) % size), n = 0;

    while (at < size && !isdigit((unsigned char)text[at]))
        at++;
    while (at + n < size && isdigit((unsigned char)text[at + n]))
        n++;
    if (!n)
        return size;
    size = drop(text, size, at, n);
    {
        const char *v =
            values[random_next(state) % (sizeof values / sizeof *values)];

        return insert(text, size, room, at, v, strlen(v));
    }
}

static size_t repeated(char *text, size_t size, size_t room, uint64_t *state)
{
    static const char what[] = "({[a_%.\"/*1-@\n";
    char many[4096];
    size_t n = 1 + (size_t)(random_next(state) % sizeof many);

    memset(many, what[random_next(state) % (sizeof what - 1)], n);
    return insert(text, size, room, (size_t)(random_next(state) % size), many,
                  n);
}

size_t mutate_text(char *text, size_t size, size_t room, uint64_t *state)
{
    size_t at;
    char byte;

    if (!size)
        return 0;
    at = (size_t)(random_next(state) % size);
    switch (random_next(state) % 12) {
    case 0:
        text[at] = (char)random_next(state);
        return size;
    case 1:
        byte = (char)(' ' + random_next(state) % 95);
        return insert(text, size, room, at, &byte, 1);
    case 2:
        return drop(text, size, at, 1 + (size_t)(random_next(state) % 8));
    case 3:
        return at; /* cut */
    case 4:
    case 5:
        return lines(text, size, room, state);
    case 6:
    case 7:
        return number(text, size, room, state);
    case 8:
        return repeated(text, size, room, state);
    default: {
        const char *w =
            words[random_next(state) % (sizeof words / sizeof *words)];

        size = insert(text, size, room, at, w, strlen(w));
        return insert(text, size, room, at, " ", 1);
    }
    }
}
