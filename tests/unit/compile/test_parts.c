/* SPDX-License-Identifier: MIT
 *
 * The smaller parts: options in one form, the loader's cache, identities,
 * child processes.
 */
#include "cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "compile/identity.h"
#include "compile/ldcache.h"
#include "compile/options.h"
#include "compile/process.h"

/* ---- options ---------------------------------------------------------- */

static enum kiln_status plan(struct arena *arena, const char *const *extra,
                             size_t count, struct plan *out,
                             struct kiln_error *err)
{
    static const struct compiler compiler;
    struct compile_request request = {
        .name = "k.cu", .extra = extra, .extra_count = count};

    return plan_make(&request, &compiler, arena, out, err);
}

static void every_spelling_of_an_option_ends_in_its_field(void **state)
{
    static const char *const spellings[][2] = {
        {"-arch=sm_80", "--gpu-architecture=sm_80"},
        {"-std=c++14", "--std=c++14"},
        {"-maxrregcount=32", "--maxrregcount=32"},
        {"-DX=1", "--define-macro=X=1"},
        {"-Iinc", "--include-path=inc"},
        {"-include=a.h", "--pre-include=a.h"}};

    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        struct arena arena = {0};
        struct plan a, b;

        assert_int_equal(plan(&arena, &spellings[i][0], 1, &a, NULL), KILN_OK);
        assert_int_equal(plan(&arena, &spellings[i][1], 1, &b, NULL), KILN_OK);
        assert_int_equal(a.request.extra_count, 0);
        assert_int_equal(b.request.extra_count, 0);
        assert_int_equal(a.request.define_count, b.request.define_count);
        assert_int_equal(a.request.folder_count, b.request.folder_count);
        assert_int_equal(a.pre_include_count, b.pre_include_count);
        assert_int_equal(a.request.max_registers, b.request.max_registers);
        if (a.request.arch)
            assert_string_equal(a.request.arch, b.request.arch);
        if (a.request.standard)
            assert_string_equal(a.request.standard, b.request.standard);
        arena_fini(&arena);
    }
}

static void an_empty_macro_or_folder_is_refused(void **state)
{
    static const struct compiler compiler;
    const char *const texts[] = {"X=1", ""};
    struct compile_request macros = {
        .name = "k.cu", .defines = texts, .define_count = 2};
    struct compile_request folders = {
        .name = "k.cu", .folders = texts, .folder_count = 2};
    struct arena arena = {0};
    struct plan p;

    (void)state;
    assert_int_equal(plan_make(&macros, &compiler, &arena, &p, NULL),
                     KILN_E_INVALID);
    assert_int_equal(plan_make(&folders, &compiler, &arena, &p, NULL),
                     KILN_E_INVALID);
    macros.define_count = folders.folder_count = 1;
    assert_int_equal(plan_make(&macros, &compiler, &arena, &p, NULL), KILN_OK);
    assert_int_equal(plan_make(&folders, &compiler, &arena, &p, NULL), KILN_OK);
    arena_fini(&arena);
}

static void an_option_that_writes_a_file_is_refused(void **state)
{
    static const char *const options[] = {
        "-time=x",     "--time=-",      "-o=x",
        "-save-temps", "-create-pch=x", "-fdevice-time-trace=x"};

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct arena arena = {0};
        struct plan p;

        assert_int_equal(plan(&arena, &options[i], 1, &p, NULL),
                         KILN_E_INVALID);
        arena_fini(&arena);
    }
}

static void an_option_that_reads_unseen_files_ends_caching(void **state)
{
    static const char *const options[] = {"-isystem/x", "@file", "-pch",
                                          "-pch-dir=x"};

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct arena arena = {0};
        struct plan p;

        assert_int_equal(plan(&arena, &options[i], 1, &p, NULL), KILN_OK);
        assert_true(p.opaque);
        arena_fini(&arena);
    }
}

