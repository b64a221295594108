/* SPDX-License-Identifier: MIT
 *
 * Writing a fat binary from images: each is looked into, so that its label
 * is what it says of itself and nobody is given what Kiln would not load.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "image/cubin.h"
#include "image/fatbin.h"
#include "image/guess.h"
#include "image/ptx_header.h"
#include "kernel/file.h"

struct label {
    int ptx;
    uint32_t sm;
    char variant;
};

static enum kiln_status read_target(const char *text, struct label *out,
                                    struct kiln_error *err)
{
    const char *digits = text;
    unsigned long n;
    char *end;

    *out = (struct label){0};
    if (!strncmp(text, "sm_", 3))
        digits += 3;
    else if (!strncmp(text, "compute_", 8)) {
        digits += 8;
        out->ptx = 1;
    }
    n = strtoul(digits, &end, 10);
    if (*end == 'a' || *end == 'f')
        out->variant = *end++;
    if (digits == text || *digits < '1' || *digits > '9' || *end || n > 9999)
        return kiln_fail(err, KILN_E_INVALID,
                         "target \"%s\": sm_NN (a cubin) or compute_NN (PTX) "
                         "expected",
                         text);
    out->sm = (uint32_t)n;
    return KILN_OK;
}

static enum kiln_status as_ptx(const struct kiln_pack_item *from,
                               const char *name, const struct label *label,
                               struct fatbin_item *to, struct kiln_error *err)
{
    struct ptx_header h;
    size_t n = strnlen(from->bytes, from->bytes_size);
    enum kiln_status st = ptx_header_read(from->bytes, n, &h, err);

    st = st ? st : ptx_text_check(from->bytes, n, err);
    if (st) {
        kiln_prefix(err, "%s", name);
        return st;
    }
    if (h.sm != label->sm || h.variant != label->variant)
        return kiln_fail(err, KILN_E_INVALID,
                         "%s: its .target is sm_%u%.1s (line %u), not %s", name,
                         h.sm, &h.variant, h.target_line, from->target);
    to->kind = FATBIN_PTX;
    to->major = h.major;
    to->minor = h.minor;
    to->size = n;
    to->flags = h.debug ? FATBIN_DEBUG : 0;
    return KILN_OK;
}

static enum kiln_status as_cubin(const struct kiln_pack_item *from,
                                 const char *name, const struct label *label,
                                 struct fatbin_item *to, struct kiln_error *err)
{
    struct arena arena = {0};
    struct cubin cubin;
    enum kiln_status st =
        cubin_check(from->bytes, from->bytes_size, &arena, &cubin, err);

    arena_fini(&arena);
    if (st) {
        kiln_prefix(err, "%s", name);
        return st;
    }
    /* The file never tells an "f", and one of ABI 7 not every "a". */
    if (cubin.sm != label->sm || (cubin.variant && !label->variant))
        return kiln_fail(err, KILN_E_INVALID,
                         "%s: a cubin for sm_%u%.1s, not for %s", name,
                         cubin.sm, &cubin.variant, from->target);
    /* NVIDIA's fatbinary takes it, so that build scripts may do it. */
    if (label->variant == 'a' && !cubin.variant && cubin.abi >= 8)
        log_line(LOG_WARN,
                 "pack: %s: a cubin for any sm_%u and higher minor numbers; "
                 "as %s no device but sm_%u will take it",
                 name, cubin.sm, from->target, cubin.sm);
    if (label->variant == 'f' && label->sm < 100)
        log_line(LOG_WARN,
                 "pack: %s: families of devices begin with sm_100; as %s no "
                 "device will take it",
                 name, from->target);
    to->kind = FATBIN_ELF;
    to->major = 1;
    to->minor = (uint16_t)cubin.abi;
    to->size = from->bytes_size;
    to->flags = label->sm >= 100 ? FATBIN_COMPAT : 0;
    return KILN_OK;
}

static enum kiln_status make_item(const struct kiln_pack_item *from,
                                  enum kiln_packing packing,
                                  struct fatbin_item *to,
                                  struct kiln_error *err)
{
    static const enum fatbin_packing packings[] = {
        FATBIN_PLAIN, FATBIN_PACKED_LZ4, FATBIN_PACKED_ZSTD};
    const char *name = from->name ? from->name : "image";
    struct image_guess guess;
    struct label label;
    enum kiln_status st = read_target(from->target, &label, err);

    if (st)
        return st;
    image_guess(from->bytes, from->bytes_size, &guess);
    if (guess.look != (label.ptx ? IMAGE_PTX : IMAGE_CUBIN))
        return kiln_fail(err, KILN_E_IMAGE,
                         "%s: %s expected for %s; it looks "
                         "like %s",
                         name, label.ptx ? "PTX" : "a cubin", from->target,
                         guess.text);
    *to = (struct fatbin_item){.sm = label.sm,
                               .variant = label.variant,
                               .packing = packings[packing],
                               .payload = from->bytes,
                               .identifier = from->note};
    return label.ptx ? as_ptx(from, name, &label, to, err)
                     : as_cubin(from, name, &label, to, err);
}

/* One device takes one of them; NVIDIA's fatbinary writes both all the same.
 */
static void tell_doubles(const struct kiln_pack_item *items,
                         const struct fatbin_item *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (list[i].kind == list[j].kind && list[i].sm == list[j].sm &&
                list[i].variant == list[j].variant) {
                log_line(LOG_WARN,
                         "pack: images %zu and %zu are both for %s: a device "
                         "takes one of them and never the other",
                         j, i, items[i].target);
                return;
            }
}

enum kiln_status kiln_pack(const struct kiln_pack_item *items, size_t count,
                           enum kiln_packing packing, void **bytes,
                           size_t *size, struct kiln_error *err)
{
    struct fatbin_item *list;
    struct buffer out = {0};
    enum kiln_status st = KILN_OK;

    if (!count || (unsigned)packing > KILN_PACK_ZSTD)
        return kiln_fail(err, KILN_E_INVALID, "pack: %zu images, packing %d",
                         count, (int)packing);
    list = kiln_array(NULL, count, sizeof *list);
    if (!list)
        return kiln_fail(err, KILN_E_MEMORY, "pack: out of memory");
    for (size_t i = 0; !st && i < count; i++) {
        struct kiln_pack_item item = {.size = sizeof item};

        FILE_GIVE(&item, items[i]);
        st = make_item(&item, packing, &list[i], err);
    }
    if (!st)
        tell_doubles(items, list, count);
    if (!st)
        st = fatbin_write(list, count, &out, err);
    kiln_release(list);
    if (st) {
        buffer_fini(&out);
        return st;
    }
    *bytes = out.bytes;
    *size = out.size;
    return KILN_OK;
}
