/* SPDX-License-Identifier: MIT
 *
 * The CPU driver's own image, its cubin: a relocatable x86-64 ELF object that
 * the code generator emits, with one section, ".kiln.info", that says what
 * the object needs and holds (docs/format-object.md). This folder writes and
 * reads that section, verifies a whole object, and relocates it into memory
 * that is never writable and executable at once.
 *
 * cpu/object must not know PTX, LLVM, or how kernels are run.
 */
#ifndef KILN_CPU_OBJECT_OBJECT_H
#define KILN_CPU_OBJECT_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

/* e_flags of a Kiln object, so that it cannot be taken for a compiler's: the
 * driver looks at the section, this is for `file` and people. */
#define OBJECT_INFO_SECTION ".kiln.info"

enum object_space { OBJECT_GLOBAL = 1, OBJECT_CONST = 2 };

/* Constant variables lie together, on pages of this size of their own. */
enum { OBJECT_CONST_PAGE = 4096 };
/* What local_bytes has for the frames of functions that call themselves. */
enum { OBJECT_STACK = 32 * 1024 };

struct object_param {
    uint32_t offset; /* bytes into the parameter block */
    uint32_t size;
    uint32_t align;
    uint8_t is_pointer; /* 1: known to be one (.ptr); 0: not known */
};

/* Launch shapes a variant is compiled for. */
enum object_shape {
    /* any block shape, any grid */
    OBJECT_SHAPE_ANY = 0,
    /* Whole warps, tid.x contiguous and tid.y, tid.z constant in each aligned
     * run of chunk_lanes threads: the number of threads is a multiple of 32;
     * block.x is a multiple of chunk_lanes, or block.y * block.z is 1; and
     * grid[d] * block[d] <= 2^31 for each d. */
    OBJECT_SHAPE_ROWS = 1
};

struct object_variant {
    enum object_shape shape;
    const char *symbol; /* function symbol in the object */
};

enum {
    OBJECT_KERNEL_BARRIER = 1, /* waits at barriers */
    OBJECT_KERNEL_FLUSH = 2,   /* run with MXCSR FTZ and DAZ set */
    OBJECT_KERNEL_DYNAMIC = 4, /* uses dynamic shared memory */
    OBJECT_KERNEL_RESUME = 8,  /* its barriers return, with frame_bytes of
                                * frame a warp; else it needs fibers */
    OBJECT_KERNEL_YIELD = 16,  /* has loops that wait: it yields in them */
    OBJECT_KERNEL_STACK = 32   /* calls itself: its local memory ends in a
                                * stack of OBJECT_STACK bytes or more */
};

struct object_kernel {
    const char *name;
    const struct object_param *params;
    uint32_t param_count;
    uint32_t param_bytes;
    const struct object_variant *variants; /* best first */
    uint32_t variant_count;
    uint32_t chunk_lanes;   /* 16 on AVX-512, 8 on AVX2, 4 on SSE */
    uint32_t static_shared; /* bytes */
    uint32_t local_bytes;   /* a thread */
    uint32_t frame_bytes;   /* a warp; 0 unless OBJECT_KERNEL_RESUME */
    uint32_t max_threads;   /* of .maxntid or .reqntid, or 1024 */
    uint32_t reqntid[3];    /* 0: none */
    uint32_t maxnreg;       /* as asked; the register count reported */
    uint32_t flags;
};

struct object_variable {
    const char *name;
    enum object_space space;
    uint8_t is_visible;
    uint8_t is_extern; /* no storage here: resolved by name at link */
    uint64_t offset;   /* into the module's data segment */
    uint64_t size;
    uint32_t align;
};

/* An address to be stored into the data segment at load: 8 bytes at `at`,
 * the device address of the data segment + addend. */
struct object_ref {
    uint64_t at;
    uint64_t addend;
};

struct object_info {
    uint32_t abi;         /* ABI_VERSION of exec/abi.h */
    uint32_t ptx_version; /* of the source, 90 */
    uint32_t target;      /* .target's SM number */
    const char *build;    /* identity of the driver build */
    const char *codegen;  /* "LLVM 22.1.8", opt level */
    const char *cpu;      /* "sapphirerapids" */
    const char *features; /* what the code may use: "avx512f,avx2,..." in the
                           * names of object_host_has */
    const struct object_kernel *kernels;
    uint32_t kernel_count;
    const struct object_variable *variables;
    uint32_t variable_count;
    uint64_t data_size; /* of the data segment */
    uint32_t data_align;
    const uint8_t *data_init; /* data_init_size bytes, the rest is zero */
    uint64_t data_init_size;
    const struct object_ref *refs;
    uint32_t ref_count;
};

/* Serialise for the section. */
void object_info_write(const struct object_info *info, struct buffer *out);
/* Read it back; everything in *out lives in arena or borrows bytes. */
enum kiln_status object_info_read(const void *bytes, size_t size,
                                  struct arena *arena, struct object_info *out,
                                  struct kiln_error *err);

/* Whether bytes look like a Kiln object at all (ELF with our section). */
int object_is(const void *bytes, size_t size);
/* Read the info of a whole object without relocating it. */
enum kiln_status object_read(const void *bytes, size_t size,
                             struct arena *arena, struct object_info *out,
                             struct kiln_error *err);
/* Whether this host and build can run it: ABI version, build identity, CPU
 * features; the sentence says what was found and needed (E_NO_BINARY). */
enum kiln_status object_check(const struct object_info *info, const char *build,
                              struct kiln_error *err);
/* CPU features by the names that `features` uses; and the list for this
 * host, as one comma-separated string (static storage). */
int object_host_has(const char *feature, size_t n);
const char *object_host_features(void);

/* Relocatable objects as the code generator emits them, as one, with the info
 * section: bytes as object_info_write has them. What is not loaded is left
 * out. *out is made on success. */
struct object_part {
    const void *bytes;
    size_t size;
};
enum kiln_status object_join(const struct object_part *parts, size_t count,
                             const void *info, size_t info_size,
                             struct buffer *out, struct kiln_error *err);

/* Write the object's digest over itself into its info section: the last thing
 * that its maker does. */
enum kiln_status object_seal(void *bytes, size_t size, struct kiln_error *err);
/* Whether the digest is right; E_IMAGE when it is not. For bytes that nothing
 * else vouches for; object_load does not look at it. */
enum kiln_status object_verify(const void *bytes, size_t size,
                               struct kiln_error *err);

/* An object relocated into this process. */
struct object_code;
enum kiln_status object_load(const void *bytes, size_t size,
                             struct object_code **out, struct kiln_error *err);
void object_unload(struct object_code *code);
/* Address of a function symbol, or NULL. */
void *object_symbol(const struct object_code *code, const char *name);
/* The line of the PTX that the code at the address comes from; 0: not known. */
unsigned object_line(const struct object_code *code, uintptr_t address);
/* Where its executable pages lie, for telling faults apart. */
void object_code_range(const struct object_code *code, uintptr_t *begin,
                       uintptr_t *end);

#endif
