/* SPDX-License-Identifier: MIT
 *
 * kiln inspect: what is in a file.
 */
#include "tool/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/tool.h"

const char inspect_help[] =
    "usage: kiln inspect FILE... [--kernels] [--summary] [--json]\n"
    "                            [--extract FOLDER]\n"
    "\n"
    "Lists the device code in each FILE: a cubin, PTX, a fat binary, or a\n"
    "program, library, object or archive with fat binaries in it.\n"
    "\n"
    "  --kernels          what each entry defines: kernels with parameters\n"
    "                     (offset+size; * a pointer, ? perhaps one),\n"
    "                     registers, memory, limits; variables\n"
    "  --summary          only the counts by kind, packing and target\n"
    "  --extract FOLDER   write every entry, unpacked, as\n"
    "                     FOLDER/FILE.CONTAINER.ENTRY.TARGET.KIND\n"
    "  --json             one JSON object on standard output\n"
    "\n"
    "Exit status 1 when a FILE holds no device code or some of it is "
    "damaged.\n";

struct inspect {
    int kernels, summary, json;
    const char *extract;
    struct json out;
    int bad;
    size_t unread; /* entries of a file whose kernels could not be read */
};

void entry_target(const struct kiln_entry *e, char *text, size_t size)
{
    if (e->kind == KILN_ENTRY_OBJECT)
        snprintf(text, size, "cpu");
    else
        snprintf(text, size, "%s_%u%.1s",
                 e->kind == KILN_ENTRY_PTX ? "compute" : "sm", e->sm,
                 &e->variant);
}

void entry_version(const struct kiln_entry *e, char *text, size_t size)
{
    if (e->kind == KILN_ENTRY_CUBIN)
        snprintf(text, size, "ABI %u", e->minor);
    else
        snprintf(text, size, "%u.%u", e->major, e->minor);
}

static void print_entry(const struct kiln_entry *e)
{
    char target[32], version[32];

    entry_target(e, target, sizeof target);
    entry_version(e, version, sizeof version);
    printf("    %3u  %-7s %-13s %-6s %9llu -> %-9llu %-7s 0x%llx", e->index,
           e->kind_name, target, version, (unsigned long long)e->stored,
           (unsigned long long)e->plain, e->packing,
           (unsigned long long)e->flags);
    if (*e->options) {
        fputs("  options \"", stdout);
        put_plain(stdout, e->options);
        fputs("\"", stdout);
    }
    if (*e->note) {
        fputs("  note \"", stdout);
        put_plain(stdout, e->note);
        fputs("\"", stdout);
    }
    fputc('\n', stdout);
}

static void entry_json(const struct kiln_entry *e,
                       const struct entry_symbols *symbols, struct json *j)
{
    char target[32], version[32];

    entry_target(e, target, sizeof target);
    entry_version(e, version, sizeof version);
    json_begin(j, NULL, '{');
    json_number(j, "index", e->index);
    json_text(j, "kind", e->kind_name);
    json_number(j, "kind_number", e->kind);
    json_text(j, "target", target);
    json_text(j, "version", version);
    json_number(j, "offset", e->offset);
    json_number(j, "stored", e->stored);
    json_number(j, "plain", e->plain);
    json_text(j, "packing", e->packing);
    json_number(j, "flags", e->flags);
    json_text(j, "options", e->options);
    json_text(j, "note", e->note);
    if (symbols)
        symbols_json(symbols, j);
    json_end(j, '}');
}

static void print_container(const struct kiln_container *c, size_t index)
{
    if (c->single)
        printf("  an image by itself");
    else
        printf("  container %zu at 0x%llx, %llu bytes, %zu %s", index,
               (unsigned long long)c->offset, (unsigned long long)c->bytes,
               c->count, c->count == 1 ? "entry" : "entries");
    if (*c->section) {
        fputs(", section ", stdout);
        put_plain(stdout, c->section);
    }
    if (*c->member) {
        fputs(", member ", stdout);
        put_plain(stdout, c->member);
    }
    /* Version 1 wrappers, one for each container, say nothing more. */
    if (c->wrapper == 2 && c->prelinked < 0)
        fputs(", a link whose parts the program names at its start", stdout);
    else if (c->wrapper == 2)
        printf(", a link of %ld %s", c->prelinked,
               c->prelinked == 1 ? "container" : "containers");
    if (c->prelinked_of >= 0)
        printf(", part of the link in container %ld", c->prelinked_of);
    fputc('\n', stdout);
}

