/* SPDX-License-Identifier: MIT
 *
 * Texels, coordinates and surfaces by themselves.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/texture/texture.h"

enum { W = 4, H = 3 };

static struct texture make(unsigned kind, unsigned bits, unsigned channels,
                           void *data, uint32_t width, uint32_t height)
{
    struct texture t = {.image = {.data = data,
                                  .dims = height ? 2 : 1,
                                  .is_array = 1,
                                  .size = {width, height ? height : 1, 1},
                                  .layers = 1}};

    assert_true(texel_format(kind, bits, channels, &t.image.format));
    t.image.pitch = (uint64_t)width * t.image.format.bytes;
    t.image.slice_bytes = t.image.pitch * t.image.size[1];
    for (int i = 0; i < 3; i++)
        t.sampler.address[i] = TEXTURE_CLAMP;
    return t;
}

static float at(const struct texture *t, float x, float y)
{
    struct texture_point p = {.dims = 2, .at = {texel_bits(x), texel_bits(y)}};
    uint32_t out[4];

    texture_sample(t, &p, out);
    return texel_as_float(out[0]);
}

static void a_point_is_the_texel_below_its_coordinate(void **state)
{
    float texels[W] = {10, 20, 30, 40};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, W, 0);

    (void)state;
    assert_true(at(&t, 0, 0) == 10 && at(&t, 0.99f, 0) == 10);
    assert_true(at(&t, 1, 0) == 20 && at(&t, 3.5f, 0) == 40);
    assert_true(at(&t, -7, 0) == 10 && at(&t, 4, 0) == 40);
    assert_true(at(&t, 1e30f, 0) == 40 && at(&t, -1e30f, 0) == 10);
    assert_true(at(&t, INFINITY, 0) == 40 && at(&t, -INFINITY, 0) == 10);
}

static void edges_are_passed_as_the_sampler_says(void **state)
{
    float texels[W] = {10, 20, 30, 40};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, W, 0);

    (void)state;
    t.sampler.is_normalized = 1;
    t.sampler.address[0] = TEXTURE_WRAP;
    assert_true(at(&t, 1.125f, 0) == 10 && at(&t, -0.125f, 0) == 40);
    assert_true(at(&t, 5.375f, 0) == 20 && at(&t, -3.375f, 0) == 30);
    t.sampler.address[0] = TEXTURE_MIRROR;
    assert_true(at(&t, 1.125f, 0) == 40 && at(&t, -0.125f, 0) == 10);
    assert_true(at(&t, 2.125f, 0) == 10 && at(&t, -1.125f, 0) == 40);
    t.sampler.address[0] = TEXTURE_BORDER;
    t.sampler.border[0] = 5;
    assert_true(at(&t, 1.125f, 0) == 5 && at(&t, -0.125f, 0) == 5);
    assert_true(at(&t, 0.125f, 0) == 10 && at(&t, 0.875f, 0) == 40);
}

static void blending_takes_what_lies_between_two_centres(void **state)
{
    float texels[H][W] = {
        {0, 256, 512, 768}, {1000, 1256, 1512, 1768}, {2000, 2256, 2512, 2768}};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, W, H);

    (void)state;
    t.sampler.is_linear = 1;
    assert_true(at(&t, 0.5f, 0.5f) == 0 && at(&t, 1.5f, 1.5f) == 1256);
    assert_true(at(&t, 1, 0.5f) == 128 && at(&t, 2.25f, 0.5f) == 448);
    assert_true(at(&t, 1.5f, 1) == 756 && at(&t, 1, 1) == 628);
    assert_true(at(&t, -3, -3) == 0 && at(&t, 9, 9) == 2768);
    /* weights have eight bits */
    assert_true(at(&t, 1.5f + 3 / 256.0f, 0.5f) == 259);
    t.sampler.address[0] = TEXTURE_BORDER;
    t.sampler.border[0] = 100;
    assert_true(at(&t, 0, 0.5f) == 50 && at(&t, 4, 0.5f) == 434);
}

static void numbers_of_texels_outside_memory_give_nothing(void **state)
{
    float texels[W] = {10, 20, 30, 40};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, W, 0);
    const int32_t where[] = {-1, 4, INT32_MIN, INT32_MAX, 0, 3};
    const float wanted[] = {0, 0, 0, 0, 10, 40};

    (void)state;
    t.image.is_array = 0;
    for (unsigned i = 0; i < 6; i++) {
        struct texture_point p = {
            .dims = 1, .is_integer = 1, .at = {(uint32_t)where[i]}};
        uint32_t out[4];

        texture_sample(&t, &p, out);
        assert_true(texel_as_float(out[0]) == wanted[i]);
    }
}

