/* SPDX-License-Identifier: MIT
 *
 * Mutators that know a format. A blind change is stopped by the first size
 * that does not fit; these change one thing and make the rest fit again.
 */
#ifndef KILN_FUZZ_MUTATE_H
#define KILN_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "fuzz/random.h"

/* Each changes *b, whose bytes begin as its format does. 0 when they turn
 * out not to be of it, and *b is as it was. */
int mutate_fatbin(struct buffer *b, struct rng *r);
int mutate_elf(struct buffer *b, struct rng *r);
int mutate_archive(struct buffer *b, struct rng *r);
/* A whole mutator: words of the text are exchanged for words of the list. */
size_t mutate_text(uint8_t *data, size_t size, size_t most, unsigned seed,
                   const char *const *words, size_t count);
/* Whether a word of PTX may hold it. */
int mutate_is_word(unsigned char c);
/* What libFuzzer does by itself; the result has at most `most` bytes. */
void mutate_blindly(struct buffer *b, size_t most);
/* One of the above, by the first bytes. */
void mutate_bytes(struct buffer *b, struct rng *r);

/* The payload in the packing of lz4 (or zstd), in *out. */
void mutate_pack(const struct buffer *plain, int lz4, struct buffer *out);

/* out = bytes with `size` bytes at `at` replaced by `with`. */
void mutate_splice(struct buffer *b, size_t at, size_t size,
                   const struct buffer *with);

/* The end of a mutator: b as data, freed; the size. */
size_t mutate_give(struct buffer *b, uint8_t *data, size_t most);

#endif
