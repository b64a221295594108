/* SPDX-License-Identifier: MIT
 *
 * Policy `best`, the CPU device, families, and the table of releases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "walk/walk.h"

#define PTX(target, major, minor)                                              \
    {                                                                          \
        .kind = WALK_PTX, .sm = target, .text_sm = target, .ptx_major = major, \
        .ptx_minor = minor                                                     \
    }
#define CUBIN(target)                                                          \
    {                                                                          \
        .kind = WALK_CUBIN, .sm = target, .text_sm = target                    \
    }

static const struct walk_device h200 = {
    .isa = WALK_ISA_SASS, .sm = 90, .driver_version = 13000};
static const struct walk_device cpu = {
    .isa = WALK_ISA_HOST, .sm = 121, .ptx_major = 9, .ptx_minor = 0};
static const struct walk_options driver = {.policy = WALK_DRIVER};
static const struct walk_options best = {.policy = WALK_BEST};

static struct walk_verdict verdicts[64];
static struct walk_result result;

static int choose(const struct walk_image *images, size_t count,
                  const struct walk_device *device,
                  const struct walk_options *options)
{
    walk(images, count, device, options, verdicts, &result);
    return result.status ? -1 : result.chosen;
}

#define CHOOSE(images, device, options)                                        \
    choose(images, sizeof(images) / sizeof *(images), device, options)

static void best_passes_over_what_cannot_work(void **state)
{
    struct walk_image broken[] = {CUBIN(90), PTX(80, 8, 0)};
    struct walk_image newer[] = {PTX(90, 9, 1), PTX(80, 8, 0)};
    struct walk_image liar[] = {{.kind = WALK_CUBIN, .sm = 90, .text_sm = 80},
                                PTX(75, 7, 0)};
    struct walk_image hidden[] = {
        {.kind = WALK_CUBIN, .sm = 80, .text_sm = 90}};

    (void)state;
    broken[0].defect = WALK_NOT_ELF;
    assert_int_equal(CHOOSE(broken, &h200, &driver), -1);
    assert_int_equal(CHOOSE(broken, &h200, &best), 1);
    assert_int_equal(verdicts[0].reason, WALK_DAMAGED);
    assert_int_equal(CHOOSE(newer, &h200, &driver), -1);
    assert_int_equal(result.status, KILN_E_PTX_VERSION);
    assert_non_null(strstr(result.text, "9.1"));
    assert_non_null(strstr(result.text, "CUDA 13.1"));
    assert_int_equal(CHOOSE(newer, &h200, &best), 1);
    assert_int_equal(verdicts[0].reason, WALK_PTX_TOO_NEW);
    assert_int_equal(CHOOSE(liar, &h200, &driver), -1);
    assert_int_equal(result.status, KILN_E_SOURCE);
    assert_int_equal(CHOOSE(liar, &h200, &best), 1);
    assert_int_equal(CHOOSE(hidden, &h200, &driver), -1);
    assert_int_equal(CHOOSE(hidden, &h200, &best), 0);
}

static void best_ranks_what_is_left(void **state)
{
    struct walk_image images[] = {PTX(80, 7, 0), PTX(80, 8, 0), CUBIN(90),
                                  PTX(75, 9, 0), CUBIN(80),     PTX(90, 8, 0)};
    int ranks[] = {4, 3, 1, 5, 0, 2};

    (void)state;
    assert_int_equal(CHOOSE(images, &h200, &best), 2);
    for (int i = 0; i < 6; i++)
        assert_int_equal(verdicts[i].rank, ranks[i]);
    assert_int_equal(verdicts[4].reason, WALK_OTHER_SM);
}

static void best_says_why_nothing_is_left(void **state)
{
    struct walk_image newer[] = {CUBIN(80), PTX(90, 9, 1)};
    struct walk_image good[] = {CUBIN(80), PTX(80, 8, 0)};
    struct walk_options off = {.policy = WALK_BEST, .disable_jit = 1};
    struct walk_options none = {.policy = WALK_BEST, .no_compiler = 1};

    (void)state;
    CHOOSE(newer, &h200, &best);
    assert_int_equal(result.status, KILN_E_PTX_VERSION);
    CHOOSE(good, &h200, &off);
    assert_int_equal(result.status, KILN_E_JIT_DISABLED);
    CHOOSE(good, &h200, &none);
    assert_int_equal(result.status, KILN_E_JIT_COMPILER);
    choose(good, 1, &h200, &best);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    assert_string_equal(
        result.text,
        "a cubin for sm_80: its code is for sm_80, the device is sm_90");
    choose(NULL, 0, &h200, &best);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    assert_int_equal(result.chosen, -1);
}

static void the_cpu_takes_objects_then_ptx_and_never_sass(void **state)
{
    struct walk_image images[] = {CUBIN(121),
                                  PTX(80, 8, 0),
                                  {.kind = WALK_OBJECT, .object_fits = 1},
                                  PTX(120, 8, 8)};
    const struct walk_options *both[] = {&driver, &best};

    (void)state;
    for (int i = 0; i < 2; i++) {
        images[2].object_fits = 1;
        assert_int_equal(CHOOSE(images, &cpu, both[i]), 2);
        assert_false(result.compiles);
        images[2].object_fits = 0;
        assert_int_equal(CHOOSE(images, &cpu, both[i]), 3);
        assert_true(result.compiles);
        assert_int_equal(verdicts[0].reason, WALK_OTHER_ISA);
        assert_int_equal(verdicts[2].reason, WALK_OBJECT_UNFIT);
        assert_int_equal(choose(images, 1, &cpu, both[i]), -1);
        assert_int_equal(result.status, KILN_E_NO_BINARY);
    }
    images[2].object_fits = 1;
    choose(images + 2, 1, &h200, &driver);
    assert_int_equal(verdicts[0].reason, WALK_OTHER_ISA);
}

static void letters_and_families_are_kept(void **state)
{
    (void)state;
    assert_true(walk_target_fits(80, 0, 90));
    assert_true(walk_target_fits(90, 'a', 90));
    assert_false(walk_target_fits(90, 'a', 100));
    assert_true(walk_target_fits(100, 'f', 103));
    assert_false(walk_target_fits(103, 'f', 100));
    assert_false(walk_target_fits(100, 'f', 120));
    assert_false(walk_target_fits(100, 0, 90));
}

static void an_integrated_device_takes_its_own_code_only(void **state)
{
    struct walk_image images[] = {CUBIN(86)};
    struct walk_device orin = {.isa = WALK_ISA_SASS,
                               .sm = 87,
                               .integrated = 1,
                               .driver_version = 12020};
    struct walk_device ada = {
        .isa = WALK_ISA_SASS, .sm = 89, .driver_version = 12020};

    (void)state;
    assert_int_equal(CHOOSE(images, &orin, &driver), -1);
    assert_int_equal(CHOOSE(images, &ada, &driver), 0);
    images[0].sm = images[0].text_sm = 87;
    assert_int_equal(CHOOSE(images, &orin, &driver), 0);
    assert_int_equal(CHOOSE(images, &ada, &driver), -1);
}

static void a_switch_of_the_operator_is_obeyed_by_best(void **state)
{
    struct walk_image images[] = {CUBIN(90), PTX(80, 8, 0)};
    struct walk_options force = {.policy = WALK_BEST, .force_ptx = 1};
    struct walk_options off = {.policy = WALK_BEST, .disable_jit = 1};
    struct walk_options both = {
        .policy = WALK_BEST, .force_ptx = 1, .disable_jit = 1};

    (void)state;
    assert_int_equal(CHOOSE(images, &h200, &force), 1);
    assert_int_equal(verdicts[0].reason, WALK_FORCED_PTX);
    assert_int_equal(CHOOSE(images, &h200, &off), 0);
    assert_int_equal(verdicts[1].reason, WALK_JIT_OFF);
    assert_int_equal(CHOOSE(images, &h200, &both), -1);
    assert_int_equal(result.status, KILN_E_JIT_DISABLED);
    /* By itself a cubin is loaded, forced or not. */
    images[0].raw = 1;
    assert_int_equal(choose(images, 1, &h200, &force), 0);
}

