/* SPDX-License-Identifier: MIT
 *
 * Makes mutants, hands each to the code generator in a process of its own
 * kin, and counts what came of them.
 *
 *     mutants [OPTION VALUE]... FILE|FOLDER...
 *     --first N --count N   the mutants of these numbers; a number is always
 *                           the same mutant of the same seeds
 *     --workers N           processes at once
 *     --seconds N           stop after so long
 *     --keep FOLDER         where findings go, as NUMBER.ptx
 *     --run DRIVER          the CPU driver, by which one in eight is run
 *     --cpu N               seconds of processor time that one may take
 *     --print N             print the mutant of that number and end
 *
 * Exit status 1 when there was a finding: a crash, a hang, too much memory,
 * an internal error, IR that LLVM's verifier refuses, an object that does not
 * load, or a refusal that names no line.
 */
#include "workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_options(struct options *o, int argc, char **argv, int *first)
{
    struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {{"--first", &o->first},     {"--count", &o->count},
                   {"--workers", &o->workers}, {"--seconds", &o->seconds},
                   {"--cpu", &o->cpu_seconds}, {"--print", &o->print}};
    int i;

    for (i = 1; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        size_t k = 0;

        if (!strcmp(argv[i], "--keep") || !strcmp(argv[i], "--run")) {
            *(argv[i][2] == 'k' ? &o->keep : &o->driver) = argv[i + 1];
            continue;
        }
        while (k < sizeof numbers / sizeof *numbers &&
               strcmp(argv[i], numbers[k].name))
            k++;
        if (k == sizeof numbers / sizeof *numbers)
            return -1;
        *numbers[k].value = strtoull(argv[i + 1], NULL, 10);
    }
    *first = i;
    return i < argc && o->workers && o->workers <= MOST_WORKERS ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct options o = {
        .count = 100, .workers = 1, .cpu_seconds = 20, .print = UINT64_MAX};
    struct seeds seeds = {0};
    int i, bad = 0;

    if (parse_options(&o, argc, argv, &i)) {
        fputs("usage: mutants [OPTION VALUE]... FILE|FOLDER...\n", stderr);
        return 2;
    }
    for (; i < argc && !bad; i++) {
        bad = seeds_add(&seeds, argv[i]);
        if (bad)
            fprintf(stderr, "mutants: %s cannot be read\n", argv[i]);
    }
    if (!bad && !seeds.count) {
        fputs("mutants: no kernel in what was named\n", stderr);
        bad = 1;
    }
    if (!bad && o.print != UINT64_MAX) {
        struct buffer text = {0};

        mutant_make(&seeds, o.print, &text);
        fputs(buffer_str(&text), stdout);
        buffer_fini(&text);
    } else if (!bad) {
        bad = workers_run(&o, &seeds);
    }
    seeds_fini(&seeds);
    return bad != 0;
}
