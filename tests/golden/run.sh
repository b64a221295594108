#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Golden files: runs a command on each input of a folder and compares
# everything it prints (standard output, then error, then the exit status
# when that is not 0) with the file beside the input.
#
#     tests/golden/run.sh [--accept] FOLDER SUFFIX -- COMMAND [ARG...]
#
# COMMAND gets the input's file name last and runs in FOLDER, so that no path
# stands in the output. NAME.args, if present, holds further arguments, which
# come before the file's name. --accept (or KILN_ACCEPT=1) rewrites the
# expectation.
set -u
accept=${KILN_ACCEPT:-}
if [ "${1:-}" = --accept ]; then
    accept=1
    shift
fi
if [ $# -lt 4 ] || [ "$3" != -- ]; then
    echo "usage: run.sh [--accept] FOLDER SUFFIX -- COMMAND [ARG...]" >&2
    exit 2
fi
folder=$1
suffix=$2
shift 3
cd "$folder" || exit 2
got=$(mktemp) || exit 2
trap 'rm -f "$got" "$got.err"' EXIT

count=0
bad=0
for input in *."$suffix"; do
    [ -f "$input" ] || continue
    name=${input%."$suffix"}
    count=$((count + 1))
    args=
    [ ! -f "$name.args" ] || args=$(cat "$name.args")
    # The words of NAME.args are meant to be split.
    # shellcheck disable=SC2086
    "$@" $args "$input" >"$got" 2>"$got.err" </dev/null
    status=$?
    cat "$got.err" >>"$got"
    [ $status = 0 ] || echo "exit status $status" >>"$got"
    if [ -n "$accept" ]; then
        cmp -s "$got" "$name.expect" || {
            cp "$got" "$name.expect" && chmod 644 "$name.expect"
            echo "accepted $name.expect"
        }
    elif [ ! -f "$name.expect" ]; then
        echo "$name: no $name.expect; --accept writes it"
        bad=$((bad + 1))
    elif ! diff -u "$name.expect" "$got"; then
        echo "$name: differs"
        bad=$((bad + 1))
    fi
done
for expect in *.expect; do
    [ -f "$expect" ] || continue
    [ -f "${expect%.expect}.$suffix" ] || {
        # Another suffix of the same folder may own it.
        ls "${expect%.expect}".* 2>/dev/null | grep -qv '\.expect$' || {
            echo "$expect: no input"
            bad=$((bad + 1))
        }
    }
done
if [ $count = 0 ]; then
    echo "$folder: no input *.$suffix"
    exit 1
fi
echo "$count inputs, $bad differ"
[ $bad = 0 ]
