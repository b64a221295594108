/* SPDX-License-Identifier: MIT
 *
 * The kiln command. It sees libkiln's public headers and the C library, and
 * nothing else of Kiln. A command returns the process's exit status: 0 done
 * or yes, 1 a stage failed or no, 2 wrong use.
 */
#ifndef KILN_TOOL_TOOL_H
#define KILN_TOOL_TOOL_H

#include <stdio.h>
#include <sys/types.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* argv[0] is the command's name. */
int run_main(int argc, char **argv);
extern const char run_help[];
int inspect_main(int argc, char **argv);
extern const char inspect_help[];
int explain_main(int argc, char **argv);
extern const char explain_help[];
int pack_main(int argc, char **argv);
extern const char pack_help[];

/* "kiln COMMAND: ..." on standard error; returns EXIT_USAGE. */
int usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What is given to option `name` at argv[*i], as NAME=VALUE or in the argument
 * behind it, which *i is set to. NULL: another option, or no value. */
const char *option_value(int argc, char **argv, int *i, const char *name);

/* Text that a file, a command line or a system gave, for a terminal: control
 * characters and bytes that are no UTF-8 are shown as "?". */
void put_plain(FILE *to, const char *text);
/* A line of such text. A newline at the end of the format is one. */
void print_plain(FILE *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The bytes of the character in UTF-8 that begins a string; 0: it is none. */
size_t character_bytes(const char *text);

/* A file of a name that nothing has yet, made of `name`, which ends in XXXXXX:
 * a link or a pipe that somebody put there is not written to. OUTPUT_MODE: with
 * the mode of any new file. NULL with errno set when that fails. */
#define OUTPUT_MODE ((mode_t)-1)
FILE *output_new(char *name, mode_t mode);

/* Closes what was written to path. -1 with errno set when that fails or when
 * `bad` says that something before did: then a file that was begun does not
 * stay. A device, a pipe or what a link names is not ours to remove. */
int output_close(FILE *to, const char *path, int bad);

#endif
