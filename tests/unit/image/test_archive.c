/* SPDX-License-Identifier: MIT
 *
 * Archives: names in every way that `ar` has to write them, and headers that
 * no `ar` writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "image/places.h"

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    const struct buffer *b = data;

    (void)err;
    assert_true(offset <= b->size && size <= b->size - offset);
    if (size)
        memcpy(to, b->bytes + offset, size);
    return KILN_OK;
}

static void add(struct buffer *b, const char *name, const char *body)
{
    buffer_printf(b, "%-48s%-10zu`\n%s", name, strlen(body), body);
    if (strlen(body) % 2)
        buffer_text(b, "\n");
}

/* The names of all members, each followed by a bar and its bytes. */
static enum kiln_status list(struct buffer *b, struct buffer *out,
                             struct kiln_error *err)
{
    const struct image_source source = {
        .read = read_at, .data = b, .size = b->size};
    struct archive archive;
    struct archive_member m;
    enum kiln_status st;
    int more;

    archive_open(&source, &archive);
    while (!(st = archive_next(&archive, &m, &more, err)) && more) {
        assert_true(m.offset <= b->size && m.size <= b->size - m.offset);
        buffer_printf(out, "%s|", m.name);
        buffer_add(out, b->bytes + m.offset, (size_t)m.size);
        buffer_text(out, " ");
    }
    assert_false(out->bad);
    return st;
}

static void expect(struct buffer *b, const char *names)
{
    struct buffer out = {0};
    struct kiln_error err = {0};

    if (list(b, &out, &err))
        fail_msg("%s", err.text);
    assert_string_equal(buffer_str(&out), names);
    buffer_fini(&out);
    buffer_fini(b);
}

static void
names_stand_in_the_header_or_in_a_table_or_before_the_bytes(void **state)
{
    struct buffer b = {0};

    (void)state;
    buffer_text(&b, "!<arch>\n");
    add(&b, "/", "symbols");
    add(&b, "/SYM64/", "more symbols");
    add(&b, "//", "a name longer than sixteen.o/\nanother.o/\n");
    add(&b, "short.o/", "1");
    add(&b, "/0", "22");
    add(&b, "/30", "333");
    add(&b, "bsd.o", "4444");
    add(&b, "#1/12", "in front.o  55555");
    add(&b, "sixteen letters.", "6");
    expect(&b, "short.o|1 a name longer than sixteen.o|22 another.o|333 "
               "bsd.o|4444 in front.o|55555 sixteen letters.|6 ");
}

static void a_member_whose_name_leads_nowhere_has_none(void **state)
{
    struct buffer b = {0};

    (void)state;
    buffer_text(&b, "!<arch>\n");
    add(&b, "/7", "no table");
    add(&b, "//", "x.o/\n");
    add(&b, "/5", "at its end");
    add(&b, "/99999", "behind it");
    add(&b, "/999999999999999", "many digits");
    add(&b, "#1/99", "longer than the member");
    add(&b, "#1/", "of no length");
    add(&b, "#1/0", "of length 0");
    add(&b, "", "of blanks");
    add(&b, "/x", "no number");
    expect(&b, "|no table |at its end |behind it |many digits "
               "#1|longer than the member #1|of no length |of length 0 "
               "|of blanks |no number ");
}

static void a_name_is_cut_to_its_room(void **state)
{
    struct buffer b = {0}, body = {0}, out = {0};
    struct kiln_error err;

    (void)state;
    buffer_text(&b, "!<arch>\n");
    for (int i = 0; i < 300; i++)
        buffer_text(&body, "n");
    add(&b, "#1/300", buffer_str(&body));
    assert_int_equal(list(&b, &out, &err), KILN_OK);
    assert_int_equal(strcspn(buffer_str(&out), "|"), 255);
    buffer_fini(&b);
    buffer_fini(&body);
    buffer_fini(&out);
}

static void refused(const char *name, const char *size, const char *end,
                    const char *words)
{
    struct buffer b = {0}, out = {0};
    struct kiln_error err = {0};

    buffer_text(&b, "!<arch>\n");
    add(&b, "a.o/", "12");
    buffer_printf(&b, "%-48s%-10s%s", name, size, end);
    assert_int_equal(list(&b, &out, &err), KILN_E_FORMAT);
    assert_string_equal(buffer_str(&out), "a.o|12 ");
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    buffer_fini(&b);
    buffer_fini(&out);
}

static void damage_is_told_by_its_place(void **state)
{
    (void)state;
    refused("b.o/", "0", "", "58 bytes at 0x46, a member's header has 60");
    refused("b.o/", "0", "xx", "no member's header at 0x46");
    refused("b.o/", "x", "`\n", "no member's header at 0x46");
    refused("b.o/", "", "`\n", "no member's header at 0x46");
    refused("b.o/", "1", "`\n", "whose size is past the end");
    refused("b.o/", "9999999999", "`\n", "whose size is past the end");
}

static void an_archive_may_be_empty_or_end_without_padding(void **state)
{
    struct buffer b = {0};

    (void)state;
    buffer_text(&b, "!<arch>\n");
    add(&b, "a.o/", "123");
    b.size--;
    expect(&b, "a.o|123 ");
    buffer_text(&b, "!<arch>\n");
    expect(&b, "");
    expect(&b, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            names_stand_in_the_header_or_in_a_table_or_before_the_bytes),
        cmocka_unit_test(a_member_whose_name_leads_nowhere_has_none),
        cmocka_unit_test(a_name_is_cut_to_its_room),
        cmocka_unit_test(damage_is_told_by_its_place),
        cmocka_unit_test(an_archive_may_be_empty_or_end_without_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
