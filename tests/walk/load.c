/* SPDX-License-Identifier: MIT
 *
 * Loads every image of an index through a CUDA driver, each in a process of
 * its own, and says which image ran or what the load gave, beside what was
 * predicted. Links no driver: KILN_TEST_DRIVER names it.
 *
 *     walk_load FOLDER [JOBS [GIVEN]]
 *
 * GIVEN (an index of answers, as this program prints them) takes the place of
 * the predictions. Exit status 1 when one differs.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS_MAX = 4096, VALUES_MAX = 16, SECONDS = 40, PADDING = 64 };
enum { OPTIONS_MAX = 8, JIT_MAX_REGISTERS = 0, JIT_LEVEL = 7 };
enum { JIT_TARGET = 9, JIT_FALLBACK = 10 };

struct row {
    int number;
    char images[1024], switches[64], predicted[16], found[64];
    int values[VALUES_MAX];
    int count;
    pid_t child;
    int pipe;
};

static struct row rows[ROWS_MAX];
static int row_count;

typedef int result;

static void *entry(void *driver, const char *name)
{
    void *f = dlsym(driver, name);

    if (!f) {
        printf("no %s in the driver", name);
        fflush(stdout);
        _exit(0);
    }
    return f;
}

#define ENTRY(name, params) result(*name) params = entry(driver, #name)

struct options {
    int keys[OPTIONS_MAX];
    void *values[OPTIONS_MAX];
    unsigned count;
    int wrapper; /* version of the wrapper around the container; 0: none */
    int library; /* cuLibraryLoadData */
    int fill;    /* the device's memory is taken first, all but half a GiB */
};

/* What host programs keep of a container. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    void *more;
};

static void option(struct options *o, int key, const char *value)
{
    o->keys[o->count] = key;
    o->values[o->count++] = (void *)(uintptr_t)strtoul(value, NULL, 10);
}

static void set_switches(const struct row *row, struct options *o)
{
    char copy[64];

    snprintf(copy, sizeof copy, "%s", row->switches);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
        char *value = strchr(w, '=');

        if (!value)
            continue;
        *value++ = '\0';
        if (!strcmp(w, "force"))
            setenv("CUDA_FORCE_PTX_JIT", value, 1);
        else if (!strcmp(w, "disable"))
            setenv("CUDA_DISABLE_PTX_JIT", value, 1);
        else if (!strcmp(w, "loading"))
            setenv("CUDA_MODULE_LOADING", value, 1);
        else if (!strcmp(w, "target"))
            option(o, JIT_TARGET, value);
        else if (!strcmp(w, "maxreg"))
            option(o, JIT_MAX_REGISTERS, value);
        else if (!strcmp(w, "opt"))
            option(o, JIT_LEVEL, value);
        else if (!strcmp(w, "fallback"))
            option(o, JIT_FALLBACK, value);
        else if (!strcmp(w, "wrap"))
            o->wrapper = atoi(value);
        else if (!strcmp(w, "lib"))
            o->library = atoi(value);
        else if (!strcmp(w, "fill"))
            o->fill = atoi(value);
    }
}

/* Zeros behind it: raw PTX ends in one. */
static void *read_image(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 20;
    char *bytes = calloc(1, room + PADDING);

    if (!file || !bytes || fread(bytes, 1, room, file) == room) {
        printf("%s cannot be read", path);
        fflush(stdout);
        _exit(0);
    }
    fclose(file);
    return bytes;
}

static void say_value(const struct row *row, unsigned value)
{
    for (int i = 0; i < row->count; i++)
        if ((unsigned)row->values[i] == value) {
            printf("#%d", i + 1);
            return;
        }
    printf("value %u", value);
}

static void run(void *driver, const struct row *row, void *function)
{
    ENTRY(cuMemAlloc_v2, (uint64_t *, size_t));
    ENTRY(cuMemcpyDtoH_v2, (void *, uint64_t, size_t));
    ENTRY(cuCtxSynchronize, (void));
    ENTRY(cuLaunchKernel,
          (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
           unsigned, void *, void **, void **));
    unsigned value = 0;
    uint64_t memory = 0;
    void *args[] = {&memory};
    result r = cuMemAlloc_v2(&memory, 256);

    if (!r)
        r = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    if (!r)
        r = cuCtxSynchronize();
    if (!r)
        r = cuMemcpyDtoH_v2(&value, memory, sizeof value);
    if (r)
        printf("launch %d", r);
    else
        say_value(row, value);
}

/* Leaves half a GiB, and no piece larger than that. */
static void fill(void *driver)
{
    ENTRY(cuMemGetInfo_v2, (size_t *, size_t *));
    ENTRY(cuMemAlloc_v2, (uint64_t *, size_t));
    size_t left = 0, total = 0, step = (size_t)1 << 36, keep = (size_t)1 << 29;
    uint64_t memory;

    while (step >= keep / 4 && !cuMemGetInfo_v2(&left, &total) && left > keep)
        if (step > left - keep || cuMemAlloc_v2(&memory, step))
            step /= 2;
}

/* A library tells of a bad image when something is asked of it. */
static result library(void *driver, const void *image, struct options *o,
                      void **module)
{
    ENTRY(cuLibraryLoadData, (void **, const void *, int *, void **, unsigned,
                              int *, void **, unsigned));
    ENTRY(cuLibraryGetModule, (void **, void *));
    void *handle = NULL;
    result r = cuLibraryLoadData(&handle, image, o->keys, o->values, o->count,
                                 NULL, NULL, 0);

    return r ? r : cuLibraryGetModule(module, handle);
}

