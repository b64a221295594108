/* SPDX-License-Identifier: MIT
 *
 * Texels: their formats, where they lie, how a texture unit finds and blends
 * them, and how surfaces are read and written. A texture is a description of
 * memory that somebody else owns; nothing here allocates, waits or fails.
 * The rules are those of the CUDA C++ Programming Guide, "Texture Fetching".
 *
 * cpu/texture must not know the engine, the driver API, or PTX.
 */
#ifndef KILN_CPU_TEXTURE_TEXTURE_H
#define KILN_CPU_TEXTURE_TEXTURE_H

#include <stddef.h>
#include <stdint.h>

enum { TEXTURE_CHANNELS = 4, TEXTURE_DIMS = 3 };

enum texel_kind {
    TEXEL_UNSIGNED,
    TEXEL_SIGNED,
    TEXEL_UNORM, /* 0 to 1 also where elements are read as they are */
    TEXEL_SNORM,
    TEXEL_FLOAT
};

struct texel_format {
    uint8_t kind;     /* enum texel_kind */
    uint8_t bits;     /* of a channel: 8, 16, 32 */
    uint8_t channels; /* 1, 2, 4 */
    uint8_t bytes;    /* of a texel */
};

struct texture_image {
    unsigned char *data;
    struct texel_format format;
    uint8_t dims;         /* 1, 2, 3: what a coordinate has without a layer */
    uint8_t is_array;     /* not plain memory */
    uint8_t is_layered;   /* slices are layers */
    uint8_t is_cube;      /* six faces a layer */
    uint32_t size[3];     /* texels; 1 where it has no such dimension */
    uint32_t layers;      /* slices of a layered one or a cube, else 1 */
    uint64_t pitch;       /* bytes from a row to the next */
    uint64_t slice_bytes; /* from a slice or layer to the next */
};

enum texture_address {
    TEXTURE_WRAP,
    TEXTURE_CLAMP,
    TEXTURE_MIRROR,
    TEXTURE_BORDER
};

struct texture_sampler {
    uint8_t address[3]; /* enum texture_address */
    uint8_t is_linear;  /* blends texels */
    uint8_t is_normalized;
    uint8_t reads_elements; /* integers stay integers */
    uint8_t is_srgb;
    float border[TEXTURE_CHANNELS];
};

struct texture {
    struct texture_image image;
    struct texture_sampler sampler; /* not of a surface */
    int is_surface;
};

/* Where to sample: as the instruction names it. */
enum texture_geometry { TEXTURE_PLAIN, TEXTURE_CUBE };
struct texture_point {
    enum texture_geometry geometry;
    int is_integer;    /* at[] are texels, else coordinates' bits */
    uint32_t at[3];    /* bits of float or int32_t */
    int32_t layer;     /* of a layered geometry, else 0 */
    int32_t offset[3]; /* texels */
    unsigned dims;     /* 1 to 3 of at[] */
};

/* Four channels: floats' bits or integers. */
void texture_sample(const struct texture *t, const struct texture_point *p,
                    uint32_t out[TEXTURE_CHANNELS]);
/* One channel of the four texels that blending would take. */
void texture_gather(const struct texture *t, const struct texture_point *p,
                    unsigned channel, uint32_t out[4]);

/* ---- texels (texel.c) ---- */

/* 0 where there is no such format. */
int texel_format(unsigned kind, unsigned bits, unsigned channels,
                 struct texel_format *out);
/* Does a texture of it give floats? */
int texel_is_float(const struct texel_format *f,
                   const struct texture_sampler *s);
/* A texel's channels as they lie there; those that the format lacks are 0. */
void texel_raw(const struct texel_format *f, const unsigned char *at,
               uint32_t raw[TEXTURE_CHANNELS]);
/* The same for what lies outside. */
void texel_border(const struct texel_format *f, const struct texture_sampler *s,
                  uint32_t raw[TEXTURE_CHANNELS]);
/* What the texture gives for channel i: a float's bits or an integer. */
uint32_t texel_value(const struct texel_format *f,
                     const struct texture_sampler *s, uint32_t raw, unsigned i);
int texel_is_srgb(const struct texel_format *f, const struct texture_sampler *s,
                  unsigned i);
float texel_from_srgb(uint32_t byte);
/* Formats that are not floats are blended as integers: a channel as one, and
 * what a sum of them, by weights of 256 in all, comes to in 16 bits. */
int texel_is_fixed(const struct texel_format *f);
int32_t texel_extended(const struct texel_format *f, uint32_t raw);
float texel_blended(const struct texel_format *f, int32_t sum);
/* sust.p: from floats' bits, or integers, by the format. */
void texel_store(const struct texel_format *f, unsigned char *at,
                 const uint32_t in[TEXTURE_CHANNELS], unsigned given);
float texel_half(uint16_t bits);
/* To nearest, ties to even. */
uint16_t texel_to_half(float value);
static inline float texel_as_float(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } v = {bits};

    return v.f;
}
static inline uint32_t texel_bits(float value)
{
    union {
        float f;
        uint32_t u;
    } v = {value};

    return v.u;
}

/* ---- coordinates (place.c) ---- */

/* One dimension: one or two texels; -1 is outside, where the border is. */
struct texture_axis {
    int64_t at[2];
    unsigned weight; /* of the second, in 256ths; 0 where there is one */
};
void texture_place(const struct texture_sampler *s, unsigned dim, uint32_t size,
                   int blends, double coordinate, int32_t offset,
                   struct texture_axis *out);
void texture_place_integer(uint32_t size, int32_t at, struct texture_axis *out);
/* A float, subnormals as 0: coordinates and what is blended. */
double texel_flushed(uint32_t bits);
/* The direction x, y, z: coordinates in a face, and the face. */
unsigned texture_face(const uint32_t direction[3], double out[2]);

/* ---- surfaces (surface.c) ---- */

enum texture_bounds { TEXTURE_TRAPS, TEXTURE_CLAMPS, TEXTURE_ZEROES };
/* The byte for x (in bytes), y, z or layer with `bytes` to be accessed there;
 * NULL: outside, and *traps says whether that is a fault. */
unsigned char *texture_surface_at(const struct texture_image *image,
                                  const int64_t at[3], unsigned bytes,
                                  enum texture_bounds bounds, int *traps);

#endif