static void many_options_keep_their_order(void **state)
{
    struct arena arena = {0};
    struct options o = {.arena = &arena};

    (void)state;
    for (int i = 0; i < 1000; i++)
        options_add(&o, "-x%d", i);
    assert_int_equal(o.count, 1000);
    assert_string_equal(o.items[0], "-x0");
    assert_string_equal(o.items[999], "-x999");
    assert_null(o.items[1000]);
    arena_fini(&arena);
}

/* ---- the loader's cache ----------------------------------------------- */

static int keep(void *data, const char *name, const char *path)
{
    struct buffer *seen = data;

    buffer_printf(seen, "%s=%s;", name, path);
    return 0;
}

static void make_cache(struct buffer *b, uint32_t count, uint32_t flags)
{
    static const char strings[] = "liba.so.1\0/x/liba.so.1\0libb.so\0/x/b";
    uint32_t base = 48 + 24 * 2;
    uint32_t names[2][2] = {{base, base + 10}, {base + 23, base + 31}};

    buffer_add(b, "glibc-ld.so.cache1.1", 20);
    buffer_u32(b, count);
    buffer_u32(b, sizeof strings);
    buffer_zeros(b, 20);
    for (int i = 0; i < 2; i++) {
        buffer_u32(b, flags);
        buffer_u32(b, names[i][0]);
        buffer_u32(b, names[i][1]);
        buffer_zeros(b, 12);
    }
    buffer_add(b, strings, sizeof strings);
}

static void read_cache(const struct buffer *b, size_t size, const char *prefix,
                       struct buffer *seen)
{
    char path[] = "/tmp/kiln-ldcache-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, b->bytes, size, NULL), KILN_OK);
    ldcache_each(path, prefix, keep, seen);
    unlink(path);
}

#ifdef __aarch64__
enum { FLAGS = 0x0a03 };
#else
enum { FLAGS = 0x0303 };
#endif

static void libraries_are_found_in_the_loaders_cache(void **state)
{
    struct buffer b = {0}, seen = {0};

    (void)state;
    make_cache(&b, 2, FLAGS);
    read_cache(&b, b.size, "lib", &seen);
    assert_string_equal(buffer_str(&seen),
                        "liba.so.1=/x/liba.so.1;libb.so=/x/b;");
    seen.size = 0;
    read_cache(&b, b.size, "libb", &seen);
    assert_string_equal(buffer_str(&seen), "libb.so=/x/b;");
    buffer_fini(&b);
    buffer_fini(&seen);
}

static void a_damaged_loaders_cache_has_no_libraries(void **state)
{
    struct buffer b = {0}, seen = {0};

    (void)state;
    make_cache(&b, 0x7fffffff, FLAGS);
    read_cache(&b, b.size, "lib", &seen);
    assert_int_equal(seen.size, 0);
    buffer_fini(&b);
    make_cache(&b, 2, FLAGS);
    for (size_t n = 0; n < b.size; n++)
        read_cache(&b, n, "lib", &seen);
    buffer_fini(&b);
    seen.size = 0;
    make_cache(&b, 2, 0x0003); /* another machine's */
    read_cache(&b, b.size, "lib", &seen);
    assert_int_equal(seen.size, 0);
    assert_int_equal(ldcache_each("/nonexistent", "lib", keep, &seen), 0);
    buffer_fini(&b);
    buffer_fini(&seen);
}

/* ---- identity --------------------------------------------------------- */

static struct hash identity_of(const char *path)
{
    struct hasher *h = hasher_new();
    struct hash out;

    assert_int_equal(identity_add(h, path, NULL), KILN_OK);
    assert_int_equal(hasher_take(h, &out), 0);
    return out;
}

static void a_copy_of_a_file_is_the_same_and_a_change_is_not(void **state)
{
    char a[] = "/tmp/kiln-id-XXXXXX", b[] = "/tmp/kiln-id-XXXXXX";
    struct hash x, y;

    (void)state;
    close(mkstemp(a));
    close(mkstemp(b));
    file_write(a, "no ELF", 6, NULL);
    file_write(b, "no ELF", 6, NULL);
    x = identity_of(a);
    y = identity_of(b);
    assert_memory_equal(&x, &y, sizeof x);
    file_write(b, "no elf", 6, NULL);
    y = identity_of(b);
    assert_memory_not_equal(&x, &y, sizeof x);
    unlink(a);
    unlink(b);
}

