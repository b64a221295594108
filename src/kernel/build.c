/* SPDX-License-Identifier: MIT
 *
 * Source to image: key, cache, compiler. On a hit no compiler is opened; it
 * is known by its file alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "image/guess.h"
#include "image/ptx_header.h"
#include "kernel/image.h"
#include "kernel/key.h"

/* One call of kiln_compile. */
struct build {
    struct kiln *kiln;
    struct arena arena;
    struct compiler compiler;
    struct compile_request request;
    struct plan plan;
    struct header_scan scan;
    struct cache_key key;
    int keyed; /* may be looked up and stored */
};

static const char image_kind[] = "image";

/* Sections of an entry beside the image: texts with their NUL, one after the
 * other. */
static void pack(const struct compile_result *r,
                 const struct compile_request *q, struct buffer *facts)
{
    buffer_u8(facts, (uint8_t)r->kind);
    buffer_add(facts, r->target, strlen(r->target) + 1);
    buffer_add(facts, r->compiler, strlen(r->compiler) + 1);
    buffer_add(facts, r->rule, strlen(r->rule) + 1);
    for (size_t i = 0; i < r->symbol_count; i++) {
        buffer_add(facts, q->names[i], strlen(q->names[i]) + 1);
        buffer_add(facts, r->symbols[i], strlen(r->symbols[i]) + 1);
    }
}

static const char *next_text(struct cursor *c)
{
    const unsigned char *end = memchr(c->at, 0, cursor_left(c));

    if (!end) {
        c->bad = 1;
        return "";
    }
    return (const char *)cursor_bytes(c, (uint64_t)(end - c->at) + 1);
}

/* 0, or -1 when the entry does not hold an image or memory is out. */
static int unpack(const struct cache_entry *entry, struct kiln_image *image,
                  char *rule, size_t rule_size)
{
    size_t size = 0, facts_size = 0;
    const void *bytes = cache_entry_section(entry, "image", &size);
    const void *facts = cache_entry_section(entry, "facts", &facts_size);
    const char *log = cache_entry_section(entry, "log", NULL);
    struct cursor c = cursor_of(facts, facts_size);
    unsigned kind = cursor_u8(&c);

    if (!bytes || !size || !facts || (kind != 1 && kind != 2))
        return -1;
    image->kind = kind == COMPILE_PTX ? KILN_IMAGE_PTX : KILN_IMAGE_CUBIN;
    image->target = kiln_strdup(next_text(&c));
    image->compiler = kiln_strdup(next_text(&c));
    image->log = kiln_strdup(log ? log : "");
    snprintf(rule, rule_size, "%s", next_text(&c));
    if (!image->target || !image->compiler || !image->log ||
        image_set_bytes(image, bytes, size))
        return -1;
    while (!c.bad && cursor_left(&c)) {
        const char *name = next_text(&c);
        const char *symbol = next_text(&c);

        if (c.bad || image_add_symbol(image, name, symbol))
            return -1;
    }
    return c.bad ? -1 : 0;
}

static enum kiln_status from_result(const struct compile_result *r,
                                    const struct compile_request *q,
                                    struct kiln_image *image,
                                    struct kiln_error *err)
{
    int bad = image_set_bytes(image, r->bytes.bytes, r->bytes.size);

    image->kind = r->kind == COMPILE_PTX ? KILN_IMAGE_PTX : KILN_IMAGE_CUBIN;
    image->target = kiln_strdup(r->target);
    image->compiler = kiln_strdup(r->compiler);
    image->log = kiln_strdup(buffer_str(&r->log));
    for (size_t i = 0; i < r->symbol_count; i++)
        bad |= image_add_symbol(image, q->names[i], r->symbols[i]);
    if (bad || !image->target || !image->compiler || !image->log)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    return KILN_OK;
}

/* A header that changed while the compiler ran: then nobody knows which of
 * the two it saw. */
static int still_same(struct build *b)
{
    struct header_scan again;

    if (!b->scan.count)
        return 1;
    return !headers_scan(&b->plan, &b->arena, &again, NULL) &&
           key_same_headers(&b->scan, &again);
}

