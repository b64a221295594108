/* SPDX-License-Identifier: MIT
 *
 * Kernels k(in, out) of words: run once, and each word of out compared with
 * what a function says of it.
 */
#ifndef KILN_TESTS_TENSOR_WORDS_H
#define KILN_TESTS_TENSOR_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { IN_WORDS = 4096, OUT_WORDS = 8192 };

extern uint32_t in_words[IN_WORDS];

typedef uint32_t expect_fn(uint32_t at);

/* body: instructions of a kernel that has %in, %out (u64), %lane, %t (tid.x),
 * %warp, registers %r0..63, %x0..15 (b64), %p0..7, %h0..7 (b16), %f0..15, and
 * 32 KiB of shared memory, `room`, whose first 16 KiB are in's words. words: of
 * out that are compared; the others must be as they were. */
void words_open(void);
/* in_words were changed: to the device. */
void words_fill(void);
/* Whether the kernels that follow are launched as clusters of one block: an
 * H200 takes st.async and red.async of no others
 * (CUDA_ERROR_ILLEGAL_INSTRUCTION). */
void words_in_cluster(int on);
void words_run(const char *name, unsigned sm, unsigned threads,
               const char *body, unsigned words, expect_fn *expect);

#endif
