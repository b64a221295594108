/* SPDX-License-Identifier: MIT
 *
 * ptx_coverage: which share of the PTX in files and folders the parser and
 * the code generator take, and what is missing, by frequency.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "coverage.h"
#include "plan.h"

static const char help[] =
    "usage: ptx_coverage [option...] FILE|FOLDER...\n"
    "\n"
    "Reads all PTX in libraries, objects, archives, fat binaries and text.\n"
    "Each module is parsed, printed and parsed again; each kernel goes "
    "through\n"
    "the code generator and LLVM's verifier.\n"
    "\n"
    "  --threads N     default: one a core\n"
    "  --objects SHARE kernels in ten thousand that LLVM makes an object of,\n"
    "                  chosen by their content and the seed; default 20\n"
    "  --modules SHARE modules in ten thousand that are read; default all\n"
    "  --seed N        of both shares, default 1\n"
    "  --parse         the parser only\n"
    "  --top N         rows of each table; default 40\n"
    "  --pack FILE     write kernels for run_kernels to FILE instead\n"
    "  --each N        so many kernels of each library; default 150\n"
    "  --target N      written for no device newer than this; default 90\n"
    "\n"
    "Exit status 1 when the parser takes less than all, or the code generator\n"
    "less than 95 % of the modules, or an object cannot be made.\n";

static int option(int argc, char **argv, int *i, const char *name,
                  unsigned long long *value)
{
    if (strcmp(argv[*i], name) || *i + 1 >= argc)
        return 0;
    *value = strtoull(argv[++*i], NULL, 0);
    return 1;
}

static int read_arguments(struct coverage *c, int argc, char **argv,
                          unsigned long long *top)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned long long threads = cores > 0 ? (unsigned long long)cores : 1;
    unsigned long long objects = 20, seed = 1, modules = 10000;
    unsigned long long each = 150, target = 90;

    c->options.code = 1;
    for (int i = 1; i < argc; i++) {
        if (option(argc, argv, &i, "--threads", &threads) ||
            option(argc, argv, &i, "--objects", &objects) ||
            option(argc, argv, &i, "--seed", &seed) ||
            option(argc, argv, &i, "--modules", &modules) ||
            option(argc, argv, &i, "--each", &each) ||
            option(argc, argv, &i, "--target", &target) ||
            option(argc, argv, &i, "--top", top))
            continue;
        if (strcmp(argv[i], "--parse") == 0) {
            c->options.code = 0;
        } else if (strcmp(argv[i], "--pack") == 0 && i + 1 < argc) {
            c->options.pack = argv[++i];
        } else if (argv[i][0] == '-') {
            fputs(help, stderr);
            return -1;
        } else if (sources_add(&c->sources, argv[i])) {
            fprintf(stderr, "ptx_coverage: %s: cannot be read\n", argv[i]);
            return -1;
        }
    }
    c->options.threads = threads ? (unsigned)threads : 1;
    c->options.objects = (unsigned)objects;
    c->options.seed = seed;
    c->options.each = (unsigned)each;
    c->options.target = (uint32_t)target;
    sources_choose(&c->sources, (unsigned)modules, seed);
    return 0;
}

static void share(const char *what, uint64_t part, uint64_t whole)
{
    printf("%-44s %12llu of %12llu  %7.3f %%\n", what, (unsigned long long)part,
           (unsigned long long)whole,
           whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void report_files(const struct coverage *c)
{
    printf("\n%-40s %8s %8s %8s %8s %8s %12s\n", "file", "modules", "parsed",
           "same", "to link", "code", "instructions");
    for (size_t i = 0; i < c->sources.file_count; i++) {
        const struct totals *t = &c->by_file[i];
        const char *name = kiln_file_name(c->sources.files[i]);
        const char *slash = strrchr(name, '/');

        printf("%-40s %8llu %8llu %8llu %8llu %8llu %12llu\n",
               slash ? slash + 1 : name, (unsigned long long)t->modules,
               (unsigned long long)t->parsed, (unsigned long long)t->same,
               (unsigned long long)t->to_link, (unsigned long long)t->generated,
               (unsigned long long)t->insns);
    }
}

static int report(struct coverage *c, size_t top)
{
    const struct totals *t = &c->totals;
    int bad = t->parsed < t->modules || t->same < t->modules;

    share("modules parsed and checked", t->parsed, t->modules);
    share("modules printed and parsed to the same again", t->same, t->modules);
    share("instructions parsed", t->insns_parsed, t->insns);
    if (c->options.code) {
        printf("%-44s %12llu\n", "modules to be linked with others first",
               (unsigned long long)t->to_link);
        share("of the others with code for every kernel", t->generated,
              t->modules - t->to_link);
        share("kernels with code", t->kernels_taken, t->kernels);
        share("different kernels with code", t->bodies_taken, t->bodies);
        printf("%-44s %12llu\n", "instructions refused, in different kernels",
               (unsigned long long)t->insns_refused);
        share("kernels of the sample to an object", t->objects_good,
              t->objects);
        bad |= t->generated * 100 < (t->modules - t->to_link) * 95 ||
               t->objects_good < t->objects;
    }
    report_files(c);
    table_print(&c->parser, "not parsed", top);
    table_print(&c->refused, "instructions without code", top);
    table_print(&c->failed, "kernels without code for another reason", top);
    table_print(&c->no_object, "kernels without an object", top);
    table_print(&c->used, "instructions in all modules", top);
    return bad;
}

int main(int argc, char **argv)
{
    static struct coverage c;
    const uint64_t start = clock_ns();
    unsigned long long top = 40;
    uint64_t listed;
    int bad;

    pthread_mutex_init(&c.lock, NULL);
    seen_init(&c.sources.texts);
    seen_init(&c.kernels);
    table_init(&c.parser);
    table_init(&c.refused);
    table_init(&c.failed);
    table_init(&c.used);
    table_init(&c.no_object);
    bad = read_arguments(&c, argc, argv, &top);
    if (!bad && !c.sources.count) {
        fputs("ptx_coverage: no PTX in these\n", stderr);
        bad = 1;
    }
    if (!bad) {
        listed = clock_ns();
        printf("%zu files, %llu PTX entries, %.1f MB; %zu different modules\n",
               c.sources.file_count, (unsigned long long)c.sources.entries,
               (double)c.sources.bytes / 1e6, c.sources.count);
        bad = c.options.pack ? choose_kernels(&c.sources, c.options.each,
                                              c.options.target, c.options.pack)
                             : modules_run(&c);
        printf("%.0f s to list, %.0f s to go through, %u threads\n",
               (double)(listed - start) / 1e9,
               (double)(clock_ns() - listed) / 1e9, c.options.threads);
    }
    if (!bad && !c.options.pack)
        bad = report(&c, top);
    sources_fini(&c.sources);
    free(c.by_file);
    seen_fini(&c.kernels);
    table_fini(&c.parser);
    table_fini(&c.refused);
    table_fini(&c.failed);
    table_fini(&c.used);
    table_fini(&c.no_object);
    return bad != 0;
}
