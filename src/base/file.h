/* SPDX-License-Identifier: MIT
 *
 * Whole files in and out.
 */
#ifndef KILN_BASE_FILE_H
#define KILN_BASE_FILE_H

#include "base/buffer.h"
#include "base/status.h"

/* Appends the file's bytes to out. E_FILE with path and errno; larger than
 * limit (0: none): E_FORMAT. A FIFO or device is read to its end. */
enum kiln_status file_read(const char *path, uint64_t limit, struct buffer *out,
                           struct kiln_error *err);
/* The same of what is open already, from where it stands: opening a named pipe
 * a second time waits for a second writer. */
enum kiln_status file_read_fd(int fd, const char *path, uint64_t limit,
                              struct buffer *out, struct kiln_error *err);
/* Creates or replaces the file (mode 0644 & ~umask), in one write. */
enum kiln_status file_write(const char *path, const void *bytes, size_t size,
                            struct kiln_error *err);

#endif
