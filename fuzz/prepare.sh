#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All that a run of the fuzzers on another machine needs, without a compiler
# and without a package:
#     fuzz/prepare.sh BUILD FOLDER [CORPUS.tar.gz]
# BUILD is of the preset "fuzz"; what `make fuzz` found there goes along, and
# so does the corpus that an earlier run brought back. Then, over there,
#     FOLDER/run.sh SECONDS OUT [CORES]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
out=$2
mkdir -p "$out/bin" "$out/lib"
cp "$here/campaign.sh" "$out/run.sh"
all=$(mktemp -d)
trap 'rm -rf "$all"' EXIT
mkdir "$all/more" "$all/live"
[ -z "${3:-}" ] || tar -C "$all/more" -xzf "$3"
for f in "$build"/bin/fuzz_*; do
    name=${f##*/fuzz_}
    strip -g -o "$out/bin/fuzz_$name" "$f"
    # The C library is the other machine's own.
    ldd "$f" | awk '$3 ~ "^/" { print $3 }' |
        grep -vE '/(libc|libm|libdl|libpthread|libresolv|ld-linux[^/]*)\.so' |
        xargs -r -I LIB cp -L LIB "$out/lib/"
    mkdir -p "$all/live/$name" "$all/more/$name" "$build/corpus/$name"
    for c in "$build/fuzz/seeds/$name" "$build/fuzz/kept/$name" \
        "$here/corpus/$name"; do
        [ ! -d "$c" ] || cp "$c"/* "$all/more/$name/"
    done
    [ "$name" != ptx ] || cp "$here"/../tests/jit/corpus/*.ptx "$all/more/ptx/"
    # No more of all that than it takes to reach the same.
    "$f" -merge=1 -max_len=8192 "$all/live/$name" "$all/more/$name" \
        "$build/corpus/$name" >"$all/log" 2>&1 || {
        tail -n 20 "$all/log"
        exit 1
    }
done
tar -C "$all/live" -czf "$out/corpus.tar.gz" .
du -sh "$out"
