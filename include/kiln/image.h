/* SPDX-License-Identifier: MIT
 *
 * Looking into images without a device: what a file holds, what of it a
 * device takes and why, and writing a fat binary. C99, C11 and C++11.
 *
 * A file is a cubin, PTX, a fat binary, or anything with fat binaries in it:
 * a program, a library, an object, an archive. It is a list of containers (an
 * image by itself counts as one with one entry), each with entries. Rules are
 * those of kiln/kiln.h; besides, one kiln_file may be read by any number of
 * threads at a time.
 */
#ifndef KILN_IMAGE_H
#define KILN_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "kiln/kiln.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct kiln_file;

/* Reads headers alone; the file stays open. KILN_E_IMAGE, saying what the
 * bytes look like, when no device code is in it. Damage inside is no error:
 * kiln_container has it. */
enum kiln_status kiln_file_open(const char *path, struct kiln_file **out,
                                struct kiln_error *err);
/* The same for bytes, which are borrowed until kiln_file_close. name is for
 * messages. */
enum kiln_status kiln_file_open_bytes(const char *name, const void *bytes,
                                      size_t size, struct kiln_file **out,
                                      struct kiln_error *err);
void kiln_file_close(struct kiln_file *file);

const char *kiln_file_name(const struct kiln_file *file);
/* "an x86-64 shared object or program", "a fat binary" */
const char *kiln_file_looks(const struct kiln_file *file);
uint64_t kiln_file_size(const struct kiln_file *file);
/* What a program, library, object or archive says wrongly of itself: a table
 * of sections behind its end, say. Containers in it were looked for all the
 * same; so they were in an archive within an archive, which is not opened.
 * The first 16 sentences of such. */
size_t kiln_file_note_count(const struct kiln_file *file);
const char *kiln_file_note(const struct kiln_file *file, size_t index);

struct kiln_container {
    size_t size;
    uint64_t offset; /* in the file */
    uint64_t bytes;
    int single;          /* an image by itself, in no container */
    const char *section; /* of the ELF file that holds it; "" */
    const char *member;  /* of the archive; "" */
    const char *damage;  /* where it could not be read on; "": it is whole */
    size_t first;        /* index of its first entry in the file */
    size_t count;        /* of its entries */
    /* What a host program says of it by its wrapper: */
    int wrapper;       /* the wrapper's version, 1 or 2; 0: none was found */
    long prelinked;    /* version 2: images that the wrapper's array names;
                          -1: the program fills the array at its start */
    long prelinked_of; /* index of the container whose wrapper's array names
                          this one, or will; -1: none */
};

size_t kiln_file_container_count(const struct kiln_file *file);
enum kiln_status kiln_file_container(const struct kiln_file *file, size_t index,
                                     struct kiln_container *container,
                                     struct kiln_error *err);

enum kiln_entry_kind {
    KILN_ENTRY_PTX = 1,
    KILN_ENTRY_CUBIN = 2,
    KILN_ENTRY_LTO = 8, /* any other number is one that Kiln does not know */
    /* What the CPU driver compiles PTX to, by itself: sm is the capability
     * that it was compiled for, major and minor the PTX version, note who made
     * it, options the processor features that it needs. */
    KILN_ENTRY_OBJECT = 0x10000
};

struct kiln_entry {
    size_t size;
    size_t container; /* index */
    unsigned index;   /* in the container, from 0 */
    unsigned kind;
    const char *kind_name; /* "PTX", "ELF", "LTO IR", "object", "unknown" */
    unsigned sm;
    char variant;          /* 'a', 'f' or 0 */
    unsigned major, minor; /* PTX version; of a cubin its ABI in minor */
    uint64_t offset;       /* of its header, in the file */
    uint64_t flags;
    const char *packing; /* "none", "lz4", "zstd", "unknown" */
    uint64_t stored;     /* bytes, without padding */
    uint64_t plain;      /* bytes, unpacked */
    const char *note;    /* its identifier: a source name, a note; "" */
    const char *options; /* printable part of its options; "" */
};

size_t kiln_file_entry_count(const struct kiln_file *file);
enum kiln_status kiln_file_entry(const struct kiln_file *file, size_t index,
                                 struct kiln_entry *entry,
                                 struct kiln_error *err);

/* The image of an entry, unpacked, PTX with a NUL behind it (not counted).
 * *bytes is freed by kiln_bytes_free. */
enum kiln_status kiln_file_unpack(const struct kiln_file *file, size_t index,
                                  void **bytes, size_t *size,
                                  struct kiln_error *err);
void kiln_bytes_free(void *bytes);

/* ---- what an entry defines -------------------------------------------- */

struct kiln_symbols;

struct kiln_symbol {
    size_t size;
    const char *name; /* as the image has it */
    const char *text; /* as C++ writes it */
    size_t parameter_count;
    int parameter_bytes;
    int registers; /* -1: not known before the PTX is compiled */
    int static_shared;
    int local_bytes; /* -1: likewise */
    int max_threads; /* 0: not limited by the image */
};

struct kiln_variable {
    size_t size;
    const char *name;
    uint64_t bytes;
    int constant;
};

enum kiln_status kiln_symbols_read(const struct kiln_file *file, size_t entry,
                                   struct kiln_symbols **out,
                                   struct kiln_error *err);
size_t kiln_symbols_count(const struct kiln_symbols *symbols);
enum kiln_status kiln_symbols_get(const struct kiln_symbols *symbols,
                                  size_t index, struct kiln_symbol *symbol,
                                  struct kiln_error *err);
