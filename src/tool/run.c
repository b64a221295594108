/* SPDX-License-Identifier: MIT
 *
 * kiln run: the whole path of a kernel, one stage after the other.
 */
#include "tool/run.h"

#include "kiln/image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tool/tool.h"

enum { SOURCE_MAX = 256 << 20 };

uint64_t run_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void run_stage_add(struct run *run, const char *name, uint64_t start)
{
    struct run_stage *s;

    if (run->stage_count == RUN_STAGES)
        return;
    s = &run->stages[run->stage_count++];
    s->name = name;
    s->start_ns = start;
    s->duration_ns = run_clock() - start;
    s->cache = KILN_CACHE_NONE;
    s->text[0] = '\0';
}

void run_take_stages(struct run *run)
{
    size_t count = kiln_stage_count(run->kiln);

    for (; run->taken < count && run->stage_count < RUN_STAGES; run->taken++) {
        struct run_stage *s = &run->stages[run->stage_count];
        struct kiln_stage from = {.size = sizeof from};

        if (kiln_get_stage(run->kiln, run->taken, &from, NULL))
            return;
        s->name = from.name;
        s->start_ns = from.start_ns;
        s->duration_ns = from.duration_ns;
        s->cache = from.cache;
        snprintf(s->text, sizeof s->text, "%s", from.text);
        run->stage_count++;
    }
}

static enum kiln_status fail(struct run *run, enum kiln_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum kiln_status fail(struct run *run, enum kiln_status status,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(run->error.text, sizeof run->error.text, format, args);
    va_end(args);
    run->error.status = status;
    return status;
}

/* Whether the file is device code rather than source, by its first bytes or
 * its name. PTX is source. */
static int is_image(const char *path)
{
    /* An ELF file, a fat binary, an archive. */
    static const char *const magics[] = {"\x7f\x45\x4c\x46", "\x50\xed\x55\xba",
                                         "!<ar"};
    size_t n = strlen(path);
    char head[4] = {0};
    FILE *file;

    if (!strcmp(path, "-"))
        return 0;
    if ((n > 6 && !strcmp(path + n - 6, ".cubin")) ||
        (n > 7 && !strcmp(path + n - 7, ".fatbin")))
        return 1;
    file = fopen(path, "rb");
    if (!file)
        return 0;
    n = fread(head, 1, sizeof head, file);
    fclose(file);
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n == sizeof head && !memcmp(head, magics[i], sizeof head))
            return 1;
    return 0;
}

/* Device code: the best image for the device, with the kernel in it. */
static enum kiln_status load_image(struct run *run,
                                   const struct kiln_load_options *load)
{
    uint64_t start = run_clock();
    struct kiln_file *file = NULL;
    enum kiln_status st;

    run->step = "read";
    st = kiln_file_open(run->options.file, &file, &run->error);
    run_stage_add(run, "read", start);
    if (!st) {
        run->step = "load";
        st = kiln_file_load(run->kiln, file, -1, run->options.kernel, load,
                            &run->library, &run->error);
    }
    kiln_file_close(file);
    return st;
}

/* The whole file, NUL behind it. */
static enum kiln_status read_source(struct run *run, char **text, size_t *size)
{
    const char *path = run->options.file;
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t room = 1 << 16, n = 0, got;
    char *bytes = NULL;
    struct stat info;

    if (!file)
        return fail(run, KILN_E_FILE, "%s: %s", path, strerror(errno));
    if (!fstat(fileno(file), &info) && S_ISDIR(info.st_mode)) {
        fclose(file);
        return fail(run, KILN_E_FILE,
                    "%s: a folder, a file of CUDA or PTX "
                    "source expected",
                    path);
    }
    do {
        char *larger =
            n + 1 < room && bytes ? bytes : realloc(bytes, room *= 2);

        if (!larger || n > SOURCE_MAX) {
            free(larger ? larger : bytes);
            if (file != stdin)
                fclose(file);
            return fail(run, KILN_E_MEMORY, "%s: larger than %d bytes", path,
                        SOURCE_MAX);
        }
        bytes = larger;
        got = fread(bytes + n, 1, room - n - 1, file);
        n += got;
    } while (got);
    bytes[n] = '\0';
    if (ferror(file))
        fail(run, KILN_E_FILE, "%s: %s", path, strerror(errno));
    if (file != stdin)
        fclose(file);
    *text = bytes;
    *size = n;
    return run->error.status;
}

static enum kiln_status compile(struct run *run, const char *text, size_t size)
{
    const struct run_options *o = &run->options;
    struct kiln_source source = {.size = sizeof source,
                                 .name =
                                     strcmp(o->file, "-") ? o->file : "stdin",
                                 .text = text,
                                 .text_size = size};
    struct kiln_compile_options options = {.size = sizeof options,
                                           .arch = o->arch,
                                           .standard = o->standard,
                                           .max_registers = o->max_registers,
                                           .names = &o->kernel,
                                           .name_count = 1,
                                           .defines = o->defines.items,
                                           .define_count = o->defines.count,
                                           .include_folders = o->folders.items,
                                           .include_folder_count =
                                               o->folders.count,
                                           .extra = o->extra.items,
                                           .extra_count = o->extra.count};

    return kiln_compile(run->kiln, &source, &options, &run->image, &run->error);
}

static enum kiln_status make_arguments(struct run *run)
{
    const struct run_options *o = &run->options;

