/* SPDX-License-Identifier: MIT
 *
 * Bytes in: a bounds-checked reader. Once a read would pass the end, the
 * cursor is bad, stays bad and yields zeros, so that a caller checks once.
 */
#ifndef KILN_BASE_CURSOR_H
#define KILN_BASE_CURSOR_H

#include <stdint.h>
#include <string.h>

struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    int bad;
};

static inline struct cursor cursor_of(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    struct cursor c = {p, p ? p + size : p, 0};

    return c;
}

static inline size_t cursor_left(const struct cursor *c)
{
    return c->bad ? 0 : (size_t)(c->end - c->at);
}

/* n bytes in place, borrowed from the input, or NULL. */
static inline const unsigned char *cursor_bytes(struct cursor *c, uint64_t n)
{
    const unsigned char *p = c->at;

    if (c->bad || n > (uint64_t)(c->end - c->at)) {
        c->bad = 1;
        return NULL;
    }
    c->at += n;
    return p;
}

static inline void cursor_load(struct cursor *c, void *to, size_t n)
{
    const unsigned char *p = cursor_bytes(c, n);

    if (p)
        memcpy(to, p, n);
    else
        memset(to, 0, n);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
    uint8_t v;

    cursor_load(c, &v, sizeof v);
    return v;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
    uint16_t v;

    cursor_load(c, &v, sizeof v);
    return v;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
    uint32_t v;

    cursor_load(c, &v, sizeof v);
    return v;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
    uint64_t v;

    cursor_load(c, &v, sizeof v);
    return v;
}

#endif
