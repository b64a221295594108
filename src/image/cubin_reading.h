/* SPDX-License-Identifier: MIT
 *
 * A cubin while it is read: what its symbols said, and what its sections add.
 */
#ifndef KILN_IMAGE_CUBIN_READING_H
#define KILN_IMAGE_CUBIN_READING_H

#include "image/cubin.h"
#include "image/elf_view.h"

enum { CUBIN_FORM_SIZED = 4 }; /* of a record: its value follows */

struct cubin_reading {
    struct elf_view elf;
    struct arena *arena;
    struct cubin_kernel *kernels;
    uint32_t *symbols; /* of each kernel, ascending */
    size_t count;
    struct cubin_variable *variables;
    size_t variable_count;
    uint32_t sm;
    uint32_t abi;
    uint64_t globals; /* bytes of the global variables */
    uint64_t budget;  /* bytes that may still be gone through */
    uint64_t names;   /* bytes of names that may still be handed out */
};

/* What the sections that belong to a kernel by their name say of it. */
enum kiln_status cubin_read_sections(struct cubin_reading *r,
                                     struct kiln_error *err);

#endif
