#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Keeps of corpora what it takes to reach every edge: fuzz/corpus/NAME.tar.zst,
# which every build replays.
#     fuzz/keep.sh BUILD CORPUS.tar.gz
# BUILD is of the preset "fuzz", CORPUS.tar.gz what a run brought back.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
all=$(mktemp -d)
trap 'rm -rf "$all"' EXIT
mkdir "$all/in"
tar -C "$all/in" -xzf "$2"
for f in "$build"/bin/fuzz_*; do
    name=${f##*/fuzz_}
    mkdir -p "$all/out/$name" "$all/in/$name" "$all/old/$name"
    [ ! -f "$here/corpus/$name.tar.zst" ] ||
        (cd "$all/old/$name" && cmake -E tar xf "$here/corpus/$name.tar.zst")
    "$f" -merge=1 -use_counters=0 -max_len=8192 "$all/out/$name" \
        "$all/old/$name" "$all/in/$name" >"$all/log" 2>&1 || {
        tail -n 20 "$all/log"
        exit 1
    }
    rm -f "$here/corpus/$name.tar.zst"
    tar -C "$all/out/$name" --sort=name --mtime=@0 --owner=0 --group=0 \
        --format=ustar -cf - . | zstd -19 -q -o "$here/corpus/$name.tar.zst"
    echo "$name: $(ls "$all/out/$name" | wc -l) files"
done
