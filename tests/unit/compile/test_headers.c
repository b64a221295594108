/* SPDX-License-Identifier: MIT
 *
 * The scan must never look up too little: each case that a preprocessor could
 * see must be in the list.
 */
#include "cmocka_all.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "compile/headers.h"

struct folder {
    char root[64];
    struct arena arena;
};

static int setup(void **state)
{
    struct folder *f = calloc(1, sizeof *f);

    strcpy(f->root, "/tmp/kiln-headers-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    struct folder *f = *state;

    nftw(f->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

static const char *put(struct folder *f, const char *name, const char *text)
{
    char *path = arena_printf(&f->arena, "%s/%s", f->root, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    mkdir(path, 0755);
    *slash = '/';
    assert_int_equal(file_write(path, text, strlen(text), NULL), KILN_OK);
    return path;
}

static void scan(struct folder *f, const char *text, struct header_scan *out)
{
    const char *folders[2] = {arena_printf(&f->arena, "%s/one", f->root),
                              arena_printf(&f->arena, "%s/two", f->root)};
    struct plan plan = {
        .request = {.name = arena_printf(&f->arena, "%s/k.cu", f->root),
                    .text = text,
                    .text_size = strlen(text),
                    .folders = folders,
                    .folder_count = 2}};

    assert_int_equal(headers_scan(&plan, &f->arena, out, NULL), KILN_OK);
}

static const struct header_lookup *find(const struct header_scan *s,
                                        const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->lookups[i].name, name))
            return &s->lookups[i];
    return NULL;
}

static void every_form_of_an_include_is_met(void **state)
{
    static const char text[] = "#include \"a1\"\n"
                               "  #  include <a2>\n"
                               "#if 0\n#include \"a3\"\n#endif\n"
                               "/* c */ # /* c */ include /* c */ \"a4\"\n"
                               "#inc\\\nlude \"a\\\n5\"\n"
                               "%:include \"a6\"\n"
                               "#import <a7>\r\n"
                               "#if __has_include(\"a8\")\n"
                               "#elif __has_include ( <a9> )\n"
                               "#endif\n"
                               "#embed \"a10\"\n"
                               "#include_next <a11>\n"
                               "#include\"a12\"\n#include<a13>\n"
                               "\f#include \"a14\"";
    struct header_scan s;

    scan(*state, text, &s);
    for (int i = 1; i <= 14; i++) {
        char name[8];

        snprintf(name, sizeof name, "a%d", i);
        assert_non_null(find(&s, name));
        assert_false(find(&s, name)->found);
    }
    assert_false(s.opaque);
}

static void what_is_no_include_is_not_looked_up(void **state)
{
    struct header_scan s;

    scan(*state,
         "int include; x #include \"no\"\n#define include \"no\"\n"
         "#includes \"no\"\n",
         &s);
    assert_null(find(&s, "no"));
}

static void a_quoted_name_is_sought_beside_its_includer_first(void **state)
{
    struct folder *f = *state;
    struct header_scan s;

    put(f, "sub/x.h", "#include \"y.h\"\n");
    put(f, "sub/y.h", "near");
    put(f, "one/y.h", "far away");
    scan(f, "#include \"sub/x.h\"\n#include <y.h>\n", &s);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.lookups[1].size, 4);
    assert_int_equal(s.lookups[2].size, 8);
}

static void a_file_earlier_in_the_path_changes_the_result(void **state)
{
    struct folder *f = *state;
    struct header_scan before, after;

    put(f, "two/a.h", "2");
    scan(f, "#include <a.h>\n", &before);
    put(f, "one/a.h", "1");
    scan(f, "#include <a.h>\n", &after);
    assert_memory_not_equal(&before.lookups[0].content,
                            &after.lookups[0].content, sizeof(struct hash));
}

static void include_next_takes_every_folder_into_account(void **state)
{
    struct folder *f = *state;
    struct header_scan s;

    put(f, "one/a.h", "1");
    put(f, "two/a.h", "2");
    scan(f, "#include_next <a.h>\n", &s);
    assert_int_equal(s.count, 2);
    assert_true(s.lookups[0].found && s.lookups[1].found);
}

static void headers_that_include_each_other_end(void **state)
{
    struct folder *f = *state;
    struct header_scan s;

    put(f, "one/a.h", "#include <b.h>\n#include <a.h>\n");
    put(f, "one/b.h", "#include <a.h>\n");
    scan(f, "#include <a.h>\n#include <b.h>\n", &s);
    assert_int_equal(s.count, 5);
}

static void a_name_from_a_macro_is_opaque(void **state)
{
    struct header_scan s;

    scan(*state, "#include HEADER\n", &s);
    assert_true(s.opaque);
    scan(*state, "#if __has_include(HEADER)\n#endif\n", &s);
    assert_true(s.opaque);
}

static void a_macro_for_has_include_is_followed(void **state)
{
    struct header_scan s;

    scan(*state,
         "#define HAS(X) __has_include(X)\n#if HAS(<a>)\n#endif\n"
         "#define NOT_HAS(X) !HAS(X)\n",
         &s);
    assert_non_null(find(&s, "a"));
    /* Its argument is a parameter again: what it becomes is not known. */
    assert_true(s.opaque);
    scan(*state,
         "#  define HAS( _X ) __has_include ( _X )\n"
         "#if HAS (\"b\")\n#endif\n",
         &s);
    assert_non_null(find(&s, "b"));
    assert_false(s.opaque);
    scan(*state,
         "#define HAS(X) __has_include(X)\n#undef HAS\n"
         "#define HAS(X) 0\n#define OTHER HAS(<c>)\n",
         &s);
    assert_non_null(find(&s, "c"));
    assert_false(s.opaque);
    scan(*state, "#define HAS(X) __has_include(Y)\n", &s);
    assert_true(s.opaque);
}

static void use_of_the_file_name_is_seen_through_headers(void **state)
{
    struct folder *f = *state;
    struct header_scan s;

    scan(f, "int x;\n", &s);
    assert_false(s.names_file);
    put(f, "one/a.h", "const char *f() { return __FILE__; }\n");
    scan(f, "#include <a.h>\n", &s);
    assert_true(s.names_file);
}

static void any_prefix_of_a_text_is_read_to_its_end(void **state)
{
    static const char text[] = "# /* */ include \"a\\\n\" /* __has_include"
                               "(<b>) */ %:include <c> //\\\n x\n#include";

    for (size_t n = 0; n < sizeof text; n++) {
        struct folder *f = *state;
        char *copy = malloc(n + 1);
        struct header_scan s;

        memcpy(copy, text, n);
        copy[n] = '\0';
        scan(f, copy, &s);
        free(copy);
    }
}

static void what_is_no_plain_file_is_refused(void **state)
{
    struct folder *f = *state;
    const char *pipe = arena_printf(&f->arena, "%s/pipe.h", f->root);
    static const char *const texts[] = {"#include \"pipe.h\"\n",
                                        "#include </dev/zero>\n"};
    static const char *const named[] = {"pipe.h", "/dev/zero"};

    assert_int_equal(mkfifo(pipe, 0600), 0);
    for (size_t i = 0; i < 2; i++) {
        struct kiln_error err = {0};
        struct header_scan s;
        struct plan plan = {
            .request = {.name = arena_printf(&f->arena, "%s/k.cu", f->root),
                        .text = texts[i],
                        .text_size = strlen(texts[i])}};

        assert_int_equal(headers_scan(&plan, &f->arena, &s, &err), KILN_E_FILE);
        assert_non_null(strstr(err.text, named[i]));
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(every_form_of_an_include_is_met),
        T(what_is_no_include_is_not_looked_up),
        T(a_quoted_name_is_sought_beside_its_includer_first),
        T(a_file_earlier_in_the_path_changes_the_result),
        T(include_next_takes_every_folder_into_account),
        T(headers_that_include_each_other_end),
        T(a_name_from_a_macro_is_opaque),
        T(a_macro_for_has_include_is_followed),
        T(use_of_the_file_name_is_seen_through_headers),
        T(what_is_no_plain_file_is_refused),
        T(any_prefix_of_a_text_is_read_to_its_end),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
