/* SPDX-License-Identifier: MIT
 *
 * Policy `driver` against every measured load that concerns the choice
 * (nvidia-sm90.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "walk/walk.h"

enum { IMAGES_MAX = 16, ROWS_MIN = 210 };

struct row {
    struct walk_image images[IMAGES_MAX];
    int does_not_assemble[IMAGES_MAX];
    size_t count;
    struct walk_options options;
};

/* The value of ",key=value" in a token, or -1. */
static long modifier(const char *token, const char *key)
{
    char wanted[16];
    const char *at;

    snprintf(wanted, sizeof wanted, ",%s=", key);
    at = strstr(token, wanted);
    return at ? strtol(at + strlen(wanted), NULL, 0) : -1;
}

static char letter(const char *digits)
{
    digits += strspn(digits, "0123456789");
    return *digits == 'a' || *digits == 'f' ? *digits : 0;
}

static void ptx_token(const char *token, struct walk_image *image)
{
    char *at;

    image->kind = WALK_PTX;
    image->sm = (uint32_t)strtoul(token + 4, &at, 10);
    image->variant = image->text_variant = letter(at);
    image->text_sm = image->sm;
    at = strchr(at, ':');
    assert_non_null(at);
    image->ptx_major = (uint16_t)strtoul(at + 1, &at, 10);
    image->ptx_minor = (uint16_t)strtoul(at + 1, NULL, 10);
    if (modifier(token, "trunc") == 0)
        image->defect = WALK_NOT_PTX;
}

static void header(const char *token, struct walk_image *image)
{
    long sm = modifier(token, "ha"), flags = modifier(token, "hf");
    long kind = modifier(token, "hk");

    if (sm >= 0)
        image->sm = (uint32_t)sm;
    if (flags >= 0)
        image->variant = flags & 0x100000 ? 'a' : flags & 0x200000 ? 'f' : 0;
    if (kind == 1 && image->kind != WALK_PTX) {
        image->kind = WALK_PTX;
        image->defect = WALK_NOT_PTX;
    } else if (kind == 2 && image->kind == WALK_PTX) {
        image->kind = WALK_CUBIN;
        image->defect = WALK_NOT_ELF;
        image->text_sm = 0;
    } else if (kind > 2) {
        image->kind = WALK_UNKNOWN;
    }
}

static void read_token(const char *token, int raw, struct row *row)
{
    struct walk_image *image = &row->images[row->count];

    assert_true(row->count < IMAGES_MAX);
    *image = (struct walk_image){.raw = raw};
    if (!strncmp(token, "ptx:", 4)) {
        ptx_token(token, image);
    } else if (!strncmp(token, "ent:lto", 7)) {
        *image = (struct walk_image){
            .kind = WALK_LTO, .sm = 90, .ptx_major = 1, .ptx_minor = 65};
    } else {
        assert_memory_equal(token, "elf:", 4);
        image->kind = WALK_CUBIN;
        image->sm = (uint32_t)strtoul(token + 5, NULL, 10);
        image->text_sm = image->sm;
        image->variant = letter(token + 5);
        if (strstr(token, ",flip=") || strstr(token, ",fill=") ||
            strstr(token, ",trunc="))
            image->defect = WALK_NOT_ELF;
    }
    row->does_not_assemble[row->count] = strstr(token, ",bad") ||
                                         strstr(token, ",undef") ||
                                         modifier(token, "trunc") > 0;
    header(token, image);
    row->count++;
}

static void read_switches(char *text, struct walk_options *options)
{
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        if (!strcmp(w, "force=1"))
            options->force_ptx = 1;
        else if (!strcmp(w, "disable=1"))
            options->disable_jit = 1;
        else if (!strncmp(w, "target=", 7))
            options->target = (uint32_t)strtoul(w + 7, NULL, 10);
        else /* 0, "yes": off, as the API edge sees it */
            assert_true(strchr(w, '=') || !strcmp(w, "-"));
    }
}

/* What the load gives: the number of the image that runs, or a CUresult. */
static void answer(const struct row *row, char *text, size_t size)
{
    const struct walk_device device = {
        .isa = WALK_ISA_SASS, .sm = 90, .driver_version = 13000};
    struct walk_verdict verdicts[IMAGES_MAX];
    struct walk_result result;
    int status;

    walk(row->images, row->count, &device, &row->options, verdicts, &result);
    status = kiln_status_cuda(result.status);
    if (!status && row->does_not_assemble[result.chosen])
        status = 218; /* the compiler's part, not the walk's */
    if (status)
        snprintf(text, size, "%d", status);
    else
        snprintf(text, size, "#%d", result.chosen + 1);
    for (size_t i = 0; i < row->count; i++) {
        char words[WALK_TEXT] = "";

        walk_text(&row->images[i], &device, &row->options, &verdicts[i], words);
        assert_true(*words);
    }
    assert_true(*result.text);
}

static void the_walk_agrees_with_every_measured_row(void **state)
{
    FILE *file = fopen(ROWS, "r");
    char line[1024], got[16];
    int rows = 0, wrong = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *part[4], *at = line;
        struct row row = {0};
        char copy[1024];
        int raw;

        if (*line == '#')
            continue;
        line[strcspn(line, "\n")] = 0;
        memcpy(copy, line, sizeof copy);
        for (int i = 0; i < 4; i++) {
            part[i] = at;
            at = strstr(at, " | ");
            assert_true(at || i == 3);
            if (at) {
                *at = 0;
                at += 3;
            }
        }
        raw = *part[1] != '{';
        read_switches(part[2], &row.options);
        for (char *t = strtok(part[1], " "); t; t = strtok(NULL, " "))
            if (*t != '{' && *t != '}')
                read_token(t, raw, &row);
        answer(&row, got, sizeof got);
        rows++;
        if (strcmp(got, part[3])) {
            print_error("%s: the walk says %s\n", copy, got);
            wrong++;
        }
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(rows >= ROWS_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_walk_agrees_with_every_measured_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
