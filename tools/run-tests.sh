#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the tests of a build folder and closes with the line
# "N passed, N failed[, N skipped]". Fails when one failed and when none ran.
#
#     tools/run-tests.sh BUILD [ctest option...]
set -u
build=$1
shift

# The tests' caches are their own: nothing of the user's is read or written.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/kiln-check-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME="$scratch/cache" HOME="${HOME:-$scratch}"

ctest --test-dir "$build" -j "${JOBS:-$(nproc)}" --output-on-failure "$@" \
    >"$scratch/log" 2>&1
status=$?
cat "$scratch/log"
awk -v status=$status '
    /^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
        if (/\*\*\*Skipped|\*\*\*Not Run \(Disabled\)/) skipped++
        else if (/ Passed +[0-9.]+ sec/) passed++
        else { failed++; sub(/^.*Test +#[0-9]+: /, ""); names = names "\n  " $1 }
    }
    END {
        if (passed + failed == 0) { print "no test ran"; failed++ }
        else if (status && !failed) { print "ctest exit status " status; failed++ }
        if (names) print "failed:" names
        printf "%d passed, %d failed", passed, failed
        if (skipped) printf ", %d skipped", skipped
        printf "\n"
        exit failed > 0
    }' "$scratch/log"
