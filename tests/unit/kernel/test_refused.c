/* SPDX-License-Identifier: MIT
 *
 * Every kind of image that crashed or hung NVIDIA's driver 580, on a stand-in
 * that counts the loads which reach it: each is refused with a sentence
 * first, from a file and as a compiled image. What is damaged in a container
 * alone never reaches a driver either: it gets one image by itself.
 */
#include "../compile/cmocka_all.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/fatbin.h"
#include "kernel/image.h"
#include "kiln/image.h"

static struct kiln *kiln;
static unsigned (*standin_loads)(uint32_t *begins);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\n\tret;\n}\n";

static int setup(void **state)
{
    struct kiln_open_options open = {
        .size = sizeof open, .device = "nvidia", .no_cache = 1};
    void *library, *symbol;

    (void)state;
    setenv("KILN_NVIDIA_DRIVER", STANDIN_NVIDIA_FILE, 1);
    unsetenv("STANDIN");
    if (kiln_open(&open, &kiln, NULL))
        return -1;
    library = dlopen(STANDIN_NVIDIA_FILE, RTLD_NOW | RTLD_NOLOAD);
    symbol = dlsym(library, "standin_loads");
    memcpy(&standin_loads, &symbol, sizeof standin_loads);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kiln_close(kiln);
    return 0;
}

static unsigned loads(void)
{
    uint32_t begins;

    return standin_loads(&begins);
}

static struct buffer unit(const char *name)
{
    char path[512];
    struct buffer b = {0};
    struct kiln_error err;

    snprintf(path, sizeof path, "%s%s.cubin", UNITS, name);
    if (file_read(path, 0, &b, &err))
        fail_msg("%s", err.text);
    return b;
}

static enum kiln_status load_file(const void *bytes, size_t size,
                                  struct kiln_error *err)
{
    struct kiln_library *library = NULL;
    struct kiln_file *file;
    enum kiln_status st = kiln_file_open_bytes("x", bytes, size, &file, err);

    if (st)
        return st;
    st = kiln_file_load(kiln, file, -1, NULL, NULL, &library, err);
    kiln_file_close(file);
    kiln_library_free(library);
    return st;
}

static enum kiln_status load_image(enum kiln_image_kind kind, const void *bytes,
                                   size_t size, enum kiln_policy policy,
                                   struct kiln_error *err)
{
    struct kiln_load_options options = {.size = sizeof options,
                                        .policy = policy};
    struct kiln_image *image = kiln_zalloc(sizeof *image);
    struct kiln_library *library = NULL;
    enum kiln_status st;

    assert_non_null(image);
    image->kind = kind;
    assert_int_equal(image_set_bytes(image, bytes, size), 0);
    st = kiln_load(kiln, image, &options, &library, err);
    kiln_library_free(library);
    kiln_image_free(image);
    return st;
}

/* Neither way to the driver, and a sentence. */
static void refused(enum kiln_image_kind kind, const void *bytes, size_t size)
{
    unsigned before = loads();
    struct kiln_error err = {0};

    assert_int_not_equal(load_file(bytes, size, &err), KILN_OK);
    assert_true(strlen(err.text) > 10);
    memset(&err, 0, sizeof err);
    assert_int_not_equal(load_image(kind, bytes, size, KILN_POLICY_BEST, &err),
                         KILN_OK);
    assert_true(strlen(err.text) > 10);
    assert_int_equal(loads(), before);
}

static void refused_cubin(struct buffer *b)
{
    refused(KILN_IMAGE_CUBIN, b->bytes, b->size);
    buffer_fini(b);
}

static Elf64_Ehdr *header(struct buffer *b)
{
    return (Elf64_Ehdr *)(void *)b->bytes;
}

static void sound_images_reach_the_driver(void **state)
{
    static const char *const names[] = {"c90", "c90a", "d90",
                                        "g90", "m90",  "r90"};
    unsigned before = loads();
    struct kiln_error err;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct buffer b = unit(names[i]);

        assert_int_equal(load_file(b.bytes, b.size, &err), KILN_OK);
        assert_int_equal(load_image(KILN_IMAGE_CUBIN, b.bytes, b.size,
                                    KILN_POLICY_BEST, &err),
                         KILN_OK);
        buffer_fini(&b);
    }
    assert_int_equal(load_file(ptx, sizeof ptx - 1, &err), KILN_OK);
    assert_int_equal(
        load_image(KILN_IMAGE_PTX, ptx, sizeof ptx - 1, KILN_POLICY_BEST, &err),
        KILN_OK);
    assert_int_equal(loads(), before + 14);
}

static void a_caller_who_asks_for_the_driver_gets_it(void **state)
{
    unsigned before = loads();
    struct buffer b = unit("c90");

    (void)state;
    header(&b)->e_shoff = (uint64_t)1 << 60;
    assert_int_equal(
        load_image(KILN_IMAGE_CUBIN, b.bytes, b.size, KILN_POLICY_DRIVER, NULL),
        KILN_OK);
    assert_int_equal(loads(), before + 1);
    buffer_fini(&b);
}

