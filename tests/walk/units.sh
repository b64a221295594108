#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the cubins of units/, each of which returns its own number:
#     units.sh FOLDER          (needs ptxas of CUDA 13.0)
# cNN 1000+NN, cNNa 1500+NN, dNN 2000+NN; cNNf 1600+NN; r90 is relocatable;
# g90 has a global variable, which h90 reads; j90 and i90 the same with one of
# 2 GiB, w90 (like g90) with one of 512 GiB; m90 has what a cubin can have:
# variables of every space that point to each other, functions, printf, limits.
# lto90.nvvm is what nvcc makes of a kernel that is to be linked.
set -eu
cd "$1"
ptx() { # target, number
    cat <<P
.version 9.0
.target sm_$1
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, $2;
    st.global.u32 [%rd2], %r1;
    ret;
}
P
}
unit() { # name, target, number, options
    ptx "$2" "$3" >unit.ptx
    ptxas -arch="sm_$2" ${4:-} unit.ptx -o "$1.cubin"
    rm unit.ptx
}
for sm in 75 80 86 89 90 100 120; do
    unit c$sm $sm $((1000 + sm))
done
unit c90a 90a 1590
unit c100f 100f 1700
unit d75 75 2075
unit d90 90 2090
unit d90a 90a 2590
unit r90 90 3090 -c

variable() { # name, number, bytes, instruction
    ptx 90 "$2" | sed "3a .visible .global .align 4 .b8 g[$3];" |
        sed "s/^    ret;/    ${4:-}ret;/" >unit.ptx
    ptxas -arch=sm_90 unit.ptx -o "$1.cubin"
}
reads='ld.global.u32 %r0, [g]; add.u32 %r1, %r1, %r0; st.global.u32 [%rd2], %r1;'
variable g90 5090 4096
variable h90 6090 4096 "$reads"
variable i90 7090 $((2 << 30)) "$reads"
variable j90 8090 $((2 << 30))
variable w90 9090 $((512 << 30))
echo 'extern "C" __global__ void k(unsigned *p) { *p = 90; }' >unit.cu
nvcc -fatbin -arch=lto_90 -no-compress unit.cu -o unit.fatbin
tail -c +137 unit.fatbin >lto90.nvvm # behind its two headers and options
rm unit.cu unit.fatbin
cat >unit.ptx <<'P'
.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .global .align 4 .u32 counter = 7;
.visible .global .align 4 .b8 zeros[8192];
.visible .global .align 8 .u64 table[2] = {counter, zeros};
.visible .const .align 4 .f32 factors[4] = {0f3F800000, 0f40000000, 0f00000000, 0f40400000};
.global .align 1 .b8 format[4] = {37, 100, 10, 0};
.visible .global .surfref surface;
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry other(.param .u64 p, .param .align 8 .b8 s[24])
    .maxntid 128, 2, 1 .minnctapersm 2
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<3>;
    .shared .align 16 .b8 tile[2048];
    .local .align 8 .b8 frame[64];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, tile;
    cvta.shared.u64 %rd3, %rd3;
    add.u64 %rd4, %rd3, %rd2;
    st.u32 [%rd4], %r1;
    bar.sync 0;
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
    vote.sync.ballot.b32 %r3, 1, -1;
    st.local.u32 [frame], %r2;
    ld.local.u32 %r4, [frame];
    ld.const.f32 %f1, [factors+4];
    cvt.rzi.u32.f32 %r5, %f1;
    add.u32 %r4, %r4, %r5;
    {
        .param .b32 a;
        .param .b32 b;
        st.param.b32 [a], %r4;
        call (b), twice, (a);
        ld.param.b32 %r6, [b];
    }
    {
        .param .b64 f;
        .param .b64 v;
        .param .b32 n;
        mov.u64 %rd5, format;
        cvta.global.u64 %rd5, %rd5;
        st.param.b64 [f], %rd5;
        mov.u64 %rd6, 0;
        st.param.b64 [v], %rd6;
        call (n), vprintf, (f, v);
    }
    atom.global.add.u32 %r7, [counter], %r6;
    st.global.u32 [%rd1], %r7;
    ret;
}
P
ptx 90 4090 | sed 1,3d >>unit.ptx
ptxas -arch=sm_90 unit.ptx -o m90.cubin
rm unit.ptx
