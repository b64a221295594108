/* SPDX-License-Identifier: MIT
 *
 * One compiler on real source. The first argument names it (nvrtc, clang);
 * where it is not installed the test is skipped.
 */
#include "cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compile/compile.h"

static struct compiler compiler;

static const char source[] =
    "#ifndef VALUE\n#define VALUE 7\n#endif\n"
    "template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "namespace ns {\n"
    "template <typename T, int N> __global__ void k(T *x) { *x = N; }\n"
    "}\n"
    "__global__ void plain(int *x) { *x = VALUE; }\n"
    "extern \"C\" __global__ void c_name(int *x) { *x = VALUE; }\n";

static enum kiln_status run(const char *text, const char *const *names,
                            size_t count, struct compile_result *result,
                            struct kiln_error *err)
{
    struct compile_request request = {.name = "k.cu",
                                      .text = text,
                                      .text_size = strlen(text),
                                      .names = names,
                                      .name_count = count,
                                      .device = {121, 0}};

    return compile_run(&compiler, &request, result, err);
}

static void names_become_symbols_that_the_ptx_has(void **state)
{
    static const char *const names[] = {"axpy<float>", "axpy<double>",
                                        "ns::k<int,4>", "plain", "c_name"};
    struct compile_result r;
    struct kiln_error err = {0};

    (void)state;
    if (run(source, names, 5, &r, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.kind, COMPILE_PTX);
    assert_int_equal(r.symbol_count, 5);
    for (size_t i = 0; i < 5; i++) {
        char entry[160];

        snprintf(entry, sizeof entry, ".entry %s(", r.symbols[i]);
        assert_non_null(strstr(buffer_str(&r.bytes), entry));
    }
    assert_string_equal(r.symbols[4], "c_name");
    assert_string_equal(r.symbols[2], "_ZN2ns1kIiLi4EEEvPT_");
    /* Nothing of how the symbols were asked for is left. */
    assert_null(strstr(buffer_str(&r.bytes), "kiln_wanted_name"));
    assert_non_null(*r.compiler ? r.compiler : NULL);
    compile_result_fini(&r);
}

static void source_that_does_not_compile_gives_line_and_log(void **state)
{
    static const char bad[] =
        "__global__ void k(int *x)\n{\n    nonsense;\n}\n";
    static const char *const names[] = {"k"};
    struct compile_result r;
    struct kiln_error err;

    (void)state;
    assert_int_equal(run(bad, names, 1, &r, &err), KILN_E_COMPILE);
    assert_non_null(strstr(err.text, "k.cu"));
    assert_non_null(strstr(err.text, "nonsense"));
    assert_non_null(strstr(buffer_str(&r.log), "nonsense"));
    compile_result_fini(&r);
}

static void an_unknown_name_lists_those_there_are(void **state)
{
    static const char *const names[] = {"plane"};
    struct compile_result r;
    struct kiln_error err;

    (void)state;
    assert_int_equal(run(source, names, 1, &r, &err), KILN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "\"plane\""));
    assert_non_null(strstr(err.text, "defines plain, "));
    assert_non_null(strstr(err.text, "ns::k<...>"));
    compile_result_fini(&r);
}

static void a_wrong_instance_says_what_is_wrong(void **state)
{
    static const char *const names[] = {"axpy<nonsense>"};
    struct compile_result r;
    struct kiln_error err;

    (void)state;
    assert_int_equal(run(source, names, 1, &r, &err), KILN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "nonsense"));
    compile_result_fini(&r);
}

static void options_reach_the_compiler(void **state)
{
    static const char *const names[] = {"plain"};
    static const char *const defines[] = {"VALUE=12345"};
    struct compile_request request = {.name = "k.cu",
                                      .text = source,
                                      .text_size = sizeof source - 1,
                                      .names = names,
                                      .name_count = 1,
                                      .defines = defines,
                                      .define_count = 1,
                                      .arch = "compute_80",
                                      .standard = "c++17",
                                      .device = {121, 0}};
    struct compile_result r;
    struct kiln_error err = {0};

    (void)state;
    if (compile_run(&compiler, &request, &r, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(buffer_str(&r.bytes), "12345"));
    assert_non_null(strstr(buffer_str(&r.bytes), ".target sm_80"));
    assert_string_equal(r.target, "compute_80");
    compile_result_fini(&r);
}

static void headers_beside_the_source_are_found(void **state)
{
    char root[] = "/tmp/kiln-compile-XXXXXX", header[64], name[64];
    static const char text[] =
        "#include \"value.h\"\n__global__ void k(int *x) { *x = V; }\n";
    static const char *const names[] = {"k"};
    struct compile_request request = {.name = name,
                                      .text = text,
                                      .text_size = sizeof text - 1,
                                      .names = names,
                                      .name_count = 1,
                                      .device = {121, 0}};
    struct compile_result r;
    struct kiln_error err = {0};
    enum kiln_status st;

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(header, sizeof header, "%s/value.h", root);
    snprintf(name, sizeof name, "%s/k.cu", root);
    file_write(header, "#define V 54321\n", 16, NULL);
    st = compile_run(&compiler, &request, &r, &err);
    unlink(header);
    rmdir(root);
    if (st)
        fail_msg("%s", err.text);
    assert_non_null(strstr(buffer_str(&r.bytes), "54321"));
    compile_result_fini(&r);
}

static unsigned files_in_tmp(void)
{
    DIR *dir = opendir(getenv("TMPDIR"));
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void nothing_stays_behind(void **state)
{
    static const char *const names[] = {"plain"};
    char root[] = "/tmp/kiln-compile-XXXXXX";
    struct compile_result r;

    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("TMPDIR", root, 1);
    assert_int_equal(run(source, names, 1, &r, NULL), KILN_OK);
    compile_result_fini(&r);
    assert_int_not_equal(run("nonsense", names, 1, &r, NULL), KILN_OK);
    compile_result_fini(&r);
    assert_int_equal(files_in_tmp(), 2); /* . and .. */
    rmdir(root);
    unsetenv("TMPDIR");
}

static void running_out_of_memory_anywhere_is_an_error(void **state)
{
    static const char *const names[] = {"plain"};
    struct kiln_error err;
    enum kiln_status st = KILN_E_MEMORY;
    long n;

    (void)state;
    for (n = 0; st && n < 200; n++) {
        struct compile_result r;

        memset(&err, 0, sizeof err);
        kiln_alloc_fail_after(n);
        st = run(source, names, 1, &r, &err);
        kiln_alloc_fail_after(-1);
        compile_result_fini(&r);
        if (st)
            assert_true(strlen(err.text) > 0);
    }
    assert_int_equal(st, KILN_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_symbols_that_the_ptx_has),
        cmocka_unit_test(source_that_does_not_compile_gives_line_and_log),
        cmocka_unit_test(an_unknown_name_lists_those_there_are),
        cmocka_unit_test(a_wrong_instance_says_what_is_wrong),
        cmocka_unit_test(options_reach_the_compiler),
        cmocka_unit_test(headers_beside_the_source_are_found),
        cmocka_unit_test(nothing_stays_behind),
        cmocka_unit_test(running_out_of_memory_anywhere_is_an_error),
    };
    struct kiln_error err;

    if (argc != 2)
        return 2;
    if (compiler_find(argv[1], &compiler, &err)) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
