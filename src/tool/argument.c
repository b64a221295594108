/* SPDX-License-Identifier: MIT */
#include "tool/argument.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct element_type types[] = {
    {"i8", 1, NUMBER_SIGNED},  {"u8", 1, NUMBER_UNSIGNED},
    {"i16", 2, NUMBER_SIGNED}, {"u16", 2, NUMBER_UNSIGNED},
    {"i32", 4, NUMBER_SIGNED}, {"u32", 4, NUMBER_UNSIGNED},
    {"i64", 8, NUMBER_SIGNED}, {"u64", 8, NUMBER_UNSIGNED},
    {"f16", 2, NUMBER_FLOAT},  {"bf16", 2, NUMBER_FLOAT},
    {"f32", 4, NUMBER_FLOAT},  {"f64", 8, NUMBER_FLOAT},
};

static const struct element_type *find_type(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n && !memcmp(types[i].name, text, n))
            return &types[i];
    return NULL;
}

enum half_format half_format_of(const struct element_type *type)
{
    return *type->name == 'b' ? HALF_BF16 : HALF_F16;
}

/* A number, inf or nan; a number too large for the type is none of it. */
static int parse_float(const struct element_type *type, const char *text,
                       unsigned char *to)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int infinite;
    char *end;

    /* strtod would skip blanks. */
    if (isspace((unsigned char)*text))
        return -1;
    if (type->size == 2) {
        enum half_format format = half_format_of(type);
        uint16_t v = half_of(format, strtod(text, &end));

        infinite = isinf(half_value(format, v)) != 0;
        memcpy(to, &v, sizeof v);
    } else if (type->size == 4) {
        float v = strtof(text, &end);

        infinite = isinf(v) != 0;
        memcpy(to, &v, sizeof v);
    } else {
        double v = strtod(text, &end);

        infinite = isinf(v) != 0;
        memcpy(to, &v, sizeof v);
    }
    if (infinite && !isalpha((unsigned char)*digits))
        return -1;
    return end == text || *end ? -1 : 0;
}

/* Base 16 behind 0x, else 10: a leading 0 means nothing. */
static int base_of(const char *text)
{
    text += *text == '-' || *text == '+';
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

/* A whole number that the type can hold; 0x for hexadecimal. */
static int parse_whole(const struct element_type *type, const char *text,
                       unsigned char *to)
{
    unsigned bits = (unsigned)type->size * 8;
    char *end;

    if (!isdigit((unsigned char)*text) && *text != '-' && *text != '+')
        return -1;
    errno = 0;
    if (type->number == NUMBER_SIGNED) {
        long long v = strtoll(text, &end, base_of(text));
        long long most = (long long)(UINT64_MAX >> (65 - bits));

        if (v > most || v < -most - 1)
            return -1;
        memcpy(to, &v, type->size);
    } else {
        unsigned long long v = strtoull(text, &end, base_of(text));

        if (*text == '-' || v > UINT64_MAX >> (64 - bits))
            return -1;
        memcpy(to, &v, type->size);
    }
    return errno || *end || end == text ? -1 : 0;
}

static int parse_number(const struct element_type *type, const char *text,
                        unsigned char *to, char *why, size_t why_size)
{
    int bad = type->number == NUMBER_FLOAT ? parse_float(type, text, to)
                                           : parse_whole(type, text, to);

    if (bad)
        snprintf(why, why_size,
                 "\"%s\" is not a value of type %s, or out of its range", text,
                 type->name);
    return bad;
}

static int parse_count(const char *text, size_t n, uint64_t *out)
{
    char copy[32], *end;

    if (!n || n >= sizeof copy || !isdigit((unsigned char)*text))
        return -1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    errno = 0;
    *out = strtoull(copy, &end, base_of(copy));
    return errno || *end ? -1 : 0;
}

static int parse_hex(const char *text, struct argument *a, char *why,
                     size_t why_size)
{
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)text[i])) {
            snprintf(why, why_size, "bytes: '%c' is no hexadecimal digit",
                     text[i]);
            return -1;
        }
    if (!n || n % 2) {
        snprintf(why, why_size, "bytes: %zu digits, two a byte are needed", n);
        return -1;
    }
    a->value_size = n / 2;
    a->value = malloc(a->value_size);
    if (!a->value) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < a->value_size; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};

        a->value[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return 0;
}

