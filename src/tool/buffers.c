/* SPDX-License-Identifier: MIT
 *
 * Buffers in and out, a piece at a time, so that the command never holds a
 * second copy of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/npy.h"
#include "tool/run.h"
#include "tool/tool.h"

enum { PIECE = 1 << 20 };

static enum kiln_status fail(struct run *run, size_t index,
                             enum kiln_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum kiln_status fail(struct run *run, size_t index,
                             enum kiln_status status, const char *format, ...)
{
    int n = snprintf(run->error.text, sizeof run->error.text,
                     "argument %zu: ", index + 1);
    va_list args;

    va_start(args, format);
    vsnprintf(run->error.text + n, sizeof run->error.text - (size_t)n, format,
              args);
    va_end(args);
    run->error.status = status;
    return status;
}

static enum kiln_status fill_from_file(struct run *run, size_t i, void *piece)
{
    const struct argument *a = &run->options.arguments[i];
    uint64_t wanted = argument_bytes(a), done = 0;
    enum kiln_status st = KILN_OK;
    struct stat info;
    FILE *file = fopen(a->init_file, "rb");

    if (!file)
        return fail(run, i, KILN_E_FILE, "%s: %s", a->init_file,
                    strerror(errno));
    if (!fstat(fileno(file), &info) && S_ISDIR(info.st_mode)) {
        st = fail(run, i, KILN_E_FILE, "%s: a folder, a file is needed",
                  a->init_file);
    } else if (npy_is(a->init_file)) {
        char why[160];

        if (npy_read_header(file, a->type, a->count, why, sizeof why))
            st = fail(run, i, KILN_E_FORMAT, "%s: %s", a->init_file, why);
    } else if (!fstat(fileno(file), &info) && S_ISREG(info.st_mode) &&
               (uint64_t)info.st_size != wanted)
        st = fail(run, i, KILN_E_FORMAT,
                  "%s has %llu bytes, %s[%" PRIu64 "] needs %" PRIu64,
                  a->init_file, (unsigned long long)info.st_size, a->type->name,
                  a->count, wanted);
    while (!st && done < wanted) {
        size_t n = wanted - done < PIECE ? (size_t)(wanted - done) : PIECE;
        size_t got = fread(piece, 1, n, file);

        if (!got)
            st = fail(run, i, KILN_E_FORMAT,
                      "%s ends after %" PRIu64 " bytes, %s[%" PRIu64
                      "] needs %" PRIu64,
                      a->init_file, done, a->type->name, a->count, wanted);
        else
            st = kiln_buffer_write(run->buffers[i], done, piece, got,
                                   &run->error);
        done += got;
    }
    if (!st && fgetc(file) != EOF)
        st = fail(run, i, KILN_E_FORMAT,
                  "%s is longer than the %" PRIu64 " bytes of %s[%" PRIu64 "]",
                  a->init_file, wanted, a->type->name, a->count);
    fclose(file);
    return st;
}

static enum kiln_status fill(struct run *run, size_t i, void *piece)
{
    const struct argument *a = &run->options.arguments[i];
    uint64_t per_piece = PIECE / a->type->size;
    enum kiln_status st = KILN_OK;

    if (a->init == INIT_FILE)
        return fill_from_file(run, i, piece);
    if (a->init == INIT_ZERO)
        return kiln_buffer_zero(run->buffers[i], &run->error);
    for (uint64_t first = 0; !st && first < a->count; first += per_piece) {
        size_t n = (size_t)(a->count - first < per_piece ? a->count - first
                                                         : per_piece);

        /* A constant piece is the same each time. */
        if (!first || a->init != INIT_CONST)
            argument_fill(a, first, n, piece);
        st = kiln_buffer_write(run->buffers[i], first * a->type->size, piece,
                               n * a->type->size, &run->error);
    }
    return st;
}

enum kiln_status run_fill_buffers(struct run *run)
{
    enum kiln_status st = KILN_OK;
    void *piece = malloc(PIECE);

    if (!piece)
        return fail(run, 0, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < run->options.argument_count; i++) {
        const struct argument *a = &run->options.arguments[i];

        if (!a->is_buffer)
            continue;
        st = kiln_buffer_new(run->kiln, argument_bytes(a), &run->buffers[i],
                             &run->error);
        if (st)
            break;
        run->addresses[i] = kiln_buffer_address(run->buffers[i]);
        st = fill(run, i, piece);
    }
    free(piece);
    return st;
}

/* Two bytes: few digits always do. */
static void put_half(FILE *to, const struct element_type *t, double v)
{
    uint16_t bits = half_of(half_format_of(t), v);
    char text[40];

    if (isnan(v)) {
        fputs("nan", to);
        return;
    }
    for (int digits = 3; digits <= 6; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (half_of(half_format_of(t), strtod(text, NULL)) == bits)
            break;
    }
    fputs(text, to);
}

