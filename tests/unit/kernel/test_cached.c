/* SPDX-License-Identifier: MIT
 *
 * The whole path on the CPU device, through the cache: what is a hit, what
 * must be a miss, and what a hit must not load. Each look is a process of
 * its own, as for a user. Skipped where there is no compiler.
 */
#include "../compile/cmocka_all.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/kiln.h"

static char root[64];

static void put(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", root, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static int setup(void **state)
{
    char path[256];

    (void)state;
    strcpy(root, "/tmp/kiln-cached-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root,
                 i == 0   ? "one"
                 : i == 1 ? "two"
                          : "src");
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/cache", root);
    setenv("KILN_CACHE_DIR", path, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int maps_have(const char *word)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int found = 0;

    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, word) != NULL;
    fclose(maps);
    return found;
}

/* What a run answers, by exit status. */
enum { HIT = 10, MISS, UNCACHED, FAILED, WRONG, LOADED };

/* Compiles and runs `text` as src/NAME; the value it stores must be
 * `value`. */
static int child(const char *name, const char *text, const char *define,
                 int value)
{
    char path[256], one[256], two[256];
    const char *folders[] = {one, two}, *kernel = "k";
    struct kiln_open_options open = {.size = sizeof open, .device = "cpu"};
    struct kiln_source source = {.size = sizeof source,
                                 .name = path,
                                 .text = text,
                                 .text_size = strlen(text)};
    struct kiln_compile_options options = {.size = sizeof options,
                                           .names = &kernel,
                                           .name_count = 1,
                                           .include_folders = folders,
                                           .include_folder_count = 2,
                                           .defines = &define,
                                           .define_count = define ? 1 : 0};
    struct kiln_shape shape = {.block = {1, 1, 1}};
    struct kiln_error err;
    struct kiln *kiln;
    struct kiln_image *image;
    struct kiln_library *library;
    struct kiln_kernel *k;
    struct kiln_buffer *buffer;
    struct kiln_arg arg = {KILN_ARG_BUFFER, 8, NULL};
    uint64_t address;
    int out = 0, state = UNCACHED;

    snprintf(path, sizeof path, "%s/src/%s", root, name);
    snprintf(one, sizeof one, "%s/one", root);
    snprintf(two, sizeof two, "%s/two", root);
    if (kiln_open(&open, &kiln, &err) ||
        kiln_compile(kiln, &source, &options, &image, &err) ||
        kiln_load(kiln, image, NULL, &library, &err) ||
        kiln_find_kernel(library, "k", &k, &err) ||
        kiln_buffer_new(kiln, 4, &buffer, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return FAILED;
    }
    address = kiln_buffer_address(buffer);
    arg.value = &address;
    if (kiln_launch(k, &shape, &arg, 1, &err) ||
        kiln_buffer_read(buffer, 0, &out, 4, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return FAILED;
    }
    for (size_t i = 0; i < kiln_stage_count(kiln); i++) {
        struct kiln_stage s = {.size = sizeof s};

        kiln_get_stage(kiln, i, &s, NULL);
        if (!strcmp(s.name, "compile"))
            state = s.cache == KILN_CACHE_HIT    ? HIT
                    : s.cache == KILN_CACHE_MISS ? MISS
                                                 : UNCACHED;
    }
    if (state == HIT &&
        (maps_have("libnvrtc") || maps_have("libLLVM") || maps_have("ptxjit")))
        state = LOADED;
    kiln_buffer_free(buffer);
    kiln_library_free(library);
    kiln_image_free(image);
    kiln_close(kiln);
    return out == value ? state : WRONG;
}

static int run(const char *name, const char *text, const char *define,
               int value)
{
    int status = 0;
    pid_t pid = fork();

    if (!pid)
        _exit(child(name, text, define, value));
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const char plain[] = "__global__ void k(int *x) { *x = V; }\n";
static const char with_header[] =
    "#include <value.h>\n__global__ void k(int *x) { *x = V; }\n";
static const char with_has_include[] =
    "#if __has_include(<value.h>)\n#define V 1\n#else\n#define V 2\n#endif\n"
    "__global__ void k(int *x) { *x = V; }\n";

static void the_second_run_is_a_hit_and_loads_no_compiler(void **state)
{
    (void)state;
    assert_int_equal(run("k.cu", plain, "V=3", 3), MISS);
    assert_int_equal(run("k.cu", plain, "V=3", 3), HIT);
}

static void another_option_or_source_is_a_miss(void **state)
{
    (void)state;
    assert_int_equal(run("k.cu", plain, "V=3", 3), MISS);
    assert_int_equal(run("k.cu", plain, "V=4", 4), MISS);
    assert_int_equal(
        run("k.cu", "__global__ void k(int *x) { *x = 9; }\n", NULL, 9), MISS);
}

static void the_files_own_name_is_not_in_the_key(void **state)
{
    (void)state;
    assert_int_equal(run("k.cu", plain, "V=3", 3), MISS);
    assert_int_equal(run("other.cu", plain, "V=3", 3), HIT);
}

static void the_name_is_in_the_key_where_the_source_asks_for_it(void **state)
{
    static const char text[] =
        "__global__ void k(int *x) { *x = sizeof __FILE__ > 0; }\n";

    (void)state;
    assert_int_equal(run("k.cu", text, NULL, 1), MISS);
    assert_int_equal(run("other.cu", text, NULL, 1), MISS);
    assert_int_equal(run("other.cu", text, NULL, 1), HIT);
}

static void a_changed_header_is_a_miss(void **state)
{
    (void)state;
    put("two/value.h", "#define V 5\n");
    assert_int_equal(run("k.cu", with_header, NULL, 5), MISS);
    assert_int_equal(run("k.cu", with_header, NULL, 5), HIT);
    put("two/value.h", "#define V 6\n");
    assert_int_equal(run("k.cu", with_header, NULL, 6), MISS);
}

static void a_new_header_earlier_in_the_path_is_a_miss(void **state)
{
    (void)state;
    put("two/value.h", "#define V 5\n");
    assert_int_equal(run("k.cu", with_header, NULL, 5), MISS);
    put("one/value.h", "#define V 8\n");
    assert_int_equal(run("k.cu", with_header, NULL, 8), MISS);
}

static void a_header_that_appears_for_has_include_is_a_miss(void **state)
{
    (void)state;
    assert_int_equal(run("k.cu", with_has_include, NULL, 2), MISS);
    assert_int_equal(run("k.cu", with_has_include, NULL, 2), HIT);
    put("one/value.h", "");
    assert_int_equal(run("k.cu", with_has_include, NULL, 1), MISS);
}

static void a_header_named_by_a_macro_is_never_cached(void **state)
{
    static const char text[] = "#define H <value.h>\n#include H\n"
                               "__global__ void k(int *x) { *x = V; }\n";

    (void)state;
    put("one/value.h", "#define V 5\n");
    assert_int_equal(run("k.cu", text, NULL, 5), UNCACHED);
    put("one/value.h", "#define V 6\n");
    assert_int_equal(run("k.cu", text, NULL, 6), UNCACHED);
}

static void without_a_usable_folder_the_job_runs(void **state)
{
    (void)state;
    setenv("KILN_CACHE_DIR", "/proc/none", 1);
    setenv("KILN_LOG", "error", 1);
    assert_int_equal(run("k.cu", plain, "V=3", 3), MISS);
    assert_int_equal(run("k.cu", plain, "V=3", 3), MISS);
    unsetenv("KILN_LOG");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_second_run_is_a_hit_and_loads_no_compiler),
        T(another_option_or_source_is_a_miss),
        T(the_files_own_name_is_not_in_the_key),
        T(the_name_is_in_the_key_where_the_source_asks_for_it),
        T(a_changed_header_is_a_miss),
        T(a_new_header_earlier_in_the_path_is_a_miss),
        T(a_header_that_appears_for_has_include_is_a_miss),
        T(a_header_named_by_a_macro_is_never_cached),
        T(without_a_usable_folder_the_job_runs),
    };
#undef T
    int first;

    setenv("KILN_CPU_DRIVER", CPU_DRIVER_FILE, 1);
    unsetenv("CUDA_CACHE_DISABLE");
    setup(NULL);
    first = run("k.cu", plain, "V=3", 3);
    teardown(NULL);
    if (first == FAILED) {
        printf("skipped: no compiler, or no PTX compiler\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