enum kiln_status kiln_symbols_parameter(const struct kiln_symbols *symbols,
                                        size_t index, size_t parameter,
                                        struct kiln_parameter *out,
                                        struct kiln_error *err);
/* Of cubins; PTX text is not parsed for them. */
size_t kiln_symbols_variable_count(const struct kiln_symbols *symbols);
enum kiln_status kiln_symbols_variable(const struct kiln_symbols *symbols,
                                       size_t index,
                                       struct kiln_variable *variable,
                                       struct kiln_error *err);
/* The toolkit of a cubin, 1300 for 13.0; 0: not told, or PTX. */
int kiln_symbols_toolkit(const struct kiln_symbols *symbols);
/* Why KILN_POLICY_BEST would not load the entry, although its symbols could be
 * read; "": it is whole. */
const char *kiln_symbols_damage(const struct kiln_symbols *symbols);
void kiln_symbols_free(struct kiln_symbols *symbols);

/* ---- the load walk ---------------------------------------------------- */

struct kiln_target {
    size_t size;
    enum kiln_device_kind kind;
    unsigned sm;        /* 90 */
    int driver_version; /* 12040 is 12.4 */
    enum kiln_policy policy;
    int force_ptx;    /* CUDA_FORCE_PTX_JIT */
    int disable_jit;  /* CUDA_DISABLE_PTX_JIT */
    unsigned jit_for; /* CU_JIT_TARGET; 0: the device */
    int prefer_ptx;   /* CU_JIT_FALLBACK_STRATEGY is CU_PREFER_PTX */
    uint64_t memory;  /* bytes of the device; 0: not known */
};

/* The target that an open device is, with the switches of the environment. */
enum kiln_status kiln_get_target(const struct kiln *kiln,
                                 struct kiln_target *target,
                                 struct kiln_error *err);

/* The CUDA release whose driver was the first to know the device, 1204 for
 * 12.4, by NVIDIA's manual; 0: one before 3.1; -1: there is no such target. */
int kiln_target_release(unsigned sm);

struct kiln_walk; /* one container put to one device */

/* What a driver or Kiln would do with this container. It fails only where the
 * container cannot be read; whether the load would work is in the walk. */
enum kiln_status kiln_walk_new(const struct kiln_file *file, size_t container,
                               const struct kiln_target *target,
                               struct kiln_walk **out, struct kiln_error *err);
void kiln_walk_free(struct kiln_walk *walk);
/* KILN_OK, or the status of the load that fails. */
enum kiln_status kiln_walk_status(const struct kiln_walk *walk);
const char *kiln_walk_text(const struct kiln_walk *walk);
/* What will happen, in a sentence: "this load will be compiled by the driver:
 * no cubin for sm_90, PTX 7.0 for compute_70". Lives as long as the walk. */
const char *kiln_walk_prediction(const struct kiln_walk *walk);
/* Why NVIDIA's driver, given this container as it is, crashes or hangs; "":
 * not known to. Kiln hands over no container, but one image out of it. */
const char *kiln_walk_driver_hazard(const struct kiln_walk *walk);
/* The index of the entry in the file, or -1. */
long kiln_walk_chosen(const struct kiln_walk *walk);

struct kiln_verdict {
    size_t size;
    size_t entry; /* index in the file */
    int rank;     /* 1: taken; above: usable, this far down; 0: unusable */
    const char *reason; /* "taken", "ptx-too-new", ... */
    const char *text;   /* fact found and fact needed */
    const char *stage; /* "container", "choice", "version", "jit", "relocate" */
    const char *cost;  /* of the one that is taken; "" */
    const char *fix;   /* what would help one that is not; "" */
    int unverified;    /* rests on NVIDIA's compatibility manual alone, seen
                        * on no device: lower minor, family, integrated */
};

size_t kiln_walk_count(const struct kiln_walk *walk);
/* Its strings are good until the next verdict of this walk is asked for. */
enum kiln_status kiln_walk_verdict(const struct kiln_walk *walk, size_t index,
                                   struct kiln_verdict *verdict,
                                   struct kiln_error *err);

/* ---- loading ---------------------------------------------------------- */

/* Loads from the container (index; -1: the first that has an image for the
 * device and, where kernel is not NULL, defines it) by KILN_POLICY_BEST: each
 * image is checked, the best goes to the driver by itself, and the next one
 * where it fails. What was passed over is the text of the stage "walk".
 * With KILN_POLICY_DRIVER in the options the image that NVIDIA's driver would
 * choose goes to the driver, unchecked, and no other. */
enum kiln_status kiln_file_load(struct kiln *kiln, const struct kiln_file *file,
                                long container, const char *kernel,
                                const struct kiln_load_options *options,
                                struct kiln_library **out,
                                struct kiln_error *err);

/* ---- writing ---------------------------------------------------------- */

struct kiln_pack_item {
    size_t size;
    const char *target; /* "sm_90a": a cubin; "compute_90": PTX */
    const void *bytes;
    size_t bytes_size;
    const char *name; /* for messages; may be NULL */
    const char *note; /* kept in the container; may be NULL */
};

enum kiln_packing { KILN_PACK_NONE = 0, KILN_PACK_LZ4 = 1, KILN_PACK_ZSTD = 2 };

/* Each image is checked against its target. *bytes is freed by
 * kiln_bytes_free. */
enum kiln_status kiln_pack(const struct kiln_pack_item *items, size_t count,
                           enum kiln_packing packing, void **bytes,
                           size_t *size, struct kiln_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