static void container_json(const struct kiln_container *c, struct json *j)
{
    json_begin(j, NULL, '{');
    json_number(j, "offset", c->offset);
    json_number(j, "bytes", c->bytes);
    json_text(j, "section", c->section);
    json_text(j, "member", c->member);
    json_text(j, "damage", c->damage);
    json_number(j, "wrapper", (uint64_t)c->wrapper);
    json_signed(j, "prelinked", c->prelinked);
    json_signed(j, "prelinked_of", c->prelinked_of);
    json_begin(j, "entries", '[');
}

/* Counts of entries that are alike. */
struct alike {
    unsigned kind, sm;
    const char *kind_name;
    const char *packing;
    char variant;
    char target[32];
    size_t count;
    uint64_t plain;
};

/* By what tells them apart, in no order that anybody would look for. */
static int by_key(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->sm != y->sm)
        return x->sm < y->sm ? -1 : 1;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    return strcmp(x->packing, y->packing);
}

static int by_name(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;
    int order = strcmp(x->kind_name, y->kind_name);

    order = order ? order : strcmp(x->packing, y->packing);
    order = order ? order : strverscmp(x->target, y->target);
    return order ? order : by_key(a, b);
}

/* Sorts and joins those that are alike; their number. */
static size_t join(struct alike *list, size_t count)
{
    size_t n = 0;

    qsort(list, count, sizeof *list, by_key);
    for (size_t i = 1; i < count; i++) {
        if (by_key(&list[n], &list[i])) {
            list[++n] = list[i];
            continue;
        }
        list[n].count++;
        list[n].plain += list[i].plain;
    }
    return count ? n + 1 : 0;
}

/* A fat binary whose size says less than there is may have lost entries. */
static uint64_t rest_of(const struct kiln_file *file)
{
    struct kiln_container c = {.size = sizeof c};
    uint64_t rest = kiln_file_size(file);

    if (strcmp(kiln_file_looks(file), "a fat binary"))
        return 0;
    for (size_t i = 0; i < kiln_file_container_count(file); i++) {
        kiln_file_container(file, i, &c, NULL);
        if (c.bytes > rest)
            return 0;
        rest -= c.bytes;
    }
    return rest;
}

static void print_rest(const struct kiln_file *file)
{
    uint64_t rest = rest_of(file);

    if (rest)
        printf("  %llu %s of the file in no container\n",
               (unsigned long long)rest, rest == 1 ? "byte" : "bytes");
}

static void print_summary(const struct kiln_file *file)
{
    size_t count = kiln_file_entry_count(file), n;
    struct alike *list = calloc(count + 1, sizeof *list);

    if (!list)
        return;
    for (size_t i = 0; i < count; i++) {
        struct kiln_entry e = {.size = sizeof e};

        kiln_file_entry(file, i, &e, NULL);
        /* Kinds that have no name are one. */
        list[i] =
            (struct alike){.kind = strcmp(e.kind_name, "unknown") ? e.kind : 0,
                           .sm = e.sm,
                           .kind_name = e.kind_name,
                           .packing = e.packing,
                           .variant = e.variant,
                           .count = 1,
                           .plain = e.plain};
    }
    n = join(list, count);
    for (size_t i = 0; i < n; i++) {
        const struct kiln_entry e = {
            .kind = list[i].kind, .sm = list[i].sm, .variant = list[i].variant};

        entry_target(&e, list[i].target, sizeof list[i].target);
    }
    qsort(list, n, sizeof *list, by_name);
    printf("  %zu %s, %zu %s\n", kiln_file_container_count(file),
           kiln_file_container_count(file) == 1 ? "container" : "containers",
           count, count == 1 ? "entry" : "entries");
    for (size_t i = 0; i < n; i++)
        printf("    %6zu  %-7s %-7s %-13s %12llu bytes\n", list[i].count,
               list[i].kind_name, list[i].packing, list[i].target,
               (unsigned long long)list[i].plain);
    free(list);
    print_rest(file);
}

