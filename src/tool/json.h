/* SPDX-License-Identifier: MIT
 *
 * JSON on its way out: names and values one after the other, commas put
 * where they belong.
 */
#ifndef KILN_TOOL_JSON_H
#define KILN_TOOL_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *to;
    int open; /* the innermost object or list has something in it */
};

/* In quotes, with what JSON wants escaped. */
void json_string(FILE *to, const char *text);

/* name NULL: in a list. */
void json_begin(struct json *j, const char *name, char bracket);
void json_end(struct json *j, char bracket);
void json_text(struct json *j, const char *name, const char *value);
void json_number(struct json *j, const char *name, uint64_t value);
void json_signed(struct json *j, const char *name, int64_t value);

#endif
