/* SPDX-License-Identifier: MIT
 *
 * The file of kernels: "KILNRUN1", the size unpacked (8 bytes), one zstd
 * frame. Unpacked, little-endian: the number of kernels (4); for each its key
 * (8), file, name and text (each 4 bytes of length, then the bytes), and its
 * plan: nine numbers of 4 bytes, then the slots of 6 bytes.
 *
 * Kernels of one module share much text, so the window is large.
 */
#include "pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cursor.h"

static const char magic[] = "KILNRUN1";
enum { WINDOW_LOG = 26, LEVEL = 6, SLOT_BYTES = 6 };

/* --- writing --- */

static void put(FILE *f, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        putc((int)(v >> 8 * i & 0xff), f);
}

static void put_text(FILE *f, const char *text)
{
    put(f, strlen(text), 4);
    fputs(text, f);
}

static void put_kernel(FILE *f, const struct packed_kernel *k)
{
    const struct plan *p = &k->plan;

    put(f, k->key, 8);
    put_text(f, k->file);
    put_text(f, k->name);
    put_text(f, k->text);
    put(f, p->param_bytes, 4);
    for (int i = 0; i < 3; i++)
        put(f, p->block[i], 4);
    put(f, p->exact, 4);
    put(f, p->shared, 4);
    put(f, p->usual, 4);
    put(f, p->floats, 4);
    put(f, p->slot_count, 4);
    for (size_t i = 0; i < p->slot_count; i++) {
        const struct slot *s = &p->slots[i];

        put(f, s->offset, 2);
        put(f, s->size, 1);
        put(f, s->kind, 1);
        put(f, s->fill, 1);
        put(f, s->inner, 1);
    }
}

static void *compress(const void *bytes, size_t size, size_t *packed)
{
    const size_t room = ZSTD_compressBound(size);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    void *out = malloc(room);

    if (z && out) {
        ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, WINDOW_LOG);
        ZSTD_CCtx_setParameter(z, ZSTD_c_enableLongDistanceMatching, 1);
        *packed = ZSTD_compress2(z, out, room, bytes, size);
    }
    if (!z || !out || ZSTD_isError(*packed)) {
        free(out);
        out = NULL;
    }
    ZSTD_freeCCtx(z);
    return out;
}

int pack_write(const struct pack *p, const char *path)
{
    char *bytes = NULL;
    size_t size = 0, packed = 0;
    FILE *f = open_memstream(&bytes, &size);
    void *out = NULL;
    int bad = !f;

    if (f) {
        put(f, p->count, 4);
        for (size_t i = 0; i < p->count; i++)
            put_kernel(f, &p->items[i]);
        bad = fclose(f) != 0;
    }
    if (!bad)
        out = compress(bytes, size, &packed);
    f = out ? fopen(path, "wb") : NULL;
    bad = !f;
    if (f) {
        fwrite(magic, 1, 8, f);
        put(f, size, 8);
        bad = fwrite(out, 1, packed, f) != packed;
        bad |= fclose(f) != 0;
    }
    if (bad)
        fprintf(stderr, "%s: cannot be written: %s\n", path, strerror(errno));
    free(bytes);
    free(out);
    return bad ? -1 : 0;
}

/* --- reading --- */

static char *get_text(struct cursor *c)
{
    const uint32_t n = cursor_u32(c);
    const unsigned char *at = cursor_bytes(c, n);
    char *text = at ? malloc((size_t)n + 1) : NULL;

    if (!text) {
        c->bad = 1;
        return NULL;
    }
    memcpy(text, at, n);
    text[n] = 0;
    return text;
}

static void get_kernel(struct cursor *c, struct packed_kernel *k)
{
    struct plan *p = &k->plan;

    k->key = cursor_u64(c);
    k->file = get_text(c);
    k->name = get_text(c);
    k->text = get_text(c);
    p->param_bytes = cursor_u32(c);
    for (int i = 0; i < 3; i++)
        p->block[i] = cursor_u32(c);
    p->exact = cursor_u32(c);
    p->shared = cursor_u32(c);
    p->usual = cursor_u32(c);
    p->floats = cursor_u32(c);
    p->slot_count = cursor_u32(c);
    if (p->slot_count > MAX_SLOTS || p->param_bytes > MAX_PARAM_BYTES) {
        c->bad = 1;
        p->slot_count = 0;
    }
    for (size_t i = 0; i < p->slot_count; i++) {
        struct slot *s = &p->slots[i];

        s->offset = cursor_u16(c);
        s->size = cursor_u8(c);
        s->kind = cursor_u8(c);
        s->fill = cursor_u8(c);
        s->inner = cursor_u8(c);
        if (s->size > 8 || s->offset + s->size > p->param_bytes ||
            s->fill >= FILL_COUNT || s->inner >= FILL_COUNT)
            c->bad = 1;
    }
}

static void get_all(struct cursor *c, struct pack *p)
{
    const uint32_t count = cursor_u32(c);

    if (count > cursor_left(c) / SLOT_BYTES)
        c->bad = 1;
    p->items = c->bad ? NULL : calloc((size_t)count + 1, sizeof *p->items);
    for (uint32_t i = 0; p->items && i < count && !c->bad; i++) {
        get_kernel(c, &p->items[i]);
        p->count = i + 1;
    }
    c->bad |= !p->items || cursor_left(c) != 0;
}

static void *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    long n;

    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 &&
        (bytes = malloc((size_t)n))) {
        rewind(f);
        *size = fread(bytes, 1, (size_t)n, f);
    }
    if (f)
        fclose(f);
    return bytes;
}

int pack_read(struct pack *p, const char *path)
{
    size_t size = 0, plain = 0;
    char *bytes = read_all(path, &size), *out = NULL;
    struct cursor c = cursor_of(bytes, size);
    const unsigned char *head = cursor_bytes(&c, 8);
    uint64_t unpacked;

    memset(p, 0, sizeof *p);
    c.bad |= !head || memcmp(head, magic, 8) != 0;
    unpacked = cursor_u64(&c);
    if (!c.bad && unpacked < UINT64_C(1) << 32 &&
        (out = malloc((size_t)unpacked + 1)))
        plain = ZSTD_decompress(out, (size_t)unpacked, c.at, cursor_left(&c));
    if (!out || ZSTD_isError(plain) || plain != unpacked)
        c.bad = 1;
    else
        c = cursor_of(out, plain);
    if (!c.bad)
        get_all(&c, p);
    free(bytes);
    free(out);
    if (c.bad)
        fprintf(stderr, "%s: no file of kernels\n", path);
    return c.bad ? -1 : 0;
}

void pack_free(struct pack *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].file);
        free(p->items[i].name);
        free(p->items[i].text);
    }
    free(p->items);
    memset(p, 0, sizeof *p);
}