static void a_cubin_cut_anywhere_is_refused(void **state)
{
    struct buffer b = unit("m90");

    (void)state;
    for (size_t n = 0; n < b.size; n++)
        refused(KILN_IMAGE_CUBIN, b.bytes, n);
    buffer_fini(&b);
}

static void a_wild_section_table_is_refused(void **state)
{
    static const uint64_t offsets[] = {
        0, 1, 63, UINT64_MAX, 1000, 1u << 31, UINT64_MAX / 64};
    struct buffer b;

    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        b = unit("c90");
        header(&b)->e_shoff = offsets[i];
        refused_cubin(&b);
    }
    for (unsigned n = 0; n < 3; n++) {
        b = unit("c90");
        header(&b)->e_shnum = (uint16_t)(n ? 0xffff / n : 0);
        refused_cubin(&b);
        b = unit("c90");
        header(&b)->e_shentsize = (uint16_t)(n ? 0xffff / n : 0);
        refused_cubin(&b);
    }
    b = unit("c90");
    header(&b)->e_shstrndx = 0xfff;
    refused_cubin(&b);
}

static void other_flags_are_refused(void **state)
{
    (void)state;
    for (int bit = 0; bit < 16; bit++) {
        struct buffer b = unit("c90");

        header(&b)->e_flags ^= 1u << bit;
        refused_cubin(&b);
    }
}

static void a_symbol_of_a_reserved_section_is_refused(void **state)
{
    static const uint16_t numbers[] = {0xff00, 0xff1f, 0xff20, 0xff3f,
                                       0xfff0, 0xfff3, 0xffff, 0x00ff};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct buffer b = unit("c90");
        Elf64_Shdr *s = (Elf64_Shdr *)(void *)(b.bytes + header(&b)->e_shoff);
        Elf64_Sym *symbol;

        while (s->sh_type != SHT_SYMTAB)
            s++;
        symbol = (Elf64_Sym *)(void *)(b.bytes + s->sh_offset);
        while (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
            symbol++;
        symbol->st_shndx = numbers[i];
        refused_cubin(&b);
    }
}

static void ptx_without_its_end_is_refused(void **state)
{
    static const char *const texts[] = {
        ".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n",
        ".version 8.0\n.target sm_80\n.entry k(",
        ".version 8.0\n.target sm_80\n/* and then",
        ".version 8.0\n.target sm_80\n.file 1 \"a.cu\n",
        ".version 8.0\n.target sm_80\n.entry k()\n{\n\tret;\n}\n}\n",
        ".version 8.0\n.target",
        ".version 8.",
        ".version 8.0\n.target sm_80\n\x01\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused(KILN_IMAGE_PTX, texts[i], strlen(texts[i]));
    for (size_t n = 0; n < sizeof ptx - 3; n++)
        if (n < 24 || (n > strcspn(ptx, "(") && n <= strcspn(ptx, ")")) ||
            n > strcspn(ptx, "{"))
            refused(KILN_IMAGE_PTX, ptx, n);
    refused(KILN_IMAGE_PTX, "\0", 1);
    refused(KILN_IMAGE_PTX, "a\0.version 8.0", 14);
}

static void container(struct buffer *out, enum fatbin_packing packing,
                      size_t count)
{
    /* Long enough to be worth packing. */
    static char text[4096];
    struct fatbin_item items[2] = {
        {.kind = FATBIN_PTX, .major = 8, .sm = 80, .packing = packing}};
    size_t n = (size_t)snprintf(text, sizeof text, "%s", ptx);

    while (n + 40 < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "// a line that packs well, %zu\n", n);
    items[0].payload = text;
    items[0].size = n;
    items[1] = items[0];
    assert_int_equal(fatbin_write(items, count, out, NULL), KILN_OK);
}

static void put(struct buffer *b, size_t at, uint64_t value, size_t width)
{
    memcpy(b->bytes + at, &value, width);
}

/* The first bytes of what a driver got, where it got anything. */
static void never_the_container(const void *bytes, size_t size, int loads_one)
{
    unsigned before = loads();
    struct kiln_error err = {0};
    uint32_t begins = 0;
    enum kiln_status st = load_file(bytes, size, &err);

    assert_int_equal(standin_loads(&begins) - before, loads_one);
    if (loads_one) {
        assert_int_equal(st, KILN_OK);
        assert_memory_equal(&begins, ".ver", 4);
    } else {
        assert_int_not_equal(st, KILN_OK);
        assert_true(strlen(err.text) > 10);
    }
}

static void an_entry_without_options_goes_as_its_text_alone(void **state)
{
    struct buffer b = {0};

    (void)state;
    container(&b, FATBIN_PLAIN, 1);
    put(&b, 16 + 20, 0, 4);
    never_the_container(b.bytes, b.size, 1);
    buffer_fini(&b);
}

static void a_wrong_packing_flag_is_refused(void **state)
{
    static const uint64_t flags[] = {0x2011, 0x8011, 0xa011, 0x11, 0};
    static const enum fatbin_packing packings[] = {FATBIN_PACKED_LZ4,
                                                   FATBIN_PACKED_ZSTD};

    (void)state;
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < 5; i++) {
            struct buffer b = {0};

            if (i == p)
                continue; /* the right one */
            container(&b, packings[p], 1);
            put(&b, 16 + 40, flags[i], 8);
            never_the_container(b.bytes, b.size, 0);
            buffer_fini(&b);
        }
}

