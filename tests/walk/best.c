/* SPDX-License-Identifier: MIT
 *
 * The same images through libkiln, which checks each and hands the driver one
 * alone: whatever has a usable image runs, nothing else reaches the driver.
 *
 *     walk_best DEVICE FOLDER                     every image of the index
 *     walk_best DEVICE FOLDER --mutate N [SEED]  N damaged copies of them
 *
 * A copy that ends a process is left in the current folder.
 *
 * DEVICE as kiln_open has it: cpu, nvidia. Batches run in processes of their
 * own, so that a crash or a hang is counted and named. Exit status 1 when an
 * image that should run did not, another one ran, or a process died.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/image.h"
#include "mutate.h"

enum { ROWS_MAX = 4096, VALUES_MAX = 16, SECONDS = 60, BATCH = 250 };
enum { IMAGE_MAX = 1 << 20 };

struct row {
    int number;
    char images[1024], switches[64], predicted[16];
    int values[VALUES_MAX];
    int count;
    unsigned char *bytes;
    size_t size;
};

static struct row rows[ROWS_MAX];
static int row_count, plain_count;
static struct kiln_jit_option jit[8];
static size_t jit_count;

/* Shared with the processes of the batches. */
struct tally {
    int at;     /* what is being loaded */
    int wrong;  /* rows */
    int loaded; /* mutants that loaded */
    int refused;
};
static struct tally *tally;

static int by_switches(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->switches, y->switches);

    return order ? order : x->number - y->number;
}

static void read_index(const char *folder)
{
    char path[4096], line[4096], driver[16], values[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/index.txt", folder);
    file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    while (row_count < ROWS_MAX && fgets(line, sizeof line, file)) {
        struct row *row = &rows[row_count];
        char *at = values;
        FILE *image;

        if (sscanf(line, "%d | %1023[^|] | %63[^|] | %15s | %15s | %255s",
                   &row->number, row->images, row->switches, driver,
                   row->predicted, values) != 6)
            continue;
        row->switches[strlen(row->switches) - 1] = '\0';
        /* A full device is for walk_load. */
        if (strstr(row->switches, "fill="))
            continue;
        row->images[strlen(row->images) - 1] = '\0';
        while (row->count < VALUES_MAX && *at) {
            row->values[row->count++] = (int)strtol(at, &at, 10);
            at += *at == ',';
        }
        snprintf(path, sizeof path, "%s/%d.img", folder, row->number);
        image = fopen(path, "rb");
        row->bytes = malloc(IMAGE_MAX);
        if (!image || !row->bytes) {
            perror(path);
            exit(2);
        }
        row->size = fread(row->bytes, 1, IMAGE_MAX, image);
        fclose(image);
        row_count++;
    }
    fclose(file);
    /* The environment is read when a driver is opened: a process has one set
     * of switches. Rows without come first. */
    qsort(rows, (size_t)row_count, sizeof *rows, by_switches);
    while (plain_count < row_count && !strcmp(rows[plain_count].switches, "-"))
        plain_count++;
}

/* A switch of the environment, or an option of the load. */
static void set_switches(const char *switches)
{
    static const struct {
        const char *word, *name;
        int environment;
    } known[] = {{"force", "CUDA_FORCE_PTX_JIT", 1},
                 {"disable", "CUDA_DISABLE_PTX_JIT", 1},
                 {"loading", "CUDA_MODULE_LOADING", 1},
                 {"target", "target", 0},
                 {"maxreg", "max-registers", 0},
                 {"opt", "opt-level", 0},
                 {"fallback", "fallback", 0}};
    char copy[64];

    jit_count = 0;
    snprintf(copy, sizeof copy, "%s", switches);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
        char *value = strchr(w, '=');

        for (size_t i = 0; value && i < sizeof known / sizeof *known; i++) {
            if (strncmp(w, known[i].word, (size_t)(value - w)) ||
                known[i].word[value - w])
                continue;
            if (known[i].environment)
                setenv(known[i].name, value + 1, 1);
            else
                jit[jit_count++] =
                    (struct kiln_jit_option){known[i].name, atoi(value + 1)};
        }
    }
}

static enum kiln_status load(struct kiln *kiln, const void *bytes, size_t size,
                             struct kiln_library **library,
                             struct kiln_error *err)
{
    struct kiln_load_options options = {
        .size = sizeof options, .jit = jit, .jit_count = jit_count};
    struct kiln_file *file;
    enum kiln_status st =
        kiln_file_open_bytes("image", bytes, size, &file, err);

    if (st)
        return st;
    st = kiln_file_load(kiln, file, -1, "k", &options, library, err);
    kiln_file_close(file);
    return st;
}

static enum kiln_status run(struct kiln *kiln, struct kiln_library *library,
                            unsigned *value, struct kiln_error *err)
{
    struct kiln_shape shape = {.shared = 0};
    struct kiln_buffer *buffer = NULL;
    struct kiln_kernel *kernel;
    uint64_t address;
    struct kiln_arg arg = {KILN_ARG_BUFFER, sizeof address, &address};
    enum kiln_status st = kiln_find_kernel(library, "k", &kernel, err);

    if (!st)
        st = kiln_buffer_new(kiln, 256, &buffer, err);
    address = buffer ? kiln_buffer_address(buffer) : 0;
    if (!st)
        st = kiln_launch(kernel, &shape, &arg, 1, err);
    if (!st)
        st = kiln_synchronize(kiln, err);
    if (!st)
        st = kiln_buffer_read(buffer, 0, value, sizeof *value, err);
    kiln_buffer_free(buffer);
    return st;
}

