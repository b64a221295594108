/* SPDX-License-Identifier: MIT */
#include "hostile.h"

#include <string.h>

#include "hostile_kinds.h"

static void text(struct buffer *b, size_t size)
{
    while (b->size < size)
        buffer_text(b, "\x50\xed\x55 text that is nearly a container \xba\n");
}

static const struct {
    const char *name;
    void (*make)(struct buffer *b, size_t size);
} kinds[] = {
    {"empty-containers", hostile_empty_containers},
    {"apart-containers", hostile_apart_containers},
    {"damaged-containers", hostile_damaged_containers},
    {"nested-containers", hostile_nested_containers},
    {"numbers", hostile_numbers},
    {"entries", hostile_entries},
    {"small-bombs", hostile_small_bombs},
    {"packed-kernels", hostile_packed_kernels},
    {"packed-cubins", hostile_packed_cubins},
    {"plain-kernels", hostile_plain_kernels},
    {"lz4-bomb", hostile_lz4_bomb},
    {"zstd-blocks", hostile_zstd_blocks},
    {"zstd-frames", hostile_zstd_frames},
    {"overlapping-sections", hostile_overlapping_sections},
    {"empty-sections", hostile_empty_sections},
    {"wrappers", hostile_wrappers},
    {"empty-members", hostile_empty_members},
    {"elf-members", hostile_elf_members},
    {"nested-archives", hostile_nested_archives},
    {"cubin-symbols", hostile_cubin_symbols},
    {"cubin-long-names", hostile_cubin_long_names},
    {"cubin-sections", hostile_cubin_sections},
    {"ptx-commented", hostile_ptx_commented},
    {"ptx-open-lists", hostile_ptx_open_lists},
    {"ptx-no-lists", hostile_ptx_no_lists},
    {"ptx-comments", hostile_ptx_comments},
    {"ptx-brackets", hostile_ptx_brackets},
    {"ptx-one-word", hostile_ptx_one_word},
    {"text", text},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct buffer hostile_make(const char *kind, size_t size)
{
    struct buffer b = {0};

    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, kind))
            kinds[i].make(&b, size);
    return b;
}

const char *hostile_kind(size_t index)
{
    return index < KINDS ? kinds[index].name : NULL;
}
