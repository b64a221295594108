/* SPDX-License-Identifier: MIT
 *
 * How long an image is of which a driver call gave only the address. What
 * its header claims is compared with the memory that is mapped there, so
 * that a wild size becomes an error and not a fault.
 */
#include "image/guess.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "image/elf_view.h"
#include "image/fatbin.h"

/* A claim above this is not worth looking at. */
static const uint64_t LARGEST = (uint64_t)1 << 36;

/* How many pages from `page` on, up to `count`, can be read: one byte of each
 * is copied by the kernel, which stops at the first that it may not read.
 * mincore, where that call is forbidden, takes a guard page for memory. */
static size_t pages_readable(uintptr_t page, size_t count, size_t size)
{
    unsigned char bytes[64];
    struct iovec local = {bytes, count};
    struct iovec remote[64];
    ssize_t n;

    for (size_t i = 0; i < count; i++)
        remote[i] = (struct iovec){(void *)(page + i * size), 1};
    n = process_vm_readv(getpid(), &local, 1, remote, count, 0);
    if (n >= 0)
        return (size_t)n;
    if (errno == EFAULT)
        return 0;
    n = 0;
    while ((size_t)n < count && !mincore(remote[n].iov_base, 1, bytes))
        n++;
    return (size_t)n;
}

/* How many bytes from `at`, up to `wanted`, can be read. */
static uint64_t mapped(const void *at, uint64_t wanted)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end;

    if (__builtin_add_overflow((uintptr_t)at, wanted, &end))
        return 0;
    for (uintptr_t p = (uintptr_t)at & ~(page - 1); p < end;) {
        size_t count = (end - p + page - 1) / page;
        size_t n;

        count = count < 64 ? count : 64;
        n = pages_readable(p, count, page);
        p += n * page;
        if (n < count)
            return p > (uintptr_t)at ? p - (uintptr_t)at : 0;
    }
    return wanted;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* offset + count * size, or UINT64_MAX. */
static uint64_t end_of(uint64_t offset, uint64_t count, uint64_t size)
{
    uint64_t end;

    return __builtin_mul_overflow(count, size, &end) ||
                   __builtin_add_overflow(end, offset, &end)
               ? UINT64_MAX
               : end;
}

static enum kiln_status too_long(uint64_t claim, uint64_t there,
                                 struct kiln_error *err)
{
    return kiln_fail(err, KILN_E_FORMAT,
                     "ELF: its tables speak of %llu bytes, %llu are there",
                     (unsigned long long)claim, (unsigned long long)there);
}

enum kiln_status elf_extent(const void *image, size_t size, size_t *extent,
                            struct kiln_error *err)
{
    const unsigned char *bytes = image;
    int bare = size == SIZE_MAX;
    uint64_t end, there = bare ? mapped(image, sizeof(Elf64_Ehdr)) : size;
    Elf64_Ehdr h;

    if (there < sizeof h)
        return too_long(sizeof h, there, err);
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64)
        return kiln_fail(err, KILN_E_FORMAT, "ELF: not a 64-bit ELF file");
    end = largest(end_of(h.e_shoff, h.e_shnum, h.e_shentsize),
                  end_of(h.e_phoff, h.e_phnum, h.e_phentsize));
    end = largest(end, sizeof h);
    if (end > LARGEST)
        return too_long(end, there, err);
    if (bare)
        there = mapped(image, end);
    if (end > there)
        return too_long(end, there, err);
    for (unsigned i = 0; h.e_shentsize == sizeof(Elf64_Shdr) && i < h.e_shnum;
         i++) {
        Elf64_Shdr s;

        memcpy(&s, bytes + h.e_shoff + i * sizeof s, sizeof s);
        if (!elf_view_is_empty(h.e_machine, s.sh_type))
            end = largest(end, end_of(s.sh_offset, s.sh_size, 1));
    }
    if (end > LARGEST)
        return too_long(end, there, err);
    if (bare)
        there = mapped(image, end);
    if (end > there)
        return too_long(end, there, err);
    *extent = (size_t)end;
    return KILN_OK;
}

static enum kiln_status container_extent(const void *image, size_t *size,
                                         struct kiln_error *err)
{
    struct fatbin fatbin;
    uint64_t body, claim, there;
    uint16_t header;

    memcpy(&header, (const char *)image + 6, sizeof header);
    memcpy(&body, (const char *)image + 8, sizeof body);
    if (__builtin_add_overflow(body, (uint64_t)header, &claim) ||
        claim > LARGEST)
        claim = LARGEST;
    if (claim < FATBIN_HEADER)
        claim = FATBIN_HEADER;
    there = mapped(image, claim);
    if (fatbin_open(image, (size_t)there, &fatbin, err)) {
        if (err)
            err->status = KILN_E_IMAGE;
        return KILN_E_IMAGE;
    }
    *size = (size_t)fatbin.size;
    return KILN_OK;
}

static int begins(const void *image, uint64_t there, const char *magic)
{
    const char *at = image;

    /* Byte by byte: a short string must not be read past its end. */
    for (unsigned i = 0; i < 4; i++)
        if (i >= there || at[i] != magic[i])
            return 0;
    return 1;
}

/* Text, or no image: what there is up to the first NUL. */
static enum kiln_status text_extent(const void *image, uint64_t there,
                                    size_t *size, struct kiln_error *err)
{
    size_t n = strnlen(image, (size_t)there);
    struct image_guess guess;

    if (!n)
        return kiln_fail(err, KILN_E_IMAGE,
                         "image: begins with a zero byte, or is empty");
    image_guess(image, n, &guess);
    if (guess.look != IMAGE_PTX)
        return kiln_fail(err, KILN_E_IMAGE, "image: looks like %s", guess.text);
    /* The look at the first page told nothing of where it ends. */
    while (n == there) {
        there = mapped(image, there * 2);
        if (n == there)
            return kiln_fail(err, KILN_E_IMAGE,
                             "image: PTX text without a NUL: no more memory "
                             "after %zu bytes",
                             n);
        n += strnlen((const char *)image + n, (size_t)there - n);
    }
    *size = n;
    return KILN_OK;
}

enum kiln_status image_extent(const void *image, size_t *size,
                              struct kiln_error *err)
{
    uint64_t there;

    if (!image)
        return kiln_fail(err, KILN_E_INVALID, "image: a null pointer");
    there = mapped(image, 4096);
    if (!there)
        return kiln_fail(err, KILN_E_IMAGE, "image: no memory is mapped at %p",
                         image);
    if (begins(image, there, "\x50\xed\x55\xba") && there >= FATBIN_HEADER)
        return container_extent(image, size, err);
    if (begins(image, there, "\xb1\x43\x62\x46") && there >= FATBIN_WRAPPER) {
        *size = FATBIN_WRAPPER;
        return KILN_OK;
    }
    if (!begins(image, there, ELFMAG))
        return text_extent(image, there, size, err);
    if (elf_extent(image, SIZE_MAX, size, err)) {
        if (err)
            err->status = KILN_E_IMAGE;
        return KILN_E_IMAGE;
    }
    return KILN_OK;
}