static void best_leaves_out_a_target_that_the_device_does_not_run(void **state)
{
    struct walk_image images[] = {CUBIN(80), PTX(80, 8, 0), CUBIN(90)};
    struct walk_options other = {.policy = WALK_BEST, .target = 80};
    struct walk_options same = {.policy = WALK_BEST, .target = 90};
    struct walk_options as_driver = {.policy = WALK_DRIVER, .target = 80};
    char text[300];

    (void)state;
    assert_int_equal(CHOOSE(images, &h200, &as_driver), -1);
    assert_int_equal(CHOOSE(images, &h200, &other), 2);
    assert_true(result.target_ignored);
    walk_predict(images, 3, &h200, &other, verdicts, &result, text,
                 sizeof text);
    assert_non_null(strstr(text, "CU_JIT_TARGET 80 is left out"));
    assert_int_equal(CHOOSE(images, &h200, &same), 2);
    assert_false(result.target_ignored);
}

static void code_for_a_lower_minor_comes_after_ptx_where_asked(void **state)
{
    struct walk_device ga102 = {
        .isa = WALK_ISA_SASS, .sm = 86, .driver_version = 13000};
    struct walk_image images[] = {CUBIN(80), PTX(70, 7, 0)};
    struct walk_image exact[] = {CUBIN(80), PTX(86, 7, 0), CUBIN(86)};
    struct walk_options ask = {.prefer_ptx = 1};

    (void)state;
    for (int policy = WALK_DRIVER; policy <= WALK_BEST; policy++) {
        struct walk_options plain = {.policy = (enum walk_policy)policy};

        ask.policy = (enum walk_policy)policy;
        assert_int_equal(CHOOSE(images, &ga102, &plain), 0);
        assert_true(verdicts[0].unverified);
        assert_false(verdicts[1].unverified);
        assert_int_equal(CHOOSE(images, &ga102, &ask), 1);
        assert_int_equal(CHOOSE(exact, &ga102, &plain), 2);
        assert_int_equal(CHOOSE(exact, &ga102, &ask), 2);
        assert_int_equal(choose(images, 1, &ga102, &ask), 0);
    }
}

