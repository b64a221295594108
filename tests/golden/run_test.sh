#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The golden runner itself: it must tell a difference, a missing expectation
# and an empty folder, and accept must end them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
fail() {
    echo "golden runner: $*"
    exit 1
}
run() {
    "$here/run.sh" "$@" >/dev/null 2>&1
}
unset KILN_ACCEPT

run "$d" in -- cat && fail "an empty folder passes"
echo one >"$d/a.in"
run "$d" in -- cat && fail "a missing expectation passes"
run --accept "$d" in -- cat || fail "accept fails"
run "$d" in -- cat || fail "an equal output fails"
echo two >"$d/a.in"
run "$d" in -- cat && fail "a different output passes"
run --accept "$d" in -- false
run "$d" in -- true && fail "a different exit status passes"
run "$d" in -- false || fail "an expected exit status fails"
echo -n >"$d/b.expect"
run "$d" in -- false && fail "an expectation without input passes"
exit 0
