/* SPDX-License-Identifier: MIT
 *
 * Stands in for libFuzzer's main: runs each file of the folders named on the
 * command line (which need not all exist) through the fuzzer, and then
 * mutations of each that are the same on every run: every truncation up to a
 * number, flipped bits, and bytes overwritten by the values that upset parsers.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of one file; of each in a folder of many. */
enum { MUTATIONS = 400, FEWER = 16, MANY = 40, LIMIT = 1 << 20 };

static unsigned long files;
static unsigned long runs;

/* The input gets a heap block of exactly its size, so that a read past its
 * end is one that the address sanitizer sees. */
static void run_once(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    if (size)
        memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void mutate(const unsigned char *bytes, size_t size, unsigned count)
{
    static const unsigned char upset[] = {0x00, 0x01, 0x7f, 0x80, 0xff,
                                          '"',  '\n', '{',  ';',  '9'};
    unsigned char *copy;
    uint64_t state = size;

    if (size == 0)
        return;
    copy = malloc(size);
    if (!copy)
        abort();
    for (unsigned i = 0; i < count; i++) {
        size_t n = size;
        unsigned edits = 1 + next(&state) % 4;

        memcpy(copy, bytes, size);
        if (i % 4 == 0)
            n = next(&state) % (size + 1);
        for (unsigned e = 0; e < edits; e++) {
            size_t at = next(&state) % size;

            if (e % 2)
                copy[at] = (unsigned char)(copy[at] ^ 1u << next(&state) % 8);
            else
                copy[at] = upset[next(&state) % sizeof upset];
        }
        run_once(copy, n);
    }
    free(copy);
}

static int replay_file(const char *path, unsigned mutations)
{
    struct buffer in = {0};
    struct kiln_error err;

    if (file_read(path, LIMIT, &in, &err)) {
        fprintf(stderr, "replay: %s\n", err.text);
        buffer_fini(&in);
        return -1;
    }
    files++;
    run_once(in.bytes, in.size);
    mutate(in.bytes, in.size, mutations);
    buffer_fini(&in);
    return 0;
}

static int replay_folder(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort);
    int bad = 0;

    for (int i = 0; i < count; i++) {
        char path[4096];

        if (names[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            bad |= replay_file(path, count > MANY ? FEWER : MUTATIONS) != 0;
        }
        free(names[i]);
    }
    free(names);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;

    run_once((const unsigned char *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (stat(argv[i], &st) == 0 && S_ISREG(st.st_mode))
            bad |= replay_file(argv[i], MUTATIONS) != 0;
        else
            bad |= replay_folder(argv[i]);
    }
    printf("replay: %lu files, %lu inputs\n", files, runs);
    return bad || !files;
}