    run->buffers = calloc(o->argument_count + 1, sizeof *run->buffers);
    run->addresses = calloc(o->argument_count + 1, sizeof *run->addresses);
    run->args = calloc(o->argument_count + 1, sizeof *run->args);
    run->outputs = calloc(o->argument_count + 1, sizeof *run->outputs);
    if (!run->buffers || !run->addresses || !run->args || !run->outputs)
        return fail(run, KILN_E_MEMORY, "arguments: out of memory");
    for (size_t i = 0; i < o->argument_count; i++) {
        const struct argument *a = &o->arguments[i];

        if (a->is_buffer) {
            run->args[i].kind = KILN_ARG_BUFFER;
            run->args[i].size = sizeof(uint64_t);
            run->args[i].value = &run->addresses[i];
        } else {
            run->args[i].kind = KILN_ARG_VALUE;
            run->args[i].size = a->value_size;
            run->args[i].value = a->value;
        }
    }
    return KILN_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static enum kiln_status launch_once(struct run *run)
{
    enum kiln_status st;

    run->step = "launch";
    st = kiln_launch(run->kernel, &run->options.shape, run->args,
                     run->options.argument_count, &run->error);
    if (st)
        return st;
    run->step = "sync";
    return kiln_synchronize(run->kiln, &run->error);
}

/* The first launch is a stage of its own; the rest are figures. */
static enum kiln_status launch_all(struct run *run)
{
    unsigned n = run->options.repeat;
    enum kiln_status st = launch_once(run);

    run_take_stages(run);
    if (st || n == 1)
        return st;
    run->repeats = calloc(n - 1, sizeof *run->repeats);
    if (!run->repeats)
        return fail(run, KILN_E_MEMORY, "repeats: out of memory");
    for (unsigned i = 0; i + 1 < n && !st; i++) {
        uint64_t start = run_clock();

        st = launch_once(run);
        run->repeats[i] = (double)(run_clock() - start) / 1e6;
    }
    qsort(run->repeats, n - 1, sizeof *run->repeats, by_value);
    /* Their stages are the figures above; what follows has none. */
    run->taken = SIZE_MAX;
    return st;
}

static enum kiln_status prepare(struct run *run)
{
    const struct run_options *o = &run->options;
    struct kiln_open_options open = {
        .size = sizeof open, .device = o->device, .no_cache = o->no_cache};
    struct kiln_load_options load = {
        .size = sizeof load, .jit = o->jit, .jit_count = o->jit_count};
    uint64_t start = run_clock();
    int image = is_image(o->file);
    char *text = NULL;
    size_t size = 0;
    enum kiln_status st;

    /* The drivers have caches of their own. */
    if (o->no_cache)
        setenv("CUDA_CACHE_DISABLE", "1", 1);
    run->step = "read";
    st = KILN_OK;
    if (!image) {
        st = read_source(run, &text, &size);
        run_stage_add(run, "read", start);
    }
    if (!st) {
        run->step = "driver";
        st = kiln_open(&open, &run->kiln, &run->error);
    }
    if (!st && image)
        st = load_image(run, &load);
    if (!st && !image) {
        run->step = "compile";
        st = compile(run, text, size);
    }
    free(text);
    if (!st && !image) {
        run->step = "load";
        st =
            kiln_load(run->kiln, run->image, &load, &run->library, &run->error);
    }
    if (!st) {
        run->step = "kernel";
        st = kiln_find_kernel(run->library, o->kernel, &run->kernel,
                              &run->error);
    }
    return st;
}

static enum kiln_status run_all(struct run *run)
{
    enum kiln_status st = prepare(run);
    uint64_t start;

    if (!st)
        st = make_arguments(run);
    if (st)
        return st;
    start = run_clock();
    run->step = "buffers";
    st = run_fill_buffers(run);
    run_take_stages(run);
    run_stage_add(run, "buffers", start);
    if (st)
        return st;
    run->step = "check";
    st = kiln_check_launch(run->kernel, &run->options.shape, run->args,
                           run->options.argument_count, &run->error);
    if (!st)
        st = launch_all(run);
    if (st)
        return st;
    run->step = "outputs";
    start = run_clock();
    st = run_read_outputs(run);
    run_stage_add(run, "outputs", start);
    return st;
}

static void close_all(struct run *run)
{
    for (size_t i = 0; run->buffers && i < run->options.argument_count; i++)
        kiln_buffer_free(run->buffers[i]);
    for (size_t i = 0; run->outputs && i < run->output_count; i++)
        free(run->outputs[i].text);
    kiln_library_free(run->library);
    kiln_image_free(run->image);
    kiln_close(run->kiln);
    free(run->buffers);
    free(run->addresses);
    free(run->args);
    free(run->outputs);
    free(run->repeats);
    run_options_fini(&run->options);
}

/* The compiler's or driver's own words, under the sentence. */
static void print_log(const struct run *run, enum kiln_status st)
{
    const char *log = run->image  ? kiln_image_log(run->image)
                      : run->kiln ? kiln_log(run->kiln)
                                  : "";

    if (st && run->kiln && *kiln_log(run->kiln))
        log = kiln_log(run->kiln);
    if (*log)
        fprintf(stderr, "%s%s", log, log[strlen(log) - 1] == '\n' ? "" : "\n");
}

int run_main(int argc, char **argv)
{
    struct run run = {.step = ""};
    enum kiln_status st;
    int rc = run_options_parse(argc, argv, &run.options);

    if (rc) {
        run_options_fini(&run.options);
        return rc;
    }
    st = run_all(&run);
    if (run.kiln)
        run_take_stages(&run);
    if (st)
        print_plain(stderr, "kiln run: %s: %s\n", run.step, run.error.text);
    print_log(&run, st);
    if (run.options.json)
        run_report_json(&run, st, stdout);
    else if (!st)
        run_report_table(&run, stdout);
    close_all(&run);
    return st ? EXIT_FAILED : EXIT_DONE;
}
