/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's mutator for one packed payload: mostly it is packed anew and
 * its length stated as it is, so that unpacking comes to its end.
 */
#include <string.h>

#include "fuzz/mutate.h"
#include "image/fatbin.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

enum { HEAD = 8 };

/* The bytes behind the head as a payload that unpacks, now and then with an
 * end too much or too little. */
static void pack(struct buffer *b, struct rng *r)
{
    struct buffer plain = {0}, packed = {0};
    uint32_t repeat = rng_below(r, 4) ? 1 : rng_below(r, 64);
    uint32_t length;

    while (repeat-- > 0)
        buffer_add(&plain, b->bytes + HEAD, b->size - HEAD);
    b->bytes[0] = (uint8_t)(1 + rng_below(r, 2));
    mutate_pack(&plain, b->bytes[0] == FATBIN_PACKED_LZ4, &packed);
    length = (uint32_t)plain.size + (rng_below(r, 8) ? 0 : rng_below(r, 3) - 1);
    memcpy(b->bytes + 4, &length, sizeof length);
    b->size = HEAD;
    buffer_add(b, packed.bytes, packed.size);
    buffer_fini(&plain);
    buffer_fini(&packed);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    struct rng r = {seed};
    struct buffer b = {0};

    buffer_add(&b, data, size);
    mutate_blindly(&b, b.size + 32);
    if (b.size > HEAD && b.size < 4096 && rng_below(&r, 3))
        pack(&b, &r);
    return mutate_give(&b, data, max_size);
}