/* Sentences of why kernels of an entry are not listed or would not be loaded;
 * more nobody reads. */
enum { UNREAD_SHOWN = 1 << 10 };

/* What of the entry's kernels is to be shown: NULL for nothing. */
static const struct entry_symbols *note_unread(struct inspect *in,
                                               const struct kiln_file *file,
                                               const struct kiln_entry *e,
                                               const struct entry_symbols *of)
{
    const char *why;

    if (!of || of->error.status == KILN_E_NOT_SUPPORTED)
        return of;
    why = of->symbols ? kiln_symbols_damage(of->symbols) : of->error.text;
    if (!*why)
        return of;
    in->bad = 1;
    if (in->summary && !in->unread)
        print_plain(stderr, "kiln inspect: %s: entry %u: %s\n",
                    kiln_file_name(file), e->index, why);
    return ++in->unread > UNREAD_SHOWN ? NULL : of;
}

static void list_entries(struct inspect *in, const struct kiln_file *file,
                         const struct kiln_container *c,
                         struct symbol_stream *stream)
{
    for (size_t i = c->first; i < c->first + c->count; i++) {
        const struct entry_symbols *symbols =
            stream ? symbols_next(stream) : NULL;
        struct kiln_entry e = {.size = sizeof e};

        kiln_file_entry(file, i, &e, NULL);
        symbols = note_unread(in, file, &e, symbols);
        if (in->json) {
            entry_json(&e, symbols, &in->out);
        } else if (!in->summary) {
            print_entry(&e);
            if (symbols)
                symbols_print(symbols, stdout);
        }
    }
}

static void complain_of_damage(const struct kiln_file *file,
                               const struct kiln_container *c, size_t index)
{
    if (c->single)
        print_plain(stderr, "kiln inspect: %s: %s%s%s\n", kiln_file_name(file),
                    c->member, *c->member ? ": " : "", c->damage);
    else
        print_plain(stderr, "kiln inspect: %s: container %zu: %s\n",
                    kiln_file_name(file), index, c->damage);
}

static void list_file(struct inspect *in, const struct kiln_file *file,
                      struct symbol_stream *stream)
{
    struct kiln_container c = {.size = sizeof c};

    if (in->json)
        json_begin(&in->out, "containers", '[');
    for (size_t i = 0; i < kiln_file_container_count(file); i++) {
        kiln_file_container(file, i, &c, NULL);
        if (in->json)
            container_json(&c, &in->out);
        else if (!in->summary)
            print_container(&c, i);
        list_entries(in, file, &c, stream);
        if (in->json) {
            json_end(&in->out, ']');
            json_end(&in->out, '}');
        }
        if (*c.damage) {
            in->bad = 1;
            complain_of_damage(file, &c, i);
        }
    }
    if (in->json)
        json_end(&in->out, ']');
}

/* What it says wrongly of itself. */
static void list_notes(struct inspect *in, const struct kiln_file *file)
{
    size_t count = kiln_file_note_count(file);

    if (in->json)
        json_begin(&in->out, "notes", '[');
    for (size_t i = 0; i < count; i++) {
        if (in->json)
            json_text(&in->out, NULL, kiln_file_note(file, i));
        print_plain(stderr, "kiln inspect: %s: %s; searched all the same\n",
                    kiln_file_name(file), kiln_file_note(file, i));
        in->bad = 1;
    }
    if (in->json)
        json_end(&in->out, ']');
}

