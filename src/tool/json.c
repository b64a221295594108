/* SPDX-License-Identifier: MIT */
#include "tool/json.h"

#include <inttypes.h>

#include "tool/tool.h"

/* What is no UTF-8 is told byte by byte. */
void json_string(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        size_t n = character_bytes(text);
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", to);
        else if (c < ' ' || c == 127 || !n)
            fprintf(to, "\\u%04x", c);
        else
            fwrite(text, 1, n, to);
        text += n ? n : 1;
    }
    fputc('"', to);
}

static void name_it(struct json *j, const char *name)
{
    if (j->open)
        fputs(", ", j->to);
    j->open = 1;
    if (name) {
        json_string(j->to, name);
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
    json_string(j->to, value);
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
