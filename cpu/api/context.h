/* SPDX-License-Identifier: MIT
 *
 * Contexts, and what lives and dies with one: streams, events, memory,
 * modules. The engine's objects (cpu/exec) carry the work; these carry what
 * the driver API says about it.
 */
#ifndef KILN_CPU_API_CONTEXT_H
#define KILN_CPU_API_CONTEXT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/api/api.h"
#include "cpu/exec/exec.h"

struct allocation;
struct array;
struct texture_object;
struct module;

struct stream {
    CUstream handle; /* NULL for default streams */
    struct context *context;
    struct exec_stream *exec;
    unsigned flags;
    int priority;
    unsigned long long id;
    unsigned long long thread; /* owner of a per-thread default stream */
    struct stream *next;
};

struct event {
    CUevent handle;
    struct context *context;
    struct exec_event *exec;
    unsigned flags;
    struct event *next;
};

enum { CONTEXT_LIMITS = CU_LIMIT_MAX };

/* lock guards the lists and the settings. */
struct context {
    CUcontext handle;
    int is_primary;
    unsigned flags;
    unsigned api_version;
    unsigned long long id;
    struct exec_context *exec;
    pthread_mutex_t lock;
    struct stream *legacy;
    struct stream *threads; /* per-thread default streams */
    struct stream *streams; /* created ones */
    struct event *events;
    struct allocation *allocations;
    struct array *arrays;
    struct texture_object *textures;
    struct module *modules;
    size_t limits[CONTEXT_LIMITS];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    struct context *next;
};

/* handle NULL: a new one. */
CUresult context_new(unsigned flags, void *handle, struct context **out);
/* Waits for its work, then destroys all it holds. The handle of a created
 * context dies; that of the primary one stays. */
void context_destroy(struct context *context);
/* The one a handle names, or NULL. */
struct context *context_of(CUcontext handle);

/* NULL and the two constants mean default streams of `context`, which may be
 * NULL for a created stream. CUDA_ERROR_INVALID_HANDLE. */
CUresult stream_find(struct context *context, CUstream handle,
                     struct stream **out);
/* For calls that take a stream: checks that api_enter makes, in the stream's
 * own context for a created stream, in the current one otherwise. */
CUresult stream_enter(CUstream handle, struct stream **out);
CUresult stream_new(struct context *context, unsigned flags, int priority,
                    struct stream **out);
void stream_destroy(struct stream *stream);
void event_destroy(struct event *event);

/* Frees all memory of a context (memory.c); with the context idle. */
void memory_release_context(struct context *context);
/* Destroys its texture and surface objects, then its arrays (texture.c,
 * array.c); before its memory is freed. */
void texture_release_context(struct context *context);
void array_release_context(struct context *context);
/* Unloads all modules of a context (module.c). */
void module_release_context(struct context *context);
/* Drops what libraries have in a context (library.c). */
void library_release_context(struct context *context);

#endif
