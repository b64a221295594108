#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs each libFuzzer binary of a build folder for some seconds, beginning
# with its corpus; what it finds new stays in the build folder.
#
#     fuzz/run.sh BUILD SECONDS
set -u
build=$1
seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
passed=0
failed=0
for f in "$build"/bin/fuzz_*; do
    [ -x "$f" ] || continue
    name=${f##*/fuzz_}
    mkdir -p "$build/corpus/$name" "$build/crashes"
    set -- "$build/corpus/$name"
    for c in "$build/fuzz/seeds/$name" "$here/corpus/$name"; do
        [ ! -d "$c" ] || set -- "$@" "$c"
    done
    echo "fuzz $name, $seconds s"
    if "$f" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=65536 -print_final_stats=0 -verbosity=0 \
        -artifact_prefix="$build/crashes/$name-" \
        "$@" >"$build/fuzz.log" 2>&1
    then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 40 "$build/fuzz.log"
        echo "$name: a crash; the input is in $build/crashes"
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