static void store(struct build *b, struct cache_flight *flight,
                  const struct compile_result *r)
{
    struct buffer facts = {0};

    pack(r, &b->request, &facts);
    if (facts.bad || !still_same(b)) {
        if (!facts.bad)
            log_line(LOG_INFO, "%s: a header changed meanwhile; not cached",
                     b->request.name);
        cache_abandon(flight);
    } else {
        struct cache_section sections[] = {
            {"image", r->bytes.bytes, r->bytes.size},
            {"facts", facts.bytes, facts.size},
            {"log", buffer_str(&r->log), r->log.size},
        };

        cache_publish(flight, sections, 3, 0);
    }
    buffer_fini(&facts);
}

static enum kiln_status run_compiler(struct build *b, struct stage *stage,
                                     struct cache_flight *flight,
                                     struct kiln_image *image,
                                     struct kiln_error *err)
{
    struct compile_result result;
    enum kiln_status st = compile_run(&b->compiler, &b->request, &result, err);

    if (!st)
        st = from_result(&result, &b->request, image, err);
    b->kiln->log.size = 0;
    buffer_add(&b->kiln->log, result.log.bytes, result.log.size);
    if (!st)
        stage_text(stage, "%s (%s) to %s: %s", result.compiler,
                   b->compiler.file, result.target, result.rule);
    if (flight) {
        if (st)
            cache_abandon(flight);
        else
            store(b, flight, &result);
    }
    compile_result_fini(&result);
    return st;
}

static enum kiln_status through_cache(struct build *b, struct stage *stage,
                                      struct kiln_image *image,
                                      struct kiln_error *err)
{
    struct cache_entry entry = {0};
    struct cache_flight flight;
    char rule[160] = "";
    enum cache_result found =
        cache_begin(b->kiln->cache, &b->key, &entry, &flight);

    if (found == CACHE_MISS) {
        enum kiln_status st = run_compiler(b, stage, &flight, image, err);

        if (flight.reason != CACHE_REASON_DISABLED)
            stage->record.cache = KILN_CACHE_MISS;
        return st;
    }
    if (unpack(&entry, image, rule, sizeof rule)) {
        /* Whole, but not what this version writes: build it privately. */
        cache_entry_fini(&entry);
        cache_reject(b->kiln->cache, &b->key, "no image in the entry");
        return run_compiler(b, stage, NULL, image, err);
    }
    cache_entry_fini(&entry);
    stage->record.cache =
        found == CACHE_WAITED ? KILN_CACHE_WAIT : KILN_CACHE_HIT;
    stage_text(stage, "%s to %s: %s", image->compiler, image->target, rule);
    return KILN_OK;
}

static enum kiln_status prepare(struct build *b, const char *compiler,
                                struct kiln_error *err)
{
    enum kiln_status st = compiler_find(compiler, &b->compiler, err);

    if (!st)
        st = plan_make(&b->request, &b->compiler, &b->arena, &b->plan, err);
    if (st)
        return st;
    /* Without a cache too, for what no compiler should open. */
    st = headers_scan(&b->plan, &b->arena, &b->scan, err);
    if (st == KILN_E_FILE || (st && b->kiln->cache))
        return st;
    if (!b->kiln->cache)
        return KILN_OK;
    cache_key_init(&b->key, image_kind);
    key_fill(&b->key, &b->compiler, &b->plan, &b->scan);
    b->keyed = !b->scan.opaque;
    if (b->scan.opaque)
        log_line(LOG_INFO,
                 "%s: a header's name is made by a macro or an "
                 "option names files unseen; not cached",
                 b->request.name);
    return KILN_OK;
}

static enum kiln_status from_cuda(struct build *b, const char *compiler,
                                  struct kiln_image *image,
                                  struct kiln_error *err)
{
    struct stage stage;
    enum kiln_status st;

    stage_begin(&stage, &b->kiln->timeline, "key");
    st = prepare(b, compiler, err);
    if (!st && b->scan.count)
        stage_text(&stage, "%zu header look-ups, %llu bytes", b->scan.count,
                   (unsigned long long)b->scan.bytes);
    stage_end(&stage);
    if (st)
        return st;
    stage_begin(&stage, &b->kiln->timeline, "compile");
    st = b->keyed ? through_cache(b, &stage, image, err)
                  : run_compiler(b, &stage, NULL, image, err);
    stage_end(&stage);
    return st;
}

/* PTX is an image as it stands; its header is read so that an error names
 * the line here, not in the driver. */
