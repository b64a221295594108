/* SPDX-License-Identifier: MIT
 *
 * Characters -> tokens. The text is a private copy that ends in a NUL, so
 * that no look-ahead needs a bound; a NUL before the end is an error token.
 * Tokens borrow from that copy. The lexer knows nothing of the grammar, save
 * that a mnemonic with its modifiers may be taken in one piece.
 */
#ifndef KILN_CPU_PTX_LEXER_H
#define KILN_CPU_PTX_LEXER_H

#include <stddef.h>
#include <stdint.h>

/* Single characters are their own kind. */
enum token_kind {
    TOKEN_END = 256,
    TOKEN_NAME,      /* text, len */
    TOKEN_DIRECTIVE, /* `.name`: text, len, without the dot */
    TOKEN_INT,       /* bits */
    TOKEN_F32,       /* bits: 0f... */
    TOKEN_F64,       /* bits: 0d... and decimal fractions */
    TOKEN_STRING,    /* text, len, without the quotes */
    TOKEN_SHL,
    TOKEN_SHR,
    TOKEN_LE,
    TOKEN_GE,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_ANDAND,
    TOKEN_OROR,
    TOKEN_BAD /* text: a sentence that says what is wrong */
};

struct token {
    int kind;
    unsigned line;
    const char *text;
    size_t len;
    uint64_t bits;
    int is_unsigned; /* INT with a U suffix, or too large for s64 */
};

struct lexer {
    const char *at; /* after the current token */
    const char *end;
    const char *counted; /* by lexer_count_statements, up to here */
    unsigned line;
    struct token token;
};

void lexer_init(struct lexer *lx, const char *text, size_t size);
void lexer_next(struct lexer *lx);
/* The current token is a name: take the modifiers that follow it at once,
 * `.sync.idx.b32`, into the same token. Returns whether blanks and another
 * modifier follow (`add .u32`), which the caller joins. */
int lexer_mnemonic(struct lexer *lx);
/* Skip to the end of the line that the current token stands on. */
void lexer_skip_line(struct lexer *lx);
/* How many bytes of the text are a ';' up to the brace that closes the
 * current one: a good guess at the instructions of a function. Braces in
 * comments fool it; no byte is looked at twice, so that this costs nothing
 * but memory. */
size_t lexer_count_statements(struct lexer *lx);

#endif
