#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes kernels and their twins, and compares them: needs nvcc and g++.
#
#     long.sh JIT_RUN FIRST_SEED BATCHES [EACH [KIND]]
#     long.sh JIT_RUN        under KILN_TEST_LONG: by the date, for a while
#
# Each batch of EACH kernels runs with 16, 8 and 4 lanes a chunk, and with
# one worker thread. A batch that differs is kept, and named.
set -u
here=$(cd "$(dirname "$0")" && pwd)
run=$1
if [ $# -lt 3 ]; then
    [ -n "${KILN_TEST_LONG:-}" ] || { echo "skip: make check-long"; exit 77; }
    set -- "$1" "$((1$(date +%j) * 1000))" 40
    echo "first seed $2"
fi
seed=$2
batches=$3
each=${4:-8}
kind=${5:+--kind=$5}
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "skip no nvcc"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-jit-XXXXXX") || exit 1
export KILN_CACHE_DISABLE=1
bad=0
kept=0
i=0
while [ "$i" -lt "$batches" ]; do
    b=$work/b$seed
    python3 "$here/generate.py" $kind "$seed" "$each" >"$b.cu" &&
        g++ -O1 -w -fwrapv -fno-strict-aliasing -ffp-contract=off -std=c++17 \
            -I"$here" -x c++ "$b.cu" -o "$b.twin" &&
        "$b.twin" >"$b.expect" &&
        nvcc -ptx -w -arch=compute_90 -fmad=false -I"$here" "$b.cu" \
            -o "$b.ptx" || { echo "FAIL $b cannot be made"; exit 1; }
    wrong=0
    for isa in host avx2 sse4.2; do
        if [ $isa = host ]; then unset KILN_CPU_ISA
        else export KILN_CPU_ISA=$isa; fi
        "$run" "$b" >"$b.$isa.log" 2>&1 || {
            wrong=1
            echo "seed $seed, $isa:"
            head -5 "$b.$isa.log"
        }
    done
    unset KILN_CPU_ISA
    KILN_CPU_THREADS=1 "$run" "$b" >"$b.one.log" 2>&1 || {
        [ $wrong = 1 ] || { wrong=1; echo "seed $seed, one thread:"
                            head -5 "$b.one.log"; }
    }
    if [ $wrong = 1 ]; then
        bad=$((bad + 1))
        kept=1
        echo "kept $b.cu"
    else
        rm -f "$b".*
    fi
    i=$((i + 1))
    seed=$((seed + each))
done
[ $kept = 1 ] || rmdir "$work"
echo "$((batches - bad)) batches alike, $bad not"
[ $bad = 0 ]
