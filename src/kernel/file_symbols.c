/* SPDX-License-Identifier: MIT
 *
 * What an entry defines: kernels with parameters and resources, variables.
 * Cubins tell all of it, PTX text what its heads say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compile/names.h"
#include "image/cubin.h"
#include "image/object_head.h"
#include "image/ptx_header.h"
#include "kernel/file.h"
#include "kernel/parameters.h"

struct kiln_symbols {
    struct buffer plain; /* while it is read */
    struct arena arena;
    struct kiln_symbol *symbols;
    struct kiln_parameter **parameters; /* of each symbol */
    size_t count;
    struct kiln_variable *variables;
    size_t variable_count;
    int toolkit;
    const char *damage; /* NULL: it is whole */
};

static const char *keep(struct kiln_symbols *s, const char *text)
{
    return arena_strndup(&s->arena, text, strlen(text));
}

static const char *shown(struct kiln_symbols *s, const char *symbol)
{
    char text[512];
    const char *copy;

    names_demangle(symbol, text, sizeof text);
    if (!strcmp(text, symbol))
        return symbol;
    copy = arena_strndup(&s->arena, text, strlen(text));
    return copy ? copy : symbol;
}

/* A kernel with `count` parameters, which the caller fills in; NULL: no
 * memory. symbol has what else is known of it. */
static struct kiln_parameter *add_symbol(struct kiln_symbols *s,
                                         const char *name, size_t count,
                                         const struct kiln_symbol *symbol)
{
    struct kiln_symbol *to = &s->symbols[s->count];
    struct kiln_parameter *list = arena_array(&s->arena, count, sizeof *list);

    if (!list || !name)
        return NULL;
    *to = *symbol;
    to->size = sizeof *to;
    to->name = name;
    to->text = shown(s, name);
    to->parameter_count = count;
    s->parameters[s->count++] = list;
    return list;
}

/* -1: no memory. */
static int add_variable(struct kiln_symbols *s, const char *name,
                        uint64_t bytes, int constant)
{
    const char *copy = keep(s, name);

    if (!copy)
        return -1;
    s->variables[s->variable_count++] =
        (struct kiln_variable){.size = sizeof *s->variables,
                               .name = copy,
                               .bytes = bytes,
                               .constant = constant};
    return 0;
}

static int room(struct kiln_symbols *s, size_t kernels, size_t variables)
{
    s->symbols = arena_array(&s->arena, kernels, sizeof *s->symbols);
    s->parameters = arena_array(&s->arena, kernels, sizeof *s->parameters);
    s->variables = arena_array(&s->arena, variables, sizeof *s->variables);
    return s->symbols && s->parameters && s->variables;
}

static int add_kernel(struct kiln_symbols *s, const struct cubin_kernel *k)
{
    uint64_t fixed = (uint64_t)k->reqntid[0] * (k->reqntid[1] | !k->reqntid[1]);
    struct kiln_parameter *list;
    struct kiln_symbol symbol;

    fixed *= k->reqntid[2] | !k->reqntid[2];
    symbol = (struct kiln_symbol){
        .parameter_bytes = (int)k->param_bytes,
        .registers = k->registers,
        .static_shared = (int)(k->static_shared & INT32_MAX),
        .local_bytes = (int)(k->local_bytes & INT32_MAX),
        .max_threads = (int)((fixed ? fixed : k->max_threads) & INT32_MAX)};
    list = add_symbol(s, keep(s, k->name), k->param_count, &symbol);
    for (uint32_t i = 0; list && i < k->param_count; i++)
        list[i] =
            (struct kiln_parameter){k->params[i].offset, k->params[i].size,
                                    k->params[i].pointer == CUBIN_YES  ? 1
                                    : k->params[i].pointer == CUBIN_NO ? 0
                                                                       : -1};
    return list ? 0 : -1;
}

/* What a load would refuse is listed as far as it can be read. */
static void note_damage(struct kiln_symbols *s, const struct kiln_error *what)
{
    const char *text = keep(s, what->text);

    s->damage = text ? text : "damaged";
}

static enum kiln_status from_cubin(struct kiln_symbols *s,
                                   struct kiln_error *err)
{
    const unsigned char *bytes = s->plain.bytes;
    size_t size = s->plain.size;
    struct kiln_error what = {0};
    struct cubin cubin;
    enum kiln_status st;
    int bad;

    if (cubin_check(bytes, size, &s->arena, &cubin, &what)) {
        st = cubin_read(bytes, size, &s->arena, &cubin, err);
        if (st)
            return st;
        note_damage(s, &what);
    }
    s->toolkit = (int)cubin.toolkit * 10;
    bad = !room(s, cubin.kernel_count, cubin.variable_count);
    for (size_t i = 0; !bad && i < cubin.kernel_count; i++)
        bad = add_kernel(s, &cubin.kernels[i]);
    for (size_t i = 0; !bad && i < cubin.variable_count; i++)
        bad = add_variable(s, cubin.variables[i].name, cubin.variables[i].size,
                           cubin.variables[i].constant);
    return bad ? kiln_fail(err, KILN_E_MEMORY, "symbols: out of memory")
               : KILN_OK;
}

