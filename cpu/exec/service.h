/* SPDX-License-Identifier: MIT
 *
 * What kernels ask of the engine while they run: printf, assertions, the
 * device heap. All run on a kernel's fiber, where memory of the device may be
 * touched only with slot->in_kernel set and locks taken only without.
 */
#ifndef KILN_CPU_EXEC_SERVICE_H
#define KILN_CPU_EXEC_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct exec_context;
struct slot;
struct heap;
struct output;

/* ---- service.c ---- */
/* block->service of struct abi_block. */
struct abi_block;
void service_call(struct abi_block *block, uint32_t warp, uint32_t kind,
                  uint32_t mask, uint64_t *args);
/* Copies bytes of the device; a fault there is the kernel's. The caller holds
 * no locks, and nothing that only its frame knows. */
void service_fetch(struct slot *slot, void *to, uint64_t from, size_t n);
/* A string without its NUL, cut at `limit` bytes, into slot->fetched. */
void service_fetch_string(struct slot *slot, uint64_t from, size_t limit);

/* ---- format.c ---- */
/* printf's format at `format`, with the arguments packed at `args` as vprintf
 * of PTX has them, appended to slot->text. The number of arguments. */
int format_text(struct slot *slot, uint64_t format, uint64_t args);

/* ---- output.c ---- */
void output_add(struct exec_context *context, const void *bytes, size_t n);
/* Writes what the context's kernels have printed. Under no lock. */
void output_flush(struct exec_context *context);
void output_free(struct exec_context *context);

/* ---- heap.c ---- */
/* 0 where there is no room. */
uint64_t heap_alloc(struct exec_context *context, uint64_t size);
/* 0, or -1 when no block starts there. */
int heap_free(struct exec_context *context, uint64_t address);
void heap_close(struct exec_context *context);

#endif