static int parse_out(const char *text, struct argument *a, char *why,
                     size_t why_size)
{
    if (!strcmp(text, "head")) {
        a->out = OUT_HEAD;
        a->head = 8;
    } else if (!strncmp(text, "head=", 5) &&
               !parse_count(text + 5, strlen(text + 5), &a->head)) {
        a->out = OUT_HEAD;
    } else if (!strcmp(text, "sum")) {
        a->out = OUT_SUM;
    } else if (*text == '@' && text[1]) {
        a->out = OUT_FILE;
        a->out_file = strdup(text + 1);
    } else {
        snprintf(why, why_size,
                 "output \"%s\": head, head=K, sum or @FILE expected", text);
        return -1;
    }
    return 0;
}

/* Where OUT starts, behind the ':' that ends INIT; NULL: there is none. A
 * path may hold colons, an output keyword cannot. */
static const char *find_out(const char *init)
{
    static const char *const starts[] = {":head", ":sum", ":@"};
    const char *found = NULL;

    if (*init != '@') {
        found = strchr(init, ':');
        return found ? found + 1 : NULL;
    }
    for (size_t i = 0; i < 3; i++)
        for (const char *p = init; (p = strstr(p, starts[i])); p++)
            if (!found || p > found)
                found = p;
    return found ? found + 1 : NULL;
}

static int parse_init(const char *text, size_t n, struct argument *a, char *why,
                      size_t why_size)
{
    char *init = strndup(text, n);
    int bad = 0;

    if (!init) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    if (!strcmp(init, "zero")) {
        a->init = INIT_ZERO;
    } else if (!strcmp(init, "iota")) {
        a->init = INIT_IOTA;
    } else if (!strncmp(init, "const=", 6)) {
        a->init = INIT_CONST;
        bad = parse_number(a->type, init + 6, a->constant, why, why_size);
    } else if (!strcmp(init, "rand")) {
        a->init = INIT_RAND;
        a->seed = 1;
    } else if (!strncmp(init, "rand=", 5) &&
               !parse_count(init + 5, strlen(init + 5), &a->seed)) {
        a->init = INIT_RAND;
    } else if (*init == '@' && init[1]) {
        a->init = INIT_FILE;
        a->init_file = strdup(init + 1);
    } else {
        snprintf(why, why_size,
                 "contents \"%s\": zero, iota, const=V, rand, rand=SEED or "
                 "@FILE expected",
                 init);
        bad = -1;
    }
    free(init);
    return bad;
}

static int parse_buffer(const char *text, struct argument *a, char *why,
                        size_t why_size)
{
    const char *open = strchr(text, '['), *close = strchr(text, ']');
    const char *init, *out;

    if (!close || close[1] != ':' ||
        parse_count(open + 1, (size_t)(close - open) - 1, &a->count) ||
        !a->count || a->count > UINT64_MAX / 16) {
        snprintf(why, why_size,
                 "\"%s\": a buffer is TYPE[N]:CONTENTS[:OUTPUT] with N from "
                 "1 up",
                 text);
        return -1;
    }
    a->is_buffer = 1;
    init = close + 2;
    out = find_out(init);
    if (parse_init(init, out ? (size_t)(out - init) - 1 : strlen(init), a, why,
                   why_size))
        return -1;
    return out ? parse_out(out, a, why, why_size) : 0;
}

int argument_parse(const char *text, struct argument *out, char *why,
                   size_t why_size)
{
    size_t n = strcspn(text, ":[");
    int bad;

    memset(out, 0, sizeof *out);
    out->text = text;
    if (!strncmp(text, "bytes:", 6)) {
        bad = parse_hex(text + 6, out, why, why_size);
    } else {
        out->type = find_type(text, n);
        if (!out->type || !text[n]) {
            snprintf(why, why_size,
                     "\"%s\": TYPE:VALUE, TYPE[N]:CONTENTS[:OUTPUT] or "
                     "bytes:HEX expected; the types are i8 u8 i16 u16 i32 "
                     "u32 i64 u64 f16 bf16 f32 f64",
                     text);
            return -1;
        }
        if (text[n] == '[') {
            bad = parse_buffer(text, out, why, why_size);
        } else {
            out->value_size = out->type->size;
            out->value = calloc(1, 8);
            bad = !out->value || parse_number(out->type, text + n + 1,
                                              out->value, why, why_size);
        }
    }
    if (bad) {
        argument_fini(out);
        return -1;
    }
    return 0;
}

void argument_fini(struct argument *a)
{
    free(a->value);
    free(a->init_file);
    free(a->out_file);
    a->value = NULL;
    a->init_file = a->out_file = NULL;
}

uint64_t argument_bytes(const struct argument *a)
{
    return a->is_buffer ? a->count * a->type->size : a->value_size;
}
