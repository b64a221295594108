/* SPDX-License-Identifier: MIT
 *
 * What bytes look like, by their first few. An error that says "this looks
 * like a gzip file" saves an hour.
 */
#include "image/guess.h"

#include <byteswap.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "image/cubin.h"
#include "image/fatbin.h"
#include "image/ptx_header.h"

enum { LOOK_AT = 4096 };

static const struct {
    const char *bytes;
    size_t size;
    enum image_look look;
    const char *text;
} magics[] = {
    {"\x50\xed\x55\xba", 4, IMAGE_FATBIN, "a fat binary"},
    {"\xb1\x43\x62\x46", 4, IMAGE_WRAPPER, "a pointer to a fat binary"},
    {"\xed\x43\x4e\x7f", 4, IMAGE_LTO_IR, "LTO IR"},
    {"BC\xc0\xde", 4, IMAGE_BITCODE, "LLVM bitcode"},
    {"\xde\xc0\x17\x0b", 4, IMAGE_BITCODE, "LLVM bitcode"},
    {"!<arch>\n", 8, IMAGE_ARCHIVE, "an archive of object files"},
    {"!<thin>\n", 8, IMAGE_ARCHIVE, "a thin archive"},
    {"\x1f\x8b", 2, IMAGE_COMPRESSED, "a gzip file"},
    {"\xfd\x37\x7a\x58\x5a", 5, IMAGE_COMPRESSED, "an xz file"},
    {"\x28\xb5\x2f\xfd", 4, IMAGE_COMPRESSED, "a zstd file"},
    {"\x04\x22\x4d\x18", 4, IMAGE_COMPRESSED, "an LZ4 file"},
    {"BZh", 3, IMAGE_COMPRESSED, "a bzip2 file"},
    {"PK\x03\x04", 4, IMAGE_COMPRESSED, "a zip file"},
    {"PK\x05\x06", 4, IMAGE_COMPRESSED, "an empty zip file"},
    {"\x03\x02\x23\x07", 4, IMAGE_FOREIGN, "SPIR-V"},
    {"\x07\x23\x02\x03", 4, IMAGE_FOREIGN, "big-endian SPIR-V"},
    {"\xcf\xfa\xed\xfe", 4, IMAGE_FOREIGN, "a Mach-O file of macOS"},
    {"\xce\xfa\xed\xfe", 4, IMAGE_FOREIGN, "a 32-bit Mach-O file of macOS"},
    {"\xca\xfe\xba\xbe", 4, IMAGE_FOREIGN,
     "a universal Mach-O file of macOS, or a Java class"},
    {"MTLB", 4, IMAGE_FOREIGN, "a Metal library"},
    {"DXBC", 4, IMAGE_FOREIGN, "a DirectX shader"},
    {"__CLANG_OFFLOAD_BUNDLE__", 24, IMAGE_FOREIGN,
     "an offload bundle of clang"},
    {"CCOB", 4, IMAGE_FOREIGN, "a packed offload bundle of clang"},
    {"\x10\xff\x10\xad", 4, IMAGE_FOREIGN, "an offload binary of LLVM"},
    {"\0asm", 4, IMAGE_FOREIGN, "WebAssembly"},
    {"\x93NUMPY", 6, IMAGE_FOREIGN, "an array of NumPy"},
    {"\x89PNG", 4, IMAGE_FOREIGN, "a PNG picture"},
    {"%PDF-", 5, IMAGE_FOREIGN, "a PDF document"},
    {"version https://git-lfs", 23, IMAGE_TEXT,
     "a Git LFS pointer, not the file itself"},
};

static const struct {
    uint16_t number;
    const char *name;
} machines[] = {
    {EM_X86_64, "x86-64"},
    {EM_AARCH64, "AArch64"},
    {EM_386, "32-bit x86"},
    {EM_PPC64, "POWER"},
    {EM_RISCV, "RISC-V"},
    {EM_ARM, "32-bit Arm"},
    {EM_PPC, "32-bit POWER"},
    {EM_S390, "IBM Z"},
    {EM_MIPS, "MIPS"},
    {EM_LOONGARCH, "LoongArch"},
    {EM_BPF, "BPF"},
    {EM_AMDGPU, "AMD GPU"},  /* what HIP calls a code object */
    {EM_CUDA, "NVIDIA GPU"}, /* in an order of bytes that no driver takes */
};

