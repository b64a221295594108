/* SPDX-License-Identifier: MIT
 *
 * Bytes out: a growing buffer with a sticky failure, used for logs, for
 * formats that are written, and for text. A zeroed buffer is ready.
 */
#ifndef KILN_BASE_BUFFER_H
#define KILN_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
    unsigned char *bytes; /* always one NUL past size, when not NULL */
    size_t size;
    size_t cap;
    int bad; /* memory ran out; what was added since is lost */
};

void buffer_add(struct buffer *b, const void *bytes, size_t n);
void buffer_zeros(struct buffer *b, size_t n);
/* n bytes more, for the caller to write: they are not set. NULL: bad. */
unsigned char *buffer_room(struct buffer *b, size_t n);
void buffer_align(struct buffer *b, size_t alignment); /* a power of two */
void buffer_u8(struct buffer *b, uint8_t v);
void buffer_u16(struct buffer *b, uint16_t v);
void buffer_u32(struct buffer *b, uint32_t v);
void buffer_u64(struct buffer *b, uint64_t v);
void buffer_text(struct buffer *b, const char *text); /* without the NUL */
void buffer_printf(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *buffer_str(const struct buffer *b); /* never NULL */
void buffer_fini(struct buffer *b);

#endif
