/* SPDX-License-Identifier: MIT
 *
 * The digest that an object carries over itself: SHA-256 of all its bytes,
 * with those of the digest taken as zeros. The cache has a digest of its own
 * over each entry; this one is for objects that come from anywhere else.
 */
#include <string.h>

#include "base/hash.h"
#include "cpu/object/elf.h"
#include "cpu/object/object.h"

/* Where the digest lies: behind magic, version and size of the section. */
enum { DIGEST_AT = 16 };

static enum kiln_status find_digest(const void *bytes, size_t size,
                                    size_t *offset, struct kiln_error *err)
{
    struct arena arena = {0};
    struct elf elf;
    enum kiln_status st = elf_open(bytes, size, &arena, &elf, err);
    size_t section = st ? 0 : elf_section(&elf, OBJECT_INFO_SECTION);

    /* Only what has bytes lies in the file. */
    if (!st && (!section || !elf_bytes(&elf, section) ||
                elf.sections[section].sh_size < DIGEST_AT + HASH_SIZE))
        st = kiln_fail(err, KILN_E_FORMAT,
                       "object: no " OBJECT_INFO_SECTION
                       " section with a digest");
    if (!st)
        *offset = elf.sections[section].sh_offset + DIGEST_AT;
    arena_fini(&arena);
    return st;
}

static enum kiln_status digest(const unsigned char *bytes, size_t size,
                               size_t at, struct hash *out,
                               struct kiln_error *err)
{
    static const unsigned char zeros[HASH_SIZE];
    struct hasher *h = hasher_new();

    if (!h)
        return kiln_fail(err, KILN_E_MEMORY, "object: no memory for a digest");
    hasher_add(h, bytes, at);
    hasher_add(h, zeros, sizeof zeros);
    hasher_add(h, bytes + at + HASH_SIZE, size - at - HASH_SIZE);
    if (hasher_take(h, out))
        return kiln_fail(err, KILN_E_INTERNAL, "object: SHA-256 failed");
    return KILN_OK;
}

enum kiln_status object_seal(void *bytes, size_t size, struct kiln_error *err)
{
    struct hash now;
    size_t at = 0;
    enum kiln_status st = find_digest(bytes, size, &at, err);

    if (!st)
        st = digest(bytes, size, at, &now, err);
    if (!st)
        memcpy((unsigned char *)bytes + at, now.bytes, HASH_SIZE);
    return st;
}

enum kiln_status object_verify(const void *bytes, size_t size,
                               struct kiln_error *err)
{
    char found[HASH_HEX], needed[HASH_HEX];
    struct hash now, said;
    size_t at = 0;
    enum kiln_status st = find_digest(bytes, size, &at, err);

    if (!st)
        st = digest(bytes, size, at, &now, err);
    if (st)
        return st;
    memcpy(said.bytes, (const unsigned char *)bytes + at, HASH_SIZE);
    if (!memcmp(&now, &said, sizeof now))
        return KILN_OK;
    hash_hex(&now, found);
    hash_hex(&said, needed);
    return kiln_fail(err, KILN_E_IMAGE,
                     "object: damaged: its bytes have the digest %.16s..., it "
                     "says %.16s...",
                     found, needed);
}
