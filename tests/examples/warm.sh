#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A second run of each example compiles nothing: no CUDA compiler, no PTX
# compiler and no LLVM comes into the process. The time of a warm run of the
# first example is printed, best and median of 21 processes; it fails nothing,
# since a busy machine would.
#
#     warm.sh KILN
set -uf
kiln=$1
cd "$(dirname "$0")/../../examples" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache"
unset KILN_CACHE_DIR KILN_CACHE_DISABLE CUDA_CACHE_PATH
bad=0
ran=0

now_us() {
    echo $(($(date +%s%N) / 1000))
}

while read -r word rest; do
    [ "$word" = run ] || continue
    ran=$((ran + 1))
    # The words of the table are meant to be split.
    # shellcheck disable=SC2086
    set -- run $rest --device cpu
    "$kiln" "$@" >/dev/null 2>&1 </dev/null || {
        echo "kiln $*: the first run fails"
        bad=1
        continue
    }
    LD_DEBUG=files LD_DEBUG_OUTPUT="$tmp/loads" "$kiln" "$@" >"$tmp/out" 2>&1 \
        </dev/null || bad=1
    set +f
    cat "$tmp"/loads.* >"$tmp/all"
    rm -f "$tmp"/loads.*
    set -f
    grep -q 'file=.*libkiln-cpu' "$tmp/all" || {
        echo "the loader's report does not even show the driver"
        bad=1
    }
    if grep -E 'file=.*(libLLVM|libnvrtc|ptxjit|libclang)' "$tmp/all"; then
        echo "kiln $*: the second run loads a compiler"
        bad=1
    fi
done <examples.txt

set -- run saxpy.cu saxpy --device cpu --grid 4096 --block 256 f32:2 \
    'f32[1048576]:iota' 'f32[1048576]:const=1:head' i32:1048576
: >"$tmp/times"
i=0
while [ $i -lt 21 ]; do
    start=$(now_us)
    "$kiln" "$@" >/dev/null || bad=1
    echo $(($(now_us) - start)) >>"$tmp/times"
    i=$((i + 1))
done
sort -n "$tmp/times" | awk -v ran=$ran '
    { t[NR] = $1 / 1000 }
    END {
        printf "%d examples compile nothing the second time; a warm run of " \
            "2^20 elements takes %.1f ms at best, %.1f ms by median " \
            "(whole process)\n", ran, t[1], t[int((NR + 1) / 2)]
    }'
[ $bad = 0 ] && [ $ran -gt 0 ]