static void load(const struct row *row, const char *folder)
{
    const char *name = getenv("KILN_TEST_DRIVER");
    void *driver = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    struct options o = {.count = 0};
    void *context = NULL, *module = NULL, *function = NULL;
    struct wrapper wrapper;
    const void *image;
    char path[4096];
    int device = 0;
    result r;

    if (!driver) {
        printf("%s", dlerror());
        return;
    }
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    set_switches(row, &o);
    ENTRY(cuInit, (unsigned));
    ENTRY(cuDeviceGet, (int *, int));
    ENTRY(cuDevicePrimaryCtxRetain, (void **, int));
    ENTRY(cuCtxSetCurrent, (void *));
    ENTRY(cuModuleLoadDataEx,
          (void **, const void *, unsigned, int *, void **));
    ENTRY(cuModuleGetFunction, (void **, void *, const char *));
    if ((r = cuInit(0)) || (r = cuDeviceGet(&device, 0)) ||
        (r = cuDevicePrimaryCtxRetain(&context, device)) ||
        (r = cuCtxSetCurrent(context))) {
        printf("no context: %d", r);
        return;
    }
    if (o.fill)
        fill(driver);
    snprintf(path, sizeof path, "%s/%d.img", folder, row->number);
    image = read_image(path);
    wrapper = (struct wrapper){0x466243B1, (uint32_t)o.wrapper, image, NULL};
    if (o.wrapper)
        image = &wrapper;
    r = o.library
            ? library(driver, image, &o, &module)
            : cuModuleLoadDataEx(&module, image, o.count, o.keys, o.values);
    if (r)
        printf("%d", r);
    else if ((r = cuModuleGetFunction(&function, module, "k")))
        printf("function %d", r);
    else
        run(driver, row, function);
}

static void start(struct row *row, const char *folder)
{
    int ends[2];

    fflush(stdout);
    if (pipe(ends) || (row->child = fork()) < 0) {
        perror("walk_load");
        exit(2);
    }
    if (!row->child) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        alarm(SECONDS);
        load(row, folder);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    row->pipe = ends[0];
}

static void finish(struct row *row)
{
    ssize_t n, got = 0;
    int status = 0;

    while ((n = read(row->pipe, row->found + got,
                     sizeof row->found - 1 - (size_t)got)) > 0)
        got += n;
    row->found[got] = '\0';
    close(row->pipe);
    waitpid(row->child, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(row->found, sizeof row->found, "signal %d", WTERMSIG(status));
}

static void read_index(const char *path)
{
    char line[4096], values[256], best[16];
    FILE *file = fopen(path, "r");

    if (!file) {
        perror(path);
        exit(2);
    }
    while (row_count < ROWS_MAX && fgets(line, sizeof line, file)) {
        struct row *row = &rows[row_count];
        char *at = values;

        if (sscanf(line, "%d | %1023[^|] | %63[^|] | %15s | %15s | %255s",
                   &row->number, row->images, row->switches, row->predicted,
                   best, values) != 6)
            continue;
        row->images[strlen(row->images) - 1] = '\0';
        row->switches[strlen(row->switches) - 1] = '\0';
        while (row->count < VALUES_MAX && *at) {
            row->values[row->count++] = (int)strtol(at, &at, 10);
            at += *at == ',';
        }
        row_count++;
    }
    fclose(file);
}

static void read_given(const char *path)
{
    char line[4096], answer[16];
    FILE *file = fopen(path, "r");
    int number;

    if (!file) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%d | %*[^|] | %*[^|] | %15[^\n]", &number, answer) ==
            2)
            for (int i = 0; i < row_count; i++)
                if (rows[i].number == number)
                    memcpy(rows[i].predicted, answer, sizeof answer);
    fclose(file);
}

/* A row that takes the device's memory leaves none for others. */
static int alone(const struct row *row)
{
    return strstr(row->switches, "fill=1") != NULL;
}

int main(int argc, char **argv)
{
    int jobs = argc > 2 ? atoi(argv[2]) : 4, differ = 0, next = 0;
    char path[4096];

    if (argc < 2 || jobs < 1) {
        fprintf(stderr, "usage: walk_load FOLDER [JOBS [GIVEN]]\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/index.txt", argv[1]);
    read_index(path);
    if (argc > 3)
        read_given(argv[3]);
    for (int i = 0; i < row_count; i++) {
        for (; next < row_count && next < i + jobs; next++)
            if (!alone(&rows[next]))
                start(&rows[next], argv[1]);
        if (!alone(&rows[i]))
            finish(&rows[i]);
    }
    for (int i = 0; i < row_count; i++) {
        if (alone(&rows[i])) {
            start(&rows[i], argv[1]);
            finish(&rows[i]);
        }
        printf("%d | %s | %s | %s", rows[i].number, rows[i].images,
               rows[i].switches, rows[i].found);
        if (strcmp(rows[i].found, rows[i].predicted)) {
            printf("    # predicted %s", rows[i].predicted);
            differ++;
        }
        printf("\n");
    }
    printf("# %d rows, %d differ\n", row_count, differ);
    return !row_count || differ;
}
