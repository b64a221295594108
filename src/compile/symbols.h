/* SPDX-License-Identifier: MIT
 *
 * Lowered names from clang, which has no call for them: each wanted name is
 * the initialiser of a variable with a known name, and the PTX says which
 * symbol that became. The variables are taken out of the PTX again.
 */
#ifndef KILN_COMPILE_SYMBOLS_H
#define KILN_COMPILE_SYMBOLS_H

#include "compile/compile.h"

#define SYMBOLS_PREFIX "kiln_wanted_name_"
#define SYMBOLS_FILE   "kernel names"

/* The lines to put behind the source. */
void symbols_ask(struct buffer *source, const char *const *names, size_t count);
/* Fills result->symbols and cleans result->bytes. */
enum kiln_status symbols_take(const struct compile_request *request,
                              struct compile_result *result,
                              struct kiln_error *err);

#endif
