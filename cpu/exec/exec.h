/* SPDX-License-Identifier: MIT
 *
 * The engine of the CPU device: device memory, contexts with a sticky error,
 * streams as ordered queues, events, and the threads that run blocks. The
 * driver API (cpu/api) is a thin skin over this header.
 *
 * cpu/exec must not know PTX, LLVM, modules by name or CUresult numbers; it
 * runs functions of the type in abi.h.
 *
 * Threads: every function may be called by any thread at any time, save where
 * it says otherwise. Handles are freed once, by their owner; work already
 * queued on a freed stream or event still runs to its end.
 * A thread that waits here helps to run blocks meanwhile.
 * Fork: a child has no worker threads. There every call that would need them
 * fails with KILN_E_NOT_INITIALIZED, as with NVIDIA's driver.
 */
#ifndef KILN_CPU_EXEC_EXEC_H
#define KILN_CPU_EXEC_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cpu/exec/abi.h"
#include "cpu/object/object.h"
#include "cpu/texture/texture.h"

/* ---- the engine, one a process ---- */

/* Reserve address space, start the worker threads; later calls do nothing.
 * Everything below needs it to have succeeded once. One block runner for each
 * core this process may use; KILN_CPU_THREADS=n overrides (1 to 1024).
 * Installs handlers for SIGSEGV, SIGBUS, SIGFPE and SIGILL that pass on
 * everything that does not come from a kernel. */
enum kiln_status exec_open(struct kiln_error *err);
/* For tests and leak checkers: waits for all work, ends the threads, gives
 * the address space back. No handle or allocation may be in use any more. */
void exec_close(void);
/* How many blocks run at once: the device's multiprocessor count. */
unsigned exec_runners(void);

/* ---- device memory ---- */

/* What one allocation is; found by any address inside it. */
struct exec_range {
    uint64_t base;
    uint64_t size; /* as asked */
    void *tag;     /* as given to exec_memory_alloc */
};

/* Aligned to 512 bytes at least; contents zero. Freed memory and the page
 * after the last byte fault. KILN_E_MEMORY with the figures. size 0 is
 * KILN_E_INVALID. */
enum kiln_status exec_memory_alloc(uint64_t size, void *tag, uint64_t *out,
                                   struct kiln_error *err);
/* The start of an allocation, else KILN_E_INVALID. Nothing waits: the caller
 * synchronises first where CUDA says so. */
enum kiln_status exec_memory_free(uint64_t base, struct kiln_error *err);
/* From here on kernels can only read these whole pages of an allocation;
 * exec_copy and exec_fill still write them. Until it is freed. */
enum kiln_status exec_memory_constant(uint64_t base, uint64_t size,
                                      struct kiln_error *err);
/* Whether address lies in a live allocation; O(log n). */
int exec_memory_find(uint64_t address, struct exec_range *out);
/* Whether address lies in the device's reserved range at all, live or not. */
int exec_memory_is_device(uint64_t address);
/* Bytes: what may still be allocated, and the device's memory. */
void exec_memory_info(uint64_t *free_bytes, uint64_t *total_bytes);

/* ---- contexts ---- */

struct exec_context;
enum kiln_status exec_context_new(struct exec_context **out,
                                  struct kiln_error *err);
/* Size of the heap of malloc in kernels, 8 MiB unless set; without effect once
 * a kernel has called it. */
void exec_context_set_heap(struct exec_context *context, uint64_t bytes);
/* Waits for all its streams. Its streams must be freed before. */
void exec_context_free(struct exec_context *context);
/* KILN_OK, or the sticky error with its sentence: the first fault of a
 * kernel. After it, work queued in the context is skipped, not run. */
enum kiln_status exec_context_status(const struct exec_context *context,
                                     struct kiln_error *err);
/* Make it fail from outside (the first one stays). */
void exec_context_poison(struct exec_context *context,
                         const struct kiln_error *why);
/* Wait for everything queued so far in all streams; the sticky error. */
enum kiln_status exec_context_sync(struct exec_context *context,
                                   struct kiln_error *err);

/* ---- streams ---- */

enum exec_stream_flags {
    /* does not synchronise with the legacy stream */
    EXEC_STREAM_NONBLOCKING = 1,
    /* the context's legacy default stream, at most one a context: its work
     * waits for all earlier work of the context's blocking streams, and later
     * work of those waits for it. Applied here, at queueing. */
    EXEC_STREAM_LEGACY = 2
};

struct exec_stream;
/* priority: as CUDA's, smaller runs first, 0 is the lowest useful. */
enum kiln_status exec_stream_new(struct exec_context *context, unsigned flags,
                                 int priority, struct exec_stream **out,
                                 struct kiln_error *err);
/* Does not wait. */
void exec_stream_free(struct exec_stream *stream);
/* KILN_OK: all done; KILN_E_NOT_READY; or the context's error. */
enum kiln_status exec_stream_query(struct exec_stream *stream,
                                   struct kiln_error *err);
enum kiln_status exec_stream_sync(struct exec_stream *stream,
                                  struct kiln_error *err);
