/* SPDX-License-Identifier: MIT
 *
 * An image that is ready to run: one verified object of the CPU driver,
 * relocated into the process once however many modules use it. And the way
 * there from whatever bytes a program hands over.
 */
#ifndef KILN_CPU_API_IMAGE_H
#define KILN_CPU_API_IMAGE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/hash.h"
#include "cpu/api/options.h"
#include "cpu/object/object.h"

struct image {
    atomic_int references;
    unsigned char *bytes; /* the object, owned */
    size_t size;
    struct arena arena; /* what info points to */
    struct object_info info;
    struct object_code *code;
    struct hash key; /* of the look-up in this process */
    int kept;        /* in the process's table */
    struct image *next;
};

/* Verify and relocate an object; takes the bytes (kiln_alloc), also when it
 * fails. E_NO_BINARY for another build or processor. */
enum kiln_status image_take(void *bytes, size_t size, struct image **out,
                            struct kiln_error *err);
void image_ref(struct image *image);
void image_unref(struct image *image);

/* The image kept under a key, with a reference, or NULL. */
struct image *image_kept(const struct hash *key);
/* Keep it under a key; some that nobody uses stay for the next load. */
void image_keep(struct image *image, const struct hash *key);

/* PTX -> image, through the process's table, the store, and the compiler
 * plugin. Messages go to the options' logs. */
enum kiln_status jit_image(const char *ptx, size_t size,
                           struct load_options *options, struct image **out,
                           struct kiln_error *err);

/* Any image, of which only the address is known: recognised, chosen from its
 * container, compiled if need be. wrapper: a host program's 24 bytes are
 * taken too. Logs are filled, not yet written. */
enum kiln_status load_image(const void *bytes, int wrapper,
                            struct load_options *options, struct image **out,
                            struct kiln_error *err);

#endif
