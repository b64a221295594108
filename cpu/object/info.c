/* SPDX-License-Identifier: MIT
 *
 * ".kiln.info": writer and reader (docs/format-object.md). The reader borrows
 * strings from the input, which carry their own NUL; arrays are the arena's.
 */
#include "cpu/object/object.h"

#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"

enum {
    INFO_VERSION = 2,
    /* smallest encodings, to bound counts by the bytes left */
    PARAM_BYTES = 13,
    VARIANT_BYTES = 6,
    KERNEL_BYTES = 5 + 12 + 40,
    VARIABLE_BYTES = 5 + 3 + 20,
    REF_BYTES = 16,
    PARAM_BLOCK_MAX = 1 << 16
};
#define DATA_MAX  ((uint64_t)1 << 40)
#define FRAME_MAX ((uint32_t)1 << 20)

static const char magic[8] = {'K', 'I', 'L', 'N', 'I', 'N', 'F', 'O'};

/* ---- writer ---- */

static void put_text(struct buffer *out, const char *text)
{
    const size_t n = text ? strlen(text) : 0;

    buffer_u32(out, (uint32_t)n);
    if (n)
        buffer_add(out, text, n);
    buffer_u8(out, 0);
}

static void put_kernel(struct buffer *out, const struct object_kernel *k)
{
    put_text(out, k->name);
    buffer_u32(out, k->param_count);
    for (uint32_t i = 0; i < k->param_count; i++) {
        buffer_u32(out, k->params[i].offset);
        buffer_u32(out, k->params[i].size);
        buffer_u32(out, k->params[i].align);
        buffer_u8(out, k->params[i].is_pointer);
    }
    buffer_u32(out, k->param_bytes);
    buffer_u32(out, k->variant_count);
    for (uint32_t i = 0; i < k->variant_count; i++) {
        buffer_u8(out, (uint8_t)k->variants[i].shape);
        put_text(out, k->variants[i].symbol);
    }
    buffer_u32(out, k->chunk_lanes);
    buffer_u32(out, k->static_shared);
    buffer_u32(out, k->local_bytes);
    buffer_u32(out, k->frame_bytes);
    buffer_u32(out, k->max_threads);
    for (int i = 0; i < 3; i++)
        buffer_u32(out, k->reqntid[i]);
    buffer_u32(out, k->maxnreg);
    buffer_u32(out, k->flags);
}

void object_info_write(const struct object_info *info, struct buffer *out)
{
    const size_t start = out->size;

    buffer_add(out, magic, sizeof magic);
    buffer_u32(out, INFO_VERSION);
    buffer_u32(out, 0);           /* size, below */
    buffer_zeros(out, HASH_SIZE); /* digest, by object_seal */
    buffer_u32(out, info->abi);
    buffer_u32(out, info->ptx_version);
    buffer_u32(out, info->target);
    put_text(out, info->build);
    put_text(out, info->codegen);
    put_text(out, info->cpu);
    put_text(out, info->features);
    buffer_u32(out, info->kernel_count);
    for (uint32_t i = 0; i < info->kernel_count; i++)
        put_kernel(out, &info->kernels[i]);
    buffer_u32(out, info->variable_count);
    for (uint32_t i = 0; i < info->variable_count; i++) {
        const struct object_variable *v = &info->variables[i];

        put_text(out, v->name);
        buffer_u8(out, (uint8_t)v->space);
        buffer_u8(out, v->is_visible);
        buffer_u8(out, v->is_extern);
        buffer_u64(out, v->offset);
        buffer_u64(out, v->size);
        buffer_u32(out, v->align);
    }
    buffer_u64(out, info->data_size);
    buffer_u32(out, info->data_align);
    buffer_u64(out, info->data_init_size);
    if (info->data_init_size)
        buffer_add(out, info->data_init, info->data_init_size);
    buffer_u32(out, info->ref_count);
    for (uint32_t i = 0; i < info->ref_count; i++) {
        buffer_u64(out, info->refs[i].at);
        buffer_u64(out, info->refs[i].addend);
    }
    if (!out->bad) {
        const uint32_t size = (uint32_t)(out->size - start);

        memcpy(out->bytes + start + 12, &size, sizeof size);
    }
}

