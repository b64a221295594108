/* SPDX-License-Identifier: MIT
 *
 * Any file through the scan: host ELF, archives, containers anywhere.
 */
#include <string.h>

#include "image/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    (void)err;
    memcpy(to, (const char *)data + offset, size);
    return KILN_OK;
}

#define NOTHING(name, ...)                                                     \
    static enum kiln_status name(__VA_ARGS__, struct kiln_error *err)          \
    {                                                                          \
        (void)data, (void)what, (void)err;                                     \
        return KILN_OK;                                                        \
    }
NOTHING(place, void *data, const struct image_place *what)
NOTHING(damage, void *data, const struct kiln_error *what)
NOTHING(lie, void *data, const struct kiln_error *what)
NOTHING(entry, void *data, const struct fatbin_entry *what,
        uint64_t stored __attribute__((unused)))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image_source source = {read_at, (void *)data, size, NULL};
    struct image_visitor visitor = {NULL, place, entry, damage, lie};
    struct image_guess guess;
    struct kiln_error err;

    image_scan(&source, &visitor, &guess, &err);
    return 0;
}