static void variables_have_to_fit_the_memory(void **state)
{
    struct walk_device small = h200;
    struct walk_image images[] = {CUBIN(90), PTX(80, 8, 0)};

    (void)state;
    images[0].global_bytes = (uint64_t)1 << 40;
    assert_int_equal(CHOOSE(images, &small, &driver), 0); /* not known */
    small.memory = (uint64_t)1 << 37;
    assert_int_equal(CHOOSE(images, &small, &driver), -1);
    assert_int_equal(result.status, KILN_E_MEMORY);
    assert_int_equal(CHOOSE(images, &small, &best), 1);
    assert_int_equal(verdicts[0].reason, WALK_TOO_LARGE);
    assert_int_equal(choose(images, 1, &small, &best), -1);
    assert_int_equal(result.status, KILN_E_MEMORY);
    images[0].global_bytes = small.memory;
    assert_int_equal(CHOOSE(images, &small, &driver), 0);
}

static void lto_ir_of_an_unknown_version_changes_the_result(void **state)
{
    struct walk_image images[] = {
        CUBIN(80), {.kind = WALK_LTO, .sm = 90, .ptx_major = 1}, CUBIN(90)};
    const struct walk_options force = {.policy = WALK_DRIVER, .force_ptx = 1};
    struct walk_image *lto = &images[1];
    char text[WALK_TEXT];

    (void)state;
    assert_int_equal(CHOOSE(images, &h200, &driver), 2);
    assert_int_equal(choose(images, 2, &h200, &driver), -1);
    assert_int_equal(result.status, KILN_E_IMAGE);
    assert_non_null(strstr(result.text, "version that no driver knows"));
    assert_int_equal(choose(images, 2, &h200, &force), -1);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    assert_int_equal(choose(images, 2, &h200, &best), -1);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    lto->sm = 91;
    assert_int_equal(choose(images, 2, &h200, &driver), -1);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    lto->sm = 90;
    lto->ptx_minor = 65;
    assert_int_equal(choose(images, 2, &h200, &driver), -1);
    assert_int_equal(result.status, KILN_E_NO_BINARY);
    walk_text(&images[1], &h200, &driver, &verdicts[1], text);
    assert_non_null(strstr(text, "linked first"));
}

