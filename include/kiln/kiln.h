/* SPDX-License-Identifier: MIT
 *
 * libkiln: CUDA source or PTX in, a checked kernel launch out, on an NVIDIA
 * GPU or on the CPU device. C99, C11 and C++11.
 *
 * Five lines from source to launch (errors left out):
 *
 *     kiln_open(NULL, &kiln, &err);
 *     kiln_compile(kiln, &source, NULL, &image, &err);
 *     kiln_load(kiln, image, NULL, &library, &err);
 *     kiln_find_kernel(library, "saxpy<float>", &kernel, &err);
 *     kiln_launch(kernel, &shape, args, 4, &err);
 *
 * Rules that hold for every function:
 *   - It returns a status; outputs are written only on KILN_OK, and err (which
 *     may be NULL) only otherwise. kiln_log() has the compiler's or driver's
 *     own text of the last stage that had something to say.
 *   - A handle and all that was made from it belong to one thread at a time;
 *     two handles are independent. The caller's current CUDA context is
 *     restored before a function returns.
 *   - What is made from a handle is freed before it. Free functions accept
 *     NULL. Strings returned live as long as the object they came from.
 *   - Option structs start with their size: set `.size = sizeof options`, the
 *     rest to zero. NULL stands for all defaults.
 */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include <stddef.h>
#include <stdint.h>

#include "kiln/status.h"

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct kiln;         /* a driver, a device, a context, a cache, a timeline */
struct kiln_image;   /* PTX or machine code, with its names and its log */
struct kiln_library; /* an image loaded on the device */
struct kiln_kernel;  /* a function of a library; lives as long as it */
struct kiln_buffer;  /* memory of the device */

const char *kiln_version(void); /* "0.1.0" of the library that runs */

/* ---- the device ------------------------------------------------------- */

struct kiln_open_options {
    size_t size;
    /* "cpu", "nvidia", "nvidia:N"; NULL: an NVIDIA device if one answers,
     * else the CPU device. */
    const char *device;
    int no_cache;             /* build everything, keep nothing */
    const char *cache_folder; /* NULL: KILN_CACHE_DIR or the user's own */
};

enum kiln_device_kind { KILN_DEVICE_NVIDIA = 1, KILN_DEVICE_CPU = 2 };

struct kiln_device {
    size_t size;
    enum kiln_device_kind kind;
    int ordinal;
    int major, minor;   /* compute capability */
    int driver_version; /* 13000 is 13.0 */
    int max_threads;    /* a block */
    int max_block[3], max_grid[3];
    int max_shared; /* bytes a block without opting in */
    int max_shared_optin;
    uint64_t memory; /* bytes */
    const char *name;
    const char *driver_file;
    const char *driver_text; /* build and code generator, where it says */
};

enum kiln_status kiln_open(const struct kiln_open_options *options,
                           struct kiln **out, struct kiln_error *err);
void kiln_close(struct kiln *kiln);
/* Fills device up to device->size bytes. */
enum kiln_status kiln_get_device(const struct kiln *kiln,
                                 struct kiln_device *device,
                                 struct kiln_error *err);

/* ---- source to image -------------------------------------------------- */

enum kiln_source_kind { KILN_SOURCE_CUDA = 1, KILN_SOURCE_PTX = 2 };

struct kiln_source {
    size_t size;
    /* The path, for messages and for quoted includes beside it; NULL for
     * text without a file (includes are then sought from the current
     * folder). */
    const char *name;
    const char *text; /* need not end in NUL */
    size_t text_size;
    enum kiln_source_kind kind; /* 0: by name, .ptx is PTX, else CUDA */
};

struct kiln_compile_options {
    size_t size;
    /* "sm_90" (machine code), "compute_90" (PTX); NULL: what suits the
     * device. */
    const char *arch;
    const char *standard;     /* "c++17"; NULL: the compiler's default */
    int max_registers;        /* 0: no cap */
    const char *compiler;     /* "nvrtc", "clang"; NULL: KILN_COMPILER, else
                               * NVRTC where it is found, else clang */
    const char *const *names; /* kernels wanted, as C++ writes them */
    size_t name_count;
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char *const *include_folders;
    size_t include_folder_count;
    const char *const *extra; /* options in the compiler's own spelling */
    size_t extra_count;
    unsigned timeout_ms; /* for a compiler that is a process; 0: 60 s */
};