/* ---- reader ---- */

struct reader {
    struct cursor in;
    const unsigned char *start;
    struct arena *arena;
    struct kiln_error *err;
};

static size_t place(const struct reader *r)
{
    return (size_t)(r->in.at - r->start);
}

static enum kiln_status get_text(struct reader *r, const char *what,
                                 const char **out)
{
    const uint32_t n = cursor_u32(&r->in);
    const unsigned char *text = cursor_bytes(&r->in, (uint64_t)n + 1);

    if (!text)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: %s at byte %zu runs past the end", what,
                         place(r));
    if (memchr(text, 0, (size_t)n + 1) != text + n)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: %s before byte %zu: NUL expected after "
                         "exactly %u bytes",
                         what, place(r), n);
    *out = (const char *)text;
    return KILN_OK;
}

/* A count and zeroed room for its items; *items stays NULL for none. */
static enum kiln_status get_array(struct reader *r, const char *what,
                                  size_t least, size_t size, uint32_t *count,
                                  void **items)
{
    const uint32_t n = cursor_u32(&r->in);

    *items = NULL;
    *count = 0;
    if (r->in.bad || n > cursor_left(&r->in) / least)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: %u %s at byte %zu, %zu bytes left", n,
                         what, place(r), cursor_left(&r->in));
    if (n) {
        *items = arena_array(r->arena, n, size);
        if (!*items)
            return kiln_fail(r->err, KILN_E_MEMORY,
                             ".kiln.info: no memory for %u %s", n, what);
    }
    *count = n;
    return KILN_OK;
}

static int is_power(uint32_t v)
{
    return v && !(v & (v - 1));
}

static enum kiln_status get_params(struct reader *r, struct object_kernel *k)
{
    struct object_param *params;
    void *room;
    enum kiln_status st = get_array(r, "parameters", PARAM_BYTES,
                                    sizeof *params, &k->param_count, &room);

    if (st)
        return st;
    params = room;
    for (uint32_t i = 0; i < k->param_count; i++) {
        params[i].offset = cursor_u32(&r->in);
        params[i].size = cursor_u32(&r->in);
        params[i].align = cursor_u32(&r->in);
        params[i].is_pointer = cursor_u8(&r->in);
    }
    k->params = params;
    k->param_bytes = cursor_u32(&r->in);
    if (r->in.bad)
        return KILN_OK; /* the caller reports */
    if (k->param_bytes > PARAM_BLOCK_MAX)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel %s: parameter block of %u bytes, "
                         "at most %d",
                         k->name, k->param_bytes, PARAM_BLOCK_MAX);
    for (uint32_t i = 0; i < k->param_count; i++) {
        const struct object_param *p = &params[i];

        if ((uint64_t)p->offset + p->size > k->param_bytes ||
            !is_power(p->align) || p->is_pointer > 1)
            return kiln_fail(r->err, KILN_E_FORMAT,
                             ".kiln.info: kernel %s: parameter %u: %u bytes at "
                             "%u, alignment %u, in a block of %u",
                             k->name, i, p->size, p->offset, p->align,
                             k->param_bytes);
    }
    return KILN_OK;
}

static enum kiln_status get_variants(struct reader *r, struct object_kernel *k)
{
    struct object_variant *variants;
    void *room;
    enum kiln_status st = get_array(r, "variants", VARIANT_BYTES,
                                    sizeof *variants, &k->variant_count, &room);

    if (st)
        return st;
    variants = room;
    for (uint32_t i = 0; i < k->variant_count; i++) {
        const unsigned shape = cursor_u8(&r->in);

        st = get_text(r, "symbol", &variants[i].symbol);
        if (st)
            return st;
        if (shape > OBJECT_SHAPE_ROWS)
            return kiln_fail(r->err, KILN_E_FORMAT,
                             ".kiln.info: kernel %s: shape %u, at most %d",
                             k->name, shape, OBJECT_SHAPE_ROWS);
        variants[i].shape = (enum object_shape)shape;
    }
    k->variants = variants;
    return KILN_OK;
}