static void integers_stay_or_become_shares_of_their_range(void **state)
{
    unsigned char bytes[4] = {255, 0, 51, 128};
    struct texture t = make(TEXEL_UNSIGNED, 8, 4, bytes, 1, 0);
    struct texture_point p = {.dims = 1};
    uint32_t out[4];

    (void)state;
    texture_sample(&t, &p, out);
    assert_true(texel_as_float(out[0]) == 1 && texel_as_float(out[1]) == 0 &&
                texel_as_float(out[2]) == 0.2f);
    t.sampler.reads_elements = 1;
    texture_sample(&t, &p, out);
    assert_true(out[0] == 255 && out[2] == 51 && out[3] == 128);
    t = make(TEXEL_SIGNED, 8, 4, bytes, 1, 0);
    t.sampler.reads_elements = 1;
    texture_sample(&t, &p, out);
    assert_true(out[0] == UINT32_MAX && out[3] == (uint32_t)-128);
    t.sampler.reads_elements = 0;
    texture_sample(&t, &p, out);
    assert_true(texel_as_float(out[3]) == -1); /* not below */
}

static void halves_convert_both_ways(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float f = texel_half((uint16_t)h);

        if (f != f)
            assert_true((h & 0x7fff) > 0x7c00 && texel_to_half(f) == 0x7fff);
        else
            assert_int_equal(texel_to_half(f), h);
    }
    assert_int_equal(texel_to_half(65519.996f), 0x7bff);
    assert_int_equal(texel_to_half(65520), 0x7c00);
    assert_int_equal(texel_to_half(1 + 0x1p-11f), 0x3c00); /* a tie */
    assert_int_equal(texel_to_half(1 + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(texel_to_half(0x1p-25f), 0);
}

static void formats_that_are_not_are_refused(void **state)
{
    struct texel_format f;

    (void)state;
    assert_false(texel_format(TEXEL_UNSIGNED, 8, 3, &f));
    assert_false(texel_format(TEXEL_UNSIGNED, 64, 1, &f));
    assert_false(texel_format(TEXEL_FLOAT, 8, 1, &f));
    assert_false(texel_format(TEXEL_UNORM, 32, 1, &f));
    assert_true(texel_format(TEXEL_FLOAT, 16, 4, &f) && f.bytes == 8);
}

static void a_surface_says_where_an_access_goes(void **state)
{
    unsigned char bytes[W * H * 4];
    struct texture t = make(TEXEL_UNSIGNED, 8, 4, bytes, W, H);
    const struct texture_image *i = &t.image;
    int traps;

    (void)state;
    assert_ptr_equal(
        texture_surface_at(i, (int64_t[]){4, 1, 0}, 4, TEXTURE_TRAPS, &traps),
        bytes + 20);
    assert_false(traps);
    assert_null(
        texture_surface_at(i, (int64_t[]){16, 1, 0}, 4, TEXTURE_TRAPS, &traps));
    assert_true(traps);
    assert_null(texture_surface_at(i, (int64_t[]){0, -1, 0}, 4, TEXTURE_ZEROES,
                                   &traps));
    assert_false(traps);
    assert_ptr_equal(texture_surface_at(i, (int64_t[]){99, -9, 7}, 4,
                                        TEXTURE_CLAMPS, &traps),
                     bytes + 12);
    /* the last bytes of a row are not all of a wider access */
    assert_null(texture_surface_at(i, (int64_t[]){13, 0, 0}, 4, TEXTURE_ZEROES,
                                   &traps));
}

static void stores_by_format_round_and_saturate(void **state)
{
    const uint32_t in[4] = {texel_bits(2), texel_bits(-1), texel_bits(0.5f),
                            texel_bits(NAN)};
    const uint32_t numbers[4] = {300, 5, 0, 0};
    struct texel_format f;
    unsigned char out[16] = {0};
    uint16_t half;

    (void)state;
    assert_true(texel_format(TEXEL_UNORM, 8, 4, &f));
    texel_store(&f, out, in, 4);
    assert_memory_equal(out, ((unsigned char[]){255, 0, 128, 0}), 4);
    assert_true(texel_format(TEXEL_FLOAT, 16, 4, &f));
    texel_store(&f, out, in, 4);
    memcpy(&half, out + 4, 2);
    assert_int_equal(half, 0x3800);
    assert_true(texel_format(TEXEL_UNSIGNED, 8, 2, &f));
    texel_store(&f, out, numbers, 2);
    assert_memory_equal(out, ((unsigned char[]){255, 5}), 2);
}

static void weights_of_corners_are_rounded_to_256ths(void **state)
{
    float texels[2][2] = {{0, 0}, {0, 1}};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, 2, 2);

    (void)state;
    t.sampler.is_linear = 1;
    /* 48 * 136 / 256 = 25.5: up; 2 * 211 / 256 = 1.6 */
    assert_true(at(&t, 0.5f + 48 / 256.0f, 0.5f + 136 / 256.0f) == 26 / 256.0f);
    assert_true(at(&t, 0.5f + 2 / 256.0f, 0.5f + 211 / 256.0f) == 2 / 256.0f);
}