static const char *machine_name(uint16_t machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].number == machine)
            return machines[i].name;
    return NULL;
}

static const char *type_name(uint16_t type)
{
    switch (type) {
    case ET_REL:
        return "object file";
    case ET_EXEC:
        return "program";
    case ET_DYN:
        return "shared object or program";
    case ET_CORE:
        return "core dump";
    default:
        return "ELF file";
    }
}

static const char *article(const char *name)
{
    return strchr("aeoxAEI", *name) ? "an" : "a";
}

static void guess_elf(const void *bytes, size_t size, struct image_guess *out)
{
    const char *order = "", *bits = "", *name;
    uint16_t type, machine;
    struct cubin cubin;
    char what[64];

    out->look = IMAGE_HOST_ELF;
    snprintf(out->text, sizeof out->text, "the start of an ELF file");
    if (size < 20)
        return;
    memcpy(&type, (const char *)bytes + 16, sizeof type);
    memcpy(&machine, (const char *)bytes + 18, sizeof machine);
    if (((const unsigned char *)bytes)[EI_DATA] == ELFDATA2MSB) {
        order = "big-endian ";
        type = bswap_16(type);
        machine = bswap_16(machine);
    }
    out->machine = machine;
    if (machine == EM_CUDA && !*order) {
        out->look = IMAGE_CUBIN;
        if (cubin_identify(bytes, size, &cubin, NULL)) {
            snprintf(out->text, sizeof out->text, "a damaged cubin");
            return;
        }
        out->sm = cubin.sm;
        snprintf(out->text, sizeof out->text, "a %scubin for sm_%u%.1s",
                 cubin.relocatable ? "relocatable " : "", cubin.sm,
                 cubin.variant == 'a' ? "a" : "");
        return;
    }
    name = machine_name(machine);
    /* x32 is one, with the number of x86-64; some names say it themselves. */
    if (((const unsigned char *)bytes)[EI_CLASS] == ELFCLASS32 &&
        !(name && !strncmp(name, "32-bit ", 7)))
        bits = "32-bit ";
    if (name)
        snprintf(what, sizeof what, "%s%s%s %s", bits, order, name,
                 type_name(type));
    else
        snprintf(what, sizeof what, "%s%s%s for machine %u", bits, order,
                 type_name(type), machine);
    snprintf(out->text, sizeof out->text, "%s %s", article(what), what);
}

static int has_word(const char *text, size_t size, const char *word)
{
    return memmem(text, size, word, strlen(word)) != NULL;
}

/* The bytes of the character at text in UTF-8; 0 when it is none. One that the
 * end cuts counts as whole. */
