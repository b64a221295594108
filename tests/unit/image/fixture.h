/* SPDX-License-Identifier: MIT
 *
 * What the tests of readers share: cmocka with what it wants included before
 * it, files of the repository, and a scan that keeps what it finds.
 */
#ifndef TESTS_IMAGE_FIXTURE_H
#define TESTS_IMAGE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "image/scan.h"

/* The bytes of a file that must be there; buffer_fini. */
struct buffer fixture_file(const char *path);

enum { FOUND_KEPT = 16 };

struct found {
    const unsigned char *bytes;
    size_t size;
    uint64_t reads;
    unsigned places, entries, damages, lies;
    struct image_place kept[FOUND_KEPT]; /* the first places; without */
    char section[64], member[64];        /* strings: of the first one */
    char damage[252], lie[252];          /* the last of them */
};

/* Scans a source whose bounds are kept to; a failure has a sentence. */
enum kiln_status fixture_scan(const void *bytes, size_t size,
                              struct found *found);

#endif
