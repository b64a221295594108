/* SPDX-License-Identifier: MIT
 *
 * From whatever bytes a program hands over to an image: what they are, which
 * of several the device takes (src/walk, by NVIDIA's own rules), and why not.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/api/driver.h"
#include "cpu/api/image.h"
#include "image/cubin.h"
#include "image/fatbin.h"
#include "image/guess.h"
#include "image/ptx_header.h"

/* One image in hand: its description for the walk, and where its bytes are. */
struct candidate {
    struct fatbin_entry entry; /* of a container */
    char note[252];
};

struct candidates {
    struct arena arena;
    struct walk_image *images;
    struct candidate *items;
    struct walk_verdict *verdicts;
    size_t count;
};

static enum kiln_status make_room(struct candidates *c, size_t count,
                                  struct kiln_error *err)
{
    c->count = count;
    c->images = arena_array(&c->arena, count + 1, sizeof *c->images);
    c->items = arena_array(&c->arena, count + 1, sizeof *c->items);
    c->verdicts = arena_array(&c->arena, count + 1, sizeof *c->verdicts);
    if (!c->images || !c->items || !c->verdicts)
        return kiln_fail(err, KILN_E_MEMORY, "image: out of memory");
    return KILN_OK;
}

/* A Kiln object, or an ELF file that is none of ours. */
static void describe_elf(const void *bytes, size_t size,
                         struct walk_image *image, char note[252])
{
    struct image_guess guess;
    struct kiln_error err = {0};

    image_guess(bytes, size, &guess);
    if (object_is(bytes, size)) {
        struct arena arena = {0};
        struct object_info info;

        image->kind = WALK_OBJECT;
        image->object_fits = !object_read(bytes, size, &arena, &info, &err) &&
                             !object_check(&info, driver_build(), &err);
        arena_fini(&arena);
    } else {
        image->kind = WALK_CUBIN;
        if (guess.look == IMAGE_CUBIN)
            image->sm = guess.sm;
        else
            image->defect = WALK_NOT_ELF;
        snprintf(err.text, sizeof err.text, "%s", guess.text);
    }
    memcpy(note, err.text, sizeof err.text);
    image->note = note;
}

/* The version that counts is that of the text: NVIDIA's driver does not look
 * at the entry's. */
static void text_version(const struct fatbin_entry *entry,
                         struct walk_image *image)
{
    struct ptx_header header;
    char head[4096];
    size_t n;

    if (fatbin_peek(entry, head, sizeof head, &n, NULL) ||
        ptx_header_read(head, n, &header, NULL))
        return;
    image->ptx_major = header.major;
    image->ptx_minor = header.minor;
}

static void describe_entry(const struct fatbin_entry *entry,
                           struct walk_image *image, struct candidate *item)
{
    struct kiln_error err = {0};

    item->entry = *entry;
    image->sm = entry->sm;
    image->variant = entry->variant;
    image->kind = WALK_UNKNOWN;
    if (entry->kind == FATBIN_LTO) {
        image->kind = WALK_LTO;
        image->ptx_major = entry->major;
        image->ptx_minor = entry->minor;
    } else if (entry->kind == FATBIN_PTX) {
        image->kind = WALK_PTX;
        image->ptx_major = entry->major;
        image->ptx_minor = entry->minor;
        text_version(entry, image);
    } else if (entry->kind == FATBIN_ELF) {
        struct buffer plain = {0};

        if (fatbin_unpack(entry, 0, &plain, &err)) {
            image->kind = WALK_CUBIN;
            image->defect = WALK_NOT_UNPACKED;
        } else {
            uint32_t sm = image->sm;

            describe_elf(plain.bytes, plain.size, image, item->note);
            /* In a container it is the entry that counts. */
            image->sm = sm;
        }
        buffer_fini(&plain);
    }
}

static enum kiln_status list_container(const void *bytes, size_t size,
                                       struct candidates *c,
                                       struct kiln_error *err)
{
    struct fatbin fatbin;
    struct fatbin_entry *entries = NULL;
    size_t count = 0;
    enum kiln_status st = fatbin_open(bytes, size, &fatbin, err);

    if (!st)
        st = fatbin_list(&fatbin, &c->arena, &entries, &count, err);
    if (!st)
        st = make_room(c, count, err);
    for (size_t i = 0; !st && i < count; i++)
        describe_entry(&entries[i], &c->images[i], &c->items[i]);
    return st;
}

static enum kiln_status list_raw(const void *bytes, size_t size,
                                 struct candidates *c, struct kiln_error *err)
{
    struct ptx_header header;
    struct walk_image *image;
    enum kiln_status st = make_room(c, 1, err);

    if (st)
        return st;
    image = &c->images[0];
    image->raw = 1;
    if (!ptx_looks(bytes, size)) {
        describe_elf(bytes, size, image, c->items[0].note);
        return KILN_OK;
    }
    image->kind = WALK_PTX;
    st = ptx_header_read(bytes, size, &header, err);
    if (st)
        return st;
    image->sm = image->text_sm = header.sm;
    image->variant = image->text_variant = header.variant;
    image->ptx_major = header.major;
    image->ptx_minor = header.minor;
    return KILN_OK;
}

/* What the assembler would say first, before anything is compiled. */
static enum kiln_status check_text(const char *ptx, size_t size,
                                   const struct load_options *o,
                                   struct kiln_error *err)
{
    const struct walk_device *device = &driver_config()->walk;
    struct ptx_header header;
    enum kiln_status st = ptx_header_read(ptx, size, &header, err);

