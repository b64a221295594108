/* SPDX-License-Identifier: MIT
 *
 * Whether the parser accepts and refuses the same lines of PTX as the CUDA
 * toolkit's assembler, whose answers judge.py wrote down: each line alone in
 * the kernel of frame.ptx. Exit status 1 when fewer than 99 in 100 agree.
 *
 * agree FOLDER ANSWERS [--show]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cpu/ptx/ptx.h"

/* The module around a line. @WIDE@ stands for registers of 128 bits, which
 * are newer than the oldest version of the answers. */
struct frame {
    struct buffer head, text;
};

static int read_frame(const char *folder, struct frame *f)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/head.ptx", folder);
    if (file_read(path, 0, &f->head, NULL))
        return -1;
    snprintf(path, sizeof path, "%s/frame.ptx", folder);
    return file_read(path, 0, &f->text, NULL) ? -1 : 0;
}

static void fill(struct buffer *out, const char *frame, const char *version,
                 const char *line)
{
    while (*frame) {
        const size_t n = strcspn(frame, "@");

        buffer_add(out, frame, n);
        frame += n;
        if (!strncmp(frame, "@N@", 3)) {
            frame += 3;
            buffer_text(out, "0");
        } else if (!strncmp(frame, "@WIDE@", 6)) {
            frame += 6;
            if (atof(version) >= 8.3)
                buffer_text(out, ".reg .b128 %q<8>;");
        } else if (!strncmp(frame, "@LINE@", 6)) {
            frame += 6;
            buffer_text(out, line);
        } else if (*frame) {
            buffer_add(out, frame++, 1);
        }
    }
}

/* 1 when the parser takes it; else its first diagnostic is in `why`. */
static int accepts(const struct frame *f, const char *version,
                   const char *target, const char *line, char *why,
                   size_t why_size)
{
    struct arena arena = {0};
    struct buffer text = {0}, log = {0};
    struct kiln_error err = {0};
    struct ptx_module *m;
    enum kiln_status st;

    buffer_printf(&text, ".version %s\n.target %s\n", version, target);
    buffer_add(&text, f->head.bytes, f->head.size);
    fill(&text, buffer_str(&f->text), version, line);
    st = ptx_parse(buffer_str(&text), text.size, &arena, &m, &log, &err);
    snprintf(why, why_size, "%s", st ? err.text : "");
    why[strcspn(why, "\n")] = 0;
    buffer_fini(&text);
    buffer_fini(&log);
    arena_fini(&arena);
    return !st;
}

int main(int argc, char **argv)
{
    const int show = argc > 3 && !strcmp(argv[3], "--show");
    struct frame f = {0};
    unsigned count = 0, agreed = 0, accepted = 0, too_lax = 0;
    char line[1024], version[16] = "", target[16] = "";
    FILE *in;

    if (argc < 3 || read_frame(argv[1], &f) || !(in = fopen(argv[2], "r"))) {
        fputs("usage: agree FOLDER ANSWERS [--show]\n", stderr);
        return 1;
    }
    while (fgets(line, sizeof line, in)) {
        char why[300], *reason = strchr(line, '\t');
        int ours, theirs = *line == '+';

        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "= %15s %15s", version, target) == 2 ||
            (*line != '+' && *line != '-'))
            continue;
        if (reason)
            *reason++ = 0;
        ours = accepts(&f, version, target, line + 1, why, sizeof why);
        count++;
        accepted += (unsigned)theirs;
        agreed += ours == theirs;
        too_lax += ours && !theirs;
        if (show && ours != theirs)
            printf("%s %s %s  %s\n    %s\n", ours ? "LAX   " : "STRICT",
                   version, target, line + 1,
                   ours ? reason ? reason : "" : why);
    }
    fclose(in);
    printf("%u lines, %u accepted; %u agree (%.2f %%), %u accepted here "
           "alone, %u refused here alone\n",
           count, accepted, agreed, count ? 100.0 * agreed / count : 0.0,
           too_lax, count - agreed - too_lax);
    buffer_fini(&f.head);
    buffer_fini(&f.text);
    return !count || agreed * 100ull < count * 99ull;
}
