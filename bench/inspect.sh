#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How fast a large library is listed, beside reading the file alone and
# NVIDIA's tool, turn by turn in the same minutes; and its kernels, beside the
# decompressors alone:
#     inspect.sh BUILD [LIBRARY [CUOBJDUMP]]
# The library is libcublasLt where a toolkit is; without one nothing is done.
# TURNS=N changes how often (7).
set -eu
build=$1
library=${2:-$(ls /usr/local/cuda*/lib*/libcublasLt.so.* 2>/dev/null | head -1)}
cuobjdump=${3:-$(command -v cuobjdump || ls /usr/local/cuda*/bin/cuobjdump 2>/dev/null | head -1 || true)}
turns=${TURNS:-7}
if [ -z "$library" ] || ! [ -x "$build/bin/kiln" ]; then
    echo "kiln inspect: not measured, no library of the toolkit is here"
    exit 0
fi

# took COMMAND...: microseconds of one run, which must succeed.
took() {
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1 || { echo "$*: failed" >&2; exit 1; }
    echo $((($(date +%s%N) - start) / 1000))
}
# less VALUE BEST: the smaller of the two.
less() { if [ -z "$2" ] || [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }
# line NAME MICROSECONDS BASE WHAT
line() { echo "$2 $3" | awk -v n="$1" -v w="$4" \
    '{printf "  %-28s %8.1f ms, %.2f times %s\n", n, $1 / 1000, $1 / $2, w}'; }

echo "$(basename "$library"), $(wc -c <"$library") bytes, least of $turns"
reading= ours= theirs=
i=0
while [ $i -lt "$turns" ]; do
    reading=$(less "$(took dd if="$library" of=/dev/null bs=128k)" "$reading")
    ours=$(less "$(took "$build/bin/kiln" inspect "$library")" "$ours")
    i=$((i + 1))
done
line "reading it (dd bs=128k)" "$reading" "$reading" "itself"
line "kiln inspect" "$ours" "$reading" "reading it"
if [ -x /usr/bin/time ]; then
    /usr/bin/time -f "                               %M KB resident, %U s user, %S s system" \
        "$build/bin/kiln" inspect "$library" 2>&1 >/dev/null
fi
if [ -n "$cuobjdump" ]; then
    theirs=$(took "$cuobjdump" --list-elf "$library")
    line "cuobjdump --list-elf, once" "$theirs" "$ours" "kiln inspect"
fi
kernels=
i=0
while [ $i -lt 3 ]; do
    kernels=$(less "$(took "$build/bin/kiln" inspect --kernels "$library")" "$kernels")
    i=$((i + 1))
done
line "kiln inspect --kernels" "$kernels" "$ours" "kiln inspect (least of 3)"
[ ! -x "$build/bin/bench_unpack" ] || "$build/bin/bench_unpack" "$library"
