/* SPDX-License-Identifier: MIT
 *
 * Where the compilers are. Only looks; opens none.
 */
#ifndef KILN_COMPILE_FIND_H
#define KILN_COMPILE_FIND_H

#include <stddef.h>

/* Each returns 1 and the path, or 0. */
int find_nvrtc(char *path, size_t size);
int find_clang(char *path, size_t size);
/* Beside NVRTC's file: its builtins library, and the toolkit's headers. */
int find_builtins(const char *nvrtc, char *path, size_t size);
int find_toolkit_include(const char *nvrtc, char *path, size_t size);

#endif
