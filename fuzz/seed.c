/* SPDX-License-Identifier: MIT
 *
 * Writes the corpora of the binary formats with Kiln's own writers:
 * fuzz_seed FOLDER PTXAS puts FOLDER/fatbin, FOLDER/entry and so on there,
 * and PTX made of the lines in PTXAS, which is tests/ptxas.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cache/entry.h"
#include "cpu/object/object.h"
#include "fuzz/seed.h"
#include "image/fatbin.h"

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\nret;\n}\n";

void seed_put(const char *folder, const char *kind, const char *name,
              const struct buffer *b)
{
    char path[4096];
    struct kiln_error err;

    snprintf(path, sizeof path, "%s/%s", folder, kind);
    if (mkdir(path, 0777) && errno != EEXIST) {
        perror(path);
        exit(1);
    }
    snprintf(path, sizeof path, "%s/%s/%s", folder, kind, name);
    if (b->bad || file_write(path, b->bytes, b->size, &err)) {
        fprintf(stderr, "%s: %s\n", path, b->bad ? "no memory" : err.text);
        exit(1);
    }
}

/* The first entry's payload as fuzz_unpack takes it. */
static void payload(const char *folder, const char *name,
                    const struct buffer *container)
{
    struct fatbin fatbin;
    struct fatbin_entry e;
    struct buffer out = {0};
    int more;

    if (fatbin_open(container->bytes, container->size, &fatbin, NULL) ||
        fatbin_next(&fatbin, &e, &more, NULL))
        exit(1);
    buffer_u8(&out, (uint8_t)e.packing);
    buffer_u8(&out, (uint8_t)e.kind);
    buffer_u8(&out, 64);
    buffer_u8(&out, 1);
    buffer_u32(&out, (uint32_t)e.plain_size);
    buffer_add(&out, e.payload, (size_t)e.payload_size);
    seed_put(folder, "unpack", name, &out);
    buffer_fini(&out);
}

static void fatbins(const char *folder)
{
    static const struct {
        const char *name;
        enum fatbin_packing packing;
    } kinds[] = {{"plain", FATBIN_PLAIN},
                 {"lz4", FATBIN_PACKED_LZ4},
                 {"zstd", FATBIN_PACKED_ZSTD}};
    char text[4096];
    struct kiln_error err;

    memset(text, ' ', sizeof text);
    memcpy(text, ptx, sizeof ptx - 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct fatbin_item items[2] = {
            {.kind = FATBIN_PTX,
             .sm = 75,
             .major = 7,
             .packing = kinds[i].packing,
             .payload = text,
             .size = sizeof text,
             .options = "-g",
             .identifier = "k.cu"},
            {.kind = FATBIN_PTX,
             .sm = 90,
             .variant = 'a',
             .major = 8,
             .payload = ptx,
             .size = sizeof ptx - 1},
        };
        struct buffer out = {0};

        if (fatbin_write(items, 2, &out, &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        seed_put(folder, "fatbin", kinds[i].name, &out);
        seed_put(folder, "image", kinds[i].name, &out);
        payload(folder, kinds[i].name, &out);
        buffer_fini(&out);
    }
}

static void entries(const char *folder)
{
    const struct cache_section sections[] = {{"log", "a log", 5},
                                             {"object", ptx, sizeof ptx}};
    struct cache_key key;
    struct buffer out = {0};
    struct kiln_error err;

    cache_key_init(&key, "seed");
    cache_key_text(&key, "target", "sm_75");
    cache_key_u64(&key, "number", 7);
    if (entry_write(&key, sections, 2, 0, 1700000000, &out, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    seed_put(folder, "entry", "two", &out);
    buffer_fini(&out);
    cache_key_fini(&key);
}

static void objects(const char *folder)
{
    static const struct object_param params[] = {{0, 8, 8, 1}, {8, 4, 4, 0}};
    static const struct object_variant variants[] = {
        {OBJECT_SHAPE_ROWS, "k_rows"}, {OBJECT_SHAPE_ANY, "k_any"}};
    static const struct object_kernel kernels[] = {{.name = "k",
                                                    .params = params,
                                                    .param_count = 2,
                                                    .param_bytes = 12,
                                                    .variants = variants,
                                                    .variant_count = 2,
                                                    .chunk_lanes = 16,
                                                    .max_threads = 1024}};
    static const struct object_variable variables[] = {
        {.name = "v", .space = OBJECT_GLOBAL, .size = 4, .align = 4}};
    static const uint8_t data[] = {1, 2, 3, 4};
    static const struct object_ref refs[] = {{8, 0}};
    const struct object_info info = {.abi = 1,
                                     .ptx_version = 70,
                                     .target = 75,
                                     .build = "build",
                                     .codegen = "none",
                                     .cpu = "x86-64",
                                     .features = "sse2",
                                     .kernels = kernels,
                                     .kernel_count = 1,
                                     .variables = variables,
                                     .variable_count = 1,
                                     .data_size = 16,
                                     .data_align = 16,
                                     .data_init = data,
                                     .data_init_size = sizeof data,
                                     .refs = refs,
                                     .ref_count = 1};
    struct buffer out = {0};

    object_info_write(&info, &out);
    seed_put(folder, "object", "info", &out);
    buffer_fini(&out);
}

int main(int argc, char **argv)
{
    struct buffer text = {0};

    if (argc != 3)
        return 2;
    if (mkdir(argv[1], 0777) && errno != EEXIST) {
        perror(argv[1]);
        return 1;
    }
    fatbins(argv[1]);
    entries(argv[1]);
    objects(argv[1]);
    seed_scans(argv[1]);
    seed_ptx(argv[1], argv[2]);
    buffer_add(&text, ptx, sizeof ptx - 1);
    seed_put(argv[1], "image", "ptx", &text);
    buffer_fini(&text);
    return 0;
}
