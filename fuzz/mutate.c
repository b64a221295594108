/* SPDX-License-Identifier: MIT
 *
 * What the mutators share.
 */
#include "fuzz/mutate.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

uint32_t rng_below(struct rng *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(r->state >> 33) % n : 0;
}

uint64_t rng_number(struct rng *r, uint64_t limit)
{
    switch (rng_below(r, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return limit;
    case 3:
        return limit - 1;
    case 4:
        return limit + 1;
    case 5:
        return (uint64_t)1 << rng_below(r, 64);
    case 6:
        return UINT64_MAX - rng_below(r, 65);
    default:
        return rng_below(r, (uint32_t)limit);
    }
}

void mutate_blindly(struct buffer *b, size_t most)
{
    size_t size = b->size;

    if (most > size)
        buffer_zeros(b, most - size);
    if (b->bad)
        abort();
    b->size = LLVMFuzzerMutate(b->bytes, size, most ? most : 1);
}

void mutate_splice(struct buffer *b, size_t at, size_t size,
                   const struct buffer *with)
{
    struct buffer out = {0};

    buffer_add(&out, b->bytes, at);
    buffer_add(&out, with->bytes, with->size);
    buffer_add(&out, b->bytes + at + size, b->size - at - size);
    if (out.bad)
        abort();
    buffer_fini(b);
    *b = out;
}

void mutate_pack(const struct buffer *plain, int lz4, struct buffer *out)
{
    static ZSTD_CCtx *context;
    size_t n = plain->size, room = lz4 ? (size_t)LZ4_compressBound((int)n)
                                       : ZSTD_compressBound(n);

    if (!context)
        context = ZSTD_createCCtx();
    out->size = 0;
    buffer_zeros(out, room);
    if (out->bad || !context)
        abort();
    if (lz4)
        n = (size_t)LZ4_compress_default(buffer_str(plain), (char *)out->bytes,
                                         (int)n, (int)room);
    else
        n = ZSTD_compressCCtx(context, out->bytes, room, buffer_str(plain), n,
                              1);
    out->size = ZSTD_isError(n) ? 0 : n;
}

size_t mutate_give(struct buffer *b, uint8_t *data, size_t most)
{
    size_t size = b->size < most ? b->size : most;

    if (b->bad)
        abort();
    if (size)
        memcpy(data, b->bytes, size);
    buffer_fini(b);
    return size;
}
