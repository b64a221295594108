/* SPDX-License-Identifier: MIT
 *
 * Readers that run out of memory, sources that cannot be read, and callers
 * that want no more: each at every point where it can happen.
 */
#include "fixture.h"

#include "base/alloc.h"
#include "image/cubin.h"
#include "image/fatbin.h"
#include "image/ptx_header.h"

enum { MANY = 40, UNIT = 16, BLOCK = 16 << 10, FOREVER = 100000 };

/* ---- an arena that gives n units more, and no memory behind it --------- */

typedef enum kiln_status reader(const struct buffer *b, struct arena *arena,
                                struct kiln_error *err);

static void fails_at_every_unit(reader *read, const struct buffer *b)
{
    enum kiln_status st = KILN_E_MEMORY;
    unsigned failed = 0;

    for (size_t units = 0; st && units < BLOCK / UNIT; units++) {
        struct arena arena = {0};
        struct kiln_error err = {0};

        assert_non_null(arena_alloc(&arena, BLOCK - units * UNIT));
        kiln_alloc_fail_after(0);
        st = read(b, &arena, &err);
        kiln_alloc_fail_after(-1);
        if (st) {
            assert_int_equal(st, KILN_E_MEMORY);
            assert_non_null(strstr(err.text, "out of memory"));
            failed++;
        }
        arena_fini(&arena);
    }
    assert_int_equal(st, KILN_OK);
    assert_true(failed > 0);
}

static enum kiln_status read_cubin(const struct buffer *b, struct arena *arena,
                                   struct kiln_error *err)
{
    struct cubin cubin;

    return cubin_check(b->bytes, b->size, arena, &cubin, err);
}

static enum kiln_status read_names(const struct buffer *b, struct arena *arena,
                                   struct kiln_error *err)
{
    const char **names;
    size_t count;

    return ptx_entry_names(b->bytes, b->size, arena, &names, &count, err);
}

static enum kiln_status read_list(const struct buffer *b, struct arena *arena,
                                  struct kiln_error *err)
{
    struct fatbin fatbin;
    struct fatbin_entry *entries;
    size_t count;
    enum kiln_status st = fatbin_open(b->bytes, b->size, &fatbin, err);

    return st ? st : fatbin_list(&fatbin, arena, &entries, &count, err);
}

static void a_cubin_is_refused_for_want_of_memory_alone(void **state)
{
    struct buffer b = fixture_file(DATA "sm100.cubin");

    (void)state;
    fails_at_every_unit(read_cubin, &b);
    buffer_fini(&b);
}

static void entry_names_need_memory(void **state)
{
    struct buffer b = {0};

    (void)state;
    for (int i = 0; i < MANY; i++)
        buffer_printf(&b, ".entry kernel_%d() {}\n", i);
    fails_at_every_unit(read_names, &b);
    buffer_fini(&b);
}

static struct buffer container(size_t count, enum fatbin_packing packing)
{
    static char text[2000];
    struct fatbin_item items[MANY];
    struct buffer out = {0};

    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct fatbin_item){.kind = i % 2 ? FATBIN_ELF : FATBIN_PTX,
                                        .sm = 80,
                                        .packing = packing,
                                        .payload = text,
                                        .size = sizeof text,
                                        .identifier = "k.cu"};
    assert_int_equal(fatbin_write(items, count, &out, NULL), KILN_OK);
    return out;
}

static void a_list_of_entries_needs_memory(void **state)
{
    struct buffer b = container(10, FATBIN_PLAIN);

    (void)state;
    fails_at_every_unit(read_list, &b);
    buffer_fini(&b);
}

/* ---- every allocation in turn ------------------------------------------ */

static void writing_a_container_fails_for_want_of_memory_alone(void **state)
{
    (void)state;
    for (int packing = FATBIN_PLAIN; packing < FATBIN_PACKED_UNKNOWN;
         packing++) {
        const struct fatbin_item item = {
            .kind = FATBIN_PTX,
            .packing = (enum fatbin_packing)packing,
            .payload = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            .size = 50,
            .options = "-g"};
        enum kiln_status st = KILN_E_MEMORY;
        long n = 0;

        for (; st && n < FOREVER; n++) {
            struct buffer out = {0};
            struct kiln_error err = {0};

            kiln_alloc_fail_after(n);
            st = fatbin_write(&item, 1, &out, &err);
            kiln_alloc_fail_after(-1);
            assert_true(!st || (st == KILN_E_MEMORY &&
                                strstr(err.text, "out of memory")));
            buffer_fini(&out);
        }
        assert_int_equal(st, KILN_OK);
        assert_true(n > 2);
    }
}

static void an_empty_container_needs_memory_too(void **state)
{
    struct buffer out = {0};

    (void)state;
    kiln_alloc_fail_after(0);
    assert_int_equal(fatbin_write(NULL, 0, &out, NULL), KILN_E_MEMORY);
    kiln_alloc_fail_after(-1);
    buffer_fini(&out);
    assert_int_equal(fatbin_write(NULL, 0, &out, NULL), KILN_OK);
    assert_int_equal(out.size, FATBIN_HEADER);
    buffer_fini(&out);
}

static void unpacking_says_how_much_it_wanted(void **state)
{
    (void)state;
    for (int packing = FATBIN_PLAIN; packing < FATBIN_PACKED_UNKNOWN;
         packing++) {
        struct buffer b = container(1, (enum fatbin_packing)packing);
        struct buffer out = {0};
        struct kiln_error err = {0};
        struct fatbin_entry e;
        struct fatbin fatbin;
        int more;

        assert_int_equal(fatbin_open(b.bytes, b.size, &fatbin, NULL), KILN_OK);
        assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
        kiln_alloc_fail_after(0);
        assert_int_equal(fatbin_unpack(&e, 0, &out, &err), KILN_E_MEMORY);
        kiln_alloc_fail_after(-1);
        assert_non_null(strstr(err.text, "out of memory for 200"));
        buffer_fini(&out);
        buffer_fini(&b);
    }
}

