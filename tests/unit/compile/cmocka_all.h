/* SPDX-License-Identifier: MIT
 *
 * cmocka and what it wants before it.
 */
#ifndef KILN_TESTS_CMOCKA_ALL_H
#define KILN_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
