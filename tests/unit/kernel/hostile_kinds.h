/* SPDX-License-Identifier: MIT
 *
 * The kinds of hostile files, for the table of them.
 */
#ifndef TESTS_HOSTILE_KINDS_H
#define TESTS_HOSTILE_KINDS_H

#include <elf.h>
#include <stdint.h>

#include "base/buffer.h"

/* Parts that kinds are made of: a container's and an entry's header, text
 * that repeats a line, an ELF header and table. */
void hostile_container(struct buffer *b, uint64_t body);
void hostile_ptx(struct buffer *b, size_t size, const char *each);
void hostile_elf_header(struct buffer *b, uint16_t machine, uint32_t flags);
void hostile_elf_sections(struct buffer *b, const Elf64_Shdr *list,
                          size_t count, size_t names);

typedef void hostile_maker(struct buffer *b, size_t size);
hostile_maker hostile_empty_containers, hostile_apart_containers,
    hostile_damaged_containers, hostile_nested_containers, hostile_numbers,
    hostile_entries, hostile_small_bombs, hostile_packed_kernels,
    hostile_packed_cubins, hostile_plain_kernels, hostile_lz4_bomb,
    hostile_zstd_blocks, hostile_zstd_frames, hostile_overlapping_sections,
    hostile_empty_sections, hostile_wrappers, hostile_empty_members,
    hostile_elf_members, hostile_nested_archives, hostile_cubin_symbols,
    hostile_cubin_long_names, hostile_cubin_sections, hostile_ptx_commented,
    hostile_ptx_open_lists, hostile_ptx_no_lists, hostile_ptx_comments,
    hostile_ptx_brackets, hostile_ptx_one_word;

#endif