static size_t utf8(const unsigned char *text, size_t left)
{
    size_t n = *text < 0x80                    ? 1
               : *text >= 0xc2 && *text < 0xe0 ? 2
               : *text >= 0xe0 && *text < 0xf0 ? 3
               : *text >= 0xf0 && *text < 0xf5 ? 4
                                               : 0;

    for (size_t i = 1; i < n && i < left; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n < left ? n : n ? left : 0;
}

/* Control characters are in no text. Bytes of other encodings than UTF-8 are,
 * in comments: up to a quarter. */
static int is_text(const char *text, size_t n)
{
    size_t odd = 0;

    for (size_t i = 0, step; i < n; i += step ? step : 1) {
        unsigned char c = (unsigned char)text[i];

        if ((c < ' ' && (c < '\t' || c > '\r')) || c == 127)
            return 0;
        step = utf8((const unsigned char *)text + i, n - i);
        odd += !step;
    }
    return n && odd <= n / 4;
}

/* Markup may stand behind white space, in letters of either case. */
static int guess_markup(const char *text, size_t n, struct image_guess *out)
{
    size_t i = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

    while (i < n && strchr(" \t\r\n", text[i]))
        i++;
    text += i;
    n -= i;
    if ((n >= 9 && !strncasecmp(text, "<!doctype", 9)) ||
        (n >= 5 && !strncasecmp(text, "<html", 5)))
        snprintf(out->text, sizeof out->text, "an HTML page");
    else if (n >= 5 && !memcmp(text, "<?xml", 5))
        snprintf(out->text, sizeof out->text, "an XML file");
    else
        return 0;
    out->look = IMAGE_HTML;
    return 1;
}

static void guess_text(const char *text, size_t size, struct image_guess *out)
{
    static const char *const words[] = {"__global__", "__device__", "#include",
                                        "extern \"C\""};
    size_t n = strnlen(text, size);

    if (!is_text(text, n) || size - n > 8) {
        snprintf(out->text, sizeof out->text, "%s",
                 n ? "binary data of no known kind"
                   : "binary data that begins with a zero byte");
        return;
    }
    if (guess_markup(text, n, out))
        return;
    out->look = IMAGE_TEXT;
    snprintf(out->text, sizeof out->text, "text that is not PTX");
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        snprintf(out->text, sizeof out->text, "text with a byte order mark%s",
                 ptx_looks(text + 3, n - 3) ? " before its PTX" : "");
        return;
    }
    if (n >= 2 && !memcmp(text, "#!", 2)) {
        snprintf(out->text, sizeof out->text, "a script");
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(text, n, words[i])) {
            out->look = IMAGE_CUDA_SOURCE;
            snprintf(out->text, sizeof out->text, "C or CUDA C++ source");
            return;
        }
    if (has_word(text, n, ".target") || has_word(text, n, ".entry"))
        snprintf(out->text, sizeof out->text,
                 "PTX without .version at its start");
}

/* What no number at the first byte tells. */
static int guess_foreign(const char *bytes, size_t size,
                         struct image_guess *out)
{
    const char *text = NULL;
    uint32_t at;

    if (size >= 64 && !memcmp(bytes, "MZ", 2)) {
        memcpy(&at, bytes + 60, sizeof at);
        if (at <= size - 4 && !memcmp(bytes + at, "PE\0\0", 4))
            text = "a program or library for Windows";
    }
    if (size >= 262 && !memcmp(bytes + 257, "ustar", 5))
        text = "a tar archive";
    if (size >= 4 && !(size % 2) &&
        ((!memcmp(bytes, "\xff\xfe", 2) && bytes[2] && !bytes[3]) ||
         (!memcmp(bytes, "\xfe\xff", 2) && !bytes[2] && bytes[3])))
        text = "text in UTF-16; PTX is ASCII";
    if (!text)
        return 0;
    out->look = IMAGE_FOREIGN;
    snprintf(out->text, sizeof out->text, "%s", text);
    return 1;
}

void image_guess(const void *bytes, size_t size, struct image_guess *out)
{
    size_t all;

    *out = (struct image_guess){.look = IMAGE_UNKNOWN};
    if (!bytes || !size) {
        out->look = IMAGE_EMPTY;
        snprintf(out->text, sizeof out->text, "no bytes at all");
        return;
    }
    all = size;
    if (size > LOOK_AT)
        size = LOOK_AT;
    if (size >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG)) {
        guess_elf(bytes, size, out);
        return;
    }
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= magics[i].size &&
            !memcmp(bytes, magics[i].bytes, magics[i].size)) {
            out->look = magics[i].look;
            snprintf(out->text, sizeof out->text, "%s", magics[i].text);
            return;
        }
    if (guess_foreign(bytes, size, out))
        return;
    if (ptx_looks(bytes, all)) {
        out->look = IMAGE_PTX;
        snprintf(out->text, sizeof out->text, "PTX");
        return;
    }
    guess_text(bytes, size, out);
}