/* The shortest text that reads back as the same number. */
static void put_float(FILE *to, double v, int single)
{
    char text[40];
    int most = single ? 9 : 17;

    if (isnan(v)) {
        /* Its sign and payload are the device's own. */
        fputs("nan", to);
        return;
    }
    for (int digits = single ? 6 : 15; digits <= most; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    fputs(text, to);
}

static int64_t read_signed(const struct element_type *t, const void *at)
{
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;

    switch (t->size) {
    case 1:
        memcpy(&a, at, 1);
        return a;
    case 2:
        memcpy(&b, at, 2);
        return b;
    case 4:
        memcpy(&c, at, 4);
        return c;
    default:
        memcpy(&d, at, 8);
        return d;
    }
}

static uint64_t read_unsigned(const struct element_type *t, const void *at)
{
    uint64_t v = 0;

    memcpy(&v, at, t->size);
    return v;
}

static double read_float(const struct element_type *t, const void *at)
{
    float f;
    double d;
    uint16_t h;

    if (t->size == 2) {
        memcpy(&h, at, 2);
        return half_value(half_format_of(t), h);
    }
    if (t->size == 4) {
        memcpy(&f, at, 4);
        return f;
    }
    memcpy(&d, at, 8);
    return d;
}

static void put_value(FILE *to, const struct element_type *t, const void *at)
{
    if (t->number == NUMBER_FLOAT && t->size == 2)
        put_half(to, t, read_float(t, at));
    else if (t->number == NUMBER_FLOAT)
        put_float(to, read_float(t, at), t->size == 4);
    else if (t->number == NUMBER_SIGNED)
        fprintf(to, "%" PRId64, read_signed(t, at));
    else
        fprintf(to, "%" PRIu64, read_unsigned(t, at));
}

/* What one output gathers while its pieces pass by. */
struct sink {
    const struct argument *argument;
    FILE *text; /* or the file of OUT_FILE */
    uint64_t seen;
    double sum;
    uint64_t whole; /* modulo 2^64 */
};

static int sink_add(struct sink *s, const unsigned char *piece, size_t n)
{
    const struct element_type *t = s->argument->type;
    size_t size = t->size;

    if (s->argument->out == OUT_FILE)
        return fwrite(piece, size, n, s->text) == n ? 0 : -1;
    for (size_t i = 0; i < n; i++, s->seen++) {
        const unsigned char *at = piece + i * size;

        if (s->argument->out == OUT_HEAD) {
            if (s->seen >= s->argument->head)
                return 0;
            if (s->seen)
                fputc(' ', s->text);
            put_value(s->text, t, at);
        } else if (t->number == NUMBER_FLOAT) {
            s->sum += read_float(t, at);
        } else {
            s->whole += t->number == NUMBER_SIGNED
                            ? (uint64_t)read_signed(t, at)
                            : read_unsigned(t, at);
        }
    }
    return 0;
}

static void sink_end(struct sink *s)
{
    const struct argument *a = s->argument;

    if (a->out != OUT_SUM)
        return;
    if (a->type->number == NUMBER_FLOAT)
        put_float(s->text, s->sum, 0);
    else if (a->type->number == NUMBER_SIGNED)
        fprintf(s->text, "%" PRId64, (int64_t)s->whole);
    else
        fprintf(s->text, "%" PRIu64, s->whole);
}

static enum kiln_status drain(struct run *run, size_t i, struct sink *sink,
                              unsigned char *piece)
{
    const struct argument *a = &run->options.arguments[i];
    uint64_t per_piece = PIECE / a->type->size;
    uint64_t count = a->count;
    enum kiln_status st = KILN_OK;

    if (a->out == OUT_HEAD && a->head < count)
        count = a->head;
    for (uint64_t first = 0; !st && first < count; first += per_piece) {
        size_t n =
            (size_t)(count - first < per_piece ? count - first : per_piece);

        st = kiln_buffer_read(run->buffers[i], first * a->type->size, piece,
                              n * a->type->size, &run->error);
        if (!st && sink_add(sink, piece, n))
            st = fail(run, i, KILN_E_OS, "%s: %s",
                      a->out_file ? a->out_file : "output", strerror(errno));
    }
    if (!st)
        sink_end(sink);
    return st;
}

static enum kiln_status read_one(struct run *run, size_t i,
                                 unsigned char *piece)
{
    const struct argument *a = &run->options.arguments[i];
    struct run_output *output = &run->outputs[run->output_count];
    struct sink sink = {.argument = a};
    size_t size = 0;
    enum kiln_status st = KILN_OK;

    sink.text = a->out == OUT_FILE ? fopen(a->out_file, "wb")
                                   : open_memstream(&output->text, &size);
    if (!sink.text)
        return fail(run, i, KILN_E_FILE, "%s: %s",
                    a->out_file ? a->out_file : "output", strerror(errno));
    output->argument = i;
    output->count = a->out == OUT_HEAD
                        ? (a->head < a->count ? a->head : a->count)
                        : a->out == OUT_SUM;
    run->output_count++;
    if (a->out == OUT_FILE && npy_is(a->out_file) &&
        npy_write_header(sink.text, a->type, a->count))
        st = fail(run, i, KILN_E_OS, "%s: %s", a->out_file, strerror(errno));
    if (!st)
        st = drain(run, i, &sink, piece);
    if ((a->out == OUT_FILE ? output_close(sink.text, a->out_file, st != 0)
                            : fclose(sink.text)) &&
        !st)
        st = fail(run, i, KILN_E_OS, "%s: %s",
                  a->out_file ? a->out_file : "output", strerror(errno));
    return st;
}

enum kiln_status run_read_outputs(struct run *run)
{
    enum kiln_status st = KILN_OK;
    unsigned char *piece = malloc(PIECE);

    if (!piece)
        return fail(run, 0, KILN_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < run->options.argument_count; i++)
        if (run->options.arguments[i].out != OUT_NONE)
            st = read_one(run, i, piece);
    free(piece);
    return st;
}
