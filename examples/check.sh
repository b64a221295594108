#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs every line of examples.txt on a device and compares what it gives.
#
#     examples/check.sh KILN DEVICE [OPTION of kiln run...]
#
# DEVICE is cpu, nvidia or nvidia:N.
set -uf
kiln=$(command -v "$1") && kiln=$(realpath "$kiln") || {
    echo "check.sh: $1: not found or not executable" >&2
    exit 2
}
device=$2
shift 2
options=$*
cd "$(dirname "$0")" || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
ran=0
bad=0

# One example: its command in $command, what it must print in $tmp/want.
run() {
    [ -n "$command" ] || return 0
    ran=$((ran + 1))
    # The words of the table and of the options are meant to be split.
    # shellcheck disable=SC2086
    "$kiln" run $command --device "$device" $options \
        >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    grep '^argument' "$tmp/out" >"$tmp/got"
    if [ $status != 0 ] || ! cmp -s "$tmp/want" "$tmp/got"; then
        bad=$((bad + 1))
        echo "FAILED: kiln run $command --device $device $options"
        [ $status = 0 ] || echo "exit status $status"
        head -c 2000 "$tmp/err"
        diff "$tmp/want" "$tmp/got" | cut -c1-200
    fi
}

command=
while read -r word rest; do
    case $word in
    run)
        run
        command=$rest
        : >"$tmp/want"
        ;;
    argument)
        echo "$word $rest" >>"$tmp/want"
        ;;
    esac
done <examples.txt
run
echo "$ran examples on $device, $bad failed"
[ $bad = 0 ] && [ $ran -gt 0 ]
