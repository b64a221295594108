/* SPDX-License-Identifier: MIT
 *
 * One fetch: where, which texels, and what they come to together.
 */
#include <string.h>

#include "cpu/texture/texture.h"

struct spot {
    struct texture_axis axis[3];
    uint32_t layer;
    int is_outside; /* plain memory has no such texel */
};

static void load(const struct texture *t, const struct spot *spot, int64_t x,
                 int64_t y, int64_t z, uint32_t out[TEXTURE_CHANNELS])
{
    const struct texture_image *i = &t->image;
    const uint64_t slice = i->dims == 3 ? (uint64_t)z : spot->layer;

    if (x < 0 || y < 0 || z < 0) {
        texel_border(&i->format, &t->sampler, out);
        return;
    }
    texel_load(&i->format, &t->sampler,
               i->data + slice * i->slice_bytes + (uint64_t)y * i->pitch +
                   (uint64_t)x * i->format.bytes,
               out);
}

static uint32_t layer_of(const struct texture_image *i, int64_t layer)
{
    return layer < 0                     ? 0
           : layer >= (int64_t)i->layers ? i->layers - 1
                                         : (uint32_t)layer;
}

static int blends(const struct texture *t)
{
    return t->sampler.is_linear &&
           texel_is_float(&t->image.format, &t->sampler);
}

static void find(const struct texture *t, const struct texture_point *p,
                 int both, struct spot *out)
{
    const struct texture_image *i = &t->image;
    const uint32_t *at = p->at;
    uint32_t in_face[2];
    int64_t layer = p->layer;

    memset(out, 0, sizeof *out);
    if (p->geometry == TEXTURE_CUBE) {
        layer = layer_of(i, layer * 6) + texture_face(p->at, in_face);
        at = in_face;
    }
    out->layer = layer_of(i, layer);
    for (unsigned d = 0; d < i->dims; d++) {
        const uint32_t x = d < p->dims ? at[d] : 0;

        if (p->is_integer)
            texture_place_integer(i, &t->sampler, d, (int32_t)x + p->offset[d],
                                  &out->axis[d]);
        else
            texture_place(&t->sampler, d, i->size[d], both, x, p->offset[d],
                          &out->axis[d]);
        out->is_outside |=
            !i->is_array && i->dims == 1 && out->axis[d].at[0] < 0;
    }
}

static void blend(const struct texture *t, const struct spot *s,
                  uint32_t out[TEXTURE_CHANNELS])
{
    double sum[TEXTURE_CHANNELS] = {0};
    const unsigned corners = 1u << t->image.dims;

    for (unsigned c = 0; c < corners; c++) {
        uint32_t texel[TEXTURE_CHANNELS];
        double weight = 1;
        int64_t at[3] = {0, 0, 0};

        for (unsigned d = 0; d < t->image.dims; d++) {
            const struct texture_axis *a = &s->axis[d];
            const int second = c >> d & 1;

            at[d] = a->at[second];
            weight *= (second ? a->weight : 256 - a->weight) / 256.0;
        }
        if (weight == 0)
            continue;
        load(t, s, at[0], at[1], at[2], texel);
        for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
            sum[i] += weight * texel_as_float(texel[i]);
    }
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        out[i] = texel_bits((float)sum[i]);
}

void texture_sample(const struct texture *t, const struct texture_point *p,
                    uint32_t out[TEXTURE_CHANNELS])
{
    const int both = blends(t) && !p->is_integer;
    struct spot s;

    find(t, p, both, &s);
    if (s.is_outside)
        memset(out, 0, TEXTURE_CHANNELS * sizeof *out);
    else if (both)
        blend(t, &s, out);
    else
        load(t, &s, s.axis[0].at[0], s.axis[1].at[0], s.axis[2].at[0], out);
}

/* Counter-clockwise from the lower left (the texture's y goes down). */
void texture_gather(const struct texture *t, const struct texture_point *p,
                    unsigned channel, uint32_t out[4])
{
    static const unsigned char x[] = {0, 1, 1, 0}, y[] = {1, 1, 0, 0};
    struct spot s;

    find(t, p, 1, &s);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t texel[TEXTURE_CHANNELS];

        load(t, &s, s.axis[0].at[x[i]], s.axis[1].at[y[i]], 0, texel);
        out[i] = texel[channel];
    }
}
