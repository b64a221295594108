/* SPDX-License-Identifier: MIT
 *
 * printf of kernels. The format is a kernel's: it is taken apart here, and
 * what reaches the host's snprintf is a conversion put together again from
 * known parts, with width and precision bounded. Arguments lie packed with
 * natural alignment, floats as doubles (PTX's vprintf).
 */
#include <stdio.h>
#include <string.h>

#include "cpu/exec/engine.h"

enum {
    FORMAT_LIMIT = 65536,
    STRING_LIMIT = 65536,
    FIELD_LIMIT = 1024,           /* width and precision */
    PIECE = 2 * FIELD_LIMIT + 512 /* 1.8e308 has 309 digits */
};

struct reader {
    struct slot *slot;
    const char *at, *end; /* the format */
    uint64_t args;
    uint64_t offset;
    int count;
};

struct conversion {
    char flags[6];
    int width, precision; /* precision -1: none */
    int size;             /* -2 hh, -1 h, 0, 1 l ll z t j */
    char type;
};

static uint64_t argument(struct reader *r, unsigned bytes)
{
    uint64_t v = 0;

    r->offset = (r->offset + bytes - 1) & ~(uint64_t)(bytes - 1);
    service_fetch(r->slot, &v, r->args + r->offset, bytes);
    r->offset += bytes;
    r->count++;
    return v;
}

static int number(struct reader *r)
{
    int n = 0;

    if (r->at < r->end && *r->at == '*') {
        r->at++;
        n = (int)(uint32_t)argument(r, 4);
    } else {
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
            if (n <= FIELD_LIMIT)
                n = n * 10 + (*r->at - '0');
            r->at++;
        }
    }
    return n;
}

static void read_size(struct reader *r, struct conversion *c)
{
    c->size = 0;
    for (; r->at < r->end; r->at++)
        switch (*r->at) {
        case 'h':
            c->size--;
            break;
        case 'l':
        case 'z':
        case 't':
        case 'j':
            c->size = 1;
            break;
        default:
            return;
        }
}

/* Behind the percent sign; 0 where that is no conversion. */
static int read_conversion(struct reader *r, struct conversion *c)
{
    memset(c, 0, sizeof *c);
    for (; r->at < r->end && memchr("-+ #0", *r->at, 5); r->at++)
        if (!strchr(c->flags, *r->at))
            c->flags[strlen(c->flags)] = *r->at;
    c->width = number(r);
    if (c->width < 0) {
        c->width = c->width == INT32_MIN ? FIELD_LIMIT : -c->width;
        if (!strchr(c->flags, '-'))
            c->flags[strlen(c->flags)] = '-';
    }
    c->precision = -1;
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        c->precision = number(r);
    }
    if (c->width > FIELD_LIMIT)
        c->width = FIELD_LIMIT;
    if (c->precision > FIELD_LIMIT)
        c->precision = FIELD_LIMIT;
    read_size(r, c);
    if (r->at == r->end || !memchr("diouxXpeEfFgGaAcs", *r->at, 17))
        return 0;
    c->type = *r->at++;
    return 1;
}

static void add_number(struct reader *r, const struct conversion *c)
{
    char form[24], text[PIECE];
    int n;

    snprintf(form, sizeof form, "%%%s*.*%s%c", c->flags,
             strchr("diouxX", c->type) ? "ll" : "", c->type);
    if (strchr("di", c->type)) {
        int64_t v = (int64_t)argument(r, c->size > 0 ? 8 : 4);

        v = c->size > 0     ? v
            : c->size == 0  ? (int32_t)v
            : c->size == -1 ? (int16_t)v
                            : (int8_t)v;
        n = snprintf(text, sizeof text, form, c->width, c->precision,
                     (long long)v);
    } else if (strchr("ouxX", c->type)) {
        uint64_t v = argument(r, c->size > 0 ? 8 : 4);

        v = c->size >= 0 ? v : c->size == -1 ? (uint16_t)v : (uint8_t)v;
        n = snprintf(text, sizeof text, form, c->width, c->precision,
                     (unsigned long long)v);
    } else {
        uint64_t bits = argument(r, 8);
        double v;

        memcpy(&v, &bits, sizeof v);
        n = snprintf(text, sizeof text, form, c->width, c->precision, v);
    }
    if (n > 0)
        buffer_add(&r->slot->text, text,
                   (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void pad(struct buffer *b, int n)
{
    while (n-- > 0)
        buffer_u8(b, ' ');
}

static void add_bytes(struct reader *r, const struct conversion *c,
                      const void *bytes, size_t n)
{
    struct buffer *b = &r->slot->text;
    const int left = strchr(c->flags, '-') != NULL;
    const int blanks = n < (size_t)c->width ? c->width - (int)n : 0;

    if (!left)
        pad(b, blanks);
    buffer_add(b, bytes, n);
    if (left)
        pad(b, blanks);
}

static void add_pointer(struct reader *r, const struct conversion *c)
{
    const uint64_t v = argument(r, 8);
    char text[24] = "(nil)";

    if (v)
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
    add_bytes(r, c, text, strlen(text));
}

static void add_string(struct reader *r, const struct conversion *c)
{
    const uint64_t at = argument(r, 8);
    const size_t limit =
        c->precision >= 0 ? (size_t)c->precision : STRING_LIMIT;

    r->slot->fetched.size = 0;
    if (at)
        service_fetch_string(r->slot, at, limit);
    else
        buffer_text(&r->slot->fetched, "(null)");
    add_bytes(r, c, buffer_str(&r->slot->fetched), r->slot->fetched.size);
}

static void convert(struct reader *r, const char *percent)
{
    struct conversion c;

    if (!read_conversion(r, &c)) {
        buffer_add(&r->slot->text, percent, (size_t)(r->at - percent));
    } else if (c.type == 'c') {
        const unsigned char v = (unsigned char)argument(r, 4);

        add_bytes(r, &c, &v, 1);
    } else if (c.type == 's') {
        add_string(r, &c);
    } else if (c.type == 'p') {
        add_pointer(r, &c);
    } else {
        add_number(r, &c);
    }
}

int format_text(struct slot *slot, uint64_t format, uint64_t args)
{
    struct reader r = {.slot = slot, .args = args};

    if (!format)
        return -1;
    service_fetch_string(slot, format, FORMAT_LIMIT);
    /* the strings that it prints are fetched into the other's place */
    slot->format.size = 0;
    buffer_add(&slot->format, slot->fetched.bytes, slot->fetched.size);
    if (slot->format.bad) {
        slot->format.bad = 0;
        return -2;
    }
    r.at = buffer_str(&slot->format);
    r.end = r.at + slot->format.size;
    while (r.at < r.end) {
        const char *percent = memchr(r.at, '%', (size_t)(r.end - r.at));

        if (!percent)
            percent = r.end;
        buffer_add(&slot->text, r.at, (size_t)(percent - r.at));
        r.at = percent;
        if (percent == r.end)
            break;
        r.at++;
        if (r.at < r.end && *r.at == '%') {
            buffer_u8(&slot->text, '%');
            r.at++;
        } else {
            convert(&r, percent);
        }
    }
    return slot->text.bad ? -2 : r.count;
}
