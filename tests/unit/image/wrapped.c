/* SPDX-License-Identifier: MIT
 *
 * What nvcc keeps in a host program, for the linker at hand to place: three
 * empty containers, the last at an odd address; a version 1 wrapper for the
 * second; a version 2 wrapper for the first whose array names the others.
 */
#define CONTAINER                                                              \
    ".long 0xba55ed50\n"                                                       \
    ".short 1, 16\n"                                                           \
    ".quad 0\n"

__asm__(".section .nv_fatbin, \"a\"\n"
        ".balign 8\n"
        "first: " CONTAINER "second: " CONTAINER ".byte 0\n"
        "third: " CONTAINER ".section .data.rel.ro.array, \"aw\"\n"
        ".balign 8\n"
        ".quad 0\n" /* so that nothing stands at the section's start */
        "array: .quad second, third, 0\n"
        ".section .nvFatBinSegment, \"aw\"\n"
        ".balign 8\n"
        ".long 0x466243b1, 2\n"
        ".quad first, array\n"
        ".long 0x466243b1, 1\n"
        ".quad second, 0\n"
        ".text\n");
