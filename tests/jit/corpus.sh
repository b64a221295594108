#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fills corpus/ with kernels of at most LARGEST bytes of PTX and what their
# twins give: needs nvcc and g++. Run it again only to replace the corpus.
#
#     corpus.sh FIRST_SEED COUNT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seed=$1
left=$2
LARGEST=9000
PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$here/corpus"
while [ "$left" -gt 0 ]; do
    b=$work/k$seed
    python3 "$here/generate.py" --small "$seed" 1 >"$b.cu"
    # Toolkits name themselves and their options in comments.
    nvcc -ptx -w -arch=compute_80 -fmad=false -I"$here" "$b.cu" -o "$b.nv"
    sed -e 's|//.*||' -e 's/[ \t]*$//' -e '/^$/d' "$b.nv" >"$b.ptx"
    if [ "$(wc -c <"$b.ptx")" -le $LARGEST ]; then
        g++ -O1 -w -fwrapv -fno-strict-aliasing -ffp-contract=off \
            -std=c++17 -I"$here" -x c++ "$b.cu" -o "$b.twin"
        "$b.twin" >"$b.expect"
        cp "$b.ptx" "$b.expect" "$here/corpus"
        left=$((left - 1))
    fi
    seed=$((seed + 1))
done
