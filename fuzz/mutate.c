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