/* Later work of stream waits for what `other` holds now. */
enum kiln_status exec_stream_wait_stream(struct exec_stream *stream,
                                         struct exec_stream *other,
                                         struct kiln_error *err);

/* ---- work: each call queues and returns ----
 *
 * Fails with the context's error when that is set, with KILN_E_MEMORY when
 * the queue cannot grow, and then queues nothing. */

struct exec_launch {
    abi_kernel *function; /* of the variant that exec_shape chose */
    uint32_t flags;       /* OBJECT_KERNEL_BARRIER, _FLUSH, _RESUME, _YIELD */
    int cooperative;      /* blocks may wait for each other */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t static_shared; /* bytes */
    uint32_t dynamic_shared;
    uint32_t local_bytes; /* a thread */
    uint32_t frame_bytes; /* a warp, with OBJECT_KERNEL_RESUME */
    const void *params;   /* copied */
    uint32_t param_bytes;
    unsigned char *data; /* the module's variables */
    const char *name;    /* for error texts; copied (cut at 127 bytes) */
    /* what function lies in, for the line of a fault; may be NULL. Lives as
     * long as function does. */
    const struct object_code *code;
    /* Called once when the launch is over, or when exec_launch fails: drop
     * the reference that keeps the code mapped. On any thread; must not
     * call back into this header. May be NULL. */
    void (*release)(void *owner);
    void *owner;
};

enum {
    EXEC_MAX_SHARED = 227 * 1024,       /* static + dynamic, a block */
    EXEC_MAX_SHARED_DEFAULT = 48 * 1024 /* without opting in: api's matter */
};

/* The variant to run for this grid and block: the first whose shape fits. */
const struct object_variant *exec_shape(const struct object_kernel *kernel,
                                        const uint32_t grid[3],
                                        const uint32_t block[3]);
/* KILN_E_INVALID for an empty grid or block, over 1024 threads, or more
 * shared memory than a block may have. */
enum kiln_status exec_launch(struct exec_stream *stream,
                             const struct exec_launch *launch,
                             struct kiln_error *err);

/* width bytes by height rows by depth slices; a row is pitch bytes after the
 * one before, a slice slice bytes. Host and device alike are addresses.
 * Overlapping ranges are undefined but for a plain row. height and depth 0
 * count as 1; width 0 is a no-op. */
struct exec_copy {
    void *to;
    const void *from;
    size_t width;
    size_t height;
    size_t depth;
    size_t to_pitch, from_pitch;
    size_t to_slice, from_slice;
    /* take the source bytes now, as CUDA does for pageable memory; height
     * and depth 1 only */
    int snapshot;
};
enum kiln_status exec_copy(struct exec_stream *stream,
                           const struct exec_copy *copy,
                           struct kiln_error *err);

/* width units of `unit` bytes (1, 2 or 4) by height rows, pitch bytes apart. */
struct exec_fill {
    void *to;
    uint32_t value;
    unsigned unit;
    size_t width;
    size_t height; /* 0 counts as 1 */
    size_t pitch;
};
enum kiln_status exec_fill(struct exec_stream *stream,
                           const struct exec_fill *fill,
                           struct kiln_error *err);

/* Host functions run one at a time on a thread of their own; status is the
 * context's at that time. With `always` it is called after an error too (a
 * stream callback), else skipped (cuLaunchHostFunc). */
typedef void exec_host_fn(void *data, enum kiln_status status);
enum kiln_status exec_host(struct exec_stream *stream, exec_host_fn *fn,
                           void *data, int always, struct kiln_error *err);

/* ---- textures and surfaces ---- */

/* The object's number, which kernels name it by; never 0. The memory that it
 * describes is the caller's, as is the tag. */
enum kiln_status exec_texture_new(const struct texture *texture, void *tag,
                                  uint64_t *number, struct kiln_error *err);
/* The tag of a live object, or NULL. */
void *exec_texture_tag(uint64_t number);
/* Kernels that use it still get what it described, for some time. */
void exec_texture_free(uint64_t number);

/* ---- events ---- */

struct exec_event;
enum kiln_status exec_event_new(struct exec_event **out,
                                struct kiln_error *err);
void exec_event_free(struct exec_event *event);
enum kiln_status exec_event_record(struct exec_event *event,
                                   struct exec_stream *stream,
                                   struct kiln_error *err);
/* Later work of stream waits for the event as recorded now; an event never
 * recorded, or recorded on the same stream, waits for nothing. */
enum kiln_status exec_stream_wait_event(struct exec_stream *stream,
                                        struct exec_event *event,
                                        struct kiln_error *err);
/* KILN_OK (also when never recorded), KILN_E_NOT_READY, or the error of the
 * context it was recorded in. */
enum kiln_status exec_event_query(struct exec_event *event,
                                  struct kiln_error *err);
enum kiln_status exec_event_sync(struct exec_event *event,
                                 struct kiln_error *err);
/* Nanoseconds from a to b. KILN_E_HANDLE when one was never recorded,
 * KILN_E_NOT_READY when one is not yet reached. */
enum kiln_status exec_event_elapsed(struct exec_event *a, struct exec_event *b,
                                    int64_t *ns, struct kiln_error *err);

#endif
