/* SPDX-License-Identifier: MIT
 *
 * What PTX text says of itself before its first body: .version, .target,
 * .address_size, and the names of its entries, found without parsing.
 */
#ifndef KILN_IMAGE_PTX_HEADER_H
#define KILN_IMAGE_PTX_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

struct ptx_header {
    uint16_t major; /* of .version */
    uint16_t minor;
    uint32_t sm;          /* of .target sm_NN; the highest when several */
    char variant;         /* 'a', 'f' or 0 */
    uint8_t address_size; /* 32 or 64; 32 when not stated */
    uint8_t debug;        /* .target names debug */
    uint32_t version_line;
    uint32_t target_line;
};

/* Whether the bytes begin as PTX does for NVIDIA's driver: `.version` after
 * white space and comments. */
int ptx_looks(const void *text, size_t size);

/* White space and comments that come in pieces. */
enum ptx_blank { PTX_BLANK, PTX_SLASH, PTX_LINE, PTX_COMMENT, PTX_STAR };

/* How many of the bytes, of which `state` says what was before them, are white
 * space and comments; all of them where more of these may follow. PTX_SLASH
 * behind less than all of them: a "/" is before them that begins no comment. */
size_t ptx_skip_blank(const char *text, size_t size, enum ptx_blank *state);

/* E_PTX with line, found and expected when .version or .target is missing or
 * malformed. A NUL ends the text. */
enum kiln_status ptx_header_read(const void *text, size_t size,
                                 struct ptx_header *out,
                                 struct kiln_error *err);

/* Whether all `size` bytes are text whose comments, strings and brackets are
 * closed: what may be given to an assembler in this process. E_PTX with the
 * line. */
enum kiln_status ptx_text_check(const void *text, size_t size,
                                struct kiln_error *err);

/* .entry definitions and declarations, in order. Comments and strings are
 * skipped; nothing but their names is looked at. */
struct ptx_entries {
    const char *text;
    const char *at;
    const char *end;
};

struct ptx_entry {
    size_t offset;    /* of ".entry" in the text */
    const char *name; /* in the text */
    size_t length;
};

struct ptx_entries ptx_entries(const void *text, size_t size);
/* *more = 0 at the end. E_PTX with the line where no name follows, or one that
 * goes on with what is in no name. */
enum kiln_status ptx_entries_next(struct ptx_entries *entries,
                                  struct ptx_entry *entry, int *more,
                                  struct kiln_error *err);

/* Names of all of them, in the arena. */
enum kiln_status ptx_entry_names(const void *text, size_t size,
                                 struct arena *arena, const char ***names,
                                 size_t *count, struct kiln_error *err);

#endif
