/* SPDX-License-Identifier: MIT */
#include "tool/json.h"

#include <inttypes.h>

static void put_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20 || *p >= 0x7f)
            fprintf(to, "\\u%04x", *p); /* names of symbols are bytes */
        else
            fputc(*p, to);
    }
    fputc('"', to);
}

static void name_it(struct json *j, const char *name)
{
    if (j->open)
        fputs(", ", j->to);
    j->open = 1;
    if (name) {
        put_string(j->to, name);
        fputs(": ", j->to);
    }
}

void json_begin(struct json *j, const char *name, char bracket)
{
    name_it(j, name);
    fputc(bracket, j->to);
    j->open = 0;
}

void json_end(struct json *j, char bracket)
{
    fputc(bracket, j->to);
    j->open = 1;
}

void json_text(struct json *j, const char *name, const char *value)
{
    name_it(j, name);
    put_string(j->to, value);
}

void json_number(struct json *j, const char *name, uint64_t value)
{
    name_it(j, name);
    fprintf(j->to, "%" PRIu64, value);
}

void json_signed(struct json *j, const char *name, int64_t value)
{
    name_it(j, name);
    fprintf(j->to, "%" PRId64, value);
}