/* ---- the scan ---------------------------------------------------------- */

struct source {
    const struct buffer *bytes;
    long reads, calls; /* left until one fails; negative: never */
};

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    struct source *s = data;

    if (!s->reads)
        return kiln_fail(err, KILN_E_OS, "the source cannot be read");
    s->reads--;
    assert_true(offset <= s->bytes->size && size <= s->bytes->size - offset);
    if (size)
        memcpy(to, s->bytes->bytes + offset, size);
    return KILN_OK;
}

static enum kiln_status visit(struct source *s, struct kiln_error *err)
{
    if (!s->calls)
        return kiln_fail(err, KILN_E_NOT_READY, "no more is wanted");
    s->calls--;
    return KILN_OK;
}

static enum kiln_status place(void *data, const struct image_place *p,
                              struct kiln_error *err)
{
    (void)p;
    return visit(data, err);
}

static enum kiln_status entry(void *data, const struct fatbin_entry *e,
                              uint64_t stored, struct kiln_error *err)
{
    (void)e;
    (void)stored;
    return visit(data, err);
}

static enum kiln_status damage(void *data, const struct kiln_error *what,
                               struct kiln_error *err)
{
    (void)what;
    return visit(data, err);
}

static enum kiln_status scan(const struct buffer *b, long reads, long calls,
                             long allocations)
{
    struct source s = {b, reads, calls};
    const struct image_source source = {
        .read = read_at, .data = &s, .size = b->size};
    const struct image_visitor visitor = {&s, place, entry, damage, damage};
    struct image_guess guess;
    struct kiln_error err = {0};
    enum kiln_status st;

    kiln_alloc_fail_after(allocations);
    st = image_scan(&source, &visitor, &guess, &err);
    kiln_alloc_fail_after(-1);
    assert_true(!st || *err.text);
    return st;
}

/* What is scanned: an archive with long names, an object, containers of which
 * one has a header longer than is read at first, one that is cut short. */
static struct buffer subject(int which)
{
    static char options[400];
    struct fatbin_item item = {.kind = FATBIN_PTX,
                               .payload = ".version 8.0\n",
                               .size = 13,
                               .options = options};
    struct buffer b = {0}, one = fixture_file(GOLDEN "plain.fatbin");

    memset(options, 'o', sizeof options - 1);
    switch (which) {
    case 0:
        b = fixture_file(GOLDEN "archive.a");
        break;
    case 1:
        b = fixture_file(GOLDEN "host.o");
        break;
    case 2:
        assert_int_equal(fatbin_write(&item, 1, &b, NULL), KILN_OK);
        break;
    case 3:
        buffer_add(&b, one.bytes, one.size - 8);
        break;
    case 4: /* at an odd place, in what is not ELF */
        buffer_text(&b, "text");
        buffer_zeros(&b, 3);
        buffer_add(&b, one.bytes, one.size);
        break;
    case 5: /* wrappers, and the arrays that they name */
        b = fixture_file(OBJECT_FILE);
        break;
    case 6:
        b = fixture_file(SHARED_FILE);
        break;
    default:
        buffer_text(&b, "!<arch>\n");
        buffer_printf(&b, "%-48s%-10zu`\n", "#1/20", one.size + 20);
        buffer_text(&b, "a name of 20 bytes.o");
        buffer_add(&b, one.bytes, one.size);
        break;
    }
    buffer_fini(&one);
    return b;
}

enum { SUBJECTS = 8 };

static void a_source_may_fail_at_every_read(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++) {
        struct buffer b = subject(i);
        enum kiln_status st = KILN_E_OS;
        long n = 0;

        for (; st && n < FOREVER; n++) {
            st = scan(&b, n, -1, -1);
            assert_true(!st || st == KILN_E_OS);
        }
        assert_int_equal(st, KILN_OK);
        assert_true(n > 2);
        buffer_fini(&b);
    }
}

static void a_caller_may_end_the_scan_at_every_call(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++) {
        struct buffer b = subject(i);
        enum kiln_status st = KILN_E_NOT_READY;
        long n = 0;

        for (; st && n < FOREVER; n++) {
            st = scan(&b, -1, n, -1);
            assert_true(!st || st == KILN_E_NOT_READY);
        }
        assert_int_equal(st, KILN_OK);
        assert_true(n > 1);
        buffer_fini(&b);
    }
}

static void a_scan_fails_for_want_of_memory_alone(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++) {
        struct buffer b = subject(i);
        enum kiln_status st = KILN_E_MEMORY;
        long n = 0;

        for (; st && n < FOREVER; n++) {
            st = scan(&b, -1, -1, n);
            assert_true(!st || st == KILN_E_MEMORY);
        }
        assert_int_equal(st, KILN_OK);
        assert_true(n > 1);
        buffer_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cubin_is_refused_for_want_of_memory_alone),
        cmocka_unit_test(entry_names_need_memory),
        cmocka_unit_test(a_list_of_entries_needs_memory),
        cmocka_unit_test(writing_a_container_fails_for_want_of_memory_alone),
        cmocka_unit_test(an_empty_container_needs_memory_too),
        cmocka_unit_test(unpacking_says_how_much_it_wanted),
        cmocka_unit_test(a_source_may_fail_at_every_read),
        cmocka_unit_test(a_caller_may_end_the_scan_at_every_call),
        cmocka_unit_test(a_scan_fails_for_want_of_memory_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