static void inspect_file(struct inspect *in, const char *path)
{
    struct symbol_stream *stream = NULL;
    struct kiln_file *file;
    struct kiln_error err;
    int bad = in->bad;

    if (kiln_file_open(path, &file, &err)) {
        print_plain(stderr, "kiln inspect: %s\n", err.text);
        if (in->json) {
            json_begin(&in->out, NULL, '{');
            json_text(&in->out, "file", path);
            json_text(&in->out, "error", err.text);
            json_end(&in->out, '}');
        }
        in->bad = 1;
        return;
    }
    if (in->kernels) {
        stream = symbols_start(file);
        if (!stream) {
            print_plain(stderr, "kiln inspect: %s: no memory for its kernels\n",
                        path);
            bad = 1;
        }
    }
    if (in->json) {
        json_begin(&in->out, NULL, '{');
        json_text(&in->out, "file", path);
        json_text(&in->out, "looks", kiln_file_looks(file));
        json_number(&in->out, "bytes", kiln_file_size(file));
    } else {
        print_plain(stdout, "%s: %s, %llu bytes\n", path, kiln_file_looks(file),
                    (unsigned long long)kiln_file_size(file));
    }
    in->bad = 0;
    in->unread = 0;
    list_file(in, file, stream);
    if (!kiln_file_entry_count(file) && !in->bad) {
        print_plain(stderr, "kiln inspect: %s: no entry in its containers\n",
                    path);
        in->bad = 1;
    }
    if (in->unread > (in->summary ? 1 : UNREAD_SHOWN))
        print_plain(stderr,
                    "kiln inspect: %s: %zu entries that are damaged or of "
                    "which kernels are not listed\n",
                    path, in->unread);
    in->bad |= bad;
    list_notes(in, file);
    if (in->json) {
        if (rest_of(file))
            json_number(&in->out, "in_no_container", rest_of(file));
        json_end(&in->out, '}');
    } else {
        print_summary(file);
    }
    if (in->extract && extract_file(file, in->extract))
        in->bad = 1;
    symbols_end(stream);
    kiln_file_close(file);
}

/* Options are taken out of argv; the files stay, *count of them. */
static int parse(int argc, char **argv, struct inspect *in, int *count)
{
    int files = 0, literal = 0;

    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];

        if (literal || *a != '-' || !a[1])
            argv[files++] = argv[i];
        else if (!strcmp(a, "--"))
            literal = 1;
        else if (!strcmp(a, "--kernels"))
            in->kernels = 1;
        else if (!strcmp(a, "--summary"))
            in->summary = 1;
        else if (!strcmp(a, "--json"))
            in->json = 1;
        else if (!strcmp(a, "--extract") && i + 1 < argc)
            in->extract = argv[++i];
        else if (!strncmp(a, "--extract=", 10))
            in->extract = a + 10;
        else
            return usage("inspect", "%s: %s", a,
                         strcmp(a, "--extract") ? "no such option"
                                                : "a folder expected");
    }
    if (!files)
        return usage("inspect", "FILE expected");
    *count = files;
    return 0;
}

int inspect_main(int argc, char **argv)
{
    struct inspect in = {.out.to = stdout};
    int files = 0, rc = parse(argc, argv, &in, &files);

    if (rc)
        return rc;
    if (in.extract && mkdir(in.extract, 0777) && errno != EEXIST) {
        print_plain(stderr, "kiln inspect: %s: %s\n", in.extract,
                    strerror(errno));
        return EXIT_FAILED;
    }
    for (int i = 0; in.extract && i < files; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(base_name(argv[k]), base_name(argv[i])))
                return usage("inspect",
                             "--extract: %s and %s would be written under one "
                             "name; give them one at a time",
                             argv[k], argv[i]);
    if (in.json) {
        json_begin(&in.out, NULL, '{');
        json_begin(&in.out, "files", '[');
    }
    for (int i = 0; i < files; i++)
        inspect_file(&in, argv[i]);
    if (in.json)
        puts("]}");
    return in.bad ? EXIT_FAILED : EXIT_DONE;
}
