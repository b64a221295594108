/* SPDX-License-Identifier: MIT
 *
 * A fat binary: every entry is listed, looked into and unpacked.
 */
#include "image/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fatbin fatbin;
    struct fatbin_entry entry;
    struct kiln_error err;
    int more = 1;

    if (fatbin_open(data, size, &fatbin, &err))
        return 0;
    while (!fatbin_next(&fatbin, &entry, &more, &err) && more) {
        struct buffer plain = {0};
        unsigned char first[64];
        size_t got;

        fatbin_peek(&entry, first, sizeof first, &got, &err);
        fatbin_unpack(&entry, 1 << 20, &plain, &err);
        buffer_fini(&plain);
    }
    return 0;
}