static void a_load_is_foretold_in_a_sentence(void **state)
{
    struct walk_image images[] = {CUBIN(80), PTX(70, 7, 0), CUBIN(90)};
    static const char *const texts[] = {
        "this load will fail: a cubin for sm_80: its code is for sm_80, the "
        "device is sm_90",
        "this load will be compiled by the driver: no cubin for sm_90, PTX "
        "7.0 for compute_70",
        "this load will copy a cubin for sm_90: nothing is compiled",
    };
    char text[300];

    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        choose(images, n, &h200, &best);
        walk_predict(images, n, &h200, &best, verdicts, &result, text,
                     sizeof text);
        assert_string_equal(text, texts[n - 1]);
    }
    choose(images, 3, &cpu, &best);
    walk_predict(images, 3, &cpu, &best, verdicts, &result, text, sizeof text);
    assert_string_equal(text, "this load will be compiled by the driver: the "
                              "device is the CPU, PTX 7.0 for compute_70");
}

static void a_driver_newer_than_the_table_refuses_no_version(void **state)
{
    struct walk_image images[] = {PTX(90, 12, 7)};
    struct walk_device later = {
        .isa = WALK_ISA_SASS, .sm = 90, .driver_version = 99000};

    (void)state;
    assert_int_equal(CHOOSE(images, &h200, &best), -1);
    assert_int_equal(CHOOSE(images, &later, &best), 0);
}

static void releases_are_found(void **state)
{
    (void)state;
    assert_int_equal(walk_release_of(12040)->ptx_minor, 4);
    assert_int_equal(walk_release_of(12041)->ptx_minor, 4);
    assert_int_equal(walk_release_of(12060)->cuda, 1206);
    assert_int_equal(walk_release_of(13010)->cuda, 1301);
    assert_null(walk_release_of(1000));
    assert_int_equal(walk_release_for_ptx(8, 5)->cuda, 1205);
    assert_int_equal(walk_release_for_ptx(9, 0)->driver, 580);
    assert_int_equal(walk_release_for_ptx(1, 4)->cuda, 301);
    assert_null(walk_release_for_ptx(99, 9));
}

static void sixty_usable_images_have_one_first(void **state)
{
    struct walk_image images[60];
    int firsts = 0;

    (void)state;
    for (int i = 0; i < 60; i++)
        images[i] = (struct walk_image)PTX(50, 7, 0);
    images[33].sm = images[33].text_sm = 61;
    assert_int_equal(CHOOSE(images, &h200, &best), 33);
    for (int i = 0; i < 60; i++) {
        assert_true(verdicts[i].rank > 0);
        firsts += verdicts[i].rank == 1;
    }
    assert_int_equal(firsts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_passes_over_what_cannot_work),
        cmocka_unit_test(best_ranks_what_is_left),
        cmocka_unit_test(best_says_why_nothing_is_left),
        cmocka_unit_test(the_cpu_takes_objects_then_ptx_and_never_sass),
        cmocka_unit_test(letters_and_families_are_kept),
        cmocka_unit_test(an_integrated_device_takes_its_own_code_only),
        cmocka_unit_test(a_switch_of_the_operator_is_obeyed_by_best),
        cmocka_unit_test(best_leaves_out_a_target_that_the_device_does_not_run),
        cmocka_unit_test(code_for_a_lower_minor_comes_after_ptx_where_asked),
        cmocka_unit_test(variables_have_to_fit_the_memory),
        cmocka_unit_test(lto_ir_of_an_unknown_version_changes_the_result),
        cmocka_unit_test(a_load_is_foretold_in_a_sentence),
        cmocka_unit_test(a_driver_newer_than_the_table_refuses_no_version),
        cmocka_unit_test(releases_are_found),
        cmocka_unit_test(sixty_usable_images_have_one_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
