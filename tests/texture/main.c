/* SPDX-License-Identifier: MIT
 *
 * texture_answers --record FILE      what this driver answers, as it is
 * texture_answers --compare FILE     with what another one answered
 *
 * FILE: for each case its name and a NUL, the number of words (4 bytes), and
 * they; for one that could not be run no word, and why in the name's place
 * behind a tab. KILN_TEST_DRIVER names the driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "texture.h"

struct recording {
    FILE *file;
    const char *path;
    char *self;
    unsigned index, skip;
};

/* A kernel that faulted has left the process without a device. */
static void go_on(const struct recording *r)
{
    char skip[16];

    snprintf(skip, sizeof skip, "%u", r->index);
    fclose(r->file);
    execl(r->self, r->self, "--record", r->path, skip, NULL);
    exit(1);
}

static int record(const struct kase *k, void *data)
{
    struct recording *r = data;
    char why[160] = "";
    size_t count = 0;
    uint32_t *words, n;

    if (r->index++ < r->skip)
        return 0;
    words = run_case(k, &count, why, sizeof why);
    n = words ? (uint32_t)count : 0;
    fprintf(r->file, "%s%s%s", k->name, words ? "" : "\t", why);
    fputc(0, r->file);
    fwrite(&n, 4, 1, r->file);
    if (words)
        fwrite(words, 4, count, r->file);
    else
        printf("%s: %s\n", k->name, why);
    free(words);
    if (strstr(why, "launch"))
        go_on(r);
    return 0;
}

int main(int argc, char **argv)
{
    struct recording r = {.self = argv[0]};

    if (argc < 3 || strcmp(argv[1], "--record")) {
        fprintf(stderr, "texture_answers --record FILE\n");
        return 2;
    }
    r.path = argv[2];
    r.skip = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    run_open();
    r.file = fopen(r.path, r.skip ? "ab" : "wb");
    if (!r.file)
        return 1;
    cases_all(record, &r);
    return fclose(r.file) != 0;
}
