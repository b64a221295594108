#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs each libFuzzer binary of a build folder for some seconds, beginning
# with its corpus; what it finds new stays in the build folder. NUMBERx is a
# number of runs from a fixed seed instead: the same code gives the same
# answer.
#
#     fuzz/run.sh BUILD SECONDS|NUMBERx
set -u
build=$1
case $2 in
*x) limit="-seed=1 -runs=${2%x}" ;;
*) limit="-max_total_time=$2" ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
# The sanitizer's allocator at its default is slow for many short runs.
export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=4:max_malloc_fill_size=0:allocator_may_return_null=1}"
passed=0
failed=0
for f in "$build"/bin/fuzz_*; do
    [ -x "$f" ] || continue
    name=${f##*/fuzz_}
    new=$build/corpus/$name
    case $limit in
    -seed*) new=$build/corpus/fixed && rm -rf "$new" ;;
    esac
    mkdir -p "$new" "$build/crashes"
    set -- "$new"
    for c in "$build/fuzz/seeds/$name" "$build/fuzz/kept/$name" \
        "$here/corpus/$name"; do
        [ ! -d "$c" ] || set -- "$@" "$c"
    done
    echo "fuzz $name $limit"
    # shellcheck disable=SC2086
    if "$f" $limit -timeout=10 -rss_limit_mb=2048 \
        -max_len=8192 -print_final_stats=0 -verbosity=0 \
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
