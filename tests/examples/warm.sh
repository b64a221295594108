#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A second run of each example compiles nothing: no CUDA compiler, no PTX
# compiler and no LLVM comes into the process. And it is quick: the best of
# ten runs of the first example stays under 30 ms of wall time (not checked
# when LIMIT_MS is 0).
#
#     warm.sh KILN
set -uf
kiln=$1
limit=${LIMIT_MS:-30}
cd "$(dirname "$0")/../../examples" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache"
unset KILN_CACHE_DIR KILN_CACHE_DISABLE CUDA_CACHE_PATH
bad=0
ran=0

now_ms() {
    echo $(($(date +%s%N) / 1000000))
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

best=999999
set -- run saxpy.cu saxpy --device cpu --grid 4096 --block 256 f32:2 \
    'f32[1048576]:iota' 'f32[1048576]:const=1:head' i32:1048576
for _ in 1 2 3 4 5 6 7 8 9 10; do
    start=$(now_ms)
    "$kiln" "$@" >/dev/null || bad=1
    took=$(($(now_ms) - start))
    [ $took -ge $best ] || best=$took
done
echo "$ran examples compile nothing the second time; a warm run takes $best ms"
if [ "$limit" != 0 ] && [ $best -gt "$limit" ]; then
    echo "a warm run takes $best ms, $limit allowed"
    bad=1
fi
[ $bad = 0 ] && [ $ran -gt 0 ]