static enum kiln_status check_kernel(const struct reader *r,
                                     const struct object_kernel *k)
{
    const uint32_t known = OBJECT_KERNEL_BARRIER | OBJECT_KERNEL_FLUSH |
                           OBJECT_KERNEL_DYNAMIC | OBJECT_KERNEL_RESUME |
                           OBJECT_KERNEL_YIELD | OBJECT_KERNEL_STACK;

    if (!k->name[0] || !k->variant_count)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel \"%s\" with %u variants", k->name,
                         k->variant_count);
    if (!is_power(k->chunk_lanes) || k->chunk_lanes > 32)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel %s: chunks of %u lanes, a power "
                         "of two up to 32 expected",
                         k->name, k->chunk_lanes);
    if (k->max_threads < 1 || k->max_threads > 1024)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel %s: %u threads, 1 to 1024 "
                         "expected",
                         k->name, k->max_threads);
    if (k->flags & OBJECT_KERNEL_RESUME &&
        (k->frame_bytes < 64 || k->frame_bytes % 64 ||
         k->frame_bytes > FRAME_MAX))
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel %s: frames of %u bytes, a "
                         "multiple of 64 up to %u expected",
                         k->name, k->frame_bytes, (unsigned)FRAME_MAX);
    if (k->flags & ~known)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: kernel %s: flags 0x%x, 0x%x known",
                         k->name, k->flags, known);
    return KILN_OK;
}

static enum kiln_status get_kernel(struct reader *r, struct object_kernel *k)
{
    enum kiln_status st = get_text(r, "kernel name", &k->name);

    if (!st)
        st = get_params(r, k);
    if (!st)
        st = get_variants(r, k);
    if (st)
        return st;
    k->chunk_lanes = cursor_u32(&r->in);
    k->static_shared = cursor_u32(&r->in);
    k->local_bytes = cursor_u32(&r->in);
    k->frame_bytes = cursor_u32(&r->in);
    k->max_threads = cursor_u32(&r->in);
    for (int i = 0; i < 3; i++)
        k->reqntid[i] = cursor_u32(&r->in);
    k->maxnreg = cursor_u32(&r->in);
    k->flags = cursor_u32(&r->in);
    return r->in.bad ? KILN_OK : check_kernel(r, k);
}

static enum kiln_status get_variables(struct reader *r, struct object_info *out)
{
    struct object_variable *variables;
    void *room;
    enum kiln_status st =
        get_array(r, "variables", VARIABLE_BYTES, sizeof *variables,
                  &out->variable_count, &room);

    if (st)
        return st;
    variables = room;
    for (uint32_t i = 0; i < out->variable_count; i++) {
        struct object_variable *v = &variables[i];
        unsigned space;

        st = get_text(r, "variable name", &v->name);
        if (st)
            return st;
        space = cursor_u8(&r->in);
        v->is_visible = cursor_u8(&r->in);
        v->is_extern = cursor_u8(&r->in);
        v->offset = cursor_u64(&r->in);
        v->size = cursor_u64(&r->in);
        v->align = cursor_u32(&r->in);
        if (!r->in.bad && ((space != OBJECT_GLOBAL && space != OBJECT_CONST) ||
                           !is_power(v->align)))
            return kiln_fail(r->err, KILN_E_FORMAT,
                             ".kiln.info: variable %s: space %u, alignment %u",
                             v->name, space, v->align);
        v->space = (enum object_space)space;
    }
    out->variables = variables;
    return KILN_OK;
}

