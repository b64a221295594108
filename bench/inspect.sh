#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How fast a large library is listed, beside NVIDIA's tool in the same run:
#     inspect.sh BUILD [LIBRARY [CUOBJDUMP]]
# The library is libcublasLt where a toolkit is; without one nothing is done.
set -eu
build=$1
library=${2:-$(ls /usr/local/cuda*/lib*/libcublasLt.so.* 2>/dev/null | head -1)}
cuobjdump=${3:-$(command -v cuobjdump || ls /usr/local/cuda*/bin/cuobjdump 2>/dev/null | head -1 || true)}
[ -n "$library" ] && [ -x "$build/bin/kiln" ] || exit 0

# The least of seven runs, in milliseconds, and the resident memory of one.
least() {
    best=
    for _ in 1 2 3 4 5 6 7; do
        start=$(date +%s%N)
        "$@" >/dev/null 2>&1
        took=$((($(date +%s%N) - start) / 10000))
        if [ -z "$best" ] || [ "$took" -lt "$best" ]; then best=$took; fi
    done
    echo "$best"
}
cat "$library" >/dev/null
ours=$(least "$build/bin/kiln" inspect "$library")
echo "kiln inspect $(basename "$library"): $(echo "$ours" | awk '{printf "%.1f", $1 / 100}') ms, least of 7"
if [ -x /usr/bin/time ]; then
    /usr/bin/time -f "  %M KB resident, %U s user, %S s system" \
        "$build/bin/kiln" inspect "$library" 2>&1 >/dev/null
fi
if [ -n "$cuobjdump" ]; then
    theirs=$(least "$cuobjdump" --list-elf "$library")
    echo "cuobjdump --list-elf: $theirs" $ours |
        awk '{printf "%s %s %.1f ms: %.0f times as long\n", $1, $2, $3 / 100, $3 / $4}'
fi
[ ! -x "$build/bin/bench_unpack" ] || "$build/bin/bench_unpack" "$library"
