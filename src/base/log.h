/* SPDX-License-Identifier: MIT
 *
 * What Kiln has to say to an operator, a line each, never on the way of a
 * result. Goes to standard error where KILN_LOG asks for the level
 * (error, warn, info, debug; default warn), or to a handler that the
 * embedding program sets.
 */
#ifndef KILN_BASE_LOG_H
#define KILN_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

typedef void log_handler(void *data, enum log_level level, const char *text);

void log_line(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int log_wanted(enum log_level level);
/* Reads KILN_LOG now, and warns when it names no level, unless another copy of
 * this code in the process has (already). Returns whether one has. */
int log_level_warned(int already);
/* NULL: standard error again. The handler may be called by any thread. */
void log_set_handler(log_handler *handler, void *data);

#endif
