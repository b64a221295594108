/* SPDX-License-Identifier: MIT
 *
 * A cache entry, as it is and with its size and digest made right, so that
 * the checks behind them are reached.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/entry.h"

enum { SIZE_AT = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t total = size;
    unsigned char *copy;
    struct hash hash;
    struct kiln_error err;

    entry_check(data, size, &err);
    if (size < ENTRY_HEADER + HASH_SIZE)
        return 0;
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    memcpy(copy + SIZE_AT, &total, sizeof total);
    if (!hash_bytes(copy, size - HASH_SIZE, &hash)) {
        memcpy(copy + size - HASH_SIZE, hash.bytes, HASH_SIZE);
        if (!entry_check(copy, size, &err))
            entry_expires(copy);
    }
    free(copy);
    return 0;
}
