/* SPDX-License-Identifier: MIT */
#include "image/object_head.h"

#include <string.h>

#include "base/cursor.h"
#include "image/elf_view.h"

enum {
    VERSION = 2,
    DIGEST = 32,
    /* smallest encodings, to bound counts by the bytes left */
    PARAM_BYTES = 13,
    VARIANT_BYTES = 6,
    KERNEL_BYTES = 5 + 12 + 40,
    VARIABLE_BYTES = 5 + 3 + 20,
    CONSTANT = 2
};

struct reader {
    struct cursor in;
    struct arena *arena;
    int no_memory;
};

static const char *text(struct reader *r)
{
    uint32_t n = cursor_u32(&r->in);
    const unsigned char *at = cursor_bytes(&r->in, (uint64_t)n + 1);

    if (at && memchr(at, 0, (size_t)n + 1) == at + n)
        return (const char *)at;
    r->in.bad = 1;
    return "";
}

/* Room for as many as the bytes left can hold; NULL with the cursor bad. */
static void *array(struct reader *r, size_t least, size_t size, uint32_t *count)
{
    uint32_t n = cursor_u32(&r->in);
    void *items;

    *count = 0;
    if (r->in.bad || n > cursor_left(&r->in) / least) {
        r->in.bad = 1;
        return NULL;
    }
    items = arena_array(r->arena, n, size);
    if (!items) {
        r->no_memory = r->in.bad = 1;
        return NULL;
    }
    *count = n;
    return items;
}

static void read_kernel(struct reader *r, struct object_head_kernel *k)
{
    struct object_head_param *params;
    uint32_t variants;

    k->name = text(r);
    params = array(r, PARAM_BYTES, sizeof *params, &k->param_count);
    for (uint32_t i = 0; i < k->param_count; i++) {
        params[i].offset = cursor_u32(&r->in);
        params[i].size = cursor_u32(&r->in);
        cursor_u32(&r->in);
        params[i].pointer = cursor_u8(&r->in);
    }
    k->params = params;
    k->param_bytes = cursor_u32(&r->in);
    variants = cursor_u32(&r->in);
    if (variants > cursor_left(&r->in) / VARIANT_BYTES)
        r->in.bad = 1;
    for (uint32_t i = 0; !r->in.bad && i < variants; i++) {
        cursor_u8(&r->in);
        text(r);
    }
    cursor_u32(&r->in); /* lanes of a chunk */
    k->static_shared = cursor_u32(&r->in);
    k->local_bytes = cursor_u32(&r->in);
    cursor_u32(&r->in); /* frame */
    k->max_threads = cursor_u32(&r->in);
    cursor_bytes(&r->in, 5 * sizeof(uint32_t)); /* reqntid, maxnreg, flags */
}

static void read_variable(struct reader *r, struct object_head_variable *v)
{
    v->name = text(r);
    v->constant = cursor_u8(&r->in) == CONSTANT;
    cursor_bytes(&r->in, 2 + sizeof(uint64_t)); /* visible, extern, offset */
    v->size = cursor_u64(&r->in);
    cursor_u32(&r->in);
}

static enum kiln_status read_info(struct reader *r, size_t size,
                                  struct object_head *h, struct kiln_error *err)
{
    struct object_head_kernel *kernels;
    struct object_head_variable *variables;
    const unsigned char *magic = cursor_bytes(&r->in, 8);

    h->version = cursor_u32(&r->in);
    if (!magic || memcmp(magic, "KILNINFO", 8) || h->version != VERSION)
        return kiln_fail(err, KILN_E_FORMAT,
                         OBJECT_HEAD_SECTION ": %zu bytes of version %u, "
                                             "version %d expected",
                         size, h->version, VERSION);
    cursor_bytes(&r->in, sizeof(uint32_t) + DIGEST);
    h->abi = cursor_u32(&r->in);
    h->ptx_version = cursor_u32(&r->in);
    h->target = cursor_u32(&r->in);
    h->build = text(r);
    h->codegen = text(r);
    h->cpu = text(r);
    h->features = text(r);
    kernels = array(r, KERNEL_BYTES, sizeof *kernels, &h->kernel_count);
    for (uint32_t i = 0; !r->in.bad && i < h->kernel_count; i++)
        read_kernel(r, &kernels[i]);
    variables = array(r, VARIABLE_BYTES, sizeof *variables, &h->variable_count);
    for (uint32_t i = 0; !r->in.bad && i < h->variable_count; i++)
        read_variable(r, &variables[i]);
    h->kernels = kernels;
    h->variables = variables;
    if (r->no_memory)
        return kiln_fail(err, KILN_E_MEMORY,
                         OBJECT_HEAD_SECTION ": out of memory");
    if (r->in.bad)
        return kiln_fail(err, KILN_E_FORMAT,
                         OBJECT_HEAD_SECTION ": its %zu bytes end within what "
                                             "they tell of",
                         size);
    return KILN_OK;
}

enum kiln_status object_head_read(const void *bytes, size_t size,
                                  struct arena *arena, struct object_head *out,
                                  struct kiln_error *err)
{
    struct elf_view elf;
    struct object_head head = {0};
    enum kiln_status st = elf_view_open(bytes, size, &elf, err);

    for (uint32_t i = 1; !st && i < elf.sections; i++) {
        struct elf_section s;
        struct reader r = {.arena = arena};

        st = elf_view_section(&elf, i, &s, err);
        if (st || strcmp(s.name, OBJECT_HEAD_SECTION) || !s.bytes)
            continue;
        r.in = cursor_of(s.bytes, (size_t)s.size);
        st = read_info(&r, (size_t)s.size, &head, err);
        if (!st)
            *out = head;
        return st;
    }
    return st ? st
              : kiln_fail(err, KILN_E_NOT_FOUND,
                          "ELF: no section " OBJECT_HEAD_SECTION);
}
