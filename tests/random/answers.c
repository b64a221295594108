/* SPDX-License-Identifier: MIT
 *
 * Answers as a file: a line of text, then the words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static const char magic[] = "kiln random answers 1";

/* FNV-1a over words of eight bytes, and a last mix. */
uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    digest ^= 0xcbf29ce484222325 + size;
    while (size) {
        uint64_t word = 0;
        const size_t n = size < 8 ? size : 8;

        memcpy(&word, at, n);
        digest = (digest ^ word) * 0x9e3779b97f4a7c15;
        digest ^= digest >> 29;
        at += n;
        size -= n;
    }
    return digest * 0x94d049bb133111eb;
}

static uint64_t text_part(const char *text)
{
    const uint64_t digest = digest_bytes(1, text, strlen(text));

    return (digest >> 40 & 0xfffe) | 1; /* a word is never 0 */
}

uint64_t answer_word(uint64_t image, const char *text)
{
    return (image & ~(uint64_t)0xffff) | text_part(text);
}

int answer_is_of(uint64_t word, const char *text)
{
    return (word & 0xffff) == text_part(text);
}

void answers_fini(struct answers *a)
{
    free(a->words);
    memset(a, 0, sizeof *a);
}

int answers_write(const struct answers *a, const char *path)
{
    FILE *f = fopen(path, "wb");
    int bad = !f;

    if (f) {
        fprintf(f, "%s; %s; %" PRIu64 " %" PRIu64 "\n", magic, a->device,
                a->first, a->count);
        bad = fwrite(a->words, 8, a->count, f) != a->count;
        bad |= fclose(f) != 0;
    }
    if (bad)
        fprintf(stderr, "random: cannot write %s: %s\n", path, strerror(errno));
    return bad ? -1 : 0;
}

int answers_read(struct answers *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    char found[32] = "";

    memset(a, 0, sizeof *a);
    if (!f) {
        fprintf(stderr, "random: cannot read %s: %s\n", path, strerror(errno));
        return -1;
    }
    if (fscanf(f, "%31[^;]; %63[^;]; %" SCNu64 " %" SCNu64, found, a->device,
               &a->first, &a->count) != 4 ||
        strcmp(found, magic) || a->count > 10000000 || fgetc(f) != '\n') {
        fprintf(stderr, "random: %s: not a file of answers\n", path);
        fclose(f);
        return -1;
    }
    a->words = must_alloc(a->count, 8);
    if (fread(a->words, 8, a->count, f) != a->count) {
        fprintf(stderr, "random: %s: ends before its %" PRIu64 " answers\n",
                path, a->count);
        answers_fini(a);
        fclose(f);
        return -1;
    }
    fclose(f);
    return 0;
}
