/* SPDX-License-Identifier: MIT
 *
 * The kernels that are run: of each file the modules in the order of their
 * digests, and of each module some kernels in the order of theirs, until
 * there are enough. So the choice depends on nothing but what the libraries
 * hold, and asking for more keeps what was chosen before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/jit/calls.h"
#include "plan.h"

/* Large kernels take a device's compiler seconds, and a run of thousands
 * hours. */
enum { MAX_BODY = 3000, MAX_OF_MODULE = 24, PLAN_VERSION = 1 };

struct chooser {
    struct sources *sources;
    struct pack pack;
    struct seen bodies;
    uint32_t target;
    size_t want, taken; /* of the file at hand */
    size_t too_large, no_plan;
};

struct candidate {
    const struct ptx_func *kernel;
    struct hash order;
};

static int by_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return memcmp(&x->order, &y->order, sizeof x->order);
}

static int by_digest(const void *a, const void *b)
{
    const struct source *const *x = a, *const *y = b;

    return memcmp(&(*x)->digest, &(*y)->digest, sizeof(*x)->digest);
}

static int name_digest(const struct source *s, const struct ptx_func *kernel,
                       struct hash *out)
{
    struct hasher *h = hasher_new();

    if (!h)
        return -1;
    hasher_add(h, &s->digest, sizeof s->digest);
    hasher_add(h, kernel->name, strlen(kernel->name));
    return hasher_take(h, out);
}

static int key_of(const struct candidate *c, const struct plan *p,
                  uint64_t *key)
{
    const uint32_t numbers[] = {PLAN_VERSION, p->param_bytes, p->block[0],
                                p->block[1],  p->block[2],    p->exact,
                                p->shared,    p->usual,       p->slot_count};
    struct hasher *h = hasher_new();
    struct hash digest;

    if (!h)
        return -1;
    hasher_add(h, &c->order, sizeof c->order);
    hasher_add(h, numbers, sizeof numbers);
    hasher_add(h, p->slots, p->slot_count * sizeof *p->slots);
    if (hasher_take(h, &digest))
        return -1;
    memcpy(key, &digest, sizeof *key);
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int add(struct pack *p, const struct packed_kernel *k)
{
    if (p->count == p->cap) {
        const size_t cap = p->cap ? p->cap * 2 : 256;
        void *more = realloc(p->items, cap * sizeof *p->items);

        if (!more)
            return -1;
        p->items = more;
        p->cap = cap;
    }
    p->items[p->count++] = *k;
    return 0;
}

/* 0 also when the kernel is none to run. */
static int take(struct chooser *c, const struct source *s,
                const struct ptx_module *m, const struct candidate *candidate)
{
    const struct ptx_func *kernel = candidate->kernel, *flat = kernel;
    struct packed_kernel *k = calloc(1, sizeof *k);
    struct arena arena = {0};
    struct buffer text = {0};
    struct hash body;
    int bad = !k;

    if (k &&
        (!calls_any(kernel) || !calls_expand(&arena, m, kernel, &flat, NULL))) {
        if (flat->insn_count > MAX_BODY) {
            c->too_large++;
        } else if (plan_make(&k->plan, kernel, flat, &arena)) {
            c->no_plan++;
        } else if (!body_digest(flat, &body) &&
                   seen_add(&c->bodies, &body, 1)) {
            alone_print(m, kernel, c->target, &text, &arena);
            k->file = strdup(base_name(kiln_file_name(s->file)));
            k->name = strdup(kernel->name);
            k->text = strdup(buffer_str(&text));
            bad = text.bad || !k->file || !k->name || !k->text ||
                  key_of(candidate, &k->plan, &k->key) || add(&c->pack, k);
            c->taken++;
        }
    }
    free(k);
    buffer_fini(&text);
    arena_fini(&arena);
    return bad ? -1 : 0;
}

static int of_module(struct chooser *c, const struct source *s,
                     const struct ptx_module *m, struct arena *arena)
{
    struct candidate *list =
        arena_array(arena, m->func_count + 1, sizeof *list);
    const size_t before = c->taken;
    size_t count = 0;

    for (size_t i = 0; list && i < m->func_count; i++)
        if (m->funcs[i]->is_entry && m->funcs[i]->has_body) {
            list[count].kernel = m->funcs[i];
            if (name_digest(s, m->funcs[i], &list[count++].order))
                return -1;
        }
    if (!list)
        return -1;
    qsort(list, count, sizeof *list, by_order);
    for (size_t i = 0;
         i < count && c->taken < c->want && c->taken < before + MAX_OF_MODULE;
         i++)
        if (take(c, s, m, &list[i]))
            return -1;
    return 0;
}

static int of_source(struct chooser *c, const struct source *s)
{
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct ptx_module *m;
    void *bytes;
    size_t size;
    int bad = 0;

    if (kiln_file_unpack(s->file, s->entry, &bytes, &size, &err)) {
        fprintf(stderr, "ptx_coverage: %s: %s\n", s->name, err.text);
        return -1;
    }
    if (!ptx_parse(bytes, size, &arena, &m, NULL, &err))
        bad = of_module(c, s, m, &arena);
    kiln_bytes_free(bytes);
    arena_fini(&arena);
    return bad;
}

static int of_file(struct chooser *c, size_t file, const struct source **list)
{
    const struct sources *s = c->sources;
    size_t count = 0;
    int bad = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].file_number == file)
            list[count++] = &s->items[i];
    qsort(list, count, sizeof *list, by_digest);
    c->taken = 0;
    for (size_t i = 0; !bad && i < count && c->taken < c->want; i++)
        bad = of_source(c, list[i]);
    printf("%-40s %6zu kernels\n", base_name(kiln_file_name(s->files[file])),
           c->taken);
    return bad;
}

int choose_kernels(struct sources *s, unsigned each, uint32_t target,
                   const char *path)
{
    struct chooser c = {.sources = s, .target = target, .want = each};
    const struct source **list = calloc(s->count + 1, sizeof *list);
    int bad = !list;

    seen_init(&c.bodies);
    for (size_t i = 0; !bad && i < s->file_count; i++)
        bad = of_file(&c, i, list);
    if (!bad) {
        printf("%zu kernels; passed over: %zu of more than %d instructions, "
               "%zu with parameters of more than %d bytes or %d parts\n",
               c.pack.count, c.too_large, (int)MAX_BODY, c.no_plan,
               (int)MAX_PARAM_BYTES, (int)MAX_SLOTS);
        bad = pack_write(&c.pack, path);
    }
    seen_fini(&c.bodies);
    pack_free(&c.pack);
    free(list);
    return bad ? -1 : 0;
}