static enum kiln_status check_data(const struct reader *r,
                                   const struct object_info *out)
{
    if (out->data_size > DATA_MAX || out->data_init_size > out->data_size ||
        (out->data_size && !is_power(out->data_align)))
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: data segment of %llu bytes, alignment "
                         "%u, %llu initialised",
                         (unsigned long long)out->data_size, out->data_align,
                         (unsigned long long)out->data_init_size);
    for (uint32_t i = 0; i < out->variable_count; i++) {
        const struct object_variable *v = &out->variables[i];

        if (!v->is_extern && (v->offset > out->data_size ||
                              v->size > out->data_size - v->offset))
            return kiln_fail(r->err, KILN_E_FORMAT,
                             ".kiln.info: variable %s: %llu bytes at %llu in a "
                             "data segment of %llu",
                             v->name, (unsigned long long)v->size,
                             (unsigned long long)v->offset,
                             (unsigned long long)out->data_size);
    }
    for (uint32_t i = 0; i < out->ref_count; i++) {
        const struct object_ref *ref = &out->refs[i];

        if (out->data_size < 8 || ref->at > out->data_size - 8 ||
            ref->addend > out->data_size)
            return kiln_fail(r->err, KILN_E_FORMAT,
                             ".kiln.info: reference %u at %llu to %llu in a "
                             "data segment of %llu bytes",
                             i, (unsigned long long)ref->at,
                             (unsigned long long)ref->addend,
                             (unsigned long long)out->data_size);
    }
    return KILN_OK;
}

static enum kiln_status get_data(struct reader *r, struct object_info *out)
{
    struct object_ref *refs;
    void *room;
    enum kiln_status st;

    out->data_size = cursor_u64(&r->in);
    out->data_align = cursor_u32(&r->in);
    out->data_init_size = cursor_u64(&r->in);
    out->data_init = cursor_bytes(&r->in, out->data_init_size);
    st = get_array(r, "references", REF_BYTES, sizeof *refs, &out->ref_count,
                   &room);
    if (st)
        return st;
    refs = room;
    for (uint32_t i = 0; i < out->ref_count; i++) {
        refs[i].at = cursor_u64(&r->in);
        refs[i].addend = cursor_u64(&r->in);
    }
    out->refs = refs;
    return r->in.bad ? KILN_OK : check_data(r, out);
}

static enum kiln_status get_header(struct reader *r, size_t size,
                                   struct object_info *out)
{
    const unsigned char *found = cursor_bytes(&r->in, sizeof magic);
    const uint32_t version = cursor_u32(&r->in);
    const uint32_t said = cursor_u32(&r->in);
    enum kiln_status st;

    cursor_bytes(&r->in, HASH_SIZE); /* object_verify looks at it */
    if (!found || memcmp(found, magic, sizeof magic) != 0)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: does not start with KILNINFO");
    if (version != INFO_VERSION)
        return kiln_fail(r->err, KILN_E_NO_BINARY,
                         ".kiln.info: version %u, this driver reads %d",
                         version, INFO_VERSION);
    if (said != size)
        return kiln_fail(r->err, KILN_E_FORMAT,
                         ".kiln.info: says %u bytes, the section has %zu", said,
                         size);
    out->abi = cursor_u32(&r->in);
    out->ptx_version = cursor_u32(&r->in);
    out->target = cursor_u32(&r->in);
    st = get_text(r, "build", &out->build);
    if (!st)
        st = get_text(r, "code generator", &out->codegen);
    if (!st)
        st = get_text(r, "CPU", &out->cpu);
    if (!st)
        st = get_text(r, "features", &out->features);
    return st;
}

enum kiln_status object_info_read(const void *bytes, size_t size,
                                  struct arena *arena, struct object_info *out,
                                  struct kiln_error *err)
{
    struct reader r = {cursor_of(bytes, size), bytes, arena, err};
    struct object_info info = {0};
    struct object_kernel *kernels;
    void *room;
    enum kiln_status st = get_header(&r, size, &info);

    if (!st)
        st = get_array(&r, "kernels", KERNEL_BYTES, sizeof *kernels,
                       &info.kernel_count, &room);
    if (st)
        return st;
    kernels = room;
    for (uint32_t i = 0; i < info.kernel_count && !r.in.bad; i++) {
        st = get_kernel(&r, &kernels[i]);
        if (st)
            return st;
    }
    info.kernels = kernels;
    st = get_variables(&r, &info);
    if (!st)
        st = get_data(&r, &info);
    if (st)
        return st;
    if (r.in.bad || cursor_left(&r.in))
        return kiln_fail(err, KILN_E_FORMAT,
                         ".kiln.info: %zu bytes, the contents %s", size,
                         r.in.bad ? "need more" : "end earlier");
    *out = info;
    return KILN_OK;
}
