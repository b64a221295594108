/* SPDX-License-Identifier: MIT
 *
 * Parts of a cubin, in place: for tests that change one of them.
 */
#ifndef TESTS_IMAGE_CUBIN_PARTS_H
#define TESTS_IMAGE_CUBIN_PARTS_H

#include <elf.h>

#include "fixture.h"

Elf64_Ehdr *part_header(struct buffer *b);
Elf64_Shdr *part_row(struct buffer *b, uint32_t i);
Elf64_Shdr *part_section(struct buffer *b, const char *name);
Elf64_Sym *part_symbol(struct buffer *b, const char *name);
/* The first record of .nv.info... with this attribute. */
unsigned char *part_record(struct buffer *b, const char *name, int attribute);

#endif
