#!/bin/sh
# SPDX-License-Identifier: MIT
#
# One case of kiln run: a shell text in which kiln is the command under test,
# quiet() hides what differs from run to run, and $DATA is this folder. It
# runs in an empty folder with an empty home; what it leaves there is listed.
#
#     case.sh KILN CPU_DRIVER CASE
set -u
KILN=$1
DATA=$PWD
case=$PWD/$3
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/home" "$tmp/work"
export HOME="$tmp/home" KILN_CPU_DRIVER="$2"
unset XDG_CACHE_HOME KILN_CACHE_DIR KILN_CACHE_DISABLE KILN_COMPILER KILN_LOG \
    KILN_CPU_CC KILN_CPU_DRIVER_VERSION CUDA_CACHE_DISABLE
cd "$tmp/work" || exit 2

# Paths, times, device and compiler are those of the machine.
quiet() {
    sed -E -e "s|$DATA|DATA|g; s|$tmp|TMP|g; s|[^ \"]*/libkiln-cpu[^ ,\"]*|DRIVER|g" \
        -e 's/ +[0-9]+\.[0-9]{3}( |$)/ #.###\1/; s/least [0-9.]+/least #/' \
        -e 's/"(least_|median_)?ms": [0-9.]+/"\1ms": #/g' \
        -e 's/Kiln CPU \([^,"]*\)/Kiln CPU (NAME)/; s/kiln-x86_64, [^"]*/ISA/' \
        -e 's/(NVRTC|clang) [0-9.]+ finds/COMPILER finds/' \
        -e 's/; the first: .*//; s/(no such instance of it): .*/\1/' -e 's/[ ]+$//'
}

kiln() {
    echo "\$ kiln $*" | quiet
    "$KILN" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    quiet <"$tmp/out"
    quiet <"$tmp/err"
    [ $status = 0 ] || echo "-> $status"
}

. "$case"
left=$(ls)
[ -z "$left" ] || echo "left behind:" $left
