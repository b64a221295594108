/* SPDX-License-Identifier: MIT
 *
 * Files with device code through the public API: what a large file holds
 * does not depend on how it is searched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/fatbin.h"
#include "kernel/file.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n";

static struct buffer container(void)
{
    const struct fatbin_item item = {.kind = FATBIN_PTX,
                                     .sm = 70,
                                     .major = 7,
                                     .payload = ptx,
                                     .size = sizeof ptx - 1};
    struct buffer b = {0};

    assert_int_equal(fatbin_write(&item, 1, &b, NULL), KILN_OK);
    return b;
}

/* A temporary file with these bytes, which is gone when it is closed. */
static struct kiln_file *open_file(const void *bytes, size_t size)
{
    char path[] = "/tmp/kiln-file-XXXXXX";
    int fd = mkstemp(path);
    struct kiln_file *file;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(kiln_file_open(path, &file, NULL), KILN_OK);
    close(fd);
    unlink(path);
    return file;
}

static void same_list(const void *bytes, size_t size, size_t expected)
{
    struct kiln_file *a = open_file(bytes, size), *b;

    assert_int_equal(kiln_file_open_bytes("b", bytes, size, &b, NULL), KILN_OK);
    assert_int_equal(kiln_file_container_count(a), expected);
    assert_int_equal(kiln_file_container_count(b), expected);
    for (size_t i = 0; i < expected; i++) {
        struct kiln_container x = {.size = sizeof x}, y = {.size = sizeof y};

        assert_int_equal(kiln_file_container(a, i, &x, NULL), KILN_OK);
        assert_int_equal(kiln_file_container(b, i, &y, NULL), KILN_OK);
        assert_int_equal(x.offset, y.offset);
        assert_int_equal(x.bytes, y.bytes);
        assert_int_equal(x.count, 1);
        assert_string_equal(x.damage, "");
    }
    kiln_file_close(a);
    kiln_file_close(b);
}

/* With gaps in which all processors search, and a header cut by the end. */
static void large_files_are_searched_to_the_same_list(void **state)
{
    enum { SIZE = 24 << 20, FAR = 7 << 20 };
    struct buffer one = container();
    unsigned char *bytes = calloc(1, SIZE);
    uint32_t magic = FATBIN_MAGIC;

    (void)state;
    assert_non_null(bytes);
    for (int odd = 0; odd < 2; odd++)
        for (size_t shift = 0; shift < 16; shift += odd ? 5 : 4) {
            size_t count = 0;

            memset(bytes, 0, SIZE);
            if (!odd)
                memcpy(bytes, "\177ELF", 4); /* multiples of 4 alone */
            for (size_t at = 1 << 18; at + FAR < SIZE; at += FAR + (1 << 16)) {
                memcpy(bytes + at - shift, one.bytes, one.size);
                /* The number alone is no container. */
                memcpy(bytes + at + (FAR >> 1), &magic, sizeof magic);
                count++;
            }
            memcpy(bytes + SIZE - 8, one.bytes, 8);
            same_list(bytes, SIZE, count);
        }
    free(bytes);
    buffer_fini(&one);
}

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    struct kiln_file *f = data;

    (void)err;
    assert_true(offset <= f->source.size && size <= f->source.size - offset);
    memcpy(to, (const char *)f->bytes + offset, size);
    return KILN_OK;
}

static void the_first_place_is_found_wherever_it_stands(void **state)
{
    enum { SIZE = 3 << 17, AROUND = 12 };
    static const unsigned char header[8] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
    unsigned char *bytes = calloc(1, SIZE);
    struct kiln_file f = {.bytes = bytes};
    uint64_t hit;

    (void)state;
    assert_non_null(bytes);
    f.source = (struct image_source){.read = read_at, .data = &f, .size = SIZE};
    for (size_t bound = 1 << 16; bound < SIZE; bound += 1 << 16)
        for (size_t at = bound - AROUND; at < bound + AROUND; at++)
            for (int anywhere = 0; anywhere < 2; anywhere++) {
                int seen = anywhere || at % 4 == 0;

                memcpy(bytes + at, header, sizeof header);
                memcpy(bytes + SIZE - 16, header, sizeof header);
                assert_int_equal(file_find(&f, 0, SIZE, anywhere, &hit, NULL),
                                 KILN_OK);
                assert_int_equal(hit, seen ? at : SIZE - 16);
                memset(bytes + SIZE - 16, 0, sizeof header);
                bytes[at + 7] = 1; /* another header's size */
                assert_int_equal(file_find(&f, 0, SIZE, anywhere, &hit, NULL),
                                 KILN_OK);
                assert_int_equal(hit, SIZE);
                memset(bytes + at, 0, sizeof header);
            }
    free(bytes);
}

static enum kiln_status fail_late(void *data, uint64_t offset, void *to,
                                  size_t size, struct kiln_error *err)
{
    (void)data;
    memset(to, 0, size);
    return offset < 1 << 20 ? KILN_OK
                            : kiln_fail(err, KILN_E_FILE, "no more to read");
}

static void a_read_that_fails_fails_the_search(void **state)
{
    struct kiln_file f = {.source = {.read = fail_late, .size = 1 << 24}};
    struct kiln_error err = {0};
    uint64_t hit = 7;

    (void)state;
    f.source.data = &f;
    assert_int_equal(file_find(&f, 0, 1 << 24, 0, &hit, &err), KILN_E_FILE);
    assert_string_equal(err.text, "no more to read");
    assert_int_equal(hit, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_place_is_found_wherever_it_stands),
        cmocka_unit_test(a_read_that_fails_fails_the_search),
        cmocka_unit_test(large_files_are_searched_to_the_same_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
