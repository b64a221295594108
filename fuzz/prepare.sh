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
mkdir -p "$out/bin" "$out/lib" "$out/live"
cp "$here/campaign.sh" "$out/run.sh"
for f in "$build"/bin/fuzz_*; do
    name=${f##*/fuzz_}
    strip -g -o "$out/bin/fuzz_$name" "$f"
    # The C library is the other machine's own.
    ldd "$f" | awk '$3 ~ "^/" { print $3 }' |
        grep -vE '/(libc|libm|libdl|libpthread|libresolv|ld-linux[^/]*)\.so' |
        xargs -r -I LIB cp -L LIB "$out/lib/"
    mkdir -p "$out/corpus/$name" "$out/live/$name"
    for c in "$build/fuzz/seeds/$name" "$here/corpus/$name"; do
        [ ! -d "$c" ] || cp "$c"/* "$out/corpus/$name/"
    done
    if [ -d "$build/corpus/$name" ]; then
        find "$build/corpus/$name" -type f -exec cp -t "$out/live/$name" {} +
    fi
done
cp "$here"/../tests/jit/corpus/*.ptx "$out/corpus/ptx/"
[ -z "${3:-}" ] || tar -C "$out/live" -xzf "$3"
du -sh "$out"
