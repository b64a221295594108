#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the cubins of units/, each of which returns its own number:
#     units.sh FOLDER          (needs ptxas of CUDA 13.0)
# cNN 1000+NN, cNNa 1500+NN, dNN 2000+NN; cNNf 1600+NN; r90 is relocatable.
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