    if (st)
        return st;
    if (header.major > device->ptx_major ||
        (header.major == device->ptx_major && header.minor > device->ptx_minor))
        return kiln_fail(err, KILN_E_PTX_VERSION,
                         "ptx input, line %u; fatal   : Unsupported .version "
                         "%u.%u; current version is '%u.%u'",
                         header.version_line, header.major, header.minor,
                         device->ptx_major, device->ptx_minor);
    if (!walk_target_fits(header.sm, header.variant, device->sm))
        return kiln_fail(err, KILN_E_PTX,
                         "ptx input, line %u; fatal   : .target sm_%u%.1s is "
                         "not for this device, which is sm_%u",
                         header.target_line, header.sm, &header.variant,
                         device->sm);
    if (o->debug && o->level_given && o->level == 4)
        return kiln_fail(err, KILN_E_PTX,
                         "fatal   : Optimized debugging not supported");
    if (o->sm3x)
        return kiln_fail(err, KILN_E_PTX,
                         "fatal   : Unknown option CU_JIT_NEW_SM3X_OPT");
    return KILN_OK;
}

static enum kiln_status take_object(const void *bytes, size_t size,
                                    struct image **out, struct kiln_error *err)
{
    void *copy = kiln_alloc(size ? size : 1);
    enum kiln_status st;

    if (!copy)
        return kiln_fail(err, KILN_E_MEMORY, "image: out of memory");
    memcpy(copy, bytes, size);
    st = object_verify(copy, size, err);
    if (st) {
        kiln_release(copy);
        return st;
    }
    return image_take(copy, size, out, err);
}

/* The chosen one, unpacked. */
static enum kiln_status take(const struct candidates *c, int chosen,
                             const void *bytes, size_t size,
                             struct load_options *o, struct image **out,
                             struct kiln_error *err)
{
    struct buffer plain = {0};
    enum kiln_status st = KILN_OK;

    if (!c->images[chosen].raw) {
        st = fatbin_unpack(&c->items[chosen].entry, 0, &plain, err);
        bytes = plain.bytes;
        size = plain.size;
    }
    if (!st && c->images[chosen].kind == WALK_PTX) {
        st = check_text(bytes, size, o, err);
        if (st)
            options_error(o, err->text);
        else
            st = jit_image(bytes, size, o, out, err);
    } else if (!st) {
        st = take_object(bytes, size, out, err);
        if (st)
            options_error(o, err->text);
    }
    buffer_fini(&plain);
    return st;
}

static enum kiln_status choose(const struct candidates *c,
                               const struct load_options *o, int *chosen,
                               struct kiln_error *err)
{
    const struct driver_config *config = driver_config();
    struct walk_options options = {
        .policy = WALK_DRIVER,
        .force_ptx = config->force_ptx,
        .disable_jit = config->disable_jit,
        .target = o->target,
    };
    struct walk_result result = {0};

    walk(c->images, c->count, &config->walk, &options, c->verdicts, &result);
    if (result.status)
        return kiln_fail(err, result.status, "%s", result.text);
    if (result.chosen < 0)
        return kiln_fail(err, KILN_E_NO_BINARY, "%s", result.text);
    *chosen = result.chosen;
    return KILN_OK;
}

/* The container behind a wrapper, where one is allowed. */
static enum kiln_status unwrap(const void **bytes, int allowed,
                               struct kiln_error *err)
{
    /* Byte by byte: a short text may end before the fourth. */
    const unsigned char *p = *bytes;
    struct fatbin_wrapper wrapper;
    enum kiln_status st;

    if (p[0] != 0xB1 || p[1] != 0x43 || p[2] != 0x62 || p[3] != 0x46)
        return KILN_OK;
    if (!allowed)
        return kiln_fail(err, KILN_E_IMAGE,
                         "image: the wrapper of a fat "
                         "binary; this call takes the fat binary itself");
    st = fatbin_wrapper_read(*bytes, &wrapper, err);
    if (!st)
        *bytes = wrapper.data;
    return st;
}

enum kiln_status load_image(const void *bytes, int wrapper,
                            struct load_options *o, struct image **out,
                            struct kiln_error *err)
{
    struct candidates c = {0};
    uint64_t began = clock_ns();
    uint32_t magic = 0;
    size_t size;
    int chosen = -1;
    enum kiln_status st;

    if (o->target_zero) {
        st = kiln_fail(err, KILN_E_IMAGE,
                       "CU_JIT_TARGET 0 is no compute capability");
        goto out;
    }
    st = unwrap(&bytes, wrapper, err);
    if (!st)
        st = image_extent(bytes, &size, err);
    if (st)
        goto out;
    if (o->debug && !o->level_given)
        o->level = 0; /* code to be debugged is not optimised */
    if (size >= sizeof magic)
        memcpy(&magic, bytes, sizeof magic);
    st = magic == FATBIN_MAGIC ? list_container(bytes, size, &c, err)
                               : list_raw(bytes, size, &c, err);
    if (!st)
        st = choose(&c, o, &chosen, err);
    if (!st) {
        st = take(&c, chosen, bytes, size, o, out, err);
        goto done; /* its messages are in the log already */
    }
out:
    options_error(o, err->text);
done:
    options_wall_time(o, clock_ns() - began);
    arena_fini(&c.arena);
    return st;
}
