/* SPDX-License-Identifier: MIT
 *
 * What some bytes look like: for choosing a reader, and for the sentence
 * when there is none. And how long an image is of which only its address is
 * known.
 */
#ifndef KILN_IMAGE_GUESS_H
#define KILN_IMAGE_GUESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum image_look {
    IMAGE_EMPTY,
    IMAGE_FATBIN,
    IMAGE_WRAPPER,  /* a pointer to a fat binary */
    IMAGE_CUBIN,    /* ELF for NVIDIA's machine; sm is set */
    IMAGE_HOST_ELF, /* any other ELF */
    IMAGE_OBJECT,   /* Kiln's own, for the CPU device: only a scan tells it
                       from other host ELF files */
    IMAGE_PTX,
    IMAGE_LTO_IR,
    IMAGE_BITCODE, /* LLVM */
    IMAGE_ARCHIVE,
    IMAGE_COMPRESSED, /* gzip, xz, zstd, bzip2, zip */
    IMAGE_CUDA_SOURCE,
    IMAGE_HTML,
    IMAGE_TEXT,
    IMAGE_FOREIGN, /* of another system, or of none that computes */
    IMAGE_UNKNOWN
};

struct image_guess {
    enum image_look look;
    uint32_t sm;      /* cubin */
    uint16_t machine; /* host ELF: e_machine */
    char text[96];    /* "a cubin for sm_90", "an x86-64 shared object", ... */
};

/* Looks at size bytes at most, and at no more than 4096 of them but for PTX,
 * which comments of any length may begin. */
void image_guess(const void *bytes, size_t size, struct image_guess *out);

/* The size of an image of which the caller gave only an address, as
 * cuModuleLoadData does: from a container's or ELF file's own header, or up
 * to the NUL of PTX text (not counted). What the header claims is checked
 * against the memory that is mapped. E_IMAGE with what the bytes look like
 * when this is no image. */
enum kiln_status image_extent(const void *image, size_t *size,
                              struct kiln_error *err);

/* The size of a 64-bit ELF file by its own tables; the table of sections is
 * read, so `size` bytes (SIZE_MAX: as far as memory is mapped) bound it. */
enum kiln_status elf_extent(const void *image, size_t size, size_t *extent,
                            struct kiln_error *err);

#endif
