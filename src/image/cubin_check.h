/* SPDX-License-Identifier: MIT
 *
 * The parts of cubin_check, a table each. A driver follows the numbers in
 * these tables without a look; what is allowed here is what ptxas and nvlink
 * write: all 19,459 cubins of thirteen libraries of CUDA 13.0 (ABI 7 and 8, 75
 * to 121), and of nvcc with -G, -lineinfo and -rdc=true, pass.
 */
#ifndef KILN_IMAGE_CUBIN_CHECK_H
#define KILN_IMAGE_CUBIN_CHECK_H

#include "image/elf_view.h"

/* One cubin in check. symbols.bytes is NULL where there is no table. */
struct cubin_tables {
    struct elf_view elf;
    struct elf_section symbols;
    struct elf_section strings;    /* of the symbols' names */
    size_t info_count, bank_count; /* of kernels, as sections are met */
    uint64_t budget;               /* bytes that may still be gone through */
};

uint64_t cubin_symbol_count(const struct cubin_tables *t);
/* The index is in range. */
Elf64_Sym cubin_symbol(const struct cubin_tables *t, uint64_t index);
const char *cubin_symbol_name(const struct cubin_tables *t, uint64_t index);
int cubin_is_function(const struct cubin_tables *t, uint64_t index);
int cubin_is_entry(const struct cubin_tables *t, uint64_t index);
/* Sections and names of a hostile file may all lie on the same bytes: the work
 * is bounded by the size of the file. */
enum kiln_status cubin_spend(struct cubin_tables *t, uint64_t bytes,
                             struct kiln_error *err);
/* Names end in files and messages: visible ASCII. "symbol" or "section". */
enum kiln_status cubin_check_name(struct cubin_tables *t, const char *name,
                                  const char *what, uint64_t index,
                                  struct kiln_error *err);
/* The rest of a name behind its beginning, or NULL. */
const char *cubin_after(const char *name, const char *prefix);

enum kiln_status cubin_check_symbols(struct cubin_tables *t,
                                     struct kiln_error *err);
enum kiln_status cubin_check_relocations(const struct cubin_tables *t,
                                         const struct elf_section *s,
                                         struct kiln_error *err);
/* .nv.callgraph: pairs of symbols. */
enum kiln_status cubin_check_calls(const struct cubin_tables *t,
                                   const struct elf_section *s,
                                   struct kiln_error *err);
/* .nv.info, .nv.info.KERNEL (of the code `text`, else NULL), .nv.compat. */
enum kiln_status cubin_check_records(const struct cubin_tables *t,
                                     const struct elf_section *s,
                                     const struct elf_section *text,
                                     struct kiln_error *err);
enum kiln_status cubin_check_notes(const struct elf_section *s,
                                   struct kiln_error *err);

#endif