static void a_wrong_size_leaves_the_entries_that_are_whole(void **state)
{
    static const int64_t wrong[] = {64, 8, 1 << 20, INT64_MAX / 2};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct buffer b = {0};
        uint64_t size;

        container(&b, FATBIN_PLAIN, 1);
        memcpy(&size, b.bytes + 8, sizeof size);
        put(&b, 8, size + (uint64_t)wrong[i], 8);
        never_the_container(b.bytes, b.size, 1);
        /* With the zeros behind it on which NVIDIA's driver did not end. */
        buffer_zeros(&b, 64);
        never_the_container(b.bytes, b.size, 1);
        buffer_fini(&b);
    }
    for (uint64_t size = 0; size < 2000; size += 8) {
        struct buffer b = {0};

        container(&b, FATBIN_PLAIN, 1);
        put(&b, 8, size, 8);
        never_the_container(b.bytes, b.size, 0);
        buffer_fini(&b);
    }
}

static void an_entry_of_a_wild_size_is_refused(void **state)
{
    static const size_t fields[] = {4, 8, 16, 20, 56};

    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct buffer b = {0};

        container(&b, FATBIN_PACKED_ZSTD, 1);
        put(&b, 16 + fields[i], 0xfffffff0, 4);
        never_the_container(b.bytes, b.size, 0);
        buffer_fini(&b);
    }
}

static struct kiln_image *text_image(void)
{
    struct kiln_image *image = kiln_zalloc(sizeof *image);

    assert_non_null(image);
    image->kind = KILN_IMAGE_PTX;
    assert_int_equal(image_set_bytes(image, ptx, sizeof ptx - 1), 0);
    return image;
}

static void a_load_is_foretold_for_the_device_that_is_open(void **state)
{
    struct kiln_image *image = text_image();
    struct kiln_target target = {.size = sizeof target};
    struct kiln_error err;
    unsigned before = loads();
    char text[200];

    (void)state;
    assert_int_equal(kiln_get_target(kiln, &target, NULL), KILN_OK);
    assert_int_equal(target.sm, 90);
    assert_int_equal(target.driver_version, 12040);
    assert_int_equal(target.memory, 1 << 30);
    assert_int_equal(kiln_predict(kiln, image, NULL, text, sizeof text, NULL),
                     KILN_OK);
    assert_string_equal(text, "this load will be compiled by the driver: no "
                              "cubin for sm_90, PTX 8.0 for compute_80");
    memcpy(image->bytes, ".version 9.0", 12);
    assert_int_equal(kiln_predict(kiln, image, NULL, text, 20, &err),
                     KILN_E_PTX_VERSION);
    assert_string_equal(text, "this load will fail");
    assert_non_null(strstr(err.text, "the driver of CUDA 13.0 (580)"));
    assert_int_equal(loads(), before);
    kiln_image_free(image);
}

static void a_target_that_the_device_does_not_run_is_left_out(void **state)
{
    struct kiln_jit_option jit = {"target", 80};
    struct kiln_load_options options = {
        .size = sizeof options, .jit = &jit, .jit_count = 1};
    struct kiln_image *image = text_image();
    struct kiln_library *library;
    struct kiln_stage stage = {.size = sizeof stage};

    (void)state;
    for (int target = 80; target <= 90; target += 10) {
        jit.value = target;
        assert_int_equal(kiln_load(kiln, image, &options, &library, NULL),
                         KILN_OK);
        assert_int_equal(
            kiln_get_stage(kiln, kiln_stage_count(kiln) - 1, &stage, NULL),
            KILN_OK);
        assert_int_equal(strstr(stage.text, "CU_JIT_TARGET left out") != NULL,
                         target == 80);
        kiln_library_free(library);
    }
    kiln_image_free(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_images_reach_the_driver),
        cmocka_unit_test(a_caller_who_asks_for_the_driver_gets_it),
        cmocka_unit_test(a_cubin_cut_anywhere_is_refused),
        cmocka_unit_test(a_wild_section_table_is_refused),
        cmocka_unit_test(other_flags_are_refused),
        cmocka_unit_test(a_symbol_of_a_reserved_section_is_refused),
        cmocka_unit_test(ptx_without_its_end_is_refused),
        cmocka_unit_test(an_entry_without_options_goes_as_its_text_alone),
        cmocka_unit_test(a_wrong_packing_flag_is_refused),
        cmocka_unit_test(a_wrong_size_leaves_the_entries_that_are_whole),
        cmocka_unit_test(an_entry_of_a_wild_size_is_refused),
        cmocka_unit_test(a_load_is_foretold_for_the_device_that_is_open),
        cmocka_unit_test(a_target_that_the_device_does_not_run_is_left_out),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