/* The kernel names a program defines cannot be told apart from a program that
 * does not compile by the compiler alone: for a name in options->names that
 * the source lacks, the status is KILN_E_NOT_FOUND and the text lists those
 * that exist, the nearest first. */
enum kiln_status kiln_compile(struct kiln *kiln,
                              const struct kiln_source *source,
                              const struct kiln_compile_options *options,
                              struct kiln_image **out, struct kiln_error *err);

enum kiln_image_kind { KILN_IMAGE_PTX = 1, KILN_IMAGE_CUBIN = 2 };

enum kiln_image_kind kiln_image_kind(const struct kiln_image *image);
const void *kiln_image_bytes(const struct kiln_image *image, size_t *size);
const char *kiln_image_log(const struct kiln_image *image);      /* may be "" */
const char *kiln_image_target(const struct kiln_image *image);   /* sm_90 */
const char *kiln_image_compiler(const struct kiln_image *image); /* or "" */
/* The symbol that a name of the compile options became, or NULL. */
const char *kiln_image_symbol(const struct kiln_image *image, const char *name);
void kiln_image_free(struct kiln_image *image);

/* ---- image to kernel -------------------------------------------------- */

struct kiln_jit_option {
    const char *key; /* max-registers, opt-level, ...: kiln_jit_key() */
    int value;
};

enum kiln_policy {
    KILN_POLICY_BEST = 0,  /* the best image that works */
    KILN_POLICY_DRIVER = 1 /* what NVIDIA's driver does, quirks included */
};

struct kiln_load_options {
    size_t size;
    const struct kiln_jit_option *jit;
    size_t jit_count;
    enum kiln_policy policy;
};

/* The names that kiln_jit_option takes, from 0 up; NULL past the last. */
const char *kiln_jit_key(size_t index);

/* By KILN_POLICY_BEST the image is read first, and refused with a sentence
 * where it is damaged or not for this device and driver, before the driver
 * sees it; a JIT option "target" that the device could not run the result of
 * is left out. By KILN_POLICY_DRIVER the driver gets what there is. */
enum kiln_status kiln_load(struct kiln *kiln, const struct kiln_image *image,
                           const struct kiln_load_options *options,
                           struct kiln_library **out, struct kiln_error *err);
/* What kiln_load would do, as a sentence of `size` bytes at most: "this load
 * will be compiled by the driver: no cubin for sm_90, PTX 7.0 for compute_70".
 * KILN_OK, or the status of the load that would fail. What only a compiler
 * sees (a wrong instruction) is not foreseen. */
enum kiln_status kiln_predict(struct kiln *kiln, const struct kiln_image *image,
                              const struct kiln_load_options *options,
                              char *text, size_t size, struct kiln_error *err);
/* Refused with KILN_E_NOT_READY while the library's work is running only by
 * the driver waiting for it: a free waits. */
void kiln_library_free(struct kiln_library *library);

/* By name as C++ writes it, or by symbol. KILN_E_NOT_FOUND lists the names
 * that exist, the nearest first. */
enum kiln_status kiln_find_kernel(struct kiln_library *library,
                                  const char *name, struct kiln_kernel **out,
                                  struct kiln_error *err);

struct kiln_kernel_info {
    size_t size;
    const char *symbol;
    size_t parameter_count;
    int registers; /* -1: not known (the CPU device has none) */
    int static_shared;
    int constant_bytes;
    int local_bytes;
    int max_threads; /* a block of this kernel */
};

struct kiln_parameter {
    size_t offset;
    size_t size;
    int pointer; /* 1 yes, 0 no, -1 the image does not say */
};

