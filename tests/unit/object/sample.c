/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <elf.h>
#include <string.h>

#include "cpu/exec/abi.h"

static const struct object_param params[] = {
    {0, 8, 8, 1}, {8, 4, 4, 0}, {16, 24, 8, 0}};
static const struct object_variant variants[] = {{OBJECT_SHAPE_ROWS, "kernel"},
                                                 {OBJECT_SHAPE_ANY, "kernel"}};
static const struct object_kernel kernels[] = {{.name = "kernel_name",
                                                .params = params,
                                                .param_count = 3,
                                                .param_bytes = 40,
                                                .variants = variants,
                                                .variant_count = 2,
                                                .chunk_lanes = 16,
                                                .static_shared = 128,
                                                .local_bytes = 64,
                                                .frame_bytes = 192,
                                                .max_threads = 512,
                                                .reqntid = {32, 2, 1},
                                                .maxnreg = 40,
                                                .flags = OBJECT_KERNEL_BARRIER |
                                                         OBJECT_KERNEL_FLUSH |
                                                         OBJECT_KERNEL_RESUME},
                                               {.name = "other",
                                                .variants = variants + 1,
                                                .variant_count = 1,
                                                .chunk_lanes = 8,
                                                .max_threads = 1024}};
static const struct object_variable variables[] = {
    {"table", OBJECT_CONST, 1, 0, 0, 16, 8},
    {"counter", OBJECT_GLOBAL, 1, 0, 16, 4, 4},
    {"elsewhere", OBJECT_GLOBAL, 1, 1, 0, 4, 4}};
static const uint8_t data[] = {1, 2, 3, 4, 5};
static const struct object_ref refs[] = {{8, 16}};

struct object_info sample_info(void)
{
    const struct object_info info = {.abi = ABI_VERSION,
                                     .ptx_version = 90,
                                     .target = 75,
                                     .build = "build-1",
                                     .codegen = "generator 1",
                                     .cpu = "x86-64",
                                     .features = "sse2",
                                     .kernels = kernels,
                                     .kernel_count = 2,
                                     .variables = variables,
                                     .variable_count = 3,
                                     .data_size = 24,
                                     .data_align = 16,
                                     .data_init = data,
                                     .data_init_size = sizeof data,
                                     .refs = refs,
                                     .ref_count = 1};

    return info;
}

void sample_add_section(const struct buffer *in, const char *name,
                        const struct buffer *contents, struct buffer *out)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;
    Elf64_Shdr added = {.sh_type = SHT_PROGBITS, .sh_addralign = 1};

    memcpy(&header, in->bytes, sizeof header);
    memcpy(&names,
           in->bytes + header.e_shoff + header.e_shstrndx * sizeof names,
           sizeof names);
    buffer_add(out, in->bytes, in->size);
    added.sh_offset = out->size;
    added.sh_size = contents->size;
    buffer_add(out, contents->bytes, contents->size);
    added.sh_name = (Elf64_Word)names.sh_size;
    names.sh_offset = out->size;
    {
        Elf64_Shdr old;

        memcpy(&old,
               in->bytes + header.e_shoff + header.e_shstrndx * sizeof old,
               sizeof old);
        buffer_add(out, in->bytes + old.sh_offset, old.sh_size);
    }
    buffer_add(out, name, strlen(name) + 1);
    names.sh_size = out->size - names.sh_offset;
    buffer_align(out, 8);
    {
        const size_t table = out->size;

        buffer_add(out, in->bytes + header.e_shoff,
                   header.e_shnum * sizeof names);
        memcpy(out->bytes + table + header.e_shstrndx * sizeof names, &names,
               sizeof names);
        buffer_add(out, &added, sizeof added);
        header.e_shoff = table;
        header.e_shnum++;
        memcpy(out->bytes, &header, sizeof header);
    }
}
