/* SPDX-License-Identifier: MIT */
#include "kernel/key.h"

#include <string.h>

/* Options after which the image holds file names. */
static int shows_paths(const struct compile_request *r)
{
    static const char *const options[] = {"-G",         "--device-debug",
                                          "-lineinfo",  "--generate-line-info",
                                          "-line-info", "-g"};

    for (size_t i = 0; i < r->extra_count; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (!strcmp(r->extra[i], options[k]))
                return 1;
    return 0;
}

static void add_list(struct cache_key *key, const char *label,
                     const char *const *items, size_t count)
{
    cache_key_u64(key, label, count);
    for (size_t i = 0; i < count; i++)
        cache_key_text(key, label, items[i]);
}

static void add_headers(struct cache_key *key, const struct header_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        const struct header_lookup *l = &scan->lookups[i];

        cache_key_text(key, l->quoted ? "include quoted" : "include", l->name);
        if (l->found)
            cache_key_digest(key, "header", &l->content, l->size);
        else
            cache_key_text(key, "header", NULL);
    }
}

void key_fill(struct cache_key *key, const struct compiler *compiler,
              const struct plan *plan, const struct header_scan *scan)
{
    const struct compile_request *r = &plan->request;

    cache_key_u64(key, "schema", KEY_SCHEMA);
    cache_key_text(key, "compiler",
                   compiler->kind == COMPILER_NVRTC ? "nvrtc" : "clang");
    cache_key_digest(key, "compiler files", &compiler->identity, 0);
    cache_key_u64(key, "device capability", (uint64_t)r->device.capability);
    cache_key_u64(key, "device runs sass", (uint64_t)r->device.runs_sass);
    cache_key_text(key, "arch", r->arch);
    cache_key_text(key, "standard", r->standard);
    cache_key_u64(key, "max registers", (uint64_t)r->max_registers);
    add_list(key, "name", r->names, r->name_count);
    add_list(key, "define", r->defines, r->define_count);
    add_list(key, "option", r->extra, r->extra_count);
    add_list(key, "pre-include", plan->pre_includes, plan->pre_include_count);
    cache_key_bytes(key, "source", r->text, r->text_size);
    if (scan->names_file || shows_paths(r)) {
        cache_key_text(key, "source name", r->name);
        add_list(key, "folder", r->folders, r->folder_count);
    }
    add_headers(key, scan);
}

int key_same_headers(const struct header_scan *a, const struct header_scan *b)
{
    if (a->count != b->count)
        return 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct header_lookup *x = &a->lookups[i], *y = &b->lookups[i];

        if (strcmp(x->name, y->name) || x->found != y->found ||
            (x->found && memcmp(&x->content, &y->content, sizeof x->content)))
            return 0;
    }
    return 1;
}
