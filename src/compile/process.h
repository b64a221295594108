/* SPDX-License-Identifier: MIT
 *
 * One child process with a deadline, no shell, its output collected.
 */
#ifndef KILN_COMPILE_PROCESS_H
#define KILN_COMPILE_PROCESS_H

#include "base/buffer.h"
#include "base/status.h"

enum { PROCESS_OUTPUT_MAX = 4 << 20 };

/* Runs argv[0] with nothing on its standard input, standard output and error
 * appended to output (up to PROCESS_OUTPUT_MAX). *code is its exit status.
 * E_TIMEOUT after timeout_ms (the child and its group are killed), E_LAUNCH
 * when a signal ended it. */
enum kiln_status process_run(const char *const *argv, unsigned timeout_ms,
                             struct buffer *output, int *code,
                             struct kiln_error *err);

#endif
