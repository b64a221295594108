/* SPDX-License-Identifier: MIT
 *
 * What a kernel is given: parameters, buffers, a grid; from the plan and a
 * seed, the same on every device.
 *
 * Memory is a margin, a buffer for each pointer, a buffer for each pointer to
 * pointers, a margin. Integers are small, since they may be sizes or indices,
 * and floats lie in (0, 1).
 */
#include <string.h>

#include "run.h"

enum { MARGIN = 256 << 10, BUFFER = 128 << 10, MAX_BUFFERS = 24 };

static uint64_t next(uint64_t *state)
{
    uint64_t v = *state += UINT64_C(0x9e3779b97f4a7c15);

    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

static unsigned buffers_of(const struct plan *p)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < p->slot_count; i++) {
        n += p->slots[i].kind == SLOT_POINTER;
        n += p->slots[i].kind == SLOT_POINTER &&
             p->slots[i].fill == FILL_POINTERS;
    }
    return n > MAX_BUFFERS ? MAX_BUFFERS : n;
}

size_t inputs_size(const struct plan *p)
{
    return 2 * (size_t)MARGIN + (size_t)buffers_of(p) * BUFFER;
}

/* --- buffers --- */

/* One element of `fill`; *bytes is its size. */
static uint64_t element(enum fill fill, uint64_t r, unsigned *bytes)
{
    double d;
    uint64_t bits;

    switch (fill) {
    case FILL_I8:
        *bytes = 1;
        return r & 0xff;
    case FILL_I16:
        *bytes = 2;
        return r & 0xff;
    case FILL_I32:
        *bytes = 4;
        return r & 31;
    case FILL_I64:
        *bytes = 8;
        return r & 31;
    case FILL_F16: /* 0.25 to 1 */
        *bytes = 2;
        return 0x3400 + (r & 0x7ff);
    case FILL_BF16:
        *bytes = 2;
        return 0x3e80 + (r & 0xff);
    case FILL_F32: {
        const float f = (float)((r >> 41) + 1) * 0x1p-24f;
        uint32_t word;

        memcpy(&word, &f, 4);
        *bytes = 4;
        return word;
    }
    case FILL_F64:
        d = (double)((r >> 12) + 1) * 0x1p-53;
        memcpy(&bits, &d, 8);
        *bytes = 8;
        return bits;
    default: /* only written: anything that is seldom a result */
        *bytes = 8;
        return UINT64_C(0x5a5a5a5a5a5a5a5a);
    }
}

static void fill_buffer(unsigned char *to, enum fill fill, uint64_t state)
{
    unsigned bytes = 8;

    for (size_t at = 0; at < BUFFER; at += bytes) {
        const uint64_t v = element(fill, next(&state), &bytes);

        memcpy(to + at, &v, bytes);
    }
}

/* Places in a buffer, each at a multiple of 256 bytes in its first half. */
static void fill_pointers(unsigned char *to, uint64_t buffer, uint64_t state)
{
    for (size_t at = 0; at < BUFFER; at += 8) {
        const uint64_t v = buffer + next(&state) % (BUFFER / 512) * 256;

        memcpy(to + at, &v, 8);
    }
}

/* --- parameters --- */

static uint64_t integer(unsigned seed, unsigned size, uint64_t r)
{
    static const uint8_t few[] = {0, 1, 1, 2, 3, 4, 8, 16};

    if (size == 1) /* often a bool */
        return seed ? r & 1 : 1;
    switch (seed) {
    case 0:
        return 16 + r % 49;
    case 1:
        return UINT64_C(1) << r % 7;
    case 3: /* sizes and strides whose products stay within a buffer */
        return 1;
    default:
        return few[r % sizeof few];
    }
}

static uint64_t floating(unsigned seed, unsigned size, uint64_t r)
{
    const float value = seed == 0 ? 1.0f : seed == 1 ? 0.5f : (float)(r & 1);
    const double wide = value;
    uint64_t bits = 0;

    if (size == 8)
        memcpy(&bits, &wide, 8);
    else if (size == 4)
        memcpy(&bits, &value, 4);
    else /* f16 */
        bits = value == 1.0f ? 0x3c00 : value == 0.5f ? 0x3800 : 0;
    return bits;
}

static void set_block(struct inputs *in, const struct plan *p, unsigned seed)
{
    static const unsigned liked[SEEDS] = {32, 256, 128, 1024};
    unsigned most = 256, threads;

    if (p->exact) {
        for (int i = 0; i < 3; i++)
            in->block[i] = p->block[i] ? p->block[i] : 1;
        return;
    }
    if (p->block[0]) {
        most = p->block[0];
        for (int i = 1; i < 3; i++)
            most *= p->block[i] ? p->block[i] : 1;
    }
    threads = liked[seed] < most ? liked[seed] : most;
    in->block[0] = threads;
    in->block[1] = in->block[2] = 1;
    if (seed == 2 && threads % 8 == 0) {
        in->block[0] = threads / 8;
        in->block[1] = 8;
    }
}

void inputs_make(struct inputs *in, const struct plan *p, uint64_t key,
                 unsigned seed, uint64_t base)
{
    uint64_t state = key ^ (seed + 1) * UINT64_C(0xd1342543de82ef95);
    unsigned char *bytes = (unsigned char *)in->image;
    const unsigned buffers = buffers_of(p);
    unsigned used = 0;

    in->units = inputs_size(p) / 8;
    memset(in->image, 0, in->units * 8);
    memset(in->params, 0, sizeof in->params);
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const struct slot *s = &p->slots[i];
        const uint64_t r = next(&state);
        uint64_t v;

        if (s->kind == SLOT_POINTER) {
            const size_t at = MARGIN + (size_t)(used++ % buffers) * BUFFER;

            v = base + at;
            if (s->fill == FILL_POINTERS) {
                const size_t to = MARGIN + (size_t)(used++ % buffers) * BUFFER;

                fill_pointers(bytes + at, base + to, r);
                if (to != at)
                    fill_buffer(bytes + to, (enum fill)s->inner, ~r);
            } else {
                fill_buffer(bytes + at, (enum fill)s->fill, r);
            }
        } else if (s->kind == SLOT_FLOAT) {
            v = floating(seed, s->size, r);
        } else {
            v = integer(seed, s->size, r);
        }
        memcpy(in->params + s->offset, &v, s->size);
    }
    /* Given anything, blocks often write one place, and which is last there
     * is no property of a device: one seed alone has several. */
    in->grid[0] = in->grid[1] = seed == 2 ? 2 : 1;
    in->grid[2] = 1;
    set_block(in, p, seed);
}
