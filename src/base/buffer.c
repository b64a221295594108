/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static unsigned char *room(struct buffer *b, size_t n)
{
    size_t need;

    if (b->bad)
        return NULL;
    if (__builtin_add_overflow(b->size, n, &need) ||
        __builtin_add_overflow(need, (size_t)1, &need)) {
        b->bad = 1;
        return NULL;
    }
    if (need > b->cap) {
        size_t cap = b->cap + b->cap / 2;
        unsigned char *bytes;

        if (cap < 64)
            cap = 64;
        if (cap < need)
            cap = need;
        bytes = kiln_array(b->bytes, cap, 1);
        if (!bytes) {
            b->bad = 1;
            return NULL;
        }
        b->bytes = bytes;
        b->cap = cap;
    }
    return b->bytes + b->size;
}

void buffer_add(struct buffer *b, const void *bytes, size_t n)
{
    unsigned char *to = room(b, n);

    if (!to)
        return;
    if (n)
        memcpy(to, bytes, n);
    b->size += n;
    b->bytes[b->size] = 0;
}

unsigned char *buffer_room(struct buffer *b, size_t n)
{
    unsigned char *to = room(b, n);

    if (to) {
        b->size += n;
        b->bytes[b->size] = 0;
    }
    return to;
}

void buffer_zeros(struct buffer *b, size_t n)
{
    unsigned char *to = room(b, n);

    if (!to)
        return;
    memset(to, 0, n + 1);
    b->size += n;
}

void buffer_align(struct buffer *b, size_t alignment)
{
    buffer_zeros(b, -b->size & (alignment - 1));
}

void buffer_u8(struct buffer *b, uint8_t v)
{
    buffer_add(b, &v, sizeof v);
}

void buffer_u16(struct buffer *b, uint16_t v)
{
    buffer_add(b, &v, sizeof v);
}

void buffer_u32(struct buffer *b, uint32_t v)
{
    buffer_add(b, &v, sizeof v);
}

void buffer_u64(struct buffer *b, uint64_t v)
{
    buffer_add(b, &v, sizeof v);
}

void buffer_text(struct buffer *b, const char *text)
{
    buffer_add(b, text, strlen(text));
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
    unsigned char *to;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    to = n < 0 ? NULL : room(b, (size_t)n);
    if (!to)
        return;
    va_start(args, format);
    vsnprintf((char *)to, (size_t)n + 1, format, args);
    va_end(args);
    b->size += (size_t)n;
}

const char *buffer_str(const struct buffer *b)
{
    return b->bytes ? (const char *)b->bytes : "";
}

void buffer_fini(struct buffer *b)
{
    kiln_release(b->bytes);
    *b = (struct buffer){0};
}
