/* SPDX-License-Identifier: MIT
 *
 * Cubins made from data/sample.ptx by ptxas 13.0, every damage to them, and
 * what may be changed and is read.
 */
#include "cubin_parts.h"
#include "image/cubin.h"

static void sample(const char *name, uint32_t sm, char variant, int relocatable)
{
    static const uint32_t offsets[] = {0, 8, 32, 40, 48, 52};
    static const uint32_t sizes[] = {8, 24, 1, 8, 3, 4};
    struct buffer b;
    struct arena arena = {0};
    const struct cubin_kernel *k;
    struct kiln_error err;
    struct cubin c;
    size_t extent;
    char path[512];

    snprintf(path, sizeof path, DATA "%s", name);
    b = fixture_file(path);
    if (cubin_read(b.bytes, b.size, &arena, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.sm, sm);
    assert_int_equal(c.variant, variant);
    assert_int_equal(c.abi, 8);
    assert_int_equal(c.relocatable, relocatable);
    assert_int_equal(c.toolkit, 130);
    assert_int_equal(c.kernel_count, 2);
    k = cubin_kernel_find(&c, "mixed");
    assert_non_null(k);
    assert_int_equal(k->param_count, 6);
    assert_int_equal(k->param_bytes, 56);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(k->params[i].offset, offsets[i]);
        assert_int_equal(k->params[i].size, sizes[i]);
        assert_int_equal(k->params[i].pointer,
                         sizes[i] == 8 ? CUBIN_UNKNOWN : CUBIN_NO);
    }
    assert_int_equal(k->static_shared, 269);
    assert_int_equal(k->max_threads, 512);
    assert_in_range(k->registers, 1, 255);
    k = cubin_kernel_find(&c, "plain");
    assert_non_null(k);
    assert_int_equal(k->param_count, 0);
    assert_int_equal(k->reqntid[0], 64);
    assert_null(cubin_kernel_find(&c, "none"));
    assert_int_equal(c.variable_count, 2);
    assert_int_equal(elf_extent(b.bytes, b.size, &extent, NULL), KILN_OK);
    assert_int_equal(extent, b.size);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void kernels_and_their_parameters_are_found(void **state)
{
    (void)state;
    sample("sm75.cubin", 75, 0, 0);
    sample("sm90a.cubin", 90, 'a', 0);
    sample("sm100.cubin", 100, 0, 0);
    sample("sm90-relocatable.cubin", 90, 0, 1);
}

static enum kiln_status read_copy(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    struct arena arena = {0};
    struct kiln_error err = {0};
    enum kiln_status st;
    struct cubin c;
    size_t extent, sum = 0;

    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    elf_extent(copy, size, &extent, NULL);
    st = cubin_read(copy, size, &arena, &c, &err);
    assert_true(!st || *err.text);
    for (size_t i = 0; !st && i < c.kernel_count; i++)
        sum += strlen(c.kernels[i].name) + c.kernels[i].param_count;
    arena_fini(&arena);
    free(copy);
    return sum == SIZE_MAX ? KILN_E_INTERNAL : st;
}

static void every_cut_is_survived(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    for (size_t n = 0; n < b.size; n++)
        assert_int_not_equal(read_copy(b.bytes, n), KILN_OK);
    buffer_fini(&b);
}

static void every_byte_may_be_anything(void **state)
{
    const unsigned char values[] = {0x00, 0xff, 0x80, 0x7f, 0x01};
    struct buffer b = fixture_file(DATA "sm75.cubin");

    (void)state;
    for (size_t at = 0; at < b.size; at++) {
        unsigned char old = b.bytes[at];

        for (size_t v = 0; v < sizeof values; v++) {
            b.bytes[at] = values[v];
            read_copy(b.bytes, b.size);
        }
        b.bytes[at] = old;
    }
    buffer_fini(&b);
}

static void other_files_are_named(void **state)
{
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct kiln_error err;
    struct cubin c;

    (void)state;
    elf[18] = 62;
    assert_int_equal(cubin_identify(elf, sizeof elf, &c, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "machine 62, expected 190"));
    assert_int_equal(cubin_identify("hello", 5, &c, &err), KILN_E_FORMAT);
    /* ABI 7: the SM number in the low bits, 0x800 for "a". */
    elf[18] = 190;
    elf[16] = 2;
    elf[8] = 7;
    elf[48] = 0x5a;
    elf[49] = 0x0d;
    elf[50] = 0x5a;
    assert_int_equal(cubin_identify(elf, sizeof elf, &c, &err), KILN_OK);
    assert_int_equal(c.sm, 90);
    assert_int_equal(c.variant, 'a');
}

/* ---- one thing changed -------------------------------------------------- */

static void reads(struct buffer *b, struct arena *arena, struct cubin *out)
{
    struct kiln_error err = {0};

    if (cubin_read(b->bytes, b->size, arena, out, &err))
        fail_msg("%s", err.text);
}

static const struct cubin_kernel *kernel(const struct cubin *c,
                                         const char *name)
{
    const struct cubin_kernel *k = cubin_kernel_find(c, name);

    assert_non_null(k);
    return k;
}

static void abi_7_keeps_registers_in_the_sections_row(void **state)
{
    struct buffer b = fixture_file(DATA "sm75.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    part_header(&b)->e_ident[EI_ABIVERSION] = 7;
    part_header(&b)->e_flags = 0x4b054b;
    part_header(&b)->e_version = 118;
    /* nothing of both kernels in .nv.info */
    part_section(&b, ".nv.info")->sh_size = 0;
    /* and what belongs to no kernel */
    part_section(&b, ".nv.callgraph")->sh_info = 7u << 24;
    reads(&b, &arena, &c);
    assert_int_equal(c.abi, 7);
    assert_int_equal(c.toolkit, 118);
    assert_int_equal(kernel(&c, "plain")->registers, 4);
    assert_int_equal(kernel(&c, "mixed")->registers, 5);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void the_common_records_come_before_the_sections_row(void **state)
{
    struct buffer b = fixture_file(DATA "sm75.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    part_header(&b)->e_ident[EI_ABIVERSION] = 7;
    part_header(&b)->e_flags = 0x4b054b;
    part_record(&b, ".nv.info", 0x2f)[8] = 77;
    part_symbol(&b, "plain")->st_other =
        0; /* no kernel, its section is there */
    reads(&b, &arena, &c);
    assert_int_equal(c.kernel_count, 1);
    assert_in_range(kernel(&c, "mixed")->registers, 5, 77);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void a_pointer_is_told_by_its_kind_from_sm_100_on(void **state)
{
    struct buffer b = fixture_file(DATA "sm100.cubin");
    uint32_t word = 8u << 18 | 5u << 8;
    struct arena arena = {0};
    unsigned char *at = part_record(&b, ".nv.info.mixed", 0x17);
    const struct cubin_kernel *k;
    unsigned ordinal;
    struct cubin c;

    (void)state;
    ordinal = at[8];
    memcpy(at + 12, &word, sizeof word);
    reads(&b, &arena, &c);
    k = kernel(&c, "mixed");
    assert_int_equal(k->params[ordinal].size, 8);
    assert_int_equal(k->params[ordinal].pointer, CUBIN_YES);
    word = 8u << 18 | 1u << 8;
    memcpy(at + 12, &word, sizeof word);
    arena_fini(&arena);
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "mixed")->params[ordinal].pointer,
                     CUBIN_UNKNOWN);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void what_is_not_told_stays_unknown(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    part_section(&b, ".nv.compat")->sh_name = 0;
    part_section(&b, ".note.nv.cuinfo")->sh_name = 0;
    part_section(&b, ".nv.info")->sh_name = 0;
    part_section(&b, ".nv.shared.mixed")->sh_size =
        1000; /* the system's alone */
    reads(&b, &arena, &c);
    assert_int_equal(c.variant, 0);
    assert_int_equal(c.toolkit, 0);
    assert_int_equal(kernel(&c, "plain")->registers, -1);
    assert_int_equal(kernel(&c, "mixed")->static_shared, 0);
    arena_fini(&arena);
    part_section(&b, ".symtab")->sh_name = 0;
    reads(&b, &arena, &c);
    assert_int_equal(c.kernel_count, 0);
    assert_int_equal(c.variable_count, 0);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void records_cut_short_tell_nothing(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    struct arena arena = {0};
    uint16_t size = 4;
    struct cubin c;

    (void)state;
    memcpy(part_record(&b, ".nv.info", 0x2f) + 2, &size, sizeof size);
    reads(&b, &arena, &c);
    arena_fini(&arena);
    part_section(&b, ".nv.info.mixed")->sh_size -= 2;
    part_section(&b, ".nv.info.plain")->sh_size = 6;
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "plain")->param_count, 0);
    arena_fini(&arena);
    buffer_fini(&b);
}

/* Products and sums of three wild numbers. */
static void limits_do_not_wrap(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    memset(part_record(&b, ".nv.info.mixed", 0x05) + 4, 0xff, 12);
    part_section(&b, ".nv.shared.mixed")->sh_size = UINT64_MAX;
    part_section(&b, ".nv.global")->sh_size = UINT64_MAX;
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "mixed")->max_threads, UINT32_MAX);
    assert_int_equal(kernel(&c, "mixed")->static_shared, UINT32_MAX);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void symbols_of_no_section_are_no_variables(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    const Elf64_Shdr *table = part_section(&b, ".symtab");
    Elf64_Sym *s = (Elf64_Sym *)(void *)(b.bytes + table->sh_offset);
    static const uint16_t homes[] = {SHN_UNDEF, SHN_COMMON, 2, 0x1000};
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++) {
        for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++)
            if (ELF64_ST_TYPE(s[i].st_info) == STT_OBJECT)
                s[i].st_shndx = homes[h];
        reads(&b, &arena, &c);
        assert_int_equal(c.variable_count, 0);
        assert_int_equal(c.kernel_count, 2);
        arena_fini(&arena);
    }
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_their_parameters_are_found),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(every_byte_may_be_anything),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(abi_7_keeps_registers_in_the_sections_row),
        cmocka_unit_test(the_common_records_come_before_the_sections_row),
        cmocka_unit_test(a_pointer_is_told_by_its_kind_from_sm_100_on),
        cmocka_unit_test(what_is_not_told_stays_unknown),
        cmocka_unit_test(records_cut_short_tell_nothing),
        cmocka_unit_test(limits_do_not_wrap),
        cmocka_unit_test(symbols_of_no_section_are_no_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
