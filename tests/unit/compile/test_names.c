/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "compile/names.h"

static void symbols_read_as_cxx_writes_them(void **state)
{
    static const char *const pairs[][2] = {
        {"_Z5saxpyfPKfPfi", "saxpy"},
        {"_Z4axpyIfEvT_PKS0_PS0_i", "axpy<float>"},
        {"_ZN2ns5scaleIiLi4EEEvPT_i", "ns::scale<int, 4>"},
        {"_Z1fIPKdLin3ELb1EEvv", "f<const double*, -3, true>"},
        {"_ZN1a1bIN1c1dEEEvv", "a::b<c::d>"},
        {"_ZN1aIiE1bEv", "a<int>::b"},
        {"_ZN12_GLOBAL__N_11kEv", "(anonymous namespace)::k"},
        {"_Z1kI1AIfEEvv", "k<A<float>>"},
        {"plain", "plain"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char out[128];

        names_demangle(pairs[i][0], out, sizeof out);
        assert_string_equal(out, pairs[i][1]);
    }
}

static void what_is_not_understood_stays_as_it_is(void **state)
{
    static const char *const symbols[] = {
        "_Z",
        "_ZN",
        "_Z999999999999abc",
        "_Z3ab",
        "_Z1fIDpTEEvv",
        "_Z1fIS_Evv",
        "_ZN1aIiLi",
        "_Z0v",
        "_Z1fIPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPiEvv"};

    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        char out[128];

        names_demangle(symbols[i], out, sizeof out);
        assert_string_equal(out, symbols[i]);
    }
}

static void a_name_longer_than_its_room_is_cut_to_the_symbol(void **state)
{
    char out[8];

    (void)state;
    names_demangle("_Z20abcdefghijklmnopqrstv", out, sizeof out);
    assert_string_equal(out, "_Z20abc");
}

static void spaces_do_not_matter_to_a_match(void **state)
{
    (void)state;
    assert_true(names_match("ns::k<int,4>", "ns::k<int, 4>"));
    assert_true(names_match("::saxpy", "saxpy"));
    assert_true(names_match("axpy", "axpy<float>"));
    assert_true(names_match("k<unsigned int>", "k<unsigned int>"));
    assert_false(names_match("axpy<float>", "axpy<double>"));
    assert_false(names_match("axp", "axpy"));
    assert_false(names_match("axpy<float", "axpy<float>"));
    assert_false(names_match("axpyy", "axpy"));
}

static void kernels_are_found_in_source(void **state)
{
    static const char source[] =
        "// __global__ void no1();\n"
        "/* __global__ void no2(); */\n"
        "const char *s = \"__global__ void no3();\";\n"
        "__global__ void one(int *x) { if (x) { } }\n"
        "extern \"C\" __global__ __launch_bounds__(256, 2) void two(int);\n"
        "namespace a { namespace { __global__ void three(); }\n"
        "template <typename T> __global__ void four(T x) { x(); }\n"
        "__global__ void five() {} }\n"
        "namespace b::c { void __global__ six(int) {} }\n"
        "using namespace a;\n"
        "template <class T> struct S { T x; };\n"
        "__device__ void helper(); __global__ void seven();\n";
    static const char *const wanted[] = {"one",          "two",     "a::three",
                                         "a::four<...>", "a::five", "b::c::six",
                                         "seven"};
    struct arena arena = {0};
    struct name_list list = {.arena = &arena};

    (void)state;
    names_in_source(&list, source, sizeof source - 1);
    assert_int_equal(list.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < list.count; i++)
        assert_string_equal(list.items[i], wanted[i]);
    arena_fini(&arena);
}

static void any_prefix_of_a_source_is_read_to_its_end(void **state)
{
    static const char source[] =
        "template <typename T> __global__ void f(T) { \"a\\\"\" /* x */ } "
        "namespace n { __global__ __launch_bounds__(1) void g(); }";

    (void)state;
    for (size_t n = 0; n < sizeof source; n++) {
        struct arena arena = {0};
        struct name_list list = {.arena = &arena};
        char copy[sizeof source];

        memcpy(copy, source, n);
        names_in_source(&list, copy, n);
        arena_fini(&arena);
    }
}

static void the_nearest_name_comes_first(void **state)
{
    struct arena arena = {0};
    struct name_list list = {.arena = &arena};
    struct kiln_error err;

    (void)state;
    names_add(&list, "zebra", 5);
    names_add(&list, "ns::saxpy<float>", 16);
    names_add(&list, "reduce", 6);
    names_add(&list, "reduce", 6);
    assert_int_equal(list.count, 3);
    assert_int_equal(names_not_found(&list, "sacpy", "x.cu", &err),
                     KILN_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "\"sacpy\": not in x.cu"));
    assert_non_null(strstr(err.text, "defines ns::saxpy<float>, "));
    arena_fini(&arena);
}

static void a_program_without_kernels_says_so(void **state)
{
    struct arena arena = {0};
    struct name_list list = {.arena = &arena};
    struct kiln_error err;

    (void)state;
    names_not_found(&list, "k", "x.cu", &err);
    assert_non_null(strstr(err.text, "defines no kernel"));
    arena_fini(&arena);
}

static void a_long_list_ends_in_dots(void **state)
{
    struct arena arena = {0};
    struct name_list list = {.arena = &arena};
    struct kiln_error err;

    (void)state;
    for (char c = 'a'; c <= 'z'; c++) {
        char name[24];

        memset(name, c, sizeof name);
        names_add(&list, name, sizeof name);
    }
    names_not_found(&list, "k", "x.cu", &err);
    assert_non_null(strstr(err.text, ", ..."));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_read_as_cxx_writes_them),
        cmocka_unit_test(what_is_not_understood_stays_as_it_is),
        cmocka_unit_test(a_name_longer_than_its_room_is_cut_to_the_symbol),
        cmocka_unit_test(spaces_do_not_matter_to_a_match),
        cmocka_unit_test(kernels_are_found_in_source),
        cmocka_unit_test(any_prefix_of_a_source_is_read_to_its_end),
        cmocka_unit_test(the_nearest_name_comes_first),
        cmocka_unit_test(a_program_without_kernels_says_so),
        cmocka_unit_test(a_long_list_ends_in_dots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