static int add_object_kernel(struct kiln_symbols *s,
                             const struct object_head_kernel *k)
{
    const struct kiln_symbol symbol = {
        .parameter_bytes = (int)(k->param_bytes & INT32_MAX),
        .registers = -1,
        .static_shared = (int)(k->static_shared & INT32_MAX),
        .local_bytes = (int)(k->local_bytes & INT32_MAX),
        .max_threads = (int)(k->max_threads & INT32_MAX)};
    struct kiln_parameter *list =
        add_symbol(s, keep(s, k->name), k->param_count, &symbol);

    for (uint32_t i = 0; list && i < k->param_count; i++)
        list[i] = (struct kiln_parameter){
            k->params[i].offset, k->params[i].size, k->params[i].pointer};
    return list ? 0 : -1;
}

static enum kiln_status from_object(struct kiln_symbols *s,
                                    struct kiln_error *err)
{
    struct object_head head;
    enum kiln_status st =
        object_head_read(s->plain.bytes, s->plain.size, &s->arena, &head, err);
    int bad;

    if (st)
        return st;
    bad = !room(s, head.kernel_count, head.variable_count);
    for (uint32_t i = 0; !bad && i < head.kernel_count; i++)
        bad = add_object_kernel(s, &head.kernels[i]);
    for (uint32_t i = 0; !bad && i < head.variable_count; i++)
        bad = add_variable(s, head.variables[i].name, head.variables[i].size,
                           head.variables[i].constant);
    return bad ? kiln_fail(err, KILN_E_MEMORY, "symbols: out of memory")
               : KILN_OK;
}

/* The number of threads behind .maxntid or .reqntid: up to three numbers. */
static int threads(const char *p)
{
    unsigned long n = 1;

    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);

        if (end == p || !v || v > 1 << 20)
            break;
        n *= v;
        for (p = end; *p == ' ' || *p == '\t'; p++)
            ;
        if (*p != ',')
            return (int)(n & INT32_MAX);
        p++;
    }
    return n > 1 ? (int)(n & INT32_MAX) : 0;
}

/* As in a cubin: compilers come to some thousands. */
enum { ENTRIES_MAX = 1 << 16 };

/* What stands between an entry's name and its body. */
static int limit_of(const char *head)
{
    size_t n = strcspn(head, "{;");

    for (const char *p = head; (p = memchr(p, '.', n - (size_t)(p - head)));
         p++)
        if (!strncmp(p, ".maxntid", 8) || !strncmp(p, ".reqntid", 8))
            return threads(p + 8);
    return 0;
}

/* head: the text from ".entry" on, up to the next of them. */
static int add_entry(struct kiln_symbols *s, const struct ptx_entry *entry,
                     const char *head)
{
    struct kiln_symbol symbol = {.registers = -1,
                                 .static_shared = -1,
                                 .local_bytes = -1,
                                 .max_threads = limit_of(head)};
    struct kiln_parameter *list = NULL, *to;
    size_t count = 0;
    const char *name = arena_strndup(&s->arena, entry->name, entry->length);

    if (!name)
        return -1;
    parameters_from_ptx(head, 0, name, &list, &count, NULL);
    if (count)
        symbol.parameter_bytes =
            (int)((list[count - 1].offset + list[count - 1].size) & INT32_MAX);
    to = add_symbol(s, name, count, &symbol);
    if (to && count)
        memcpy(to, list, count * sizeof *list);
    kiln_release(list);
    return to ? 0 : -1;
}

static int more_room(struct kiln_symbols *s, size_t caps[2])
{
    struct kiln_symbol *symbols =
        arena_grow(&s->arena, s->symbols, s->count, &caps[0], sizeof *symbols);
    struct kiln_parameter **parameters = arena_grow(
        &s->arena, s->parameters, s->count, &caps[1], sizeof *parameters);

    s->symbols = symbols ? symbols : s->symbols;
    s->parameters = parameters ? parameters : s->parameters;
    return symbols && parameters;
}

/* Going through all of a text takes a fifth of the time that listing a large
 * library takes: of one that is larger than what people look at, that a body
 * ends at its end is enough. What is cut short seldom ends so. */
enum { TEXT_CHECKED = 64 << 10 };

static int ends_well(const struct buffer *plain)
{
    size_t n = plain->size;

    while (n && strchr(" \t\r\n", plain->bytes[n - 1]))
        n--;
    return plain->size > TEXT_CHECKED && n && plain->bytes[n - 1] == '}';
}

static enum kiln_status not_ptx(enum kiln_status st, const struct buffer *plain,
                                struct kiln_error *err)
{
    struct image_guess guess;

    image_guess(plain->bytes, plain->size, &guess);
    if (guess.look != IMAGE_PTX && guess.look != IMAGE_TEXT)
        kiln_prefix(err, "not PTX but %s", guess.text);
    return st;
}

/* Each entry is read in the text up to the next one, which a NUL is put
 * before meanwhile: a list without an end must not be followed to the end of
 * the text for each. */
