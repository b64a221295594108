/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's mutator for binary formats: one in eight changes is blind, the
 * others know what they change, as far down as containers go.
 */
#include <string.h>

#include "fuzz/mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

void mutate_bytes(struct buffer *b, struct rng *r)
{
    int done = 0;

    if (b->size >= 8 && rng_below(r, 8)) {
        if (!memcmp(b->bytes, "\x50\xed\x55\xba", 4))
            done = mutate_fatbin(b, r);
        else if (!memcmp(b->bytes,
                         "\x7f"
                         "ELF",
                         4))
            done = mutate_elf(b, r);
        else if (!memcmp(b->bytes, "!<arch>\n", 8))
            done = mutate_archive(b, r);
    }
    if (!done)
        mutate_blindly(b, b->size + 64);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    struct rng r = {seed};
    struct buffer b = {0};

    buffer_add(&b, data, size);
    for (uint32_t i = 1 + rng_below(&r, 3); i-- > 0;)
        mutate_bytes(&b, &r);
    return mutate_give(&b, data, max_size);
}