static void a_missing_file_has_no_identity(void **state)
{
    struct hasher *h = hasher_new();
    struct kiln_error err;

    (void)state;
    assert_int_equal(identity_add(h, "/nonexistent", &err), KILN_E_FILE);
    assert_non_null(strstr(err.text, "/nonexistent"));
    hasher_free(h);
}

static void a_damaged_elf_file_is_hashed_whole(void **state)
{
    unsigned char elf[128] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    char path[] = "/tmp/kiln-id-XXXXXX";
    struct hash x, y;

    (void)state;
    memset(elf + 16, 0xff, sizeof elf - 16);
    close(mkstemp(path));
    file_write(path, elf, sizeof elf, NULL);
    x = identity_of(path);
    elf[100] = 1;
    file_write(path, elf, sizeof elf, NULL);
    y = identity_of(path);
    assert_memory_not_equal(&x, &y, sizeof x);
    unlink(path);
}

/* ---- processes -------------------------------------------------------- */

static void a_childs_output_and_status_come_back(void **state)
{
    const char *argv[] = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3",
                          NULL};
    struct buffer out = {0};
    int code = -1;

    (void)state;
    assert_int_equal(process_run(argv, 5000, &out, &code, NULL), KILN_OK);
    assert_int_equal(code, 3);
    assert_non_null(strstr(buffer_str(&out), "out\n"));
    assert_non_null(strstr(buffer_str(&out), "err\n"));
    buffer_fini(&out);
}

static void a_child_past_its_deadline_is_killed_with_its_children(void **state)
{
    const char *argv[] = {"/bin/sh", "-c", "sleep 60 & sleep 60", NULL};
    struct buffer out = {0};
    struct kiln_error err;
    uint64_t start = clock_ns();
    int code = 0;

    (void)state;
    assert_int_equal(process_run(argv, 200, &out, &code, &err), KILN_E_TIMEOUT);
    assert_true(clock_ns() - start < 5000000000u);
    assert_non_null(strstr(err.text, "200 ms"));
    buffer_fini(&out);
}

static void a_child_that_crashes_is_told_from_one_that_fails(void **state)
{
    const char *argv[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    struct buffer out = {0};
    struct kiln_error err;
    int code = 0;

    (void)state;
    assert_int_equal(process_run(argv, 5000, &out, &code, &err), KILN_E_LAUNCH);
    assert_non_null(strstr(err.text, "signal 11"));
    buffer_fini(&out);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    const char *argv[] = {"/nonexistent", NULL};
    struct buffer out = {0};
    struct kiln_error err;
    int code = 0;

    (void)state;
    assert_int_equal(process_run(argv, 5000, &out, &code, &err), KILN_E_OS);
    assert_non_null(strstr(err.text, "/nonexistent"));
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_an_option_ends_in_its_field),
        cmocka_unit_test(an_empty_macro_or_folder_is_refused),
        cmocka_unit_test(an_option_that_writes_a_file_is_refused),
        cmocka_unit_test(an_option_that_reads_unseen_files_ends_caching),
        cmocka_unit_test(many_options_keep_their_order),
        cmocka_unit_test(libraries_are_found_in_the_loaders_cache),
        cmocka_unit_test(a_damaged_loaders_cache_has_no_libraries),
        cmocka_unit_test(a_copy_of_a_file_is_the_same_and_a_change_is_not),
        cmocka_unit_test(a_missing_file_has_no_identity),
        cmocka_unit_test(a_damaged_elf_file_is_hashed_whole),
        cmocka_unit_test(a_childs_output_and_status_come_back),
        cmocka_unit_test(a_child_past_its_deadline_is_killed_with_its_children),
        cmocka_unit_test(a_child_that_crashes_is_told_from_one_that_fails),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
