/* SPDX-License-Identifier: MIT
 *
 * Where in some bytes a container can begin. This loop goes through hundreds
 * of megabytes, so it looks for the magic number four vectors at a time and
 * at the rest of the header only where that stands.
 */
#include "image/find.h"

#include <string.h>

#include "image/fatbin.h"

typedef uint32_t words __attribute__((vector_size(16)));

/* Version and header size, behind the magic number. Where the bytes end
 * before, it may. */
static int may_begin(const unsigned char *bytes, size_t n)
{
    static const unsigned char rest[4] = {1, 0, FATBIN_HEADER, 0};

    return n < 8 || !memcmp(bytes + 4, rest, sizeof rest);
}

static size_t find_words(const unsigned char *bytes, size_t n)
{
    const words magic = {FATBIN_MAGIC, FATBIN_MAGIC, FATBIN_MAGIC,
                         FATBIN_MAGIC};
    size_t i = 0;

    while (i + 4 <= n) {
        uint32_t word;

        for (; i + 4 * sizeof magic <= n; i += 4 * sizeof magic) {
            words w[4], equal;
            uint64_t any[2];

            memcpy(w, bytes + i, sizeof w);
            equal = (words)(w[0] == magic) | (words)(w[1] == magic) |
                    (words)(w[2] == magic) | (words)(w[3] == magic);
            memcpy(any, &equal, sizeof any);
            if (any[0] | any[1])
                break;
        }
        for (size_t end = i + 4 * sizeof magic; i < end && i + 4 <= n; i += 4) {
            memcpy(&word, bytes + i, 4);
            if (word == FATBIN_MAGIC && may_begin(bytes + i, n - i))
                return i;
        }
    }
    return n;
}

static size_t find_anywhere(const unsigned char *bytes, size_t n)
{
    const uint32_t magic = FATBIN_MAGIC;
    size_t i = 0;

    while (i < n) {
        const unsigned char *at =
            memmem(bytes + i, n - i, &magic, sizeof magic);

        if (!at)
            break;
        i = (size_t)(at - bytes);
        if (may_begin(at, n - i))
            return i;
        i++;
    }
    return n;
}

size_t image_find(const void *bytes, size_t n, int anywhere)
{
    return anywhere ? find_anywhere(bytes, n) : find_words(bytes, n);
}
