/* SPDX-License-Identifier: MIT
 *
 * What any bytes look like, and how long they are when only their address is
 * known: they lie before a page that may not be read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "image/guess.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 16, GUARD = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *room;
    struct image_guess guess;
    struct kiln_error err;
    size_t extent;

    image_guess(data, size, &guess);
    if (!room) {
        room = mmap(NULL, ROOM + GUARD, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || mprotect(room + ROOM, GUARD, PROT_NONE))
            abort();
    }
    if (size && size <= ROOM) {
        memcpy(room + ROOM - size, data, size);
        if (!image_extent(room + ROOM - size, &extent, &err) && extent > size)
            abort();
    }
    return 0;
}
