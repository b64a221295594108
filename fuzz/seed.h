/* SPDX-License-Identifier: MIT
 *
 * The parts of fuzz_seed.
 */
#ifndef KILN_FUZZ_SEED_H
#define KILN_FUZZ_SEED_H

#include "base/buffer.h"

/* FOLDER/KIND/NAME; ends the program when it cannot be written. */
void seed_put(const char *folder, const char *kind, const char *name,
              const struct buffer *b);
/* Host ELF files and others, into FOLDER/scan. */
void seed_scans(const char *folder);
/* Lines that an assembler takes, of tests/ptxas, into FOLDER/ptx. */
void seed_ptx(const char *folder, const char *tests);

#endif
