#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cached.sh PROGRAM: the first process compiles, the second one does not, nor
# does a process without a store load the same image twice; a damaged entry is
# rebuilt.
set -u
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export KILN_CACHE_DIR="$dir/store"
"$program" >"$dir/out"
case $? in
77) exit 77 ;;
esac
rm -rf "$dir/store"
bad=0
step() {
    echo "== $1"
    shift
    "$@" || bad=1
}
step "empty store" "$program" compiles
step "warm store" "$program" loads
step "no store" env CUDA_CACHE_DISABLE=1 "$program" compiles
find "$dir/store" -type f -size +1k | while read -r f; do
    printf 'damage' | dd of="$f" bs=1 seek=2000 conv=notrunc 2>/dev/null
done
step "damaged store" "$program" compiles
step "repaired store" "$program" loads
step "another compute capability" env KILN_CPU_CC=9.0 "$program" compiles
step "folder of NVIDIA's variable" \
    env -u KILN_CACHE_DIR CUDA_CACHE_PATH="$dir/nv" "$program" compiles
step "the same again" \
    env -u KILN_CACHE_DIR CUDA_CACHE_PATH="$dir/nv" "$program" loads
exit $bad
