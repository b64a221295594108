/* SPDX-License-Identifier: MIT
 *
 * What inspect and explain share: how an entry and its kernels are shown, and
 * reading the symbols of many entries with all cores.
 */
#ifndef KILN_TOOL_INSPECT_H
#define KILN_TOOL_INSPECT_H

#include "kiln/image.h"
#include "tool/json.h"

/* "sm_90a", "compute_80" for PTX */
void entry_target(const struct kiln_entry *entry, char *text, size_t size);
/* "8.0" for PTX, "ABI 8" for a cubin */
void entry_version(const struct kiln_entry *entry, char *text, size_t size);

struct entry_symbols {
    struct kiln_symbols *symbols; /* NULL: error says why */
    struct kiln_error error;
};

/* Symbols of all entries of a file, in their order, read ahead by as many
 * threads as there are processors: of each entry once, while the caller goes
 * through them. NULL when memory or threads are out. */
struct symbol_stream;
struct symbol_stream *symbols_start(const struct kiln_file *file);
/* Of the next entry; good until the next call. */
const struct entry_symbols *symbols_next(struct symbol_stream *stream);
void symbols_end(struct symbol_stream *stream);

void symbols_print(const struct entry_symbols *of, FILE *to);
void symbols_json(const struct entry_symbols *of, struct json *j);

/* Whether a program has this container and never loads it: nothing in it can
 * be asked for. */
int container_unused(const struct kiln_file *file, size_t index);

/* The part of a file's name that extract_file uses: behind the last slash. */
const char *base_name(const char *path);

/* Every entry into folder/NAME.CONTAINER.ENTRY.TARGET.KIND; the number of
 * those that could not be unpacked, -1 when the folder cannot be written. */
int extract_file(const struct kiln_file *file, const char *folder);

#endif
