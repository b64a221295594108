/* SPDX-License-Identifier: MIT
 *
 * What bytes look like, by their first few. An error that says "this looks
 * like a gzip file" saves an hour.
 */
#include "image/guess.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

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
    {"<!DOCTYPE", 9, IMAGE_HTML, "an HTML page"},
    {"<!doctype", 9, IMAGE_HTML, "an HTML page"},
    {"<html", 5, IMAGE_HTML, "an HTML page"},
    {"<?xml", 5, IMAGE_HTML, "an XML file"},
    {"version https://git-lfs", 23, IMAGE_TEXT,
     "a Git LFS pointer, not the file itself"},
};

static const char *machine_name(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    case EM_386:
        return "32-bit x86";
    case EM_PPC64:
        return "POWER";
    case EM_RISCV:
        return "RISC-V";
    default:
        return NULL;
    }
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
    default:
        return "ELF file";
    }
}

static const char *article(const char *name)
{
    return strchr("aeoxAE", *name) ? "an" : "a";
}

static void guess_elf(const void *bytes, size_t size, struct image_guess *out)
{
    uint16_t type, machine;
    struct cubin cubin;
    const char *name;

    out->look = IMAGE_HOST_ELF;
    snprintf(out->text, sizeof out->text, "the start of an ELF file");
    if (size < 20)
        return;
    memcpy(&type, (const char *)bytes + 16, sizeof type);
    memcpy(&machine, (const char *)bytes + 18, sizeof machine);
    out->machine = machine;
    if (machine == EM_CUDA) {
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
    if (name)
        snprintf(out->text, sizeof out->text, "%s %s %s", article(name), name,
                 type_name(type));
    else
        snprintf(out->text, sizeof out->text, "%s %s for machine %u",
                 article(type_name(type)), type_name(type), machine);
}

static int has_word(const char *text, size_t size, const char *word)
{
    return memmem(text, size, word, strlen(word)) != NULL;
}

static void guess_text(const char *text, size_t size, struct image_guess *out)
{
    static const char *const words[] = {"__global__", "__device__", "#include",
                                        "extern \"C\""};
    size_t odd = 0, n = strnlen(text, size);

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        odd += (c < ' ' && (c < '\t' || c > '\r')) || c == 127;
    }
    if (!n || odd || size - n > 8) {
        snprintf(out->text, sizeof out->text, "%s",
                 n ? "binary data of no known kind"
                   : "binary data that begins with a zero byte");
        return;
    }
    out->look = IMAGE_TEXT;
    snprintf(out->text, sizeof out->text, "text that is not PTX");
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        snprintf(out->text, sizeof out->text, "text with a byte order mark%s",
                 ptx_looks(text + 3, n - 3) ? " before its PTX" : "");
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

void image_guess(const void *bytes, size_t size, struct image_guess *out)
{
    *out = (struct image_guess){.look = IMAGE_UNKNOWN};
    if (!bytes || !size) {
        out->look = IMAGE_EMPTY;
        snprintf(out->text, sizeof out->text, "no bytes at all");
        return;
    }
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
    if (ptx_looks(bytes, size)) {
        out->look = IMAGE_PTX;
        snprintf(out->text, sizeof out->text, "PTX");
        return;
    }
    guess_text(bytes, size, out);
}