static const char *walk_text(struct kiln *kiln)
{
    static char text[300];
    struct kiln_stage stage = {.size = sizeof stage};

    *text = '\0';
    for (size_t i = kiln_stage_count(kiln); i-- > 0;)
        if (!kiln_get_stage(kiln, i, &stage, NULL) &&
            !strcmp(stage.name, "walk")) {
            snprintf(text, sizeof text, "%s", stage.text);
            break;
        }
    return text;
}

static void one_row(struct kiln *kiln, const struct row *row)
{
    struct kiln_library *library = NULL;
    struct kiln_error err = {.status = KILN_OK};
    char found[16] = "-";
    unsigned value = 0;

    if (!load(kiln, row->bytes, row->size, &library, &err)) {
        snprintf(found, sizeof found, "?");
        if (!run(kiln, library, &value, &err))
            for (int i = 0; i < row->count; i++)
                if ((unsigned)row->values[i] == value)
                    snprintf(found, sizeof found, "#%d", i + 1);
        kiln_library_free(library);
    }
    if (!strcmp(found, row->predicted) && (*found != '-' || *err.text))
        return;
    tally->wrong++;
    printf("%d | %s | %s | %s    # predicted %s; %s; %s\n", row->number,
           row->images, row->switches, found, row->predicted, err.text,
           walk_text(kiln));
}

static unsigned char *make_mutant(int number, uint64_t seed, size_t *size)
{
    uint64_t state = seed * 0x100000001b3u + (uint64_t)number;
    const struct row *row = &rows[random_next(&state) % (uint64_t)plain_count];

    return mutate(row->bytes, row->size, &state, size);
}

/* Loaded and not launched: code that was changed may do anything. */
static void one_mutant(struct kiln *kiln, int number, uint64_t seed)
{
    struct kiln_library *library = NULL;
    struct kiln_error err = {.status = KILN_OK};
    size_t size = 0;
    unsigned char *copy = make_mutant(number, seed, &size);

    if (!copy)
        return;
    if (!load(kiln, copy, size, &library, &err))
        tally->loaded++;
    else if (*err.text)
        tally->refused++;
    kiln_library_free(library);
    free(copy);
}

/* What ended a process, into a file named for it. */
static void keep(int number, uint64_t seed)
{
    size_t size = 0;
    unsigned char *copy = make_mutant(number, seed, &size);
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "mutant-%llu-%d.img", (unsigned long long)seed,
             number);
    file = copy ? fopen(path, "wb") : NULL;
    if (file) {
        fwrite(copy, 1, size, file);
        fclose(file);
    }
    free(copy);
}

static void batch(const char *device, int from, int to, int mutants,
                  uint64_t seed)
{
    struct kiln_open_options open = {
        .size = sizeof open, .device = device, .no_cache = 1};
    struct kiln *kiln;
    struct kiln_error err;

    setenv("CUDA_CACHE_DISABLE", "1", 1);
    set_switches(mutants ? "-" : rows[from].switches);
    if (kiln_open(&open, &kiln, &err)) {
        printf("%s\n", err.text);
        fflush(stdout);
        _exit(3);
    }
    for (int i = from; i < to; i++) {
        tally->at = i;
        alarm(SECONDS);
        if (mutants)
            one_mutant(kiln, i, seed);
        else
            one_row(kiln, &rows[i]);
    }
    kiln_close(kiln);
    fflush(stdout);
    _exit(0);
}

/* One process from `from` on; where it died, or `to`. */
static int batch_process(const char *device, int from, int to, int mutants,
                         uint64_t seed, int *deaths)
{
    pid_t child;
    int status = 0;

    fflush(stdout);
    child = fork();
    if (child < 0) {
        perror("walk_best");
        exit(2);
    }
    if (!child)
        batch(device, from, to, mutants, seed);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return to;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        exit(77); /* no such device */
    (*deaths)++;
    printf("# %s %d: %s %d\n", mutants ? "mutant" : "row",
           mutants ? tally->at : rows[tally->at].number,
           WIFSIGNALED(status) ? "signal" : "exit status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (mutants)
        keep(tally->at, seed);
    return tally->at + 1;
}

int main(int argc, char **argv)
{
    int mutants = argc > 4 && !strcmp(argv[3], "--mutate") ? atoi(argv[4]) : 0;
    uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
    int count, deaths = 0, at = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: walk_best DEVICE FOLDER [--mutate N [SEED]]\n");
        return 2;
    }
    read_index(argv[2]);
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED || !row_count)
        return 2;
    count = mutants ? mutants : row_count;
    while (at < count) {
        int to = at + BATCH < count ? at + BATCH : count;

        for (int i = at; !mutants && i < to; i++)
            if (strcmp(rows[i].switches, rows[at].switches))
                to = i;
        at = batch_process(argv[1], at, to, mutants, seed, &deaths);
    }
    if (mutants)
        printf("# %d mutants: %d loaded, %d refused with a sentence, %d "
               "without, %d processes died\n",
               count, tally->loaded, tally->refused,
               count - tally->loaded - tally->refused - deaths, deaths);
    else
        printf("# %d rows, %d differ, %d processes died\n", count, tally->wrong,
               deaths);
    return tally->wrong || deaths ||
           (mutants && count != tally->loaded + tally->refused);
}