static void sums_of_floats_round_ties_away(void **state)
{
    float texels[2] = {1, 1 + 0x1p-23f};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, 2, 0);

    (void)state;
    t.sampler.is_linear = 1;
    assert_true(at(&t, 1, 0) == 1 + 0x1p-23f);
    texels[0] = -texels[0];
    texels[1] = -texels[1];
    assert_true(at(&t, 1, 0) == -1 - 0x1p-23f);
    /* five bits below the largest there is nothing left of the last bit */
    texels[0] = 1;
    texels[1] = 0x1p-5f + 0x1p-28f;
    assert_true(at(&t, 1, 0) == 0.5f + 0x1p-6f);
    texels[0] = 0x1p-140f;
    texels[1] = 0x1p-140f;
    assert_true(at(&t, 1, 0) == 0);
}

static void bytes_are_blended_in_sixteen_bits(void **state)
{
    unsigned char bytes[2] = {255, 254};
    struct texture t = make(TEXEL_UNSIGNED, 8, 1, bytes, 2, 0);

    (void)state;
    t.sampler.is_linear = 1;
    assert_true(at(&t, 0.5f, 0) == 1);
    assert_true(at(&t, 1, 0) == (float)(65407 / 65535.0)); /* 65406.5 */
    t = make(TEXEL_SIGNED, 8, 1, bytes, 2, 0);
    t.sampler.is_linear = 1;
    bytes[0] = bytes[1] = 127;
    assert_true(at(&t, 1, 0) == 1);
    bytes[0] = bytes[1] = 0x80;
    assert_true(at(&t, 1, 0) == -1);
}

static void a_gather_goes_round_from_the_lower_left(void **state)
{
    float texels[2][2] = {{1, 2}, {3, 4}};
    struct texture t = make(TEXEL_FLOAT, 32, 1, texels, 2, 2);
    struct texture_point p = {.dims = 2, .at = {texel_bits(1), texel_bits(1)}};
    const float wanted[] = {3, 4, 2, 1};
    uint32_t out[4];

    (void)state;
    texture_gather(&t, &p, 0, out);
    for (int i = 0; i < 4; i++)
        assert_true(texel_as_float(out[i]) == wanted[i]);
}

static void equal_parts_of_a_direction_mean_the_last_face(void **state)
{
    static const struct {
        float x, y, z;
        unsigned face;
    } list[] = {{1, 0, 0, 0},   {-1, 0, 0, 1}, {0, 1, 0, 2}, {0, -1, 0, 3},
                {0, 0, 1, 4},   {0, 0, -1, 5}, {1, 1, 0, 2}, {1, 0, -1, 5},
                {-1, -1, 1, 4}, {0, 0, 0, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const uint32_t d[] = {texel_bits(list[i].x), texel_bits(list[i].y),
                              texel_bits(list[i].z)};
        double in[2];

        assert_int_equal(texture_face(d, in), list[i].face);
        assert_true(in[0] >= 0 && in[0] <= 1 && in[1] >= 0 && in[1] <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_is_the_texel_below_its_coordinate),
        cmocka_unit_test(edges_are_passed_as_the_sampler_says),
        cmocka_unit_test(blending_takes_what_lies_between_two_centres),
        cmocka_unit_test(weights_of_corners_are_rounded_to_256ths),
        cmocka_unit_test(sums_of_floats_round_ties_away),
        cmocka_unit_test(bytes_are_blended_in_sixteen_bits),
        cmocka_unit_test(a_gather_goes_round_from_the_lower_left),
        cmocka_unit_test(equal_parts_of_a_direction_mean_the_last_face),
        cmocka_unit_test(numbers_of_texels_outside_memory_give_nothing),
        cmocka_unit_test(integers_stay_or_become_shares_of_their_range),
        cmocka_unit_test(halves_convert_both_ways),
        cmocka_unit_test(formats_that_are_not_are_refused),
        cmocka_unit_test(a_surface_says_where_an_access_goes),
        cmocka_unit_test(stores_by_format_round_and_saturate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
