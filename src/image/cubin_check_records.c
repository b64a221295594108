/* SPDX-License-Identifier: MIT
 *
 * The attribute records of a cubin, and its notes. What an attribute holds
 * is known by the cubins that have it: a symbol, places in the code, sizes.
 */
#include <string.h>

#include "base/cursor.h"
#include "image/cubin_check.h"

enum {
    TOOLKIT_NOTE = 2000,
    FORM_SIZED = 4,
    ATTRIBUTES = 0x80, /* above: none known */
    REGISTERS_MOST = 255,
    THREADS_MOST = 1024
};

/* What the words of a sized attribute are. */
enum content {
    ANY,
    SYMBOLS,      /* each word is one */
    SYMBOL_VALUE, /* one, and a value */
    CODE_VALUE,   /* a function's, and a value */
    CODE,         /* each word is a place in the kernel's code */
    EXTENT,       /* three, of a block */
    PARAMETER     /* 12 bytes */
};

static enum content content_of(unsigned attribute)
{
    switch (attribute) {
    case 0x0f: /* externs */
        return SYMBOLS;
    case 0x0a: /* where the parameters lie */
        return SYMBOL_VALUE;
    case 0x11: /* frame size */
    case 0x12: /* least stack */
    case 0x23: /* most stack */
    case 0x2f: /* registers */
        return CODE_VALUE;
    case 0x1c: /* exits */
    case 0x1d: /* reads of block numbers */
    case 0x28: /* cooperative groups */
    case 0x31: /* warp-wide instructions */
        return CODE;
    case 0x05: /* most threads */
    case 0x10: /* required threads */
        return EXTENT;
    case 0x17:
    case 0x45:
        return PARAMETER;
    default:
        return ANY;
    }
}

static uint32_t word_at(const unsigned char *at, uint64_t index)
{
    uint32_t word;

    memcpy(&word, at + index * 4, sizeof word);
    return word;
}

/* Whether the words below a bound are all of them. */
static int all_below(const unsigned char *at, uint64_t words, uint64_t bound)
{
    for (uint64_t i = 0; i < words; i++)
        if (word_at(at, i) >= bound)
            return 0;
    return 1;
}

static int is_extent(const unsigned char *at, uint64_t size)
{
    if (size != 12)
        return 0;
    for (uint64_t i = 0; i < 3; i++)
        if (!word_at(at, i) || word_at(at, i) > THREADS_MOST)
            return 0;
    return 1;
}

/* The value of a sized record. */
static int is_sound(const struct cubin_tables *t, const struct elf_section *s,
                    const struct elf_section *text, unsigned attribute,
                    const unsigned char *at, uint64_t size)
{
    uint64_t symbols = cubin_symbol_count(t);

    if (!strcmp(s->name, ".nv.compat"))
        return 1;
    switch (content_of(attribute)) {
    case SYMBOLS:
        return size % 4 == 0 && all_below(at, size / 4, symbols);
    case SYMBOL_VALUE:
        return size == 8 && word_at(at, 0) < symbols;
    case CODE_VALUE:
        return size == 8 && cubin_is_function(t, word_at(at, 0)) &&
               (attribute != 0x2f || word_at(at, 1) <= REGISTERS_MOST);
    case CODE:
        return size % 4 == 0 &&
               (!text || all_below(at, size / 4, text->size + 1));
    case EXTENT:
        return is_extent(at, size);
    case PARAMETER:
        return size == 12;
    default:
        return 1;
    }
}

/* Records to the very end, none cut short. */
enum kiln_status cubin_check_records(const struct cubin_tables *t,
                                     const struct elf_section *s,
                                     const struct elf_section *text,
                                     struct kiln_error *err)
{
    const unsigned char *at = s->bytes;
    uint64_t left = s->size;

    while (left) {
        uint64_t n = 4;
        uint16_t size = 0;

        if (left >= 4 && at[0] == FORM_SIZED) {
            memcpy(&size, at + 2, sizeof size);
            n += (size + 3u) & ~3u;
        }
        if (left < n || at[0] < 1 || at[0] > FORM_SIZED ||
            at[1] >= ATTRIBUTES ||
            (at[0] != FORM_SIZED && strcmp(s->name, ".nv.compat") &&
             content_of(at[1]) != ANY))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: a record of form %u with %llu "
                             "bytes left",
                             s->name, at[0], (unsigned long long)left);
        if (at[0] == FORM_SIZED && !is_sound(t, s, text, at[1], at + 4, size))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: attribute 0x%02x leads outside or "
                             "is of a wrong size, %u bytes",
                             s->name, at[1], size);
        at += n;
        left -= n;
    }
    return KILN_OK;
}

/* The text of a toolkit's note: a version, five offsets, then the strings
 * that they point into. */
static int is_toolkit_text(const unsigned char *text, uint64_t size)
{
    enum { WORDS = 6 };
    uint32_t word[WORDS];

    if (size < sizeof word)
        return 0;
    memcpy(word, text, sizeof word);
    for (int i = 1; i < WORDS; i++)
        if (word[i] >= size - sizeof word)
            return 0;
    return !text[size - 1];
}

static int is_vendor(const unsigned char *name, uint32_t size)
{
    static const char vendor[] = "NVIDIA Corp";

    return size == sizeof vendor && !memcmp(name, vendor, sizeof vendor);
}

enum kiln_status cubin_check_notes(const struct elf_section *s,
                                   struct kiln_error *err)
{
    struct cursor in = cursor_of(s->bytes, s->size);

    while (cursor_left(&in)) {
        uint32_t name = cursor_u32(&in), text = cursor_u32(&in);
        uint32_t type = cursor_u32(&in);
        const unsigned char *who, *body;

        who = cursor_bytes(&in, ((uint64_t)name + 3) & ~(uint64_t)3);
        body = cursor_bytes(&in, ((uint64_t)text + 3) & ~(uint64_t)3);
        if (in.bad || !is_vendor(who, name) ||
            (type == TOOLKIT_NOTE && !is_toolkit_text(body, text)))
            return kiln_fail(err, KILN_E_FORMAT,
                             "cubin: %.60s: a note cut short", s->name);
    }
    return KILN_OK;
}
