#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What src/walk predicts against what a driver did, kept as its run.sh wrote
# it:  answers.sh PROGRAMS sm_90 ANSWERS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat "$here"/rows*.txt "$here"/late*.txt >"$tmp/rows"
"$1/walk_make" "$2" "$tmp/rows" "$here/units" "$tmp"
awk -F ' \\| ' '
    NR == FNR { predicted[$1] = $4; row[$1] = $2 " | " $3; next }
    /^#/ { next }
    {
        sub(/ *#.*predicted.*/, "", $4)
        sub(/ +$/, "", $4)
        count++
        if (row[$1] != $2 " | " $3) {
            print $1 ": not a row of the matrix: " $2
            bad++
        } else if (predicted[$1] != $4) {
            print $1 " | " row[$1] " | " $4 "    # predicted " predicted[$1]
            bad++
        }
    }
    END {
        print count + 0 " answers, " bad + 0 " differ"
        exit !count || bad > 0
    }' "$tmp/index.txt" "$3"
