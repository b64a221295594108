/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's mutator for containers. A blind change is stopped by the first
 * size that does not fit or the first frame that does not unpack; here, three
 * times of four, one payload is unpacked, changed, packed again and the
 * container written anew, so that what lies behind is reached.
 */
#include <string.h>

#include "image/fatbin.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

enum { ITEMS = 8, ROOM = 1 << 16 };

static size_t repair_size(uint8_t *data, size_t size)
{
    uint64_t body = size - FATBIN_HEADER;
    uint32_t magic = FATBIN_MAGIC;

    if (size > FATBIN_HEADER && !memcmp(data, &magic, sizeof magic))
        memcpy(data + 8, &body, sizeof body);
    return size;
}

/* The entries as items, payloads unpacked; the number of them. */
static size_t take_apart(const uint8_t *data, size_t size,
                         struct fatbin_item items[ITEMS],
                         struct buffer payloads[ITEMS])
{
    struct fatbin fatbin;
    struct fatbin_entry e;
    size_t n = 0;
    int more = 1;

    if (fatbin_open(data, size, &fatbin, NULL))
        return 0;
    while (n < ITEMS && !fatbin_next(&fatbin, &e, &more, NULL) && more) {
        if (fatbin_unpack(&e, ROOM, &payloads[n], NULL))
            continue;
        items[n] = (struct fatbin_item){.kind = e.kind,
                                        .sm = e.sm,
                                        .variant = e.variant,
                                        .major = e.major,
                                        .minor = e.minor,
                                        .packing = e.packing};
        n++;
    }
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    struct fatbin_item items[ITEMS];
    struct buffer payloads[ITEMS] = {{0}}, out = {0};
    static uint8_t room[ROOM];
    size_t n = seed % 4 ? take_apart(data, size, items, payloads) : 0;
    size_t which = n ? seed / 4 % n : 0, length;

    if (n && payloads[which].size < ROOM) {
        length = payloads[which].size;
        if (length)
            memcpy(room, payloads[which].bytes, length);
        length = LLVMFuzzerMutate(room, length, ROOM);
        for (size_t i = 0; i < n; i++) {
            items[i].payload = i == which ? room : payloads[i].bytes;
            items[i].size = i == which ? length : payloads[i].size;
        }
        if (!fatbin_write(items, n, &out, NULL) && out.size <= max_size) {
            memcpy(data, out.bytes, out.size);
            size = out.size;
        }
    } else {
        size = LLVMFuzzerMutate(data, size, max_size);
        if (seed & 16)
            size = repair_size(data, size);
    }
    for (size_t i = 0; i < ITEMS; i++)
        buffer_fini(&payloads[i]);
    buffer_fini(&out);
    return size;
}
