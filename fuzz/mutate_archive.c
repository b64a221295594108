/* SPDX-License-Identifier: MIT
 *
 * An `ar` archive: a member is changed, renamed, doubled or dropped, and its
 * header says how long it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate.h"

enum { MAGIC = 8, HEADER = 60, SIZE_AT = 48, MEMBERS = 32 };

static uint64_t size_of(const unsigned char *header)
{
    char digits[11] = {0};

    memcpy(digits, header + SIZE_AT, 10);
    return strtoull(digits, NULL, 10);
}

static size_t list(const struct buffer *b, size_t at[MEMBERS])
{
    size_t n = 0, next = MAGIC;

    while (n < MEMBERS && next < b->size && b->size - next >= HEADER) {
        uint64_t size = size_of(b->bytes + next);

        if (size > b->size - next - HEADER)
            break;
        at[n++] = next;
        next += HEADER + size + (size & 1);
    }
    return n;
}

static void rename_member(struct buffer *member, struct rng *r)
{
    static const char *const names[] = {
        "a.o/", "/",       "//",   "/SYM64/",         "/0",
        "/7",   "/999999", "#1/4", "#1/20",           "#1/0",
        "#1/",  "#1/9999", "    ", "0123456789abcdef"};
    char field[17];

    snprintf(field, sizeof field, "%-16s",
             names[rng_below(r, sizeof names / sizeof *names)]);
    memcpy(member->bytes, field, 16);
}

/* Sizes as they are written, and as they should not be. */
static void state_size(struct buffer *member, struct rng *r)
{
    uint64_t size = member->size - HEADER;
    char field[24];

    if (!rng_below(r, 12))
        size = rng_number(r, size);
    snprintf(field, sizeof field, "%-10llu", (unsigned long long)size);
    memcpy(member->bytes + SIZE_AT, field, 10);
}

int mutate_archive(struct buffer *b, struct rng *r)
{
    struct buffer member = {0}, body = {0};
    size_t at[MEMBERS], n = list(b, at), start, size;

    if (!n)
        return 0;
    start = at[rng_below(r, (uint32_t)n)];
    size = (size_t)size_of(b->bytes + start);
    buffer_add(&member, b->bytes + start, HEADER);
    buffer_add(&body, b->bytes + start + HEADER, size);
    if (size & 1 && start + HEADER + size < b->size)
        size++;
    switch (rng_below(r, 8)) {
    case 0:
        member.size = 0;
        break;
    case 1:
        rename_member(&member, r);
        break;
    case 2:
        size = 0, start = at[rng_below(r, (uint32_t)n)];
        break;
    default:
        mutate_bytes(&body, r);
        break;
    }
    if (member.size) {
        buffer_add(&member, body.bytes, body.size);
        state_size(&member, r);
        buffer_align(&member, 2);
        mutate_splice(b, start, size ? HEADER + size : 0, &member);
    } else {
        mutate_splice(b, start, HEADER + size, &member);
    }
    buffer_fini(&member);
    buffer_fini(&body);
    return 1;
}