static enum kiln_status from_ptx(struct build *b, struct kiln_image *image,
                                 struct kiln_error *err)
{
    const struct compile_request *r = &b->request;
    struct ptx_header header;
    enum kiln_status st = ptx_header_read(r->text, r->text_size, &header, err);

    if (st) {
        kiln_prefix(err, "%s", r->name);
        return st;
    }
    image->kind = KILN_IMAGE_PTX;
    image->target = kiln_alloc(16);
    if (!image->target || image_set_bytes(image, r->text, r->text_size))
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory", r->name);
    snprintf(image->target, 16, "sm_%u%.1s", header.sm % 10000,
             &header.variant);
    return KILN_OK;
}

static enum kiln_status check_text(const struct kiln_source *s,
                                   const char *name, struct kiln_error *err)
{
    struct image_guess guess;
    const char *nul;
    size_t blank = 0;

    if (!s->text && s->text_size)
        return kiln_fail(err, KILN_E_INVALID, "%s: no text", name);
    while (blank < s->text_size && strchr(" \t\r\n", s->text[blank]) &&
           s->text[blank])
        blank++;
    if (blank == s->text_size)
        return kiln_fail(err, KILN_E_SOURCE,
                         "%s: %zu bytes of nothing, CUDA or PTX "
                         "source expected",
                         name, s->text_size);
    nul = memchr(s->text, 0, s->text_size);
    image_guess(s->text, s->text_size, &guess);
    if (guess.look == IMAGE_HTML ||
        (nul && guess.look != IMAGE_UNKNOWN &&
         guess.look != IMAGE_CUDA_SOURCE && guess.look != IMAGE_PTX &&
         guess.look != IMAGE_TEXT))
        return kiln_fail(err, KILN_E_SOURCE,
                         "%s: it looks like %s; CUDA or PTX source expected",
                         name, guess.text);
    if (nul)
        return kiln_fail(err, KILN_E_SOURCE,
                         "%s: not text, a zero byte at offset %zu; "
                         "CUDA or PTX source expected",
                         name, (size_t)(nul - s->text));
    return KILN_OK;
}

static int is_ptx(const struct kiln_source *s, const char *name)
{
    size_t n = strlen(name);

    if (s->kind)
        return s->kind == KILN_SOURCE_PTX;
    return n > 4 && !strcmp(name + n - 4, ".ptx");
}

static void fill_request(struct compile_request *r, const struct kiln *k,
                         const struct kiln_source *s,
                         const struct kiln_compile_options *o)
{
    *r = (struct compile_request){
        .name = s->name ? s->name : "kernel.cu",
        .text = s->text,
        .text_size = s->text_size,
        .arch = o->arch,
        .standard = o->standard,
        .max_registers = o->max_registers,
        .names = o->names,
        .name_count = o->name_count,
        .defines = o->defines,
        .define_count = o->define_count,
        .folders = o->include_folders,
        .folder_count = o->include_folder_count,
        .extra = o->extra,
        .extra_count = o->extra_count,
        .timeout_ms = o->timeout_ms,
        .device = {.capability = k->device.major * 10 + k->device.minor,
                   .runs_sass = k->driver.kind == DRIVER_NVIDIA}};
}

enum kiln_status kiln_compile(struct kiln *kiln,
                              const struct kiln_source *source,
                              const struct kiln_compile_options *options,
                              struct kiln_image **out, struct kiln_error *err)
{
    struct kiln_source s;
    struct kiln_compile_options o;
    struct build b = {.kiln = kiln};
    struct kiln_image *image = kiln_zalloc(sizeof *image);
    enum kiln_status st;

    if (!image)
        return kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    OPTIONS_READ(s, source);
    OPTIONS_READ(o, options);
    fill_request(&b.request, kiln, &s, &o);
    image->name = kiln_strdup(b.request.name);
    st = image->name ? check_text(&s, b.request.name, err)
                     : kiln_fail(err, KILN_E_MEMORY, "compile: out of memory");
    if (st)
        goto out;
    st = is_ptx(&s, b.request.name) ? from_ptx(&b, image, err)
                                    : from_cuda(&b, o.compiler, image, err);
    if (st)
        goto out;
    *out = image;
    image = NULL;
out:
    cache_key_fini(&b.key);
    arena_fini(&b.arena);
    kiln_image_free(image);
    return st;
}
