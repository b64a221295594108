/* SPDX-License-Identifier: MIT
 *
 * Texture and surface objects by their numbers, and the instructions that
 * name them. As on a GPU a description outlives its object: pieces of the
 * table are never given back, and numbers are used again late, so that a
 * kernel under way may still use what was destroyed meanwhile. Number 0 is an
 * object of nothing.
 *
 * A call stays in the kernel: what it reads and writes faults as the kernel's
 * own accesses do.
 */
#include <immintrin.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/exec/engine.h"

enum {
    PIECE = 1024,
    PIECES = 1024,
    RESTING = 4096, /* numbers that wait before they are used again */
    MXCSR_PLAIN = 0x1f80
};

struct object {
    struct texture texture;
    void *tag;
    _Atomic int live;
    uint32_t next; /* in the list of free ones, 0 ends it */
};

static _Atomic(struct object *) pieces[PIECES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used = 1; /* numbers ever given, and 0 */
static uint32_t first_free, last_free, free_count;

static const struct texture nothing = {
    .image = {.format = {TEXEL_UNSIGNED, 32, 1, 4}, .dims = 1, .layers = 1}};

static struct object *object_at(uint64_t number)
{
    struct object *piece;

    if (!number || number >= (uint64_t)PIECE * PIECES)
        return NULL;
    piece = atomic_load_explicit(&pieces[number / PIECE], memory_order_acquire);
    return piece ? &piece[number % PIECE] : NULL;
}

/* NULL: there was never such an object. */
static const struct texture *described(uint64_t number)
{
    const struct object *o = object_at(number);

    if (!number)
        return &nothing;
    return o && o->tag ? &o->texture : NULL;
}

static uint32_t take_number(void)
{
    const uint32_t number = first_free;
    struct object *piece;

    if (number && (free_count > RESTING || used == PIECE * PIECES)) {
        first_free = object_at(number)->next;
        free_count--;
        return number;
    }
    if (used == PIECE * PIECES)
        return 0;
    if (!object_at(used)) {
        piece = kiln_zalloc(PIECE * sizeof *piece);
        if (!piece)
            return 0;
        atomic_store_explicit(&pieces[used / PIECE], piece,
                              memory_order_release);
    }
    return used++;
}

void *exec_texture_tag(uint64_t number)
{
    struct object *o = object_at(number);

    return o && atomic_load_explicit(&o->live, memory_order_acquire) ? o->tag
                                                                     : NULL;
}

enum kiln_status exec_texture_new(const struct texture *texture, void *tag,
                                  uint64_t *number, struct kiln_error *err)
{
    struct object *o;

    pthread_mutex_lock(&lock);
    *number = take_number();
    pthread_mutex_unlock(&lock);
    if (!*number)
        return kiln_fail(err, KILN_E_MEMORY,
                         "no memory for a texture object, or %d exist already",
                         PIECE * PIECES - 1);
    o = object_at(*number);
    o->texture = *texture;
    o->tag = tag;
    atomic_store_explicit(&o->live, 1, memory_order_release);
    return KILN_OK;
}

void exec_texture_free(uint64_t number)
{
    struct object *o = object_at(number);

    if (!o || !atomic_exchange(&o->live, 0))
        return;
    pthread_mutex_lock(&lock);
    o->next = 0;
    if (free_count++)
        object_at(last_free)->next = (uint32_t)number;
    else
        first_free = (uint32_t)number;
    last_free = (uint32_t)number;
    pthread_mutex_unlock(&lock);
}

/* ---- instructions ---- */

struct lane_call {
    struct abi_block *block;
    uint32_t warp;
    struct abi_texture_word what;
    struct abi_texture *args;
    unsigned lane;
    const struct texture *texture;
};

static unsigned dims_of(unsigned geometry)
{
    switch (geometry) {
    case ABI_TEXTURE_1D:
    case ABI_TEXTURE_A1D:
        return 1;
    case ABI_TEXTURE_2D:
    case ABI_TEXTURE_A2D:
        return 2;
    default:
        return 3;
    }
}

static int is_layered(unsigned geometry)
{
    return geometry == ABI_TEXTURE_A1D || geometry == ABI_TEXTURE_A2D ||
           geometry == ABI_TEXTURE_ACUBE;
}

static void fetch(const struct lane_call *c)
{
    const unsigned geometry = c->what.geometry;
    const unsigned first = is_layered(geometry) ? 1 : 0;
    struct texture_point p = {.dims = dims_of(geometry),
                              .is_integer = c->what.integer};
    uint32_t out[TEXTURE_CHANNELS];

    if (geometry == ABI_TEXTURE_CUBE || geometry == ABI_TEXTURE_ACUBE)
        p.geometry = TEXTURE_CUBE;
    if (first)
        p.layer = (int32_t)c->args->in[0][c->lane];
    for (unsigned d = 0; d < p.dims; d++) {
        p.at[d] = c->args->in[first + d][c->lane];
        if (c->what.offset)
            p.offset[d] = (int32_t)c->args->in[first + p.dims + d][c->lane];
    }
    if (c->what.op == ABI_TEXTURE_TLD4)
        texture_gather(c->texture, &p, c->what.component, out);
    else
        texture_sample(c->texture, &p, out);
    for (unsigned i = 0; c->what.half && i < 2; i++)
        out[i] = (uint32_t)texel_to_half(texel_as_float(out[2 * i])) |
                 (uint32_t)texel_to_half(texel_as_float(out[2 * i + 1])) << 16;
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        c->args->out[i][c->lane] = out[i];
    c->args->out[TEXTURE_CHANNELS][c->lane] = 1;
}

/* Layers count as the dimension that is missing, as on an H200; faces only
 * where a surface is asked. */
/* tex.1d by numbers of texels in plain memory, which libraries use to read
 * words: without what other fetches need. 0: it is another fetch. */
static int fetch_memory(const struct lane_call *c)
{
    const struct texture_image *i = &c->texture->image;
    const uint32_t x = c->args->in[0][c->lane];
    uint32_t raw[TEXTURE_CHANNELS] = {0};

    if (!c->what.integer || c->what.geometry != ABI_TEXTURE_1D ||
        c->what.offset || c->what.half || i->is_array || i->dims != 1)
        return 0;
    if (x < i->size[0])
        texel_raw(&i->format, i->data + (uint64_t)x * i->format.bytes, raw);
    for (unsigned k = 0; k < TEXTURE_CHANNELS; k++)
        c->args->out[k][c->lane] =
            i->format.bits == 32
                ? raw[k]
                : texel_value(&i->format, &c->texture->sampler, raw[k], k);
    c->args->out[TEXTURE_CHANNELS][c->lane] = 1;
    return 1;
}

static uint32_t query(const struct lane_call *c)
{
    const struct texture_image *i = &c->texture->image;
    const int faces = c->what.op == ABI_TEXTURE_SUQ;
    const uint32_t layers = i->is_cube && !faces ? i->layers / 6 : i->layers;

    switch (c->what.what) {
    case ABI_TEXTURE_WIDTH:
        return i->size[0];
    case ABI_TEXTURE_HEIGHT:
        if (i->dims > 1)
            return i->size[1];
        return i->is_layered ? layers : i->is_array && !faces;
    case ABI_TEXTURE_DEPTH:
        if (i->dims != 2)
            return i->dims == 3 ? i->size[2] : 0;
        return i->is_layered || (i->is_cube && faces) ? layers : 0;
    case ABI_TEXTURE_LAYERS:
        return i->is_layered ? layers : 0;
    default: /* levels, samples */
        return 1;
    }
}

static unsigned char *surface_place(const struct lane_call *c, unsigned bytes)
{
    const struct texture_image *i = &c->texture->image;
    const unsigned first = is_layered(c->what.geometry) ? 1 : 0;
    const unsigned dims = dims_of(c->what.geometry);
    int64_t at[3] = {0, 0, 0};
    unsigned char *p;
    int traps;

    if (!i->data)
        return NULL;
    for (unsigned d = 0; d < dims; d++)
        at[d] = (int32_t)c->args->in[first + d][c->lane];
    if (first) /* unsigned: -1 is past the last */
        at[2] = c->args->in[0][c->lane];
    if (c->what.samples || c->what.op == ABI_TEXTURE_SUST_P)
        at[0] *= i->format.bytes;
    p = texture_surface_at(i, at, bytes, (enum texture_bounds)c->what.bounds,
                           &traps);
    if (traps)
        fault_call(c->block, c->warp, ABI_FAULT_BOUNDS, (uint64_t)at[0]);
    if (p && (uintptr_t)p % bytes)
        fault_call(c->block, c->warp,
                   ABI_FAULT_ALIGNMENT | (uint32_t)bytes << ABI_FAULT_BITS,
                   (uint64_t)(uintptr_t)p);
    return p;
}

static void surface_load(const struct lane_call *c)
{
    const unsigned char *p = surface_place(c, c->what.bytes);
    uint32_t words[4] = {0};

    if (p)
        memcpy(words, p, c->what.bytes);
    for (unsigned i = 0; i < 4; i++)
        c->args->out[i][c->lane] = words[i];
}

static void surface_store(const struct lane_call *c)
{
    const int formatted = c->what.op == ABI_TEXTURE_SUST_P;
    const struct texel_format *f = &c->texture->image.format;
    unsigned char *p = surface_place(c, formatted ? f->bytes : c->what.bytes);
    uint32_t words[4];

    if (!p)
        return;
    for (unsigned i = 0; i < 4; i++)
        words[i] = c->args->data[i][c->lane];
    if (formatted)
        texel_store(f, p, words, c->what.bytes / 4);
    else
        memcpy(p, words, c->what.bytes);
}

static uint64_t reduced(unsigned how, unsigned bytes, uint64_t a, uint64_t b)
{
    const int64_t sa = bytes == 4 ? (int32_t)a : (int64_t)a;
    const int64_t sb = bytes == 4 ? (int32_t)b : (int64_t)b;

    switch (how) {
    case ABI_TEXTURE_ADD:
        return a + b;
    case ABI_TEXTURE_MIN_U:
        return a < b ? a : b;
    case ABI_TEXTURE_MAX_U:
        return a > b ? a : b;
    case ABI_TEXTURE_MIN_S:
        return sa < sb ? a : b;
    case ABI_TEXTURE_MAX_S:
        return sa > sb ? a : b;
    case ABI_TEXTURE_AND:
        return a & b;
    default:
        return a | b;
    }
}

static void surface_reduce(const struct lane_call *c)
{
    const unsigned how = c->what.what;
    void *p = surface_place(c, c->what.bytes);
    const uint64_t b =
        c->args->data[0][c->lane] | (uint64_t)c->args->data[1][c->lane] << 32;

    if (p && c->what.bytes == 4) {
        _Atomic uint32_t *word = p;
        uint32_t old = atomic_load(word);

        while (!atomic_compare_exchange_weak(
            word, &old, (uint32_t)reduced(how, 4, old, (uint32_t)b)))
            ;
    } else if (p) {
        _Atomic uint64_t *word = p;
        uint64_t old = atomic_load(word);

        while (
            !atomic_compare_exchange_weak(word, &old, reduced(how, 8, old, b)))
            ;
    }
}

static void find_object(struct lane_call *c, uint64_t *last)
{
    const uint64_t number = c->args->object[c->lane];

    c->block->lanes = (uint32_t)1 << c->lane; /* should it fault */
    if (c->texture && number == *last)        /* as a rule one for all lanes */
        return;
    c->texture = described(number);
    *last = number;
    if (!c->texture)
        fault_call(c->block, c->warp, ABI_FAULT_TEXTURE, number);
}

static void run_lane(const struct lane_call *c)
{
    switch (c->what.op) {
    case ABI_TEXTURE_TEX:
        if (!fetch_memory(c))
            fetch(c);
        break;
    case ABI_TEXTURE_TLD4:
        fetch(c);
        break;
    case ABI_TEXTURE_TXQ:
    case ABI_TEXTURE_SUQ:
        c->args->out[0][c->lane] = query(c);
        break;
    case ABI_TEXTURE_SULD:
        surface_load(c);
        break;
    case ABI_TEXTURE_SURED:
        surface_reduce(c);
        break;
    default:
        surface_store(c);
        break;
    }
}

void texture_call(struct abi_block *block, uint32_t warp, uint32_t what,
                  uint32_t mask, struct abi_texture *args)
{
    struct slot *slot = block->engine;
    struct lane_call c = {.block = block, .warp = warp, .args = args};
    const uint32_t mxcsr = _mm_getcsr();
    uint64_t last = 0;

    slot->serving = 1;
    /* a texture unit does not flush what the kernel's arithmetic does */
    _mm_setcsr(MXCSR_PLAIN);
    memcpy(&c.what, &what, sizeof what);
    for (; mask; mask &= mask - 1) {
        c.lane = (unsigned)__builtin_ctz(mask);
        find_object(&c, &last);
        run_lane(&c);
    }
    _mm_setcsr(mxcsr);
    slot->serving = 0;
}