enum kiln_status kiln_get_kernel(const struct kiln_kernel *kernel,
                                 struct kiln_kernel_info *info,
                                 struct kiln_error *err);
enum kiln_status kiln_get_parameter(const struct kiln_kernel *kernel,
                                    size_t index,
                                    struct kiln_parameter *parameter,
                                    struct kiln_error *err);

/* ---- memory ----------------------------------------------------------- */

enum kiln_status kiln_buffer_new(struct kiln *kiln, uint64_t bytes,
                                 struct kiln_buffer **out,
                                 struct kiln_error *err);
uint64_t kiln_buffer_address(const struct kiln_buffer *buffer);
uint64_t kiln_buffer_size(const struct kiln_buffer *buffer);
enum kiln_status kiln_buffer_zero(struct kiln_buffer *buffer,
                                  struct kiln_error *err);
/* Both wait for what was launched before. */
enum kiln_status kiln_buffer_write(struct kiln_buffer *buffer, uint64_t offset,
                                   const void *bytes, size_t size,
                                   struct kiln_error *err);
enum kiln_status kiln_buffer_read(const struct kiln_buffer *buffer,
                                  uint64_t offset, void *bytes, size_t size,
                                  struct kiln_error *err);
void kiln_buffer_free(struct kiln_buffer *buffer);

/* ---- launch ----------------------------------------------------------- */

enum kiln_arg_kind {
    KILN_ARG_VALUE = 1, /* value holds the parameter's bytes */
    KILN_ARG_BUFFER = 2 /* value holds a device address (uint64_t) */
};

struct kiln_arg {
    enum kiln_arg_kind kind;
    size_t size;
    const void *value;
};

struct kiln_shape {
    unsigned grid[3]; /* a zero counts as 1 */
    unsigned block[3];
    unsigned shared; /* dynamic shared memory in bytes */
};

/* Whether the arguments fit: count and exact size, pointer or value where the
 * image says which is which, and a buffer lies in a live allocation. The
 * shape against the limits of kernel and device. Each refusal names the
 * parameter or the limit. kiln_launch checks the same first. */
enum kiln_status kiln_check_launch(struct kiln_kernel *kernel,
                                   const struct kiln_shape *shape,
                                   const struct kiln_arg *args, size_t count,
                                   struct kiln_error *err);
/* Returns when the launch is queued; args may be reused then. */
enum kiln_status kiln_launch(struct kiln_kernel *kernel,
                             const struct kiln_shape *shape,
                             const struct kiln_arg *args, size_t count,
                             struct kiln_error *err);
/* Waits for all that was launched. A kernel's own failure (an illegal
 * address) is reported here. */
enum kiln_status kiln_synchronize(struct kiln *kiln, struct kiln_error *err);

/* ---- what happened ---------------------------------------------------- */

enum kiln_cache_state {
    KILN_CACHE_NONE, /* the stage has no cache, or it is off */
    KILN_CACHE_HIT,
    KILN_CACHE_MISS, /* this process built it */
    KILN_CACHE_WAIT  /* another process built it meanwhile */
};

struct kiln_stage {
    size_t size;
    const char *name;
    uint64_t start_ns; /* on the monotonic clock */
    uint64_t duration_ns;
    enum kiln_cache_state cache;
    const char *text; /* one line: what was chosen, why a miss; may be "" */
};

/* Stages in the order they ended, since kiln_open. The last `keep` (1024)
 * are kept. */
size_t kiln_stage_count(const struct kiln *kiln);
enum kiln_status kiln_get_stage(const struct kiln *kiln, size_t index,
                                struct kiln_stage *stage,
                                struct kiln_error *err);

/* The text of the compiler or the driver for the last stage that had some;
 * "" when none had. Valid until the next call with this handle. */
const char *kiln_log(const struct kiln *kiln);

/* Warnings that never stop a job (an unwritable cache folder) go to standard
 * error, or to this handler. NULL: standard error again. */
typedef void kiln_warning_handler(void *data, const char *text);
void kiln_set_warning_handler(kiln_warning_handler *handler, void *data);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
