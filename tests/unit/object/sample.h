/* SPDX-License-Identifier: MIT
 *
 * A sample .kiln.info, and putting one into a compiler's object.
 */
#ifndef KILN_TESTS_OBJECT_SAMPLE_H
#define KILN_TESTS_OBJECT_SAMPLE_H

#include "cpu/object/object.h"

/* Static storage; its kernel's only variant is function `kernel`. */
struct object_info sample_info(void);
/* The object in `in`, with a section of that name and contents added. */
void sample_add_section(const struct buffer *in, const char *name,
                        const struct buffer *contents, struct buffer *out);

#endif
