/* SPDX-License-Identifier: MIT */
#include "cpu/api/image.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/api/driver.h"

/* Images that no module uses any more stay up to this count, so that a
 * program which loads and unloads in turn compiles nothing. */
enum { KEEP_IDLE = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image *kept; /* most recently used first */

static void image_free(struct image *image)
{
    object_unload(image->code);
    arena_fini(&image->arena);
    kiln_release(image->bytes);
    kiln_release(image);
}

enum kiln_status image_take(void *bytes, size_t size, struct image **out,
                            struct kiln_error *err)
{
    struct image *image = kiln_zalloc(sizeof *image);
    enum kiln_status st;

    if (!image) {
        kiln_release(bytes);
        return kiln_fail(err, KILN_E_MEMORY, "image: out of memory");
    }
    image->bytes = bytes;
    image->size = size;
    image->references = 1;
    st = object_read(bytes, size, &image->arena, &image->info, err);
    if (!st)
        st = object_check(&image->info, driver_build(), err);
    if (!st)
        st = object_load(bytes, size, &image->code, err);
    if (st) {
        image_free(image);
        return st;
    }
    *out = image;
    return KILN_OK;
}

void image_ref(struct image *image)
{
    atomic_fetch_add(&image->references, 1);
}

/* With the lock held: drops the oldest idle images past the limit. The table
 * itself holds no reference. Returns the chain of those to free. */
static struct image *trim(void)
{
    struct image *dead = NULL;
    unsigned idle = 0;

    for (struct image **at = &kept; *at;) {
        struct image *image = *at;

        if (atomic_load(&image->references) || ++idle <= KEEP_IDLE) {
            at = &image->next;
            continue;
        }
        *at = image->next;
        image->next = dead;
        dead = image;
    }
    return dead;
}

void image_unref(struct image *image)
{
    struct image *dead = NULL;

    if (!image)
        return;
    pthread_mutex_lock(&lock);
    if (atomic_fetch_sub(&image->references, 1) == 1) {
        if (image->kept) {
            dead = trim();
        } else {
            image->next = NULL;
            dead = image;
        }
    }
    pthread_mutex_unlock(&lock);
    while (dead) {
        struct image *next = dead->next;

        image_free(dead);
        dead = next;
    }
}

struct image *image_kept(const struct hash *key)
{
    struct image *image;

    pthread_mutex_lock(&lock);
    for (struct image **at = &kept; (image = *at); at = &image->next) {
        if (memcmp(&image->key, key, sizeof *key))
            continue;
        *at = image->next;
        image->next = kept;
        kept = image;
        image_ref(image);
        break;
    }
    pthread_mutex_unlock(&lock);
    return image;
}

void image_keep(struct image *image, const struct hash *key)
{
    pthread_mutex_lock(&lock);
    image->key = *key;
    image->kept = 1;
    image->next = kept;
    kept = image;
    pthread_mutex_unlock(&lock);
}
