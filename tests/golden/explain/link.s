/* SPDX-License-Identifier: MIT
 *
 * What nvcc leaves of device code in a program without relocatable device
 * code, as link.o (cc -c link.s -o link.o): a version 2 wrapper of a cubin
 * without kernels, and a version 1 wrapper of the real container, which is
 * tests/golden/inspect/bundle.fatbin.
 */
    .section .nv_fatbin, "a"
    .balign 8
empty:
    .long 0xba55ed50
    .short 1, 16
    .quad empty_end - entry
entry:
    .short 2, 0x0101
    .long 72
    .quad empty_end - cubin
    .long 0, 64
    .short 8, 1
    .long 75
    .quad 0
    .quad 0x11, 0, 0
    .long 8, 0
cubin:
    .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0
    .short 2, 190
    .long 1
    .quad 0, 0, sections - cubin
    .long 0x6004b04
    .short 64, 56, 0, 64, 2, 1
names:
    .asciz "\0.shstrtab"
    .balign 8
sections:
    .zero 64
    .long 1, 3
    .quad 0, 0, names - cubin, 12
    .long 0, 0
    .quad 1, 0
empty_end:
real:
    .incbin "../inspect/bundle.fatbin"

    .bss
array:
    .zero 16

    .section .nvFatBinSegment, "aw"
    .balign 8
    .long 0x466243b1, 2
    .quad empty, array
    .long 0x466243b1, 1
    .quad real, 0

    .section .note.GNU-stack, "", @progbits
