/* SPDX-License-Identifier: MIT
 *
 * From a compiler's log to the one sentence that names the fault.
 */
#ifndef KILN_COMPILE_DIAGNOSE_H
#define KILN_COMPILE_DIAGNOSE_H

#include "compile/compile.h"

/* E_COMPILE with the log's first error line. */
enum kiln_status diagnose_source(const char *name, const char *compiler,
                                 const char *log, struct kiln_error *err);
/* E_INVALID: the compiler does not know an option. */
enum kiln_status diagnose_option(const char *name, const char *compiler,
                                 const char *log, struct kiln_error *err);
/* The source compiles (ptx), a name that was wanted is wrong (log tells):
 * E_NOT_FOUND with the names there are, or with what is wrong about one
 * that exists. *useful: whether the log tells a person more than that. */
enum kiln_status diagnose_names(const struct compile_request *request,
                                const struct buffer *ptx, const char *log,
                                int *useful, struct kiln_error *err);

/* The same source was compiled again without the names wanted (plain): when
 * that passed, a name is wrong, else the source is. result->log is left with
 * what tells a person most; plain may lose its log to it. */
enum kiln_status diagnose_plain(const struct compile_request *request,
                                struct compile_result *plain, int passed,
                                struct compile_result *result,
                                struct kiln_error *err);

#endif
