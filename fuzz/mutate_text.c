/* SPDX-License-Identifier: MIT
 *
 * Text: words and marks are exchanged, doubled, moved and dropped whole.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz/mutate.h"

int mutate_is_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* The token around `at`: a word with the dot or sign before it, or a mark. */
static void token(const struct buffer *b, size_t at, size_t *from, size_t *size)
{
    size_t end = at;

    while (at && mutate_is_word(b->bytes[at]) &&
           mutate_is_word(b->bytes[at - 1]))
        at--;
    while (end < b->size && mutate_is_word(b->bytes[end]))
        end++;
    if (end == at)
        end++;
    else if (at && b->bytes[at - 1] == '.')
        at--;
    *from = at;
    *size = end - at;
}

/* Some tokens, or some lines, from `at` on. */
static size_t span(const struct buffer *b, size_t at, struct rng *r)
{
    size_t end = at;

    if (rng_below(r, 2)) {
        const void *line = memchr(b->bytes + at, '\n', b->size - at);

        return line ? (size_t)((const unsigned char *)line - b->bytes) - at + 1
                    : b->size - at;
    }
    for (uint32_t n = 1 + rng_below(r, 8); n-- > 0 && end < b->size;) {
        size_t from, size;

        token(b, end, &from, &size);
        end = from + size;
    }
    return end - at;
}

static void number(struct buffer *out, struct rng *r)
{
    static const char *const formats[] = {
        "%llu", "0x%llx", "-%llu", "%lluU", "0f%08llX", "0d%016llX", "0%llo"};
    char text[40];

    snprintf(text, sizeof text, formats[rng_below(r, 7)],
             (unsigned long long)rng_number(r, 64));
    buffer_text(out, text);
}

/* A span again and again; words that end in a digit are other words in each
 * copy, so that what holds names has to grow. */
static void repeat(struct buffer *out, const unsigned char *bytes, size_t size,
                   struct rng *r)
{
    const uint32_t copies = 1u << rng_below(r, 8);

    for (uint32_t i = 0; i < copies && out->size < 16384; i++) {
        for (size_t k = 0; k < size; k++) {
            buffer_add(out, bytes + k, 1);
            if (bytes[k] >= '0' && bytes[k] <= '9' &&
                (k + 1 == size || !mutate_is_word(bytes[k + 1])))
                buffer_printf(out, "%u", i);
        }
    }
}

static void change(struct buffer *b, struct rng *r, const char *const *words,
                   size_t count)
{
    struct buffer with = {0};
    size_t at, size, to;

    if (!b->size || !rng_below(r, 10)) {
        mutate_blindly(b, b->size + 32);
        return;
    }
    token(b, rng_below(r, (uint32_t)b->size), &at, &size);
    to = at;
    switch (rng_below(r, 9)) {
    case 0: /* dropped */
        break;
    case 1: /* some dropped */
        size = span(b, at, r);
        break;
    case 2: /* some copied elsewhere */
        buffer_add(&with, b->bytes + at, span(b, at, r));
        token(b, rng_below(r, (uint32_t)b->size), &to, &size);
        size = 0;
        break;
    case 3: /* another of this text */
        token(b, rng_below(r, (uint32_t)b->size), &to, &size);
        buffer_add(&with, b->bytes + to, size);
        token(b, at, &to, &size);
        break;
    case 4:
        number(&with, r);
        break;
    case 5:
        repeat(&with, b->bytes + at, span(b, at, r), r);
        size = 0;
        break;
    case 6: /* put before it */
        size = 0;
        /* fall through */
    default:
        buffer_text(&with, words[rng_below(r, (uint32_t)count)]);
        break;
    }
    mutate_splice(b, to, size, &with);
    buffer_fini(&with);
}

size_t mutate_text(uint8_t *data, size_t size, size_t most, unsigned seed,
                   const char *const *words, size_t count)
{
    struct rng r = {seed};
    struct buffer b = {0};

    buffer_add(&b, data, size);
    for (uint32_t i = 1 + rng_below(&r, 4); i-- > 0;)
        change(&b, &r, words, count);
    return mutate_give(&b, data, most);
}