static enum kiln_status from_ptx(struct kiln_symbols *s, struct kiln_error *err)
{
    struct ptx_entries list = ptx_entries(s->plain.bytes, s->plain.size);
    struct ptx_entry entry, next = {0};
    struct ptx_header header;
    struct kiln_error what = {0};
    size_t caps[2] = {0, 0};
    int bad = 0, more;
    enum kiln_status st =
        ptx_header_read(s->plain.bytes, s->plain.size, &header, err);

    if (st)
        return not_ptx(st, &s->plain, err);
    if (!ends_well(&s->plain) &&
        ptx_text_check(s->plain.bytes, s->plain.size, &what))
        note_damage(s, &what);
    st = ptx_entries_next(&list, &entry, &more, err);
    while (!st && !bad && more) {
        unsigned char *end = s->plain.bytes + s->plain.size, kept;

        if (s->count == ENTRIES_MAX)
            return kiln_fail(err, KILN_E_FORMAT, "PTX: more than %d entries",
                             ENTRIES_MAX);
        st = ptx_entries_next(&list, &next, &more, err);
        if (st)
            break;
        if (more)
            end = s->plain.bytes + next.offset;
        kept = *end;
        *end = 0;
        bad = !more_room(s, caps) ||
              add_entry(s, &entry, (const char *)s->plain.bytes + entry.offset);
        *end = kept;
        entry = next;
    }
    return bad ? kiln_fail(err, KILN_E_MEMORY, "symbols: out of memory") : st;
}

enum kiln_status kiln_symbols_read(const struct kiln_file *file, size_t entry,
                                   struct kiln_symbols **out,
                                   struct kiln_error *err)
{
    struct kiln_symbols *s;
    enum kiln_status st;

    if (entry >= file->entry_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: entry %zu of %zu",
                         file->name, entry, file->entry_count);
    s = kiln_zalloc(sizeof *s);
    if (!s)
        return kiln_fail(err, KILN_E_MEMORY, "symbols: out of memory");
    switch (file_entry(file, entry)->kind) {
    case KILN_ENTRY_CUBIN:
        st = file_unpack(file, entry, 0, &s->plain, err);
        st = st ? st : from_cubin(s, err);
        break;
    case KILN_ENTRY_PTX:
        st = file_unpack(file, entry, 0, &s->plain, err);
        st = st ? st : from_ptx(s, err);
        break;
    case KILN_ENTRY_OBJECT:
        st = file_unpack(file, entry, 0, &s->plain, err);
        st = st ? st : from_object(s, err);
        break;
    default:
        st = kiln_fail(err, KILN_E_NOT_SUPPORTED,
                       "entry %u: the symbols of %s are not read",
                       file_entry(file, entry)->index,
                       fatbin_kind_name(file_entry(file, entry)->kind));
        break;
    }
    buffer_fini(&s->plain);
    if (st) {
        kiln_symbols_free(s);
        return st;
    }
    *out = s;
    return KILN_OK;
}

size_t kiln_symbols_count(const struct kiln_symbols *symbols)
{
    return symbols->count;
}

enum kiln_status kiln_symbols_get(const struct kiln_symbols *symbols,
                                  size_t index, struct kiln_symbol *symbol,
                                  struct kiln_error *err)
{
    if (index >= symbols->count)
        return kiln_fail(err, KILN_E_INVALID, "symbol %zu of %zu", index,
                         symbols->count);
    FILE_GIVE(symbol, symbols->symbols[index]);
    return KILN_OK;
}

enum kiln_status kiln_symbols_parameter(const struct kiln_symbols *symbols,
                                        size_t index, size_t parameter,
                                        struct kiln_parameter *out,
                                        struct kiln_error *err)
{
    if (index >= symbols->count ||
        parameter >= symbols->symbols[index].parameter_count)
        return kiln_fail(err, KILN_E_INVALID, "symbol %zu: no parameter %zu",
                         index, parameter);
    *out = symbols->parameters[index][parameter];
    return KILN_OK;
}

size_t kiln_symbols_variable_count(const struct kiln_symbols *symbols)
{
    return symbols->variable_count;
}

enum kiln_status kiln_symbols_variable(const struct kiln_symbols *symbols,
                                       size_t index,
                                       struct kiln_variable *variable,
                                       struct kiln_error *err)
{
    if (index >= symbols->variable_count)
        return kiln_fail(err, KILN_E_INVALID, "variable %zu of %zu", index,
                         symbols->variable_count);
    FILE_GIVE(variable, symbols->variables[index]);
    return KILN_OK;
}

int kiln_symbols_toolkit(const struct kiln_symbols *symbols)
{
    return symbols->toolkit;
}

const char *kiln_symbols_damage(const struct kiln_symbols *symbols)
{
    return symbols->damage ? symbols->damage : "";
}

void kiln_symbols_free(struct kiln_symbols *symbols)
{
    if (!symbols)
        return;
    arena_fini(&symbols->arena);
    kiln_release(symbols);
}
