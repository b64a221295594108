/* SPDX-License-Identifier: MIT
 *
 * Where a surface access goes: bytes along x, rows, and slices or layers.
 */
#include "cpu/texture/texture.h"

/* Along x, the last place where the access fits that is a multiple of it. */
static int64_t clamped(int64_t at, int64_t most, unsigned step)
{
    return at < 0 ? 0 : at > most ? most - most % step : at;
}

unsigned char *texture_surface_at(const struct texture_image *i,
                                  const int64_t at[3], unsigned bytes,
                                  enum texture_bounds bounds, int *traps)
{
    const int64_t row = (int64_t)i->size[0] * i->format.bytes;
    const int64_t most[3] = {row - (int64_t)bytes, (int64_t)i->size[1] - 1,
                             i->dims == 3 ? (int64_t)i->size[2] - 1
                                          : (int64_t)i->layers - 1};
    int64_t to[3];

    *traps = 0;
    for (int d = 0; d < 3; d++) {
        to[d] = at[d];
        if (at[d] >= 0 && at[d] <= most[d])
            continue;
        if (bounds != TEXTURE_CLAMPS) {
            *traps = bounds == TEXTURE_TRAPS;
            return NULL;
        }
        to[d] = clamped(at[d], most[d], d ? 1 : bytes);
    }
    if (to[0] < 0) { /* a row is narrower than the access */
        *traps = bounds == TEXTURE_TRAPS;
        return NULL;
    }
    return i->data + (uint64_t)to[2] * i->slice_bytes +
           (uint64_t)to[1] * i->pitch + (uint64_t)to[0];
}
