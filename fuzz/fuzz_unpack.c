/* SPDX-License-Identifier: MIT
 *
 * One payload, packed in any way: 8 bytes say how, and how long it is said to
 * be; the rest is the payload.
 */
#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fatbin_entry entry = {0};
    struct buffer plain = {0};
    unsigned char first[64];
    struct kiln_error err;
    uint32_t length;
    size_t got = 0;

    if (size < 8)
        return 0;
    memcpy(&length, data + 4, sizeof length);
    entry.packing = data[0] % 4;
    entry.kind = data[1];
    entry.payload = data + 8;
    entry.payload_size = size - 8;
    entry.plain_size = entry.packing ? length : entry.payload_size;
    fatbin_peek(&entry, first, data[2] % (sizeof first + 1), &got, &err);
    if (!fatbin_unpack(&entry, data[3] % 2 ? 0 : 1 << 16, &plain, &err) &&
        plain.size > entry.plain_size)
        abort();
    buffer_fini(&plain);
    return 0;
}
